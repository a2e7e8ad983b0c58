//! The angle of a real drive's platter, as inferred from completions.

use crate::units::{Instant, Span};

/// Scatter of media completions about their angle, in revolutions (standard deviation). On the HP
/// C2247 and the ST41601N it is 0.3 to 1 %, including the model's own errors.
const SCATTER: f64 = 0.01;

/// An observation further off than this many standard deviations carries no information about the
/// angle: the request was not served as the model assumed.
const GATE: f64 = 4.0;

/// The angle counts as known when its standard deviation is below this, in revolutions.
const KNOWN: f64 = 0.1;

/// After this many such observations in a row the angle counts as lost.
const LOST_AFTER: u32 = 8;

/// Deviation of a spindle from its nominal period, as a fraction (standard deviation).
const PERIOD_OFF: f64 = 5e-4;

/// Random walk of the phase: variance in revolutions squared per second.
const WANDER: f64 = 1e-6;

/// Random walk of the period: variance of its fraction per second.
const DRIFT: f64 = 1e-16;

/// The reliability of a trace's times between completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// Times between completions are measured: the angle can be followed.
    Unbroken,
    /// They are not: each completion determines the angle only while the drive stays busy.
    Unknown,
}

/// The platter's angle and period, estimated from completions: a Kalman filter of two states, the
/// lag of the platter relative to the model's, and the rate at which the lag grows.
#[derive(Clone, Debug)]
pub struct Clock {
    continuity: Continuity,
    nominal_ns: f64,
    period_ns: f64,
    /// Variance of the lateness, ns squared.
    late: f64,
    /// Covariance of lateness and rate, ns.
    both: f64,
    /// Variance of the rate.
    rate: f64,
    updated: Instant,
    /// Observations in a row that were beyond the gate.
    beyond: u32,
}

/// The information of a completion about the platter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AngleUpdate {
    /// The platter is this much later than expected.
    Late(Span),
    /// The angle fits no sector that the request could have waited for.
    Surprise,
    /// The angle was not known before.
    Found(Span),
}

impl Clock {
    /// Creates a platter with a period of about `period_ns` nanoseconds, at an unknown angle.
    pub fn new(period_ns: f64, continuity: Continuity) -> Self {
        let mut clock = Self {
            continuity,
            nominal_ns: period_ns,
            period_ns,
            late: 0.0,
            both: 0.0,
            rate: 0.0,
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
            late: noise * noise,
            both: 0.0,
            ..self
        }
    }

    /// Returns the estimated period, in nanoseconds.
    pub fn period_ns(&self) -> f64 {
        self.period_ns
    }

    /// Returns the estimated period as a span.
    pub fn period(&self) -> Span {
        Span::from_ns(self.period_ns.round() as i64)
    }

    /// Returns true if the angle is known well enough for predictions at `at`.
    pub fn is_locked(&self, at: Instant) -> bool {
        self.grown(at).0.sqrt() < KNOWN * self.nominal_ns
    }

    /// Variance of the lateness and covariance with the rate, grown until `at`.
    fn grown(&self, at: Instant) -> (f64, f64) {
        let dt = at.since_or_zero(self.updated).as_ns() as f64;
        let wander = WANDER * dt / 1e9 * self.nominal_ns * self.nominal_ns;
        let late = self.late + dt * (2.0 * self.both + dt * self.rate) + wander;
        (late, self.both + dt * self.rate)
    }

    /// Observes a completion at `at` that was `off` later than the model's platter allows, by less
    /// than half a revolution.
    pub fn observe(&mut self, at: Instant, off: Span) -> AngleUpdate {
        if self.continuity == Continuity::Unknown {
            return AngleUpdate::Found(off);
        }
        let known = self.is_locked(at);
        (self.late, self.both) = self.grown(at);
        self.rate += DRIFT * at.since_or_zero(self.updated).as_s();
        self.updated = at;
        let noise = SCATTER * self.nominal_ns;
        let variance = self.late + noise * noise;
        let off_ns = off.as_ns() as f64;
        if !known {
            // The lateness is known only modulo a revolution: it carries no information about the
            // rate.
            self.beyond = 0;
            self.late = noise * noise;
            self.both = 0.0;
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
        let gain = [self.late / variance, self.both / variance];
        self.rate -= gain[1] * self.both;
        self.both -= gain[0] * self.both;
        self.late -= gain[0] * self.late;
        self.period_ns *= 1.0 + gain[1] * off_ns;
        AngleUpdate::Late(Span::from_ns((gain[0] * off_ns).round() as i64))
    }

    /// Marks the angle as unknown.
    pub fn lose(&mut self) {
        self.beyond = 0;
        self.late = self.nominal_ns * self.nominal_ns / 12.0;
        self.both = 0.0;
        self.rate = PERIOD_OFF * PERIOD_OFF;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: f64 = 60e9 / 5400.0;

    /// Completions every 30 ms of a platter that is initially `phase` late and slower by `slower`,
    /// with `noise` added to the observations. Returns the remaining lateness after each.
    fn followed(
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
            let believed = clock.period_ns() / PERIOD_NS - 1.0;
            late += (at - before).as_ns() as f64 * (slower - believed);
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
        let left = followed(&mut clock, 3e6, 4e-4, &[0.0; 400]);
        assert!(matches!(left[0].0, AngleUpdate::Found(_)));
        for (seen, _) in &left[1..] {
            assert!(matches!(seen, AngleUpdate::Late(_)));
        }
        let (_, last) = left[399];
        assert!(last.abs() < 1e-3 * PERIOD_NS, "{last} ns");
        let rate = clock.period_ns() / PERIOD_NS - 1.0;
        assert!((rate - 4e-4).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn noise_is_averaged_out() {
        let mut clock = Clock::new(PERIOD_NS, Continuity::Unbroken);
        // Alternately early and late by one percent of a revolution.
        let noise: Vec<f64> = (0..400).map(|n| [1.1e5, -1.1e5][n % 2]).collect();
        let left = followed(&mut clock, 0.0, 0.0, &noise);
        for (_, late) in &left[200..] {
            assert!(late.abs() < 0.1e5, "{late} ns");
        }
    }

    #[test]
    fn eight_surprises_in_a_row_lose_the_lock() {
        let mut clock = Clock::new(PERIOD_NS, Continuity::Unbroken);
        followed(&mut clock, 0.0, 0.0, &[0.0; 50]);
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
        followed(&mut clock, 0.0, 0.0, &[0.0; 3]);
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
