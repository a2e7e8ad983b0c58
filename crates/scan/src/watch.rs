//! Watches a device: a model follows its completions, and surprises are counted.

use std::collections::VecDeque;
use std::ops::AddAssign;
use std::sync::Arc;

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::drive::Core;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::predict::{self, Clock, Continuity, Predictor};
use diskarm_core::request::Request;
use diskarm_core::spec::Spec;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Instant, Span};

use crate::lag::Lag;

/// A prediction counts as right if the request completes within this much of it.
pub(crate) const RIGHT: Span = Span::from_ns(50_000);

/// What is longer than this many revolutions is no matter of the platter: the drive did something
/// of its own, such as a thermal recalibration.
const PAUSE_REVOLUTIONS: u64 = 4;

/// By which part of an observation the share of expected angles is adjusted: about 30 tell.
const PART_OF_ANGLES: f64 = 1.0 / 32.0;

/// The share of expected angles below which predictions are not relied on. If a model is wrong, all
/// angles are equally likely, and one of twelve passes for the expected one. Seeks that scatter by
/// 0.15 ms leave nine of ten on a Quantum Atlas 10K.
const ENOUGH_ANGLES: f64 = 0.25;

/// What the scheduler believes of the drive.
#[derive(Clone, Debug)]
pub struct Model(Predictor);

impl Model {
    /// A drive of `spec` in an unknown state: completions reveal the angle of its platter.
    ///
    /// # Errors
    /// When the geometry is inconsistent.
    pub fn new(spec: &Spec) -> Result<Self, InputError> {
        let layout = Arc::new(Layout::new(&spec.geometry)?);
        Ok(Self(Predictor::new(spec, layout, Continuity::Unbroken)))
    }

    /// A new drive of `spec` whose platter is at angle `origin` at [`Instant::START`].
    ///
    /// # Errors
    /// When the geometry is inconsistent.
    pub fn with_origin(spec: &Spec, origin: Angle) -> Result<Self, InputError> {
        let layout = Arc::new(Layout::new(&spec.geometry)?);
        let clock = Clock::new(spec.mechanics.period_ns, Continuity::Unbroken);
        let core = Core::on(spec, Mechanism::new(spec, layout, origin));
        Ok(Self(Predictor::on(core, clock.known())))
    }
}

/// What was seen of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// Requests whose predictions were relied on.
    pub predicted: u64,
    /// Those of them that completed within 50 us of the prediction.
    pub right: u64,
    /// What was not as predicted.
    pub surprises: Surprises,
    /// Foreground requests that were chosen by block number, though the policy needs positions,
    /// because predictions were not relied on.
    pub by_block_number: u64,
}

impl AddAssign for Observations {
    fn add_assign(&mut self, other: Self) {
        self.predicted += other.predicted;
        self.right += other.right;
        self.surprises += other.surprises;
        self.by_block_number += other.by_block_number;
    }
}

/// What a device did that was not predicted, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surprises {
    /// The buffer had what it should not have had.
    pub hits: u64,
    /// It did not have what it should have had.
    pub misses: u64,
    /// A revolution more or less than predicted, or up to three.
    pub revolutions: u64,
    /// It was busy with something of its own for longer than that.
    pub pauses: u64,
    /// Requests that failed.
    pub failures: u64,
    /// Requests that completed before one that was sent earlier.
    pub reordered: u64,
}

impl AddAssign for Surprises {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.revolutions += other.revolutions;
        self.pauses += other.pauses;
        self.failures += other.failures;
        self.reordered += other.reordered;
    }
}

/// A model that follows a device.
pub(crate) struct Watch {
    pub predictor: Predictor,
    /// The ids of the outstanding requests that the model knows, and when each was to be sent, in
    /// that order.
    expected: VecDeque<(u64, Instant)>,
    /// The share of completions that had the platter at the expected angle, as a moving mean.
    expected_angles: f64,
    pub lag: Lag,
    pub seen: Observations,
}

impl Watch {
    pub fn new(model: Model) -> Self {
        Self {
            predictor: model.0,
            expected: VecDeque::new(),
            expected_angles: 1.0,
            lag: Lag::default(),
            seen: Observations::default(),
        }
    }

    /// Whether predictions can be relied on: the angle of the platter is known, and enough recent
    /// completions of the media fitted it.
    pub fn is_confident(&self, now: Instant) -> bool {
        self.predictor.clock().is_locked(now) && self.expected_angles >= ENOUGH_ANGLES
    }

    /// Whether the model knows all of the requests that are inside the device.
    pub fn is_complete(&self, inside: usize) -> bool {
        self.expected.len() == inside
    }

    /// Notes that a request is sent under this id.
    pub fn sent(&mut self, now: Instant, request: Request) {
        self.expected.push_back((request.id, now));
        self.predictor.predict(now + self.lag.mean(), request);
    }

    /// Notes that the device has completed a request. Returns when that was predicted, if it was,
    /// and whether the prediction could be relied on.
    pub fn completed(&mut self, completion: &Completion) -> (Option<Instant>, bool) {
        let id = completion.request.id;
        // What failed brings nothing.
        let of_data = match completion.status.is_success() {
            true => self.lag.of_data(&completion.request),
            false => Span::ZERO,
        };
        let at = completion.at.shifted(-of_data);
        match self.expected.iter().position(|expected| expected.0 == id) {
            // Sent before the model lost track of the device.
            None => return (None, false),
            Some(0) => {}
            Some(_) => {
                self.seen.surprises.reordered += 1;
                self.expected.clear();
                self.predictor.lose(at);
                return (None, false);
            }
        }
        if let Some((_, decided)) = self.expected.pop_front() {
            self.lag.sent(decided, completion.arrived);
        }
        if !completion.status.is_success() {
            let expected = self.predictor.next_completion().map(|next| next.at);
            self.seen.surprises.failures += 1;
            self.predictor.dismiss(at);
            return (expected, false);
        }
        let was_known = self.is_confident(at);
        let seen = self.predictor.observe(at);
        let share = match seen.angle {
            Some(predict::Seen::Late(_)) => 1.0,
            Some(predict::Seen::Surprise) => 0.0,
            Some(predict::Seen::Found(_)) | None => self.expected_angles,
        };
        self.expected_angles += (share - self.expected_angles) * PART_OF_ANGLES;
        if was_known {
            let outcome = seen.explained.outcome;
            let half = self.predictor.clock().period().as_ns() / 2;
            if outcome == seen.predicted.outcome && seen.error.as_ns().abs() < half {
                let is_hit = outcome == Outcome::Hit;
                (self.lag).answered(&completion.request, seen.error, is_hit);
            }
            self.judge(seen.predicted.outcome, seen.explained.outcome, seen.error);
        }
        (Some(seen.predicted.at + of_data), was_known)
    }

    /// When the request that has been outstanding for longest is expected to be answered.
    pub fn next_completion(&self) -> Option<Instant> {
        let next = self.predictor.next_completion()?;
        Some(next.at + self.lag.of_data(&next.request))
    }

    /// What takes longer than this is no matter of the platter.
    pub fn pause(&self) -> Span {
        self.predictor.clock().period() * PAUSE_REVOLUTIONS
    }

    fn judge(&mut self, predicted: Outcome, explained: Outcome, error: Span) {
        let (period, pause) = (self.predictor.clock().period(), self.pause());
        let off = error.max(-error);
        self.seen.predicted += 1;
        self.seen.right += u64::from(off <= RIGHT);
        let surprises = &mut self.seen.surprises;
        if off > pause {
            surprises.pauses += 1;
        } else if predicted == Outcome::Miss && explained == Outcome::Hit {
            surprises.hits += 1;
        } else if predicted != Outcome::Miss && explained == Outcome::Miss {
            surprises.misses += 1;
        } else if off.as_ns() > period.as_ns() / 2 {
            surprises.revolutions += 1;
        }
    }
}
