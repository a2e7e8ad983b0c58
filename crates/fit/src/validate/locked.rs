//! A trace followed request by request: what a model that knows everything that happened before a
//! request predicts, and what happened.

mod figures;
mod trivial;

pub use figures::{Accuracy, Judged, LockedFigures, Served, UNBROKEN_RATIO};

use std::sync::Arc;

use super::Measured;
use diskarm_core::device::{Completion, check};
use diskarm_core::engine::Rejected;
use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Observation, Predictor};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Span};
use trivial::RunningMeans;

/// One request of a followed trace. Everything except `measured` was known when it was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The prediction: it arrives when the request was issued.
    pub predicted: Completion,
    /// The prediction of the trivial predictor: the mean of the earlier requests of this
    /// type and size; if there were none, of this type; if there were none of those either, zero.
    pub trivial: Span,
    /// The response of the real drive.
    pub measured: Span,
    /// Whether the platter's angle was known.
    pub locked: bool,
}

impl Followed {
    /// Measured minus predicted response.
    pub fn error(&self) -> Span {
        self.measured - self.predicted.response()
    }

    /// Measured minus trivially predicted response.
    pub fn trivial_error(&self) -> Span {
        self.measured - self.trivial
    }
}

/// When the first request of a followed trace is issued: late enough that no correction by an
/// observation leads to an instant before the start of time.
pub const FIRST: Instant = Instant::from_ns(1_000_000_000);

/// Follows `rows` with a drive of `spec`: each row is issued the measured pause after the measured
/// completion of the previous one, the first at [`FIRST`]. Passes each observation, and whether the
/// platter's angle was known when its request was issued, to `each`.
///
/// # Panics
/// If the drive has no such blocks.
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
    /// measured completion of the previous one.
    ///
    /// # Errors
    /// If the drive has no such blocks.
    pub fn follow(
        spec: &Spec,
        layout: Arc<Layout>,
        rows: &[Measured],
        continuity: Continuity,
    ) -> Result<Self, Rejected> {
        let sectors = layout.sectors();
        for row in rows {
            let request = row.step.request;
            check(&request, sectors).map_err(|why| Rejected { request, why })?;
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

    /// All rows, in the order of the trace.
    pub fn rows(&self) -> &[Followed] {
        &self.rows
    }

    /// The drive's nominal period of revolution.
    pub fn period(&self) -> Span {
        Span::from_ns(self.period_ns.round() as i64)
    }
}

#[cfg(test)]
mod tests;
