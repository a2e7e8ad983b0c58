//! Follows a trace request by request: predicts each response from all earlier measurements, and
//! evaluates the predictions.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::ops::Range;
use std::sync::Arc;

use diskarm_core::device::{Completion, Outcome, check};
use diskarm_core::drive::Core;
use diskarm_core::engine::RunError;
use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Observation, Predictor};
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::stats::{Moments, SortedSpans};
use diskarm_core::units::{Instant, SectorCount, Span};

use super::replay::{MeasuredRequest, OPS, Sizes};

/// One request of a followed trace. All but `measured` was known when it was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowedRequest {
    /// The predicted completion of the request; its arrival is the time of issue.
    pub predicted: Completion,
    /// The prediction of the trivial predictor: the mean response of earlier requests of this type
    /// and size; failing that, of this type; failing that, zero.
    pub trivial: Span,
    pub measured: Span,
    /// True if the platter's angle was known.
    pub is_locked: bool,
}

impl FollowedRequest {
    /// Returns the measured minus the predicted response.
    pub fn error(&self) -> Span {
        self.measured - self.predicted.response()
    }

    fn trivial_error(&self) -> Span {
        self.measured - self.trivial
    }
}

/// The time at which the first request of a followed trace is issued, late enough that no
/// correction leads to a negative time.
pub const FIRST: Instant = Instant::from_ns(1_000_000_000);

/// Follows `rows` with the drive that `spec` describes. The first row is issued at [`FIRST`], and
/// each later one when the measured pause has passed since the measured completion of the previous
/// one. Passes each observation to `each`, with true if the platter's angle was known at the time
/// of issue. Panics if a request is beyond the end of the drive.
pub fn follow(
    spec: &Spec,
    layout: Arc<Layout>,
    rows: &[MeasuredRequest],
    continuity: Continuity,
    mut each: impl FnMut(bool, &Observation),
) -> Predictor {
    let mut predictor = Predictor::new(spec, layout, continuity);
    let mut issued = FIRST;
    for MeasuredRequest { step, response } in rows {
        let is_locked = predictor.clock().is_locked(issued);
        predictor.predict(issued, step.request);
        let completed = issued + *response;
        each(is_locked, &predictor.observe(completed));
        issued = completed + step.think;
    }
    predictor
}

/// A trace that a [`Predictor`] has followed from its first row to its last.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowedTrace {
    period_ns: f64,
    rows: Vec<FollowedRequest>,
}

impl FollowedTrace {
    /// Follows `rows` with the drive that `spec` describes, with each row issued at the measured
    /// completion of the previous one plus the pause. Fails if a request is beyond the drive's end.
    pub fn follow(
        spec: &Spec,
        layout: Arc<Layout>,
        rows: &[MeasuredRequest],
        continuity: Continuity,
    ) -> Result<Self, RunError> {
        let sectors = layout.sectors();
        for row in rows {
            let request = row.step.request;
            check(&request, sectors).map_err(|why| RunError::Rejected { request, why })?;
        }
        let mut means = RunningMeans::default();
        let mut followed = Vec::with_capacity(rows.len());
        follow(spec, layout, rows, continuity, |is_locked, seen| {
            let request = seen.predicted.request;
            let measured = seen.predicted.response() + seen.error;
            followed.push(FollowedRequest {
                predicted: seen.predicted,
                trivial: means.expect(&request),
                measured,
                is_locked,
            });
            means.observe(&request, measured);
        });
        Ok(Self {
            period_ns: spec.mechanics.period_ns,
            rows: followed,
        })
    }

    pub fn rows(&self) -> &[FollowedRequest] {
        &self.rows
    }

    /// Returns the nominal period of a revolution.
    pub fn period(&self) -> Span {
        Span::from_ns(self.period_ns.round() as i64)
    }
}

const SMALL_ERROR: Span = Span::from_ns(250_000);

/// The minimum phase concentration for an unbroken clock. Random angles have a concentration of
/// about `1 / sqrt(n)` over `n` requests; the angles of a followed drive scatter by a few
/// hundredths of a revolution, which gives 0.9 or more.
pub const UNBROKEN_RATIO: f64 = 0.5;

/// The predicted service of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictedService {
    /// By the buffer: [`Outcome::Hit`], [`Outcome::Absorbed`].
    Hit,
    /// At least partly by the media: [`Outcome::Miss`], [`Outcome::PartialHit`].
    Miss,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The fraction of requests whose error is less than half a revolution (of the nominal period).
    pub same_revolution_fraction: f64,
    /// The median absolute error of these requests. This and the next field are exact (by nearest
    /// rank), and `None` if there are no such requests.
    pub median_abs_error: Option<Span>,
    /// The 95th percentile of the same errors.
    pub p95_abs_error: Option<Span>,
    /// The fraction of all requests whose error is at most 0.25 ms.
    pub within_0_25ms_fraction: f64,
}

/// The accuracy of predictions for a non-empty set of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    pub count: u64,
    pub model: Accuracy,
    /// The accuracy of the trivial predictor ([`FollowedRequest::trivial`]).
    pub trivial: Accuracy,
}

/// All results of a followed trace; classes without requests are omitted.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionFigures {
    pub all: Judgement,
    pub by_op: Vec<(Op, Judgement)>,
    /// By type and predicted service.
    pub by_served: Vec<(Op, PredictedService, Judgement)>,
    pub by_size: Vec<(Op, Sizes, Judgement)>,
    /// The number of requests predicted without knowing the platter's angle: before the first
    /// completions that determine it, and after it was lost.
    pub unlocked: u64,
    /// The concentration of the platter's angles around the predicted ones: the mean resultant
    /// length of `TAU * error / period` over the requests whose predicted time depends on the media
    /// (Mardia & Jupp, Directional Statistics, section 2.3.1), from 0 to 1. `None` if no request
    /// does.
    pub phase_concentration_ratio: Option<f64>,
}

impl PredictedService {
    fn of(row: &FollowedRequest) -> Self {
        match row.predicted.outcome {
            Outcome::Hit | Outcome::Absorbed => Self::Hit,
            Outcome::Miss | Outcome::PartialHit => Self::Miss,
        }
    }
}

impl Accuracy {
    fn of(rows: &[FollowedRequest], error: fn(&FollowedRequest) -> Span, period_ns: f64) -> Self {
        let abs_error = |row: &FollowedRequest| Span::from_ns(error(row).as_ns().abs());
        let errors = rows.iter().map(abs_error);
        let small = errors.clone().filter(|&error| error <= SMALL_ERROR).count();
        let same = errors.filter(|error| 2.0 * (error.as_ns() as f64) < period_ns);
        let same = SortedSpans::from_iter(same);
        let same = same.as_slice();
        let count = rows.len();
        // Nearest rank: the smallest value that this percentage of the errors does not exceed.
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

impl Judgement {
    /// Evaluates the predictions of a class; `None` if it has no requests.
    fn of<F>(trace: &FollowedTrace, rows: &[FollowedRequest], class: F) -> Option<Self>
    where
        F: Fn(&FollowedRequest) -> bool,
    {
        let members: Vec<_> = rows.iter().filter(|row| class(row)).copied().collect();
        let count = members.len() as u64;
        (count > 0).then(|| Self {
            count,
            model: Accuracy::of(&members, FollowedRequest::error, trace.period_ns),
            trivial: Accuracy::of(&members, FollowedRequest::trivial_error, trace.period_ns),
        })
    }
}

impl PredictionFigures {
    /// Evaluates the predictions of the rows in `range`; the predictors learned from the rows
    /// before it. `None` for an empty range. Panics if `range` exceeds the trace.
    pub fn of(locked: &FollowedTrace, range: Range<usize>) -> Option<Self> {
        let rows = &locked.rows[range];
        let (mut by_op, mut by_served, mut by_size) = (vec![], vec![], vec![]);
        for op in OPS {
            let evaluate = |class: &dyn Fn(&FollowedRequest) -> bool| {
                Judgement::of(locked, rows, |row| {
                    row.predicted.request.op == op && class(row)
                })
            };
            by_op.extend(evaluate(&|_| true).map(|judgement| (op, judgement)));
            for served in [PredictedService::Hit, PredictedService::Miss] {
                let judgement = evaluate(&|row| PredictedService::of(row) == served);
                by_served.extend(judgement.map(|judgement| (op, served, judgement)));
            }
            for sizes in Sizes::classes() {
                let judgement = evaluate(&|row| sizes.contain(row.predicted.request.sectors));
                by_size.extend(judgement.map(|judgement| (op, sizes, judgement)));
            }
        }
        Some(Self {
            all: Judgement::of(locked, rows, |_| true)?,
            by_op,
            by_served,
            by_size,
            unlocked: rows.iter().filter(|row| !row.is_locked).count() as u64,
            phase_concentration_ratio: concentration(rows, locked.period_ns),
        })
    }

    /// Returns true if the trace's clock seems unbroken: the phase concentration is at least
    /// [`UNBROKEN_RATIO`]. `None` if no request reveals the platter's angle.
    pub fn is_clock_unbroken(&self) -> Option<bool> {
        self.phase_concentration_ratio
            .map(|found| found >= UNBROKEN_RATIO)
    }
}

fn concentration(rows: &[FollowedRequest], period_ns: f64) -> Option<f64> {
    let shows_angle = |row: &&FollowedRequest| Core::reveals_angle(&row.predicted);
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

/// The responses of all earlier reads and all earlier writes, in total and by size.
#[derive(Default)]
struct RunningMeans {
    all: [Moments; 2],
    by_size: [BTreeMap<SectorCount, Moments>; 2],
}

impl RunningMeans {
    /// Returns the mean response of earlier requests of this type and size; failing that, of this
    /// type; failing that, zero.
    fn expect(&self, request: &Request) -> Span {
        let op = usize::from(!request.op.is_read());
        let of_size = self.by_size[op].get(&request.sectors);
        of_size.unwrap_or(&self.all[op]).mean().unwrap_or_default()
    }

    fn observe(&mut self, request: &Request, response: Span) {
        let op = usize::from(!request.op.is_read());
        self.all[op].record(response);
        let of_size = self.by_size[op].entry(request.sectors).or_default();
        of_size.record(response);
    }
}

#[cfg(test)]
mod tests;
