//! Predicts when a real drive will complete its requests, from its model and past completions.
//!
//! A [`Predictor`] runs the model of a drive alongside the drive, which serves requests in order of
//! arrival. Each completion reveals the platter's angle, whether a revolution was lost, and whether
//! the buffer had the data. The model is corrected accordingly, and the outstanding requests are
//! predicted again. The predictor never looks ahead: a prediction depends only on earlier requests
//! and completions, so the same component serves live scheduling (lumb01, section 3) and validation
//! against a finished trace.

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

/// Penalty in revolutions (about 0.5 ms) for contradicting the predicted buffer contents.
const SURPRISE: f64 = 0.05;

/// Penalty for losing or gaining a revolution. It is small, because the arm is often barely late.
const SLIP: f64 = 0.05;

/// A model that follows a real drive.
#[derive(Clone, Debug)]
pub struct Predictor {
    /// The drive after the most recent completion.
    completed: Core,
    /// Instant at which the drive could begin the next request.
    open: Instant,
    /// Requests that have not completed, in order of arrival.
    outstanding: VecDeque<Prediction>,
    clock: Clock,
}

/// The prediction for an outstanding request.
#[derive(Clone, Debug)]
struct Prediction {
    completion: Completion,
    /// The drive after the request.
    after: Core,
    /// Instant at which the drive may begin the next request.
    open: Instant,
}

/// The result of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The predicted completion.
    pub predicted: Completion,
    /// Measured minus predicted response time.
    pub error: Span,
    /// The accepted explanation: how the request was actually served.
    pub explained: Completion,
    /// The inferred correction of the platter's angle; `None` if the completion reveals no angle.
    pub angle: Option<AngleUpdate>,
}

impl Predictor {
    /// Creates a predictor for the drive that `spec` describes. The platter's angle is unknown.
    pub fn new(spec: &Spec, layout: Arc<Layout>, continuity: Continuity) -> Self {
        let clock = Clock::new(spec.mechanics.period_ns, continuity);
        Self::with_core(Core::with_layout(spec, layout), clock)
    }

    /// Creates a predictor for a drive in the state of `core`. `clock` estimates its angle.
    pub fn with_core(core: Core, clock: Clock) -> Self {
        Self {
            completed: core,
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
        last.map_or(&self.completed, |expected| &expected.after)
    }

    /// Returns the drive after the most recent completion.
    pub fn completed(&self) -> &Core {
        &self.completed
    }

    /// Returns the instant at which the drive may begin the next request.
    pub fn open(&self) -> Instant {
        let last = self.outstanding.back();
        last.map_or(self.open, |expected| expected.open)
    }

    /// Returns the predicted completion of the oldest outstanding request.
    pub fn next_completion(&self) -> Option<&Completion> {
        let oldest = self.outstanding.front();
        oldest.map(|expected| &expected.completion)
    }

    /// Predicts the completion of a request received at `at`, served after all outstanding ones.
    ///
    /// # Panics
    /// If the request ends beyond the last block of the drive.
    pub fn predict(&mut self, at: Instant, request: Request) -> Completion {
        let expected = Prediction::after(self.core(), self.open(), at, request);
        let completion = expected.completion;
        self.outstanding.push_back(expected);
        completion
    }

    /// Observes that the oldest outstanding request completed at `at`.
    ///
    /// # Panics
    /// If no request is outstanding.
    pub fn observe(&mut self, at: Instant) -> Observation {
        let Some(expected) = self.outstanding.pop_front() else {
            panic!("no request is outstanding");
        };
        let predicted = expected.completion;
        let Prediction {
            completion: explained,
            after,
            open,
        } = self.explain(expected, at);
        (self.completed, self.open) = (after, open.shifted(at.after(explained.at)));
        let mut is_corrected = at != predicted.at;
        let mut angle = None;
        if Core::reveals_angle(&explained) {
            let (revolutions, off) = self.lag(&explained, at);
            let by = self.clock.period().as_ns() * revolutions;
            self.completed.delay_media(Span::from_ns(by));
            let update = self.clock.observe(at, off);
            angle = Some(update);
            let late = match update {
                AngleUpdate::Late(late) | AngleUpdate::Found(late) => late,
                // The platter had the expected angle, but the arm was early or late.
                AngleUpdate::Surprise => {
                    self.completed.delay_media(off);
                    Span::ZERO
                }
            };
            let period_ns = self.clock.period_ns();
            self.completed.correct_rotation(at, late, period_ns);
            is_corrected |= late != Span::ZERO;
        }
        self.completed.completed_at(at, explained.outcome);
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

    /// Records that the oldest outstanding request failed at `at`. A failure reveals no angle.
    ///
    /// # Panics
    /// If no request is outstanding.
    pub fn dismiss(&mut self, at: Instant) {
        let Some(expected) = self.outstanding.pop_front() else {
            panic!("no request is outstanding");
        };
        (self.completed, self.open) = (expected.after, at);
        let late = at.after(expected.completion.at);
        if late > Span::ZERO {
            self.completed.delay_media(late);
        }
        self.completed.completed_at(at, Outcome::Miss);
        self.predict_anew();
    }

    /// Records unexpected behaviour of the drive at `at`, such as serving requests out of order.
    /// The predictions of outstanding requests are dropped, and the angle becomes unknown.
    pub fn lose(&mut self, at: Instant) {
        if let Some(last) = self.outstanding.pop_back() {
            self.completed = last.after;
        }
        self.outstanding.clear();
        self.open = at;
        self.completed.completed_at(at, Outcome::Miss);
        self.clock.lose();
    }

    /// Predicts the outstanding requests again, from the state after the latest completion.
    fn predict_anew(&mut self) {
        let (mut core, mut open) = (&self.completed, self.open);
        for expected in &mut self.outstanding {
            let Completion {
                request, arrived, ..
            } = expected.completion;
            *expected = Prediction::after(core, open, arrived, request);
            (core, open) = (&expected.after, expected.open);
        }
    }

    /// Returns the explanation of a completion at `at` that leaves the least time unexplained: the
    /// request was served as predicted, from the media instead of the buffer, or vice versa.
    fn explain(&self, expected: Prediction, at: Instant) -> Prediction {
        let predicted = &expected.completion;
        let unexplained = self.cost(predicted, at);
        if unexplained <= SURPRISE {
            return expected;
        }
        let request = predicted.request;
        let arrived = predicted.arrived;
        let mut other = self.completed.clone();
        match predicted.outcome {
            Outcome::Hit | Outcome::PartialHit => other.forget(&request, arrived),
            Outcome::Miss if request.op.is_read() => other.remember(&request, arrived),
            Outcome::Miss | Outcome::Absorbed => return expected,
        }
        let alternative = Prediction::after(&other, self.open, arrived, request);
        let cost = self.cost(&alternative.completion, at) + SURPRISE;
        let is_likelier = cost < unexplained;
        if is_likelier { alternative } else { expected }
    }

    /// Returns the unexplained time in revolutions. A lost or gained revolution counts as [`SLIP`].
    fn cost(&self, explained: &Completion, at: Instant) -> f64 {
        let period = self.clock.period_ns();
        let off = at.after(explained.at).as_ns() as f64;
        if !Core::reveals_angle(explained) {
            return off.abs() / period;
        }
        if !self.clock.is_locked(at) {
            // Any rotational wait from zero to a revolution is possible.
            let min = explained.at.as_ns() as f64 - explained.breakdown.rotation.as_ns() as f64;
            let wait = (at.as_ns() as f64 - min) / period;
            return (wait - 1.0).max(-wait).max(0.0);
        }
        let (revolutions, off) = self.lag(explained, at);
        off.as_ns().unsigned_abs() as f64 / period + SLIP * revolutions.unsigned_abs() as f64
    }

    /// Returns `at` minus the explained instant, as whole revolutions and a remainder of at most
    /// half a revolution.
    fn lag(&self, explained: &Completion, at: Instant) -> (i64, Span) {
        let period = self.clock.period_ns();
        let off = at.after(explained.at).as_ns() as f64;
        let revolutions = (off / period).round();
        let remainder = off - revolutions * period;
        (revolutions as i64, Span::from_ns(remainder.round() as i64))
    }
}

impl Prediction {
    /// Predicts a request that is received at `arrived` and begins at `open` or later, starting
    /// from the state of `core`.
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

/// Estimates from the state after all outstanding requests, for a policy in front of the drive.
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

/// Scatter of media completions around their expected angle, in revolutions (standard deviation).
/// On the HP C2247 and the ST41601N, it is 0.3 to 1 %, including the model's own errors.
const SCATTER: f64 = 0.01;

/// An observation off by more than this many standard deviations reveals no angle.
const GATE: f64 = 4.0;

/// The angle counts as known when its standard deviation is below this, in revolutions.
const KNOWN: f64 = 0.1;

/// After this many consecutive observations beyond the gate, the angle counts as lost.
const LOST_AFTER: u32 = 8;

/// Relative deviation of a spindle from its nominal period (standard deviation).
const PERIOD_DEVIATION: f64 = 5e-4;

/// Random walk of the phase: variance in revolutions squared per second.
const WANDER: f64 = 1e-6;

/// Random walk of the period: variance of its relative change per second.
const DRIFT: f64 = 1e-16;

/// The reliability of the times between the completions of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// The times are measured, so the angle can be followed.
    Unbroken,
    /// The times are not measured: a completion reveals the angle only while the drive is busy.
    Unknown,
}

/// The platter's angle and period, estimated from completions: a Kalman filter of two states, the
/// lag of the platter behind that of the model, and the rate at which the lag grows.
#[derive(Clone, Debug)]
pub struct Clock {
    continuity: Continuity,
    nominal_ns: f64,
    period_ns: f64,
    /// Variance of the lateness, in ns squared.
    late_variance: f64,
    /// Covariance of lateness and rate, in ns.
    covariance: f64,
    rate_variance: f64,
    updated: Instant,
    /// Number of consecutive observations beyond the gate.
    beyond: u32,
}

/// An update of the platter's angle from a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AngleUpdate {
    /// The platter is this much later than expected.
    Late(Span),
    /// The angle fits no sector that the request could have waited for.
    Surprise,
    /// The angle was unknown and is now known: the platter is this much later than assumed.
    Found(Span),
}

impl Clock {
    /// Creates a clock for a platter with a period of about `period_ns`, at an unknown angle.
    pub fn new(period_ns: f64, continuity: Continuity) -> Self {
        let mut clock = Self {
            continuity,
            nominal_ns: period_ns,
            period_ns,
            late_variance: 0.0,
            covariance: 0.0,
            rate_variance: 0.0,
            updated: Instant::START,
            beyond: 0,
        };
        clock.lose();
        clock
    }

    /// Marks the angle as known from the start.
    pub fn with_known_angle(self) -> Self {
        let noise = SCATTER * self.nominal_ns;
        Self {
            late_variance: noise * noise,
            covariance: 0.0,
            ..self
        }
    }

    /// Returns the estimated period, in nanoseconds.
    pub fn period_ns(&self) -> f64 {
        self.period_ns
    }

    /// Returns the estimated period, to the nanosecond.
    pub fn period(&self) -> Span {
        Span::from_ns(self.period_ns.round() as i64)
    }

    /// Returns true if the angle is known well enough for predictions at `at`.
    pub fn is_locked(&self, at: Instant) -> bool {
        self.grown(at).0.sqrt() < KNOWN * self.nominal_ns
    }

    /// Returns the variance of the lateness and its covariance with the rate at `at`.
    fn grown(&self, at: Instant) -> (f64, f64) {
        let dt = at.since_or_zero(self.updated).as_ns() as f64;
        let wander = WANDER * dt / 1e9 * self.nominal_ns * self.nominal_ns;
        let late =
            self.late_variance + dt * (2.0 * self.covariance + dt * self.rate_variance) + wander;
        (late, self.covariance + dt * self.rate_variance)
    }

    /// Observes a completion that is later than the angle of the model's platter implies. `off` is
    /// the difference, less than half a revolution.
    pub fn observe(&mut self, at: Instant, off: Span) -> AngleUpdate {
        if self.continuity == Continuity::Unknown {
            return AngleUpdate::Found(off);
        }
        let is_known = self.is_locked(at);
        (self.late_variance, self.covariance) = self.grown(at);
        self.rate_variance += DRIFT * at.since_or_zero(self.updated).as_s();
        self.updated = at;
        let noise = SCATTER * self.nominal_ns;
        let variance = self.late_variance + noise * noise;
        let off_ns = off.as_ns() as f64;
        if !is_known {
            // The lateness is known only modulo a revolution, so it reveals nothing about the rate.
            self.beyond = 0;
            self.late_variance = noise * noise;
            self.covariance = 0.0;
            return AngleUpdate::Found(off);
        }
        if off_ns.abs() > GATE * variance.sqrt() {
            self.beyond += 1;
            if self.beyond >= LOST_AFTER {
                self.lose();
            }
            return AngleUpdate::Surprise;
        }
        self.beyond = 0;
        let gain = [self.late_variance / variance, self.covariance / variance];
        self.rate_variance -= gain[1] * self.covariance;
        self.covariance -= gain[0] * self.covariance;
        self.late_variance -= gain[0] * self.late_variance;
        self.period_ns *= 1.0 + gain[1] * off_ns;
        AngleUpdate::Late(Span::from_ns((gain[0] * off_ns).round() as i64))
    }

    /// Marks the angle as unknown.
    pub fn lose(&mut self) {
        self.beyond = 0;
        self.late_variance = self.nominal_ns * self.nominal_ns / 12.0;
        self.covariance = 0.0;
        self.rate_variance = PERIOD_DEVIATION * PERIOD_DEVIATION;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: f64 = 60e9 / 5400.0;

    /// Every 30 ms, observes a completion on a platter that is initially late by `phase` and slower
    /// by `slower`, with `noise` added to each observation. Returns the lateness that remains after
    /// each.
    fn follow(
        clock: &mut Clock,
        phase: f64,
        slower: f64,
        noise: &[f64],
    ) -> Vec<(AngleUpdate, f64)> {
        let mut late = phase;
        let mut before = Instant::START;
        let step = |(n, noise): (u64, &f64)| {
            let at = Instant::from_ns(30_000_000 * (n + 1));
            // The platter lags the clock's estimate.
            let estimated = clock.period_ns() / PERIOD_NS - 1.0;
            late += (at - before).as_ns() as f64 * (slower - estimated);
            before = at;
            let seen = clock.observe(at, Span::from_ns((late + noise).round() as i64));
            if let AngleUpdate::Late(by) | AngleUpdate::Found(by) = seen {
                late -= by.as_ns() as f64;
            }
            (seen, late)
        };
        (0..).zip(noise).map(step).collect()
    }

    #[test]
    fn a_slow_spindle_is_followed_to_a_thousandth_of_a_revolution() {
        let mut clock = Clock::new(PERIOD_NS, Continuity::Unbroken);
        let lateness = follow(&mut clock, 3e6, 4e-4, &[0.0; 400]);
        assert!(matches!(lateness[0].0, AngleUpdate::Found(_)));
        for (seen, _) in &lateness[1..] {
            assert!(matches!(seen, AngleUpdate::Late(_)));
        }
        let (_, last) = lateness[399];
        assert!(last.abs() < 1e-3 * PERIOD_NS, "{last} ns");
        let rate = clock.period_ns() / PERIOD_NS - 1.0;
        assert!((rate - 4e-4).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn noise_is_averaged_out() {
        let mut clock = Clock::new(PERIOD_NS, Continuity::Unbroken);
        // Alternately early and late by one percent of a revolution.
        let noise: Vec<f64> = (0..400).map(|n| [1.1e5, -1.1e5][n % 2]).collect();
        let lateness = follow(&mut clock, 0.0, 0.0, &noise);
        for (_, late) in &lateness[200..] {
            assert!(late.abs() < 0.1e5, "{late} ns");
        }
    }

    #[test]
    fn eight_surprises_in_a_row_lose_the_lock() {
        let mut clock = Clock::new(PERIOD_NS, Continuity::Unbroken);
        follow(&mut clock, 0.0, 0.0, &[0.0; 50]);
        let now = Instant::from_ns(1_500_000_000);
        assert!(clock.is_locked(now));
        let period = clock.period_ns();
        let at = |n: u64| Instant::from_ns(30_000_000 * (51 + n));
        for n in 0..u64::from(LOST_AFTER) {
            assert!(clock.is_locked(at(n)), "{n}");
            let seen = clock.observe(at(n), Span::from_ms(3.0));
            assert_eq!(seen, AngleUpdate::Surprise);
        }
        assert_eq!(clock.period_ns(), period);
        assert!(!clock.is_locked(at(9)));
        let found = clock.observe(at(9), Span::from_ms(3.0));
        let is_found = matches!(found, AngleUpdate::Found(late) if late > Span::from_ms(2.9));
        assert!(is_found, "{found:?}");
        let now = Instant::from_ns(1_500_000_000);
        assert!(clock.is_locked(now));
    }

    #[test]
    fn after_a_long_pause_the_angle_is_unknown() {
        let mut clock = Clock::new(PERIOD_NS, Continuity::Unbroken);
        follow(&mut clock, 0.0, 0.0, &[0.0; 3]);
        let soon = Instant::from_ns(120_000_000);
        // A period off by 5e-4 turns the platter by a tenth of a revolution in two seconds.
        let late = Instant::from_ns(600_000_000_000);
        assert!(clock.is_locked(soon) && !clock.is_locked(late));
        let period = clock.period_ns();
        let off = Span::from_ms(4.0);
        assert_eq!(clock.observe(late, off), AngleUpdate::Found(off));
        assert_eq!(clock.period_ns(), period);
    }

    #[test]
    fn with_nominal_pauses_each_completion_resets_the_angle() {
        let mut clock = Clock::new(PERIOD_NS, Continuity::Unknown);
        for ms in [3.0, -4.0, 0.1] {
            let off = Span::from_ms(ms);
            assert_eq!(clock.observe(Instant::START, off), AngleUpdate::Found(off));
            assert!(!clock.is_locked(Instant::START));
        }
        assert_eq!(clock.period_ns(), PERIOD_NS);
    }
}
