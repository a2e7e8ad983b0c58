//! Predicts single requests on a real drive, from its model and past completions.
//!
//! A [`Predictor`] runs the model of a drive alongside the drive, one request at a time. Each
//! completion reveals the platter's angle, whether a revolution was lost, and whether the buffer
//! had the data; the model is corrected accordingly before the next request. It never looks ahead:
//! a prediction depends only on earlier requests and completions, so the same component serves live
//! scheduling (lumb01, section 3) and validation against a finished trace.

mod clock;

pub use clock::{Clock, Continuity, Seen};

use std::sync::Arc;

use crate::device::{Completion, Outcome};
use crate::drive::Core;
use crate::geometry::Layout;
use crate::request::Request;
use crate::spec::Spec;
use crate::units::{Angle, Instant, Span};

/// How much less an explanation must leave unexplained to be accepted if it contradicts the
/// predicted buffer contents, in revolutions: about half a millisecond.
const SURPRISE: f64 = 0.05;

/// How much a lost or gained revolution counts as unexplained, in revolutions. It is common: the
/// arm only needs to arrive slightly early or late.
const SLIP: f64 = 0.05;

/// A model that follows a real drive.
#[derive(Clone, Debug)]
pub struct Predictor {
    /// State before the outstanding request.
    before: Core,
    /// State after it, if it is served as predicted.
    after: Core,
    clock: Clock,
    outstanding: Option<Completion>,
}

/// The result of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The prediction.
    pub predicted: Completion,
    /// Measured minus predicted response.
    pub error: Span,
    /// The accepted explanation: how the request was actually served.
    pub explained: Completion,
}

impl Predictor {
    /// Follows a drive like `spec`, with the angle of its platter unknown.
    pub fn new(spec: &Spec, layout: Arc<Layout>, continuity: Continuity) -> Self {
        let core = Core::of(spec, layout);
        Self {
            before: core.clone(),
            after: core,
            clock: Clock::new(spec.mechanics.period_ns, continuity),
            outstanding: None,
        }
    }

    /// The estimated state of the platter.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The estimated angle under the heads at `at`.
    pub fn angle(&self, at: Instant) -> Angle {
        self.after.rotation().angle(at)
    }

    /// Predicts the completion of a request that the drive receives at `at`.
    ///
    /// # Panics
    /// When the previous request has not been observed; when the drive has no such blocks.
    pub fn predict(&mut self, at: Instant, request: Request) -> Completion {
        assert!(self.outstanding.is_none(), "one request at a time");
        self.before.clone_from(&self.after);
        let completion = self.after.serve_alone(request, at);
        self.outstanding = Some(completion);
        completion
    }

    /// Observes that the request predicted last completed at `at`.
    ///
    /// # Panics
    /// When nothing is outstanding.
    pub fn observe(&mut self, at: Instant) -> Observation {
        let Some(predicted) = self.outstanding.take() else {
            panic!("nothing is outstanding");
        };
        let explained = self.explain(&predicted, at);
        if Core::tells_the_angle(&explained) {
            let (revolutions, off) = self.lag(&explained, at);
            self.after
                .delay_media(times(self.clock.period(), revolutions));
            let late = match self.clock.observe(at, off) {
                Seen::Late(late) | Seen::Found(late) => late,
                // The platter is where it was expected, but the arm was not.
                Seen::Surprise => {
                    self.after.delay_media(off);
                    Span::ZERO
                }
            };
            let period_ns = self.clock.period_ns();
            self.after.correct_rotation(at, late, period_ns);
        }
        self.after.completed_at(at, explained.outcome);
        Observation {
            predicted,
            error: at.after(predicted.at),
            explained,
        }
    }

    /// How a request that was predicted as `predicted` and completed at `at` was actually served:
    /// as predicted, or by the media instead of the buffer, or vice versa. The most likely
    /// explanation leaves the least unexplained.
    fn explain(&mut self, predicted: &Completion, at: Instant) -> Completion {
        let mut best = (*predicted, self.cost(predicted, at));
        if best.1 <= SURPRISE {
            return best.0;
        }
        let request = predicted.request;
        let arrived = predicted.arrived;
        let mut other = self.before.clone();
        match predicted.outcome {
            Outcome::Hit | Outcome::PartialHit => other.forget(&request, arrived),
            Outcome::Miss if request.op.is_read() => other.remember(&request, arrived),
            Outcome::Miss | Outcome::Absorbed => return best.0,
        }
        let instead = other.serve_alone(request, arrived);
        let cost = self.cost(&instead, at) + SURPRISE;
        if cost < best.1 {
            best = (instead, cost);
            self.after = other;
        }
        best.0
    }

    /// How much an explanation leaves unexplained, as a fraction of a revolution; a lost or a
    /// gained revolution counts as [`SLIP`].
    fn cost(&self, explained: &Completion, at: Instant) -> f64 {
        let period = self.clock.period_ns();
        let off = at.after(explained.at).as_ns() as f64;
        if !Core::tells_the_angle(explained) {
            return off.abs() / period;
        }
        if !self.clock.is_locked(at) {
            // Any phase is possible, as long as the rest of its time fits.
            let least = explained.at.as_ns() as f64 - explained.breakdown.rotation.as_ns() as f64;
            let wait = (at.as_ns() as f64 - least) / period;
            return (wait - 1.0).max(-wait).max(0.0);
        }
        let (revolutions, off) = self.lag(explained, at);
        off.as_ns().unsigned_abs() as f64 / period + SLIP * revolutions.unsigned_abs() as f64
    }

    /// How much later `at` is than explained: whole revolutions, and the rest, less than half of
    /// one.
    fn lag(&self, explained: &Completion, at: Instant) -> (i64, Span) {
        let period = self.clock.period_ns();
        let off = at.after(explained.at).as_ns() as f64;
        let revolutions = (off / period).round();
        let rest = off - revolutions * period;
        (revolutions as i64, Span::from_ns(rest.round() as i64))
    }
}

fn times(span: Span, n: i64) -> Span {
    Span::from_ns(span.as_ns() * n)
}
