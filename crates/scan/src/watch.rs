//! A model that follows a device's completions, learns the lag of commands, and counts surprises.

use std::collections::VecDeque;
use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::drive::Core;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::predict::{self, Clock, Continuity, Predictor};
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Instant, Span};

/// Maximum error of a prediction that counts as right.
const MAX_RIGHT_ERROR: Span = Span::from_ns(50_000);

/// An error longer than this many revolutions is not caused by rotation: the drive was doing
/// something else, such as a thermal recalibration.
const PAUSE_REVOLUTIONS: u64 = 4;

/// The weight of an observation in the fraction of expected angles: about the last 30 count.
const ANGLE_WEIGHT: f64 = 1.0 / 32.0;

/// The fraction of expected angles below which predictions are considered unreliable. If a model is
/// wrong, all angles are equally likely, and one in twelve is mistaken for the expected one. With
/// seeks that scatter by 0.15 ms, nine in ten angles are as expected on a Quantum Atlas 10K.
const MIN_EXPECTED_ANGLES: f64 = 0.25;

/// A model of the drive for a scheduler outside it.
#[derive(Clone, Debug)]
pub struct Model(Predictor);

impl Model {
    /// Creates a model of the drive that `spec` describes, in an unknown state: completions reveal
    /// the angle of its platter. Fails if the geometry is inconsistent.
    pub fn new(spec: &Spec) -> Result<Self, InputError> {
        let layout = Arc::new(Layout::new(&spec.geometry)?);
        Ok(Self(Predictor::new(spec, layout, Continuity::Unbroken)))
    }

    /// Creates a model of a new drive that `spec` describes, with its platter at angle `origin` at
    /// [`Instant::START`]. Fails if the geometry is inconsistent.
    pub fn with_origin(spec: &Spec, origin: Angle) -> Result<Self, InputError> {
        let layout = Arc::new(Layout::new(&spec.geometry)?);
        let clock = Clock::new(spec.mechanics.period_ns, Continuity::Unbroken);
        let core = Core::with_mechanism(spec, Mechanism::new(spec, layout, origin));
        Ok(Self(Predictor::with_core(core, clock.with_known_angle())))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// Requests whose predictions were considered reliable.
    pub predicted: u64,
    /// Of these, the number that completed within 50 us of the prediction.
    pub right: u64,
    pub surprises: Surprises,
    /// Foreground requests that were chosen by block number although the policy needs positions,
    /// because predictions were unreliable.
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

/// Counts of behaviour that was not predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surprises {
    pub hits: u64,
    pub misses: u64,
    /// Errors of one to three revolutions.
    pub revolutions: u64,
    /// Longer errors: the drive was busy with something else.
    pub pauses: u64,
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

pub(crate) struct Watch {
    pub predictor: Predictor,
    /// The ids of the outstanding requests that the model knows, each with the instant at which it
    /// was chosen, in the order of these instants.
    outstanding: VecDeque<(u64, Instant)>,
    /// The fraction of completions with the platter at the expected angle, as a moving mean.
    expected_angles: f64,
    pub lag: Lag,
    pub observations: Observations,
}

impl Watch {
    pub fn new(model: Model) -> Self {
        Self {
            predictor: model.0,
            outstanding: VecDeque::new(),
            expected_angles: 1.0,
            lag: Lag::default(),
            observations: Observations::default(),
        }
    }

    /// Returns true if predictions are reliable: the angle of the platter is known, and enough
    /// recent completions from the media matched it.
    pub fn is_confident(&self, now: Instant) -> bool {
        self.predictor.clock().is_locked(now) && self.expected_angles >= MIN_EXPECTED_ANGLES
    }

    /// Returns true if the model knows all of the requests inside the device.
    pub fn is_complete(&self, inside: usize) -> bool {
        self.outstanding.len() == inside
    }

    pub fn record_sent(&mut self, now: Instant, request: Request) {
        self.outstanding.push_back((request.id, now));
        self.predictor.predict(now + self.lag.mean(), request);
    }

    /// Records that the device has completed a request. Returns the predicted instant, and true if
    /// the prediction was reliable.
    pub fn record_completion(&mut self, completion: &Completion) -> (Option<Instant>, bool) {
        let id = completion.request.id;
        let is_success = completion.status.is_success();
        let of_data = self.lag.of_data(&completion.request);
        let of_data = if is_success { of_data } else { Span::ZERO };
        let at = completion.at.shifted(-of_data);
        match self.outstanding.iter().position(|sent| sent.0 == id) {
            // Sent before the model lost track of the device.
            None => return (None, false),
            Some(0) => {}
            Some(_) => {
                self.observations.surprises.reordered += 1;
                self.outstanding.clear();
                self.predictor.lose(at);
                return (None, false);
            }
        }
        if let Some((_, decided)) = self.outstanding.pop_front() {
            self.lag.record_sent(decided, completion.arrived);
        }
        if !is_success {
            let expected = self.predictor.next_completion().map(|next| next.at);
            self.observations.surprises.failures += 1;
            self.predictor.dismiss(at);
            return (expected, false);
        }
        let was_known = self.is_confident(at);
        let observation = self.predictor.observe(at);
        let as_expected = match observation.angle {
            Some(predict::AngleUpdate::Late(_)) => 1.0,
            Some(predict::AngleUpdate::Surprise) => 0.0,
            Some(predict::AngleUpdate::Found(_)) | None => self.expected_angles,
        };
        self.expected_angles += (as_expected - self.expected_angles) * ANGLE_WEIGHT;
        if was_known {
            let (predicted, explained) =
                (observation.predicted.outcome, observation.explained.outcome);
            let half = self.predictor.clock().period().as_ns() / 2;
            if explained == predicted && observation.error.as_ns().abs() < half {
                let is_hit = explained == Outcome::Hit;
                (self.lag).record_answer(&completion.request, observation.error, is_hit);
            }
            self.count(predicted, explained, observation.error);
        }
        (Some(observation.predicted.at + of_data), was_known)
    }

    /// Returns the time at which an answer to the oldest outstanding request is expected.
    pub fn next_completion(&self) -> Option<Instant> {
        let next = self.predictor.next_completion()?;
        Some(next.at + self.lag.of_data(&next.request))
    }

    /// Returns the largest error that rotation can cause.
    pub fn pause(&self) -> Span {
        self.predictor.clock().period() * PAUSE_REVOLUTIONS
    }

    fn count(&mut self, predicted: Outcome, explained: Outcome, error: Span) {
        let (period, pause) = (self.predictor.clock().period(), self.pause());
        let magnitude = error.max(-error);
        self.observations.predicted += 1;
        self.observations.right += u64::from(magnitude <= MAX_RIGHT_ERROR);
        let surprises = &mut self.observations.surprises;
        if magnitude > pause {
            surprises.pauses += 1;
        } else if predicted == Outcome::Miss && explained == Outcome::Hit {
            surprises.hits += 1;
        } else if predicted != Outcome::Miss && explained == Outcome::Miss {
            surprises.misses += 1;
        } else if magnitude.as_ns() > period.as_ns() / 2 {
            surprises.revolutions += 1;
        }
    }
}

/// A command that has ended, with its predicted end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The command sent: a background read, or a foreground request with the blocks read before it.
    pub command: Request,
    /// True if it serves a foreground request, false if it only reads for the background.
    pub is_foreground: bool,
    pub sent: Instant,
    pub ended: Instant,
    /// The end, as predicted when the previous command ended; `None` if the model had lost track of
    /// the device.
    pub expected: Option<Instant>,
    /// True if it succeeded and predictions were reliable: [`Observations::predicted`] counts it.
    pub is_confident: bool,
}

impl Prediction {
    /// Returns the measured end minus the predicted end.
    pub fn error(&self) -> Option<Span> {
        self.expected.map(|expected| self.ended.after(expected))
    }

    /// Returns true if it ended within 50 us of the prediction.
    pub fn is_right(&self) -> bool {
        let error = self.error();
        error.is_some_and(|error| error.max(-error) <= MAX_RIGHT_ERROR)
    }
}

/// A function that is called for each command of a scan when the command has ended.
#[derive(Clone, Default)]
pub struct OnPrediction(pub(crate) Option<Arc<Call>>);

type Call = dyn Fn(&Prediction) + Send + Sync;

impl OnPrediction {
    pub fn new(function: impl Fn(&Prediction) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(function)))
    }
}

impl fmt::Debug for OnPrediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnPrediction({})", self.0.is_some())
    }
}

/// A moving mean changes by a new value's deviation from it, divided by this number.
const MEAN_PARTS: i64 = 16;

/// Maximum deviation that counts, in nanoseconds: larger ones are due to other programs.
const MAX_DEVIATION_NS: i64 = 500_000;

/// The weight of a command in the moments of [`DataLag`]: about the last 250 count.
const MOMENT_SHARE: f64 = 1.0 / 256.0;

/// A constant added to the variance of sizes, in blocks squared. Without it, the slope would be
/// noise if sizes were similar.
const EXTRA_VARIANCE: f64 = 64.0;

/// Number of mean deviations, of sending and of answers, that a plan allows for: four standard
/// deviations of a normal distribution, whose mean deviation is 0.8 standard deviations.
const MARGIN_DEVIATIONS: u64 = 5;

/// The delay from a decision until the drive receives the command, and from the command's end until
/// its answer. In virtual time both are zero.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lag {
    /// Time from the decision until the command is sent.
    sending: Mean,
    /// Round-trip time between the host and the drive; `None` for a local device.
    round_trip: Option<Mean>,
    /// The mean deviation of all answers, except deviations above [`MAX_DEVIATION_NS`].
    answers: Span,
    data: DataLag,
}

/// A moving mean and the mean deviation from it.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    value: Span,
    deviation: Span,
}

impl Mean {
    fn record(&mut self, deviation: i64) {
        self.value += Span::from_ns(deviation / MEAN_PARTS);
        update_deviation(&mut self.deviation, deviation);
    }
}

fn update_deviation(mean: &mut Span, deviation: i64) {
    *mean += Span::from_ns((deviation.abs() - mean.as_ns()) / MEAN_PARTS);
}

/// The delay of an answer in proportion to its data: the slope of a regression of the lateness of
/// reads on their size, from moving moments.
#[derive(Clone, Copy, Debug, Default)]
struct DataLag {
    /// The means of sizes, in blocks, and of the lateness of reads, in nanoseconds.
    means: Option<(f64, f64)>,
    variance_of_sizes: f64,
    covariance: f64,
}

impl DataLag {
    fn per_block_ns(&self) -> f64 {
        self.covariance.max(0.0) / (self.variance_of_sizes + EXTRA_VARIANCE)
    }

    fn record(&mut self, blocks: f64, late_ns: f64) {
        let means = self.means.get_or_insert((blocks, late_ns));
        let deviation = (blocks - means.0, late_ns - means.1);
        means.0 += deviation.0 * MOMENT_SHARE;
        means.1 += deviation.1 * MOMENT_SHARE;
        self.variance_of_sizes +=
            (deviation.0 * deviation.0 - self.variance_of_sizes) * MOMENT_SHARE;
        self.covariance += (deviation.0 * deviation.1 - self.covariance) * MOMENT_SHARE;
    }
}

impl Lag {
    pub fn learn_round_trip(&mut self) {
        self.round_trip = Some(Mean::default());
    }

    /// Returns the mean delay of a command. Completions, and so the observed angles of the platter,
    /// are also late, so this includes both directions.
    pub fn mean(&self) -> Span {
        self.sending.value + self.round_trip.unwrap_or_default().value
    }

    /// Returns a delay that is hardly ever exceeded. If the travel times of commands vary, answers
    /// from the media are late by a revolution or not at all, and only answers from the buffer show
    /// the variation. If the host is busy, answers of both kinds vary, and most are from the media.
    /// Other causes that shift answers by less than half a millisecond, such as an inexact model,
    /// are included.
    pub fn max(&self) -> Span {
        let round_trip = self.round_trip.unwrap_or_default();
        let deviation = round_trip.deviation.max(self.answers);
        self.mean() + (self.sending.deviation + deviation) * MARGIN_DEVIATIONS
    }

    /// Returns the time by which a request's data delay its answer.
    pub fn of_data(&self, request: &Request) -> Span {
        if request.op != Op::Read {
            return Span::ZERO;
        }
        let ns = self.data.per_block_ns() * request.sectors.0 as f64;
        Span::from_ns(ns.round() as i64)
    }

    /// Learns from a command that was chosen at `decided` and sent at `sent`.
    pub fn record_sent(&mut self, decided: Instant, sent: Instant) {
        let deviation = sent.after(decided + self.sending.value).as_ns();
        self.sending
            .record(deviation.clamp(-MAX_DEVIATION_NS, MAX_DEVIATION_NS));
    }

    /// Learns from a command that was answered `error` later than predicted. The prediction
    /// includes [`Self::of_data`]. If `is_hit` is set, the buffer answered, and no part of `error`
    /// is mechanical.
    pub fn record_answer(&mut self, request: &Request, error: Span, is_hit: bool) {
        let of_data = self.of_data(request);
        let Some(round_trip) = &mut self.round_trip else {
            return;
        };
        let deviation = error.as_ns().clamp(-MAX_DEVIATION_NS, MAX_DEVIATION_NS);
        if request.op == Op::Read {
            let late_ns = (deviation + of_data.as_ns()) as f64;
            self.data.record(request.sectors.0 as f64, late_ns);
        }
        if is_hit {
            round_trip.record(deviation);
            round_trip.value = round_trip.value.or_zero();
        }
        if error.as_ns().abs() <= MAX_DEVIATION_NS {
            update_deviation(&mut self.answers, deviation);
        }
    }
}
