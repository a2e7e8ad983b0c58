//! A trace followed request by request: what a model, told all that happened before a request,
//! says of it, beside what happened.

mod figures;
mod trivial;

pub use figures::{Accuracy, Judged, LockedFigures, Served, UNBROKEN_RATIO};

use std::sync::Arc;

use super::Measured;
use crate::drive::{self, Completion};
use crate::engine::Rejected;
use crate::geometry::Layout;
use crate::predict::{Continuity, Predictor};
use crate::spec::Spec;
use crate::units::{Instant, Span};
use trivial::RunningMeans;

/// One request of a followed trace. All but `measured` was known when it was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The prediction: it arrives when the request was issued.
    pub predicted: Completion,
    /// The response that the trivial predictor expects: the mean of the earlier requests of this
    /// type and size; without such, of this type; without these, zero.
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

    /// Measured minus what the trivial predictor expects.
    pub fn trivial_error(&self) -> Span {
        self.measured - self.trivial
    }
}

/// A trace that a [`Predictor`] has followed from its first row to its last.
#[derive(Clone, Debug, PartialEq)]
pub struct Locked {
    period_ns: f64,
    rows: Vec<Followed>,
}

impl Locked {
    /// Follows `rows` with a drive of `spec`. Each row is issued the measured pause after the
    /// measured completion of the one before.
    ///
    /// # Errors
    /// When the drive has no such blocks.
    pub fn follow(
        spec: &Spec,
        layout: Arc<Layout>,
        rows: &[Measured],
        continuity: Continuity,
    ) -> Result<Self, Rejected> {
        let sectors = layout.sectors();
        let mut predictor = Predictor::new(spec, layout, continuity);
        let mut means = RunningMeans::default();
        let mut followed = Vec::with_capacity(rows.len());
        let mut issued = Instant::START;
        for &Measured { step, response } in rows {
            let request = step.request;
            drive::check(&request, sectors).map_err(|why| Rejected { request, why })?;
            let locked = predictor.clock().is_locked();
            followed.push(Followed {
                predicted: predictor.predict(issued, request),
                trivial: means.expect(&request),
                measured: response,
                locked,
            });
            let completed = issued + response;
            predictor.observe(completed);
            means.observe(&request, response);
            issued = completed + step.think;
        }
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
