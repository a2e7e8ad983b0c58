//! Follows a trace request by request: predicts each response from everything that was measured
//! before it, and judges the predictions.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::ops::Range;
use std::sync::Arc;

use diskarm_core::device::{Completion, Outcome, check};
use diskarm_core::drive::Core;
use diskarm_core::engine::RejectedRequest;
use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Observation, Predictor};
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::stats::{Moments, SortedSpans};
use diskarm_core::units::{Instant, SectorCount, Span};

use super::replay::{Measured, OPS, Sizes};

/// One request of a followed trace. Everything except `measured` was known when it was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The prediction: it arrives when the request was issued.
    pub predicted: Completion,
    /// The prediction of the trivial predictor: the mean of the earlier requests of this
    /// type and size; if there were none, of this type; if there were none of those either, zero.
    pub trivial: Span,
    pub measured: Span,
    /// True if the platter's angle was known.
    pub locked: bool,
}

impl Followed {
    /// Measured minus predicted response.
    pub fn error(&self) -> Span {
        self.measured - self.predicted.response()
    }

    fn trivial_error(&self) -> Span {
        self.measured - self.trivial
    }
}

/// The issue of the first request of a followed trace, late enough that no correction leads to an
/// instant before the start of time.
pub const FIRST: Instant = Instant::from_ns(1_000_000_000);

/// Follows `rows` with a drive of `spec`: each row is issued the measured pause after the measured
/// completion of the previous one, the first at [`FIRST`]. Passes each observation, and whether the
/// platter's angle was known at its issue, to `each`. Panics if the drive has no such blocks.
pub fn follow(
    spec: &Spec,
    layout: Arc<Layout>,
    rows: &[Measured],
    continuity: Continuity,
    mut each: impl FnMut(bool, &Observation),
) -> Predictor {
    let mut predictor = Predictor::new(spec, layout, continuity);
    let mut issued = FIRST;
    for Measured { step, response } in rows {
        let locked = predictor.clock().is_locked(issued);
        predictor.predict(issued, step.request);
        let completed = issued + *response;
        each(locked, &predictor.observe(completed));
        issued = completed + step.think;
    }
    predictor
}

/// A trace that a [`Predictor`] has followed from its first row to its last.
#[derive(Clone, Debug, PartialEq)]
pub struct Locked {
    period_ns: f64,
    rows: Vec<Followed>,
}

impl Locked {
    /// Follows `rows` with a drive of `spec`. Each row is issued the measured pause after the
    /// measured completion of the previous one. Fails if the drive has no such blocks.
    pub fn follow(
        spec: &Spec,
        layout: Arc<Layout>,
        rows: &[Measured],
        continuity: Continuity,
    ) -> Result<Self, RejectedRequest> {
        let sectors = layout.sectors();
        for row in rows {
            let request = row.step.request;
            check(&request, sectors).map_err(|why| RejectedRequest { request, why })?;
        }
        let mut means = RunningMeans::default();
        let mut followed = Vec::with_capacity(rows.len());
        follow(spec, layout, rows, continuity, |locked, seen| {
            let request = seen.predicted.request;
            let measured = seen.predicted.response() + seen.error;
            followed.push(Followed {
                predicted: seen.predicted,
                trivial: means.expect(&request),
                measured,
                locked,
            });
            means.observe(&request, measured);
        });
        Ok(Self {
            period_ns: spec.mechanics.period_ns,
            rows: followed,
        })
    }

    pub fn rows(&self) -> &[Followed] {
        &self.rows
    }

    /// The drive's nominal period of revolution.
    pub fn period(&self) -> Span {
        Span::from_ns(self.period_ns.round() as i64)
    }
}

const SMALL: Span = Span::from_ns(250_000);

/// The phase concentration from which a trace's clock counts as unbroken. Random angles have one
/// near `1 / sqrt(n)` over `n` requests; the angles of a followed drive scatter by a few hundredths
/// of a revolution, which gives 0.9 and more.
pub const UNBROKEN_RATIO: f64 = 0.5;

/// The predicted service of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// From the buffer or into it: [`Outcome::Hit`], [`Outcome::Absorbed`].
    Hit,
    /// By the media, at least in part: [`Outcome::Miss`], [`Outcome::PartialHit`].
    Miss,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The fraction of requests whose error is less than half a revolution (of the nominal period).
    pub same_revolution_fraction: f64,
    /// The median absolute error of those. This and the next are exact, by nearest rank, and
    /// `None` if there are none.
    pub median_abs_error: Option<Span>,
    /// The 95th percentile of those.
    pub p95_abs_error: Option<Span>,
    /// The fraction of all requests whose error is at most 0.25 ms.
    pub within_0_25ms_fraction: f64,
}

/// A non-empty set of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub count: u64,
    pub model: Accuracy,
    /// The mean response of earlier requests of the same type and size ([`Followed::trivial`]).
    pub trivial: Accuracy,
}

/// All figures of a followed trace; classes without requests are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedFigures {
    pub all: Judged,
    pub by_op: Vec<(Op, Judged)>,
    /// By type and by how the model predicted that they would be served.
    pub by_served: Vec<(Op, Served, Judged)>,
    pub by_size: Vec<(Op, Sizes, Judged)>,
    /// The number of requests predicted without knowing the platter's angle: those before
    /// the first completions that determine it, and those after it was lost.
    pub unlocked: u64,
    /// The concentration of the platter's angles about the predicted ones: the mean resultant
    /// length of `TAU * error / period` over the requests that the model predicted to be timed by
    /// the media (Mardia & Jupp, Directional Statistics, section 2.3.1), from 0 to 1. `None`
    /// if there are none.
    pub phase_concentration_ratio: Option<f64>,
}

impl Served {
    fn of(row: &Followed) -> Self {
        match row.predicted.outcome {
            Outcome::Hit | Outcome::Absorbed => Self::Hit,
            Outcome::Miss | Outcome::PartialHit => Self::Miss,
        }
    }
}

impl Accuracy {
    fn of(rows: &[Followed], error: fn(&Followed) -> Span, period_ns: f64) -> Self {
        let size = |row: &Followed| Span::from_ns(error(row).as_ns().abs());
        let sizes = rows.iter().map(size);
        let small = sizes.clone().filter(|&size| size <= SMALL).count();
        let same = sizes.filter(|size| 2.0 * (size.as_ns() as f64) < period_ns);
        let same = SortedSpans::from_iter(same);
        let same = same.as_slice();
        let count = rows.len();
        // Nearest rank: the smallest value that this percentage of the errors do not exceed.
        let percentile = |percent: usize| {
            let rank = (same.len() * percent).div_ceil(100);
            same.get(rank.checked_sub(1)?).copied()
        };
        Self {
            same_revolution_fraction: same.len() as f64 / count as f64,
            median_abs_error: percentile(50),
            p95_abs_error: percentile(95),
            within_0_25ms_fraction: small as f64 / count as f64,
        }
    }
}

impl Judged {
    /// `None` for a class without requests.
    fn of(locked: &Locked, rows: &[Followed], class: impl Fn(&Followed) -> bool) -> Option<Self> {
        let kept: Vec<Followed> = rows.iter().filter(|row| class(row)).copied().collect();
        let count = kept.len() as u64;
        (count > 0).then(|| Self {
            count,
            model: Accuracy::of(&kept, Followed::error, locked.period_ns),
            trivial: Accuracy::of(&kept, Followed::trivial_error, locked.period_ns),
        })
    }
}

impl LockedFigures {
    /// Judges the predictions of the rows in `range`; those before it are the history from which
    /// the predictors learned. `None` for an empty range. Panics if the trace has no such rows.
    pub fn of(locked: &Locked, range: Range<usize>) -> Option<Self> {
        let rows = &locked.rows[range];
        let (mut by_op, mut by_served, mut by_size) = (vec![], vec![], vec![]);
        for op in OPS {
            let judge = |class: &dyn Fn(&Followed) -> bool| {
                Judged::of(locked, rows, |row| {
                    row.predicted.request.op == op && class(row)
                })
            };
            by_op.extend(judge(&|_| true).map(|judged| (op, judged)));
            for served in [Served::Hit, Served::Miss] {
                let judged = judge(&|row| Served::of(row) == served);
                by_served.extend(judged.map(|judged| (op, served, judged)));
            }
            for sizes in Sizes::classes() {
                let judged = judge(&|row| sizes.contain(row.predicted.request.sectors));
                by_size.extend(judged.map(|judged| (op, sizes, judged)));
            }
        }
        Some(Self {
            all: Judged::of(locked, rows, |_| true)?,
            by_op,
            by_served,
            by_size,
            unlocked: rows.iter().filter(|row| !row.locked).count() as u64,
            phase_concentration_ratio: concentration(rows, locked.period_ns),
        })
    }

    /// Returns true if the trace's clock looks unbroken: the phase concentration reaches
    /// [`UNBROKEN_RATIO`]. `None` if no request shows it.
    pub fn clock_is_unbroken(&self) -> Option<bool> {
        self.phase_concentration_ratio
            .map(|found| found >= UNBROKEN_RATIO)
    }
}

fn concentration(rows: &[Followed], period_ns: f64) -> Option<f64> {
    let shows_angle = |row: &&Followed| Core::reveals_angle(&row.predicted);
    let on_media = rows.iter().filter(shows_angle);
    let (mut count, mut cosines, mut sines) = (0u64, 0.0, 0.0);
    for row in on_media {
        let (sine, cosine) = (TAU * row.error().as_ns() as f64 / period_ns).sin_cos();
        count += 1;
        cosines += cosine;
        sines += sine;
    }
    (count > 0).then(|| f64::hypot(cosines, sines) / count as f64)
}

/// The responses of the requests so far, of reads and others: all, and by size.
#[derive(Default)]
struct RunningMeans {
    all: [Moments; 2],
    by_size: [BTreeMap<SectorCount, Moments>; 2],
}

impl RunningMeans {
    /// The mean of the type and size; if there was no such request, of the type; zero if there was
    /// none of the type either.
    fn expect(&self, request: &Request) -> Span {
        let op = usize::from(!request.op.is_read());
        let alike = self.by_size[op].get(&request.sectors);
        alike.unwrap_or(&self.all[op]).mean().unwrap_or_default()
    }

    fn observe(&mut self, request: &Request, response: Span) {
        let op = usize::from(!request.op.is_read());
        self.all[op].record(response);
        let alike = self.by_size[op].entry(request.sectors).or_default();
        alike.record(response);
    }
}

#[cfg(test)]
mod tests;
