//! The likelihood of a measured trace under a specification.
//!
//! Each request is predicted from the previous rows; its response then has a density:
//!
//! * Errors of buffered requests are Laplace-distributed: sharp, with heavy tails.
//! * Errors of media accesses are too if the platter's angle is known, around the predicted instant
//!   and one revolution before and after it. The weights of these three follow from the predicted
//!   rotational wait: an arm with scatter [`Noise::arm_ms`] that arrives just before its sector
//!   misses it almost half the time.
//! * A read that the buffer should serve fails with probability [`Noise::failures`]: the media
//!   serve it then, at any angle.
//! * If the angle is unknown, the wait is uniform over a revolution, with edges as soft as the arm
//!   scatters. All information about overheads and seeks is in these edges.
//!
//! A few requests in a hundred follow no model. They have a flat density, so that none of them
//! outweighs the rest.

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::units::Span;

use crate::calibrate::trace::KINDS;
use crate::validate::Relation;

/// Share of outliers among requests.
const STRAY: f64 = 0.02;

/// Probability that a request loses or gains a revolution for another reason than its own wait.
const SLIP: f64 = 0.02;

/// One row of a trace, as a candidate predicted it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub predicted: Completion,
    /// How the request was served after all.
    pub explained: Completion,
    pub response: Span,
    /// Whether the platter's angle was known.
    pub locked: bool,
    /// Its kind, by direction and distance.
    pub kind: usize,
    /// Its relation to the row before.
    pub relation: Relation,
}

impl Row {
    /// Measured minus predicted response, in milliseconds.
    pub fn error_ms(&self) -> f64 {
        (self.response - self.predicted.response()).as_ms()
    }

    /// The same, with half a revolution instead of the predicted wait: which wait a request had is
    /// chance if the angle is unknown.
    pub fn error_at_any_angle_ms(&self, period_ms: f64) -> f64 {
        match self.predicted.outcome {
            Outcome::Hit | Outcome::Absorbed => self.error_ms(),
            Outcome::Miss | Outcome::PartialHit => {
                self.error_ms() + self.predicted.breakdown.rotation.as_ms() - period_ms / 2.0
            }
        }
    }

    /// Whether it is a read that continues the one before and is not in the buffer.
    pub fn missed_in_sequence(&self) -> bool {
        let is_read = self.predicted.request.op.is_read();
        let continues = self.relation == Relation::Sequential;
        is_read && continues && self.predicted.outcome == Outcome::Miss
    }

    /// Whether the buffer should have served it, and the media did.
    pub fn failed(&self) -> bool {
        let buffered = matches!(self.predicted.outcome, Outcome::Hit | Outcome::PartialHit);
        buffered && self.explained.outcome == Outcome::Miss
    }
}

/// The deviations of the arm's arrival that are tried, in milliseconds.
pub const ARMS_MS: [f64; 14] = [
    0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.9, 1.3, 1.8, 2.4, 3.0,
];

/// Standard deviation of the logarithm of one kind's deviation from that of all.
const ARM_PRIOR: f64 = 0.5;

/// How measurements scatter around a correct prediction, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// Mean absolute error of responses from the buffer.
    pub buffer_ms: f64,
    /// Mean absolute error of completions of media accesses around their predicted angle.
    pub media_ms: f64,
    /// Standard deviation of the arm's arrival, by kind of row.
    pub arm_ms: [f64; KINDS],
    /// Share of the reads that the buffer should serve and the media do.
    pub failures: f64,
}

impl Noise {
    /// The scatter assumed before anything is known.
    pub const UNKNOWN: Self = Self {
        buffer_ms: 0.15,
        media_ms: 0.15,
        arm_ms: [0.3; KINDS],
        failures: 0.005,
    };

    /// Logarithm of the density (per millisecond) of a row's response, on a platter of `period_ms`.
    pub fn ln_density(&self, row: &Row, period_ms: f64) -> f64 {
        let explained = self.density(row, period_ms);
        ((1.0 - STRAY) * explained + stray_density(period_ms)).ln()
    }

    /// The sum of [`Self::ln_density`] over `rows`.
    pub fn ln_likelihood<'r>(&self, rows: impl Iterator<Item = &'r Row>, period_ms: f64) -> f64 {
        rows.map(|row| self.ln_density(row, period_ms)).sum()
    }

    /// Whether a response is more likely to be what was predicted than an outlier.
    pub fn explains(&self, row: &Row, period_ms: f64) -> bool {
        (1.0 - STRAY) * self.density(row, period_ms) > stray_density(period_ms)
    }

    /// Density of a response that is not an outlier.
    fn density(&self, row: &Row, period_ms: f64) -> f64 {
        let served = self.of(&row.predicted, row, period_ms);
        if !matches!(row.predicted.outcome, Outcome::Hit | Outcome::PartialHit) {
            return served;
        }
        // Whatever else it may be, a read that failed is served by the media at some angle.
        let failed = if row.failed() {
            self.at_any_angle(&row.explained, row, period_ms)
        } else {
            0.0
        };
        (1.0 - self.failures) * served + self.failures * failed
    }

    /// Density of a response if the request was served as in `completion`.
    fn of(&self, completion: &Completion, row: &Row, period_ms: f64) -> f64 {
        let error_ms = (row.response - completion.response()).as_ms();
        match completion.outcome {
            Outcome::Hit | Outcome::Absorbed => laplace(error_ms, self.buffer_ms),
            Outcome::PartialHit if row.locked => {
                self.about_an_angle(error_ms, period_ms, [SLIP; 2])
            }
            Outcome::Miss if row.locked => {
                let arm_ms = self.arm_ms[row.kind];
                let wait_ms = completion.breakdown.rotation.as_ms();
                let late = normal(-wait_ms / arm_ms);
                let early = normal((wait_ms - period_ms) / arm_ms);
                let slip = |chance: f64| (1.0 - 2.0 * SLIP) * chance + SLIP / 2.0;
                self.about_an_angle(error_ms, period_ms, [slip(early), slip(late)])
            }
            Outcome::Miss | Outcome::PartialHit => self.at_any_angle(completion, row, period_ms),
        }
    }

    /// The same if the angle is unknown.
    fn at_any_angle(&self, completion: &Completion, row: &Row, period_ms: f64) -> f64 {
        let arm_ms = self.arm_ms[row.kind];
        let error_ms = (row.response - completion.response()).as_ms();
        let waited_ms = error_ms + completion.breakdown.rotation.as_ms();
        let begun = normal(waited_ms / arm_ms);
        let over = normal((waited_ms - period_ms) / arm_ms);
        (begun - over).max(0.0) / period_ms
    }

    /// Sets the scatter to that of `rows`.
    pub fn learn(&mut self, rows: &[Row], period_ms: f64) {
        let (mut buffer, mut media) = (Vec::new(), Vec::new());
        let (mut buffered, mut failed) = (0u32, 0u32);
        for row in rows {
            let error = row.error_ms().abs();
            // Whether the buffer has other blocks may depend on a platter's angle that is unknown.
            if row.relation == Relation::Sequential {
                let read = matches!(row.predicted.outcome, Outcome::Hit | Outcome::PartialHit);
                buffered += u32::from(read);
                failed += u32::from(row.failed());
            }
            match row.predicted.outcome {
                Outcome::Hit | Outcome::Absorbed => buffer.push(error),
                Outcome::Miss | Outcome::PartialHit if row.locked => {
                    media.push(error.min((error - period_ms).abs()));
                }
                Outcome::Miss | Outcome::PartialHit => {}
            }
        }
        self.buffer_ms = laplace_scale(buffer, Self::UNKNOWN.buffer_ms);
        self.media_ms = laplace_scale(media, Self::UNKNOWN.media_ms);
        self.failures = (f64::from(failed) + 0.5) / (f64::from(buffered) + 100.0);
        let all: Vec<&Row> = rows.iter().collect();
        let common = self.arm_of(&all, period_ms, |_| 0.0);
        self.arm_ms = [common; KINDS];
        for kind in 0..KINDS {
            let own: Vec<&Row> = rows.iter().filter(|row| row.kind == kind).collect();
            let unlike = |arm_ms: f64| ((arm_ms / common).ln() / ARM_PRIOR).powi(2) / 2.0;
            let arm_ms = self.arm_of(&own, period_ms, unlike);
            self.arm_ms[kind] = arm_ms;
        }
    }

    /// The scatter of the arm that makes `rows` most likely, with this much less for each.
    fn arm_of(&self, rows: &[&Row], period_ms: f64, unlike: impl Fn(f64) -> f64) -> f64 {
        let scored = ARMS_MS.map(|arm_ms| {
            let tried = Self {
                arm_ms: [arm_ms; KINDS],
                ..self.clone()
            };
            let ln = tried.ln_likelihood(rows.iter().copied(), period_ms);
            (ln - unlike(arm_ms), arm_ms)
        });
        let best = scored.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(Self::UNKNOWN.arm_ms[0], |(_, arm_ms)| arm_ms)
    }

    /// Density around the predicted angle, and one revolution before and after it.
    fn about_an_angle(&self, error_ms: f64, period_ms: f64, [early, late]: [f64; 2]) -> f64 {
        let density = |off: f64| laplace(error_ms - off, self.media_ms);
        (1.0 - early - late) * density(0.0)
            + early * density(-period_ms)
            + late * density(period_ms)
    }
}

/// Density of outliers: uniform over four revolutions.
fn stray_density(period_ms: f64) -> f64 {
    STRAY / (4.0 * period_ms)
}

/// The scale of a Laplace distribution with these absolute errors, within bounds; `unknown` if
/// there are none.
fn laplace_scale(mut errors: Vec<f64>, unknown: f64) -> f64 {
    if errors.is_empty() {
        return unknown;
    }
    // The median of the absolute errors is ln 2 of their mean.
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

#[cfg(test)]
mod tests;
