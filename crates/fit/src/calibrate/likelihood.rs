//! The likelihood of a measured trace under a specification.
//!
//! Each request is predicted from the previous rows. Its response then has a probability density:
//!
//! * Errors of buffered requests are Laplace-distributed: sharp, with heavy tails.
//! * So are errors of media accesses if the platter's angle is known, around the predicted instant
//!   and one revolution before and after it. The weights of these three follow from the predicted
//!   rotational wait: an arm with scatter [`Noise::arm_ms`] that arrives just before its sector
//!   misses it almost half the time.
//! * A read that the buffer should serve fails with probability [`Noise::failures`]: in that case
//!   the media serve it, at any angle.
//! * If the angle is unknown, the wait is uniform over a revolution, with edges blurred by the
//!   scatter of the arm. All information about overheads and seeks is in these edges.
//!
//! A few percent of the requests follow no model. They have a flat density, so that none of them
//! outweighs all other requests. Random behaviours that explain the scatter become keys of the
//! specification.

use std::sync::Arc;

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Observation, Predictor};
use diskarm_core::spec::{ReadAhead, SeekCurve, Spec};
use diskarm_core::units::{Lbn, Span};

use crate::validate::{MeasuredRequest, Relation};

#[derive(Clone)]
pub struct Trace {
    rows: Vec<MeasuredRequest>,
    /// The kind of each row, less than [`KINDS`], and its relation to the previous one.
    pub classes: Vec<(usize, Relation)>,
}

/// The number of kinds of rows: two directions, each with seek distances of 0, 1, 2 to 3, 4 to 7
/// cylinders, and so on.
pub const KINDS: usize = 2 * 33;

/// Returns the shortest and the longest distance of a kind of row; `None` without movement.
fn distances(kind: usize) -> Option<(u32, u32)> {
    let octave = (kind / 2).checked_sub(1)?;
    let first = 1u32.checked_shl(octave as u32)?;
    Some((first, first.saturating_mul(2) - 1))
}

impl Trace {
    /// Classifies `rows` on a drive whose blocks are arranged as in `layout`.
    pub fn new(rows: Vec<MeasuredRequest>, layout: &Layout) -> Self {
        let mut arm = 0;
        let kinds = rows.iter().map(|row| {
            let request = &row.step.request;
            let distance = layout.extent(request.start).cylinder.0.abs_diff(arm);
            arm = layout.extent(Lbn(request.end().0 - 1)).cylinder.0;
            let power = distance.checked_ilog2();
            let octave = power.map_or(0, |power| 1 + power as usize);
            2 * octave + usize::from(!request.op.is_read())
        });
        let classes = kinds.zip(Relation::of_rows(&rows, layout)).collect();
        Self { rows, classes }
    }

    /// Replays all rows on a drive with this `spec` and `layout`. Passes each observation to
    /// `each`, with true if the platter's angle was known beforehand.
    pub fn follow(
        &self,
        spec: &Spec,
        layout: &Arc<Layout>,
        continuity: Continuity,
        each: impl FnMut(bool, &Observation),
    ) -> Predictor {
        crate::validate::follow(spec, Arc::clone(layout), &self.rows, continuity, each)
    }
}

/// The minimum logarithm of the likelihood ratio for adopting a behaviour.
pub const EVIDENCE: f64 = 10.0;

/// The share of outliers among requests.
const OUTLIERS: f64 = 0.02;

/// The probability that a request loses or gains a revolution regardless of its own wait.
const SLIP_CHANCE: f64 = 0.02;

/// One row of a trace, with a candidate's prediction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub predicted: Completion,
    /// The service that explains the measured response.
    pub explained: Completion,
    pub response: Span,
    /// True if the platter's angle was known.
    pub is_locked: bool,
    pub kind: usize,
    pub relation: Relation,
}

impl Row {
    /// Returns the measured minus the predicted response.
    pub fn error_ms(&self) -> f64 {
        (self.response - self.predicted.response()).as_ms()
    }

    /// Like [`Self::error_ms`], but with half a revolution instead of the predicted wait: the wait
    /// is random if the angle is unknown.
    pub fn error_at_any_angle_ms(&self, period_ms: f64) -> f64 {
        match self.predicted.outcome {
            Outcome::Hit | Outcome::Absorbed => self.error_ms(),
            Outcome::Miss | Outcome::PartialHit => {
                self.error_ms() + self.predicted.breakdown.rotation.as_ms() - period_ms / 2.0
            }
        }
    }

    /// Returns true for a sequential read that misses the buffer.
    fn is_sequential_miss(&self) -> bool {
        let is_read = self.predicted.request.op.is_read();
        let continues = self.relation == Relation::Sequential;
        is_read && continues && self.predicted.outcome == Outcome::Miss
    }

    /// Returns true if the media served the request although the buffer should have.
    fn has_failed(&self) -> bool {
        let is_buffered = matches!(self.predicted.outcome, Outcome::Hit | Outcome::PartialHit);
        is_buffered && self.explained.outcome == Outcome::Miss
    }
}

/// The standard deviations of the arm's arrival that are tried, in milliseconds.
const TRIED_ARM_MS: [f64; 14] = [
    0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.9, 1.3, 1.8, 2.4, 3.0,
];

/// The prior standard deviation of the logarithm of one kind's deviation relative to all rows.
const ARM_PRIOR: f64 = 0.5;

/// The scatter of measurements around a correct prediction, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// The mean absolute error of responses from the buffer.
    pub buffer_ms: f64,
    /// The mean absolute error of completions of media accesses relative to their predicted angle.
    pub media_ms: f64,
    /// The standard deviation of the arm's arrival, by kind of row.
    pub arm_ms: [f64; KINDS],
    /// The share of reads that the media serve although the buffer should.
    pub failures: f64,
}

impl Noise {
    pub const UNKNOWN: Self = Self {
        buffer_ms: 0.15,
        media_ms: 0.15,
        arm_ms: [0.3; KINDS],
        failures: 0.005,
    };

    /// Returns the log density (per millisecond) of a row's response. `period_ms` is a revolution.
    pub fn ln_density(&self, row: &Row, period_ms: f64) -> f64 {
        let explained = self.density(row, period_ms);
        ((1.0 - OUTLIERS) * explained + outlier_density(period_ms)).ln()
    }

    pub fn ln_likelihood<'r>(&self, rows: impl Iterator<Item = &'r Row>, period_ms: f64) -> f64 {
        rows.map(|row| self.ln_density(row, period_ms)).sum()
    }

    /// Returns true if a response is more likely as predicted than as an outlier.
    pub fn explains(&self, row: &Row, period_ms: f64) -> bool {
        (1.0 - OUTLIERS) * self.density(row, period_ms) > outlier_density(period_ms)
    }

    /// Returns the density of a response that is not an outlier.
    fn density(&self, row: &Row, period_ms: f64) -> f64 {
        let served = self.served_density(&row.predicted, row, period_ms);
        if !matches!(row.predicted.outcome, Outcome::Hit | Outcome::PartialHit) {
            return served;
        }
        // The media serve a failed read at some angle.
        let failed = if row.has_failed() {
            self.at_any_angle(&row.explained, row, period_ms)
        } else {
            0.0
        };
        (1.0 - self.failures) * served + self.failures * failed
    }

    /// Returns the density of a response if the request was served as in `completion`.
    fn served_density(&self, completion: &Completion, row: &Row, period_ms: f64) -> f64 {
        let error_ms = (row.response - completion.response()).as_ms();
        match completion.outcome {
            Outcome::Hit | Outcome::Absorbed => laplace(error_ms, self.buffer_ms),
            Outcome::PartialHit if row.is_locked => {
                self.near_an_angle(error_ms, period_ms, [SLIP_CHANCE; 2])
            }
            Outcome::Miss if row.is_locked => {
                let arm_ms = self.arm_ms[row.kind];
                let wait_ms = completion.breakdown.rotation.as_ms();
                let late = normal(-wait_ms / arm_ms);
                let early = normal((wait_ms - period_ms) / arm_ms);
                let slip = |chance: f64| (1.0 - 2.0 * SLIP_CHANCE) * chance + SLIP_CHANCE / 2.0;
                self.near_an_angle(error_ms, period_ms, [slip(early), slip(late)])
            }
            Outcome::Miss | Outcome::PartialHit => self.at_any_angle(completion, row, period_ms),
        }
    }

    fn at_any_angle(&self, completion: &Completion, row: &Row, period_ms: f64) -> f64 {
        let arm_ms = self.arm_ms[row.kind];
        let error_ms = (row.response - completion.response()).as_ms();
        let waited_ms = error_ms + completion.breakdown.rotation.as_ms();
        let has_begun = normal(waited_ms / arm_ms);
        let has_ended = normal((waited_ms - period_ms) / arm_ms);
        (has_begun - has_ended).max(0.0) / period_ms
    }

    pub fn learn(&mut self, rows: &[Row], period_ms: f64) {
        let (mut buffer, mut media) = (Vec::new(), Vec::new());
        let (mut buffered, mut failed) = (0u32, 0u32);
        for row in rows {
            let error = row.error_ms().abs();
            // For other requests, a hit may depend on the unknown angle of the platter.
            if row.relation == Relation::Sequential {
                let read = matches!(row.predicted.outcome, Outcome::Hit | Outcome::PartialHit);
                buffered += u32::from(read);
                failed += u32::from(row.has_failed());
            }
            match row.predicted.outcome {
                Outcome::Hit | Outcome::Absorbed => buffer.push(error),
                Outcome::Miss | Outcome::PartialHit if row.is_locked => {
                    media.push(error.min((error - period_ms).abs()));
                }
                Outcome::Miss | Outcome::PartialHit => {}
            }
        }
        self.buffer_ms = laplace_scale(buffer, Self::UNKNOWN.buffer_ms);
        self.media_ms = laplace_scale(media, Self::UNKNOWN.media_ms);
        self.failures = (f64::from(failed) + 0.5) / (f64::from(buffered) + 100.0);
        let all: Vec<&Row> = rows.iter().collect();
        let common = self.arm_deviation(&all, period_ms, |_| 0.0);
        self.arm_ms = [common; KINDS];
        for kind in 0..KINDS {
            let own: Vec<&Row> = rows.iter().filter(|row| row.kind == kind).collect();
            let penalty = |arm_ms: f64| ((arm_ms / common).ln() / ARM_PRIOR).powi(2) / 2.0;
            self.arm_ms[kind] = self.arm_deviation(&own, period_ms, penalty);
        }
    }

    /// Returns the scatter of the arm that maximizes the log likelihood of `rows` minus its
    /// `penalty`.
    fn arm_deviation(&self, rows: &[&Row], period_ms: f64, penalty: impl Fn(f64) -> f64) -> f64 {
        most_likely_deviation(|arm_ms| {
            let tried = self.with_arm([arm_ms; KINDS]);
            tried.ln_likelihood(rows.iter().copied(), period_ms) - penalty(arm_ms)
        })
        .1
    }

    fn with_arm(&self, arm_ms: [f64; KINDS]) -> Self {
        Self {
            arm_ms,
            ..self.clone()
        }
    }

    /// Returns the density around the predicted angle, and one revolution before and after it.
    fn near_an_angle(&self, error_ms: f64, period_ms: f64, [early, late]: [f64; 2]) -> f64 {
        let density = |off: f64| laplace(error_ms - off, self.media_ms);
        (1.0 - early - late) * density(0.0)
            + early * density(-period_ms)
            + late * density(period_ms)
    }
}

/// Returns the maximum of `ln` over the deviations tried, and the deviation at the maximum.
fn most_likely_deviation(ln: impl Fn(f64) -> f64) -> (f64, f64) {
    let tried = TRIED_ARM_MS.map(|arm_ms| (ln(arm_ms), arm_ms)).into_iter();
    let best = tried.max_by(|a, b| a.0.total_cmp(&b.0));
    best.expect("deviations are tried")
}

/// Returns the density of outliers: uniform over four revolutions.
fn outlier_density(period_ms: f64) -> f64 {
    OUTLIERS / (4.0 * period_ms)
}

/// Returns the bounded scale of a Laplace distribution with these errors; `unknown` if none.
fn laplace_scale(mut errors: Vec<f64>, unknown: f64) -> f64 {
    if errors.is_empty() {
        return unknown;
    }
    // The median of the absolute errors is ln 2 times their mean.
    errors.sort_by(f64::total_cmp);
    (errors[errors.len() / 2] / std::f64::consts::LN_2).clamp(0.02, 0.5)
}

fn laplace(x: f64, scale: f64) -> f64 {
    (-x.abs() / scale).exp() / (2.0 * scale)
}

/// The cumulative distribution function of the normal distribution.
fn normal(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Sets the random behaviours of `spec` according to `noise` and `rows`.
///
/// * Read-ahead fails if that makes the rows more likely than outliers alone do.
/// * Seeks over a range of distances scatter if their own scatter makes their rows more likely than
///   does the scatter of rows in the same direction without a seek. The latter is noise of the
///   measurement and the model; the arm's variance is the excess.
/// * Sequential read misses scatter if that makes them more likely than their kind's scatter does.
pub fn set_random_behaviour(spec: &mut Spec, noise: &Noise, rows: &[Row], period_ms: f64) {
    let without = Noise {
        failures: 0.0,
        ..noise.clone()
    };
    let all = |noise: &Noise| noise.ln_likelihood(rows.iter(), period_ms);
    let reads_ahead = spec.buffer.read_ahead != ReadAhead::None;
    let fails = reads_ahead && all(noise) > all(&without) + EVIDENCE;
    // Rounded as in specifications: a percentage with four decimals.
    let share = (noise.failures * 1e6).round() / 1e6;
    spec.buffer.read_ahead_failures = if fails { share } else { 0.0 };
    let excess_scatter_ms = |kind: usize| {
        let own = || rows.iter().filter(|row| row.kind == kind);
        let ln = |arm_ms: f64| {
            let noise = noise.with_arm([arm_ms; KINDS]);
            noise.ln_likelihood(own(), period_ms)
        };
        let (unmoved, total) = (noise.arm_ms[kind % 2], noise.arm_ms[kind]);
        if total > unmoved && ln(total) > ln(unmoved) + EVIDENCE {
            (total * total - unmoved * unmoved).sqrt()
        } else {
            0.0
        }
    };
    spec.overheads.read_miss_in_sequence_scatter = sequential_scatter(noise, rows, period_ms);
    let cylinders = spec.geometry.cylinders;
    let [reads, writes] = [0, 1].map(|write| curve(write, cylinders, excess_scatter_ms));
    // Without their own curve, writes would use the curve of reads.
    let zero = |_: &SeekCurve| SeekCurve::Table(vec![(1, Span::ZERO)]);
    let none = reads.as_ref().map(zero);
    spec.mechanics.write_seek_scatter = writes.or(none);
    spec.mechanics.seek_scatter = reads;
}

/// Returns how much more sequential read misses scatter than other rows of their kind, as a
/// standard deviation.
fn sequential_scatter(noise: &Noise, rows: &[Row], period_ms: f64) -> Span {
    let own: Vec<&Row> = rows.iter().filter(|row| row.is_sequential_miss()).collect();
    let ln = |extra_ms: f64| {
        let scattering = noise.with_arm(noise.arm_ms.map(|arm_ms| arm_ms.hypot(extra_ms)));
        scattering.ln_likelihood(own.iter().copied(), period_ms)
    };
    let (best, extra_ms) = most_likely_deviation(ln);
    if best > ln(0.0) + EVIDENCE {
        Span::from_ms(extra_ms)
    } else {
        Span::ZERO
    }
}

/// Returns one direction's deviations, constant for the distances of a kind; `None` if all are 0.
fn curve(write: usize, cylinders: u32, deviation_ms: impl Fn(usize) -> f64) -> Option<SeekCurve> {
    let mut points: Vec<(u32, Span)> = Vec::new();
    // Kinds 0 and 1 do not move the arm.
    for kind in (2 + write..KINDS).step_by(2) {
        let (first, last) = match distances(kind) {
            Some(distances) if distances.0 < cylinders => distances,
            _ => break,
        };
        let deviation = Span::from_ms(deviation_ms(kind));
        points.push((first, deviation));
        if last > first {
            points.push((last, deviation));
        }
    }
    let has_scatter = points.iter().any(|&(_, deviation)| deviation > Span::ZERO);
    // A point in line with its neighbours is redundant.
    let is_inner = |k: usize| {
        let neighbours = points.get(k.wrapping_sub(1)).zip(points.get(k + 1));
        neighbours.is_some_and(|(before, after)| [before.1, after.1] == [points[k].1; 2])
    };
    let kept = (0..points.len()).filter(|k| !is_inner(*k));
    has_scatter.then(|| SeekCurve::Table(kept.map(|k| points[k]).collect()))
}

#[cfg(test)]
mod tests;
