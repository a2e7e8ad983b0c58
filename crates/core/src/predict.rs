//! Predicts the requests of a real drive, from its model and past completions.
//!
//! A [`Predictor`] runs the model of a drive alongside the drive, which serves requests in the
//! order in which it gets them. Each completion reveals the platter's angle, whether a revolution
//! was lost, and whether the buffer had the data; the model is corrected accordingly, and requests
//! that are still outstanding are predicted anew. It never looks ahead: a prediction depends only
//! on earlier requests and completions, so the same component serves live scheduling (lumb01,
//! section 3) and validation against a finished trace.

mod clock;

pub use clock::{AngleUpdate, Clock, Continuity};

use std::collections::VecDeque;
use std::sync::Arc;

use crate::device::{Completion, Outcome};
use crate::drive::{Core, Rehearsal, View};
use crate::extent::Extent;
use crate::geometry::Layout;
use crate::request::Request;
use crate::sched::{Estimate, Shape};
use crate::spec::Spec;
use crate::units::{Angle, Instant, Span};

/// Penalty in revolutions, about half a millisecond, for contradicting the predicted buffer
/// contents.
const SURPRISE: f64 = 0.05;

/// Penalty in revolutions for a lost or gained revolution. These are common: the arm only needs to
/// arrive slightly early or late.
const SLIP: f64 = 0.05;

/// A model that follows a real drive.
#[derive(Clone, Debug)]
pub struct Predictor {
    /// The drive after the most recent completion.
    seen: Core,
    /// Instant at which it could begin with the next request.
    open: Instant,
    /// Requests that have not completed, in the order in which the drive got them.
    outstanding: VecDeque<Expected>,
    clock: Clock,
}

/// The prediction for an outstanding request.
#[derive(Clone, Debug)]
struct Expected {
    completion: Completion,
    /// The drive after it.
    after: Core,
    /// Instant at which the drive may begin with the next request.
    open: Instant,
}

/// The result of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Completion as it was predicted.
    pub predicted: Completion,
    /// Measured minus predicted response.
    pub error: Span,
    /// The accepted explanation: how the request was actually served.
    pub explained: Completion,
    /// The inferred correction of the platter's angle; `None` if the completion does not depend on
    /// it.
    pub angle: Option<AngleUpdate>,
}

impl Predictor {
    /// Follows a drive like `spec`, with the angle of its platter unknown.
    pub fn new(spec: &Spec, layout: Arc<Layout>, continuity: Continuity) -> Self {
        let clock = Clock::new(spec.mechanics.period_ns, continuity);
        Self::with_core(Core::with_layout(spec, layout), clock)
    }

    /// Follows a drive in the state of `core`, with its platter as estimated by `clock`.
    pub fn with_core(core: Core, clock: Clock) -> Self {
        Self {
            seen: core,
            open: Instant::START,
            outstanding: VecDeque::new(),
            clock,
        }
    }

    /// Returns the estimated state of the platter.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns the estimated angle under the heads at `at`.
    pub fn angle(&self, at: Instant) -> Angle {
        self.core().rotation().angle(at)
    }

    /// Returns the drive after all outstanding requests.
    pub fn core(&self) -> &Core {
        let last = self.outstanding.back();
        last.map_or(&self.seen, |expected| &expected.after)
    }

    /// Returns the drive after the most recent completion.
    pub fn completed(&self) -> &Core {
        &self.seen
    }

    /// Returns when the drive may begin with the next request.
    pub fn open(&self) -> Instant {
        let last = self.outstanding.back();
        last.map_or(self.open, |expected| expected.open)
    }

    /// Returns the predicted completion of the request that has been outstanding for longest.
    pub fn next_completion(&self) -> Option<&Completion> {
        let oldest = self.outstanding.front();
        oldest.map(|expected| &expected.completion)
    }

    /// Predicts the completion of a request that the drive receives at `at`, after those
    /// outstanding.
    ///
    /// # Panics
    /// If the drive has no such blocks.
    pub fn predict(&mut self, at: Instant, request: Request) -> Completion {
        let expected = Expected::after(self.core(), self.open(), at, request);
        let completion = expected.completion;
        self.outstanding.push_back(expected);
        completion
    }

    /// Observes that the request that has been outstanding for longest completed at `at`.
    ///
    /// # Panics
    /// If nothing is outstanding.
    pub fn observe(&mut self, at: Instant) -> Observation {
        let Some(expected) = self.outstanding.pop_front() else {
            panic!("nothing is outstanding");
        };
        let predicted = expected.completion;
        let Expected {
            completion: explained,
            after,
            open,
        } = self.explain(expected, at);
        (self.seen, self.open) = (after, open.shifted(at.after(explained.at)));
        let mut is_corrected = at != predicted.at;
        let mut angle = None;
        if Core::reveals_angle(&explained) {
            let (revolutions, off) = self.lag(&explained, at);
            let by = self.clock.period().as_ns() * revolutions;
            self.seen.delay_media(Span::from_ns(by));
            let seen = self.clock.observe(at, off);
            angle = Some(seen);
            let late = match seen {
                AngleUpdate::Late(late) | AngleUpdate::Found(late) => late,
                // The platter is where it was expected, but the arm was not.
                AngleUpdate::Surprise => {
                    self.seen.delay_media(off);
                    Span::ZERO
                }
            };
            let period_ns = self.clock.period_ns();
            self.seen.correct_rotation(at, late, period_ns);
            is_corrected |= late != Span::ZERO;
        }
        self.seen.completed_at(at, explained.outcome);
        if is_corrected {
            self.predict_anew();
        }
        Observation {
            predicted,
            error: at.after(predicted.at),
            explained,
            angle,
        }
    }

    /// Records that the oldest outstanding request failed at `at`. The platter's angle stays
    /// unchanged.
    ///
    /// # Panics
    /// If nothing is outstanding.
    pub fn dismiss(&mut self, at: Instant) {
        let Some(expected) = self.outstanding.pop_front() else {
            panic!("nothing is outstanding");
        };
        (self.seen, self.open) = (expected.after, at);
        let late = at.after(expected.completion.at);
        if late > Span::ZERO {
            self.seen.delay_media(late);
        }
        self.seen.completed_at(at, Outcome::Miss);
        self.predict_anew();
    }

    /// Records unexpected behaviour of the drive at `at`, such as serving requests in another
    /// order: the predictions of outstanding requests are dropped, and the angle is unknown.
    pub fn lose(&mut self, at: Instant) {
        if let Some(last) = self.outstanding.pop_back() {
            self.seen = last.after;
        }
        self.outstanding.clear();
        self.open = at;
        self.seen.completed_at(at, Outcome::Miss);
        self.clock.lose();
    }

    /// Predicts what is outstanding from the state after the request that completed last.
    fn predict_anew(&mut self) {
        let (mut core, mut open) = (&self.seen, self.open);
        for expected in &mut self.outstanding {
            let Completion {
                request, arrived, ..
            } = expected.completion;
            *expected = Expected::after(core, open, arrived, request);
            (core, open) = (&expected.after, expected.open);
        }
    }

    /// Returns the most likely explanation of a request that completed at `at`: served as
    /// predicted, from the media instead of the buffer, or vice versa. It is the one that leaves
    /// the least time unexplained.
    fn explain(&self, expected: Expected, at: Instant) -> Expected {
        let predicted = &expected.completion;
        let unexplained = self.cost(predicted, at);
        if unexplained <= SURPRISE {
            return expected;
        }
        let request = predicted.request;
        let arrived = predicted.arrived;
        let mut other = self.seen.clone();
        match predicted.outcome {
            Outcome::Hit | Outcome::PartialHit => other.forget(&request, arrived),
            Outcome::Miss if request.op.is_read() => other.remember(&request, arrived),
            Outcome::Miss | Outcome::Absorbed => return expected,
        }
        let instead = Expected::after(&other, self.open, arrived, request);
        let cost = self.cost(&instead.completion, at) + SURPRISE;
        let is_likelier = cost < unexplained;
        if is_likelier { instead } else { expected }
    }

    /// Returns the time that an explanation leaves unexplained, as a fraction of a revolution; a
    /// lost or gained revolution counts as [`SLIP`].
    fn cost(&self, explained: &Completion, at: Instant) -> f64 {
        let period = self.clock.period_ns();
        let off = at.after(explained.at).as_ns() as f64;
        if !Core::reveals_angle(explained) {
            return off.abs() / period;
        }
        if !self.clock.is_locked(at) {
            // Any phase is possible, as long as the rest of its time fits.
            let min = explained.at.as_ns() as f64 - explained.breakdown.rotation.as_ns() as f64;
            let wait = (at.as_ns() as f64 - min) / period;
            return (wait - 1.0).max(-wait).max(0.0);
        }
        let (revolutions, off) = self.lag(explained, at);
        off.as_ns().unsigned_abs() as f64 / period + SLIP * revolutions.unsigned_abs() as f64
    }

    /// Returns the difference between `at` and the explained instant: whole revolutions, and a rest
    /// of less than half a revolution.
    fn lag(&self, explained: &Completion, at: Instant) -> (i64, Span) {
        let period = self.clock.period_ns();
        let off = at.after(explained.at).as_ns() as f64;
        let revolutions = (off / period).round();
        let rest = off - revolutions * period;
        (revolutions as i64, Span::from_ns(rest.round() as i64))
    }
}

impl Expected {
    /// `request`, which the drive receives at `arrived` in the state of `core`, and with which it
    /// may not begin before `open`.
    fn after(core: &Core, open: Instant, arrived: Instant, request: Request) -> Self {
        let mut after = core.clone();
        let (completion, open) = after.serve_queued(request, arrived, open);
        Self {
            completion,
            after,
            open,
        }
    }
}

/// The drive as it will be after all outstanding requests, for a policy in front of it.
impl Estimate for Predictor {
    type Outlook<'a> = View<'a>;
    type Rehearsal = Rehearsal;

    fn shape(&self) -> Shape {
        self.core().shape()
    }

    fn locate(&self, request: &Request) -> Extent {
        self.core().locate(request)
    }

    fn outlook(&self, now: Instant) -> View<'_> {
        self.core().view(now, self.open().max(now))
    }

    fn rehearse(&self) -> Rehearsal {
        self.core().rehearse_outside(self.open())
    }
}
