//! Estimates a threshold from binary trials: the lead that a drive needs to catch a sector.

use diskarm_core::units::Span;

use crate::Estimate;

/// The trials of a threshold. Those below it miss, and those above it catch.
///
/// As long as trials agree, the threshold is between the largest miss and the smallest catch. If
/// misses and catches overlap, the threshold varies, and a logistic distribution is fitted.
#[derive(Clone, Debug)]
pub(crate) struct Threshold {
    missed: Vec<f64>,
    caught: Vec<f64>,
    /// Initial value and its possible error.
    guess: Option<(f64, f64)>,
    /// Numbers of consistent trials just below and just above the interval.
    confirmations: [u32; 2],
    required: u32,
    /// True if the threshold may vary even if all trials agree.
    may_vary: bool,
}

/// A threshold with its percentiles, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ThresholdEstimate {
    pub median: f64,
    /// Half the width of the interval of the median: exact bounds if trials agree, otherwise 95 %.
    pub uncertainty: f64,
    pub upper: f64,
    pub samples: u64,
    /// True if trials contradict each other.
    pub is_contradictory: bool,
}

impl ThresholdEstimate {
    pub fn is_bounded(&self) -> bool {
        self.uncertainty.is_finite()
    }

    pub fn estimate(&self) -> Estimate {
        Estimate {
            value: span(self.median),
            uncertainty: span(self.uncertainty),
            samples: self.samples,
        }
    }
}

pub(crate) fn span(ns: f64) -> Span {
    Span::from_ns(ns.round() as i64)
}

/// Maximum distance from the interval at which a trial confirms it, in nanoseconds.
const CONFIRMATION_NS: f64 = 1.5e5;
/// Fraction of trials that may be outliers, due to retries or recalibration.
const OUTLIERS: f64 = 0.05;

impl Default for Threshold {
    fn default() -> Self {
        Self {
            missed: Vec::new(),
            caught: Vec::new(),
            guess: None,
            confirmations: [0; 2],
            required: 2,
            may_vary: false,
        }
    }
}

impl Threshold {
    /// Sets the number of confirmations required on each side.
    pub fn demand(self, required: u32) -> Self {
        Self { required, ..self }
    }

    /// Allows for a threshold that varies (as similar ones do), so that trials may agree by chance.
    pub fn varying(mut self) -> Self {
        self.may_vary = true;
        self
    }

    /// Starts at a guess with an error of about `width`.
    pub fn near(guess: f64, width: f64) -> Self {
        Self {
            guess: Some((guess, width)),
            ..Self::default()
        }
    }

    /// Records a trial, in which the threshold was above `missed` and at most `caught`.
    pub fn add(&mut self, missed: f64, caught: f64) {
        let (low, high) = self.bracket();
        self.confirmations[0] += u32::from((low - CONFIRMATION_NS..low).contains(&missed));
        self.confirmations[1] += u32::from((high..high + CONFIRMATION_NS).contains(&caught));
        self.missed.push(missed);
        self.caught.push(caught);
    }

    /// Returns the largest miss and the smallest catch, without outliers. The miss may be larger.
    fn bracket(&self) -> (f64, f64) {
        let sorted = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        let (missed, caught) = (sorted(&self.missed), sorted(&self.caught));
        let (Some(&low), Some(&high)) = (missed.last(), caught.first()) else {
            return (f64::NEG_INFINITY, f64::INFINITY);
        };
        if low < high {
            return (low, high);
        }
        // Only trials near the threshold can be outliers.
        let middle = low.midpoint(high);
        let near = |values: &[f64]| {
            let is_near = |at: &&f64| (*at - middle).abs() < (low - high) / 2.0 + CONFIRMATION_NS;
            values.iter().filter(is_near).count()
        };
        let outliers = if self.may_vary { 0.0 } else { OUTLIERS };
        let allowed = ((near(&missed) + near(&caught)) as f64 * outliers) as usize;
        // Leave out as few trials as possible: `k` misses and `others` catches.
        let mut choices = (1..=allowed).flat_map(|all| (0..=all).map(move |k| (k, all - k)));
        choices
            .find_map(|(k, others)| {
                let (low, high) = (missed[missed.len() - 1 - k], caught[others]);
                (low < high).then_some((low, high))
            })
            .unwrap_or((low, high))
    }

    /// Returns true if the half-width of the interval is at most `wanted` and trials confirm it.
    ///
    /// Trials inside the interval never contradict others, so some just outside it, on both sides,
    /// must confirm it. If trials contradict each other, many are needed to determine the interval.
    pub fn is_done(&self, wanted: f64) -> bool {
        let (low, high) = self.bracket();
        if low >= high {
            let is_likely =
                |fit: Logistic| 2.0 * fit.deviation() <= wanted && fit.is_within(wanted);
            return self.missed.len() >= 30 && is_likely(self.logistic());
        }
        high - low <= 2.0 * wanted
            && self.confirmations.iter().all(|n| *n >= self.required)
            && (!self.may_vary || self.agreeing_fit((low, high)).is_within(2.0 * wanted))
    }

    fn agreeing_fit(&self, (low, high): (f64, f64)) -> Logistic {
        Logistic::around(self.trials().collect(), low.midpoint(high))
    }

    /// Returns the minimum number of trials that contradict any one value by more than `distance`.
    pub fn contradictions(&self, distance: f64) -> usize {
        let at = |value: f64| {
            let late = self.missed.iter().filter(|one| **one > value + distance);
            let early = self.caught.iter().filter(|one| **one < value - distance);
            late.count() + early.count()
        };
        let values = self.missed.iter().chain(&self.caught);
        values.map(|value| at(*value)).min().unwrap_or(0)
    }

    /// Returns the next value to try for a half-width of `wanted`; `uniform` is in [0, 1).
    pub fn aim(&self, wanted: f64, uniform: f64) -> f64 {
        let (low, high) = self.bracket();
        if low < high && high - low <= 2.0 * wanted {
            if self.may_vary {
                return low.midpoint(high) + (uniform - 0.5) * CONFIRMATION_NS / 3.0;
            }
            if self.confirmations[0] < self.required {
                return low - CONFIRMATION_NS / 2.0;
            }
            if self.confirmations[1] < self.required {
                return high + CONFIRMATION_NS / 2.0;
            }
        }
        match self.guess {
            None if self.missed.is_empty() => 0.0,
            Some((guess, _)) if self.missed.is_empty() => guess,
            // Try values on either side of the guess while it may be correct.
            Some((guess, width)) if high - low > 4.0 * width && low < guess && guess < high => {
                let is_above = guess - low > high - guess;
                guess + if is_above { -width } else { width }
            }
            _ if low < high => low.midpoint(high),
            _ => {
                let fit = self.logistic();
                fit.median + (uniform - 0.5) * 6.0 * fit.spread
            }
        }
    }

    pub fn found(&self) -> ThresholdEstimate {
        let samples = self.missed.len() as u64;
        let (low, high) = self.bracket();
        if low < high {
            let may_vary = self.may_vary && !self.missed.is_empty();
            let min = may_vary.then(|| self.agreeing_fit((low, high)).interval());
            return ThresholdEstimate {
                median: low.midpoint(high),
                uncertainty: ((high - low) / 2.0).max(min.unwrap_or(0.0)),
                upper: high,
                samples,
                is_contradictory: false,
            };
        }
        let fit = self.logistic();
        ThresholdEstimate {
            median: fit.median,
            uncertainty: fit.interval(),
            // For the logistic distribution, the factor is ln(0.95 / 0.05) = 2.944.
            upper: fit.median + 2.944 * fit.spread,
            samples,
            is_contradictory: true,
        }
    }

    /// Returns the value of each trial, and true if the trial was a catch.
    fn trials(&self) -> impl Iterator<Item = (f64, bool)> {
        let missed = self.missed.iter().map(|&at| (at, false));
        missed.chain(self.caught.iter().map(|&at| (at, true)))
    }

    fn logistic(&self) -> Logistic {
        Logistic::fit(self.trials().collect(), self.bracket())
    }
}

/// Minimum initial scale of the distribution, in nanoseconds.
const INITIAL_SCALE_NS: f64 = 2.5e4;
/// Drop in log-likelihood at the ends of a 95 % interval: half the 95th percentile of chi-square.
const LOG_LIKELIHOOD_DROP: f64 = 1.92;
/// The drop if trials agree: this may be by chance, and the test is repeated after each trial.
const LOG_LIKELIHOOD_DROP_IF_AGREED: f64 = 2.0 * LOG_LIKELIHOOD_DROP;
/// Maximum error of the median in scales. If it is larger, the median is unknown.
const MAX_ERROR_SCALES: f64 = 40.0;

/// Returns the log probability of the outcome of a trial at `x` scales above the median.
fn log_probability(x: f64, caught: bool) -> f64 {
    let score = if caught { x } else { -x };
    -(-score).exp().ln_1p().min(1e9)
}

#[derive(Clone, Debug)]
struct Logistic {
    /// The value of each trial, and true if the trial was a catch.
    trials: Vec<(f64, bool)>,
    median: f64,
    spread: f64,
    /// Drop in the log-likelihood from the median to the ends of its interval.
    drop: f64,
}

impl Logistic {
    /// Maximizes the likelihood by Newton's method, starting halfway between `low` and `high`.
    pub fn fit(trials: Vec<(f64, bool)>, (low, high): (f64, f64)) -> Self {
        let middle = low.midpoint(high);
        let unit = ((low - high) / 2.0).abs().max(INITIAL_SCALE_NS);
        // A trial at middle + x unit catches with probability 1 / (1 + exp(-(a + b x))).
        let (mut a, mut b) = (0.0, 1.0);
        let likelihood = |a: f64, b: f64| -> f64 {
            let trials = trials.iter();
            trials
                .map(|&(at, caught)| log_probability(a + b * (at - middle) / unit, caught))
                .sum()
        };
        for _ in 0..30 {
            let mut gradient = (0.0, 0.0);
            let mut curve = (1e-9, 0.0, 1e-9);
            for &(at, caught) in &trials {
                let x = (at - middle) / unit;
                let p = 1.0 / (1.0 + (-(a + b * x)).exp());
                let residual = f64::from(u8::from(caught)) - p;
                let weight = p * (1.0 - p);
                gradient = (gradient.0 + residual, gradient.1 + residual * x);
                curve = (
                    curve.0 + weight,
                    curve.1 + weight * x,
                    curve.2 + weight * x * x,
                );
            }
            let det = curve.0 * curve.2 - curve.1 * curve.1;
            let mut step = (
                (curve.2 * gradient.0 - curve.1 * gradient.1) / det,
                (curve.0 * gradient.1 - curve.1 * gradient.0) / det,
            );
            let before = likelihood(a, b);
            let mut halvings = 0;
            while halvings < 20 && likelihood(a + step.0, b + step.1) < before {
                step = (step.0 / 2.0, step.1 / 2.0);
                halvings += 1;
            }
            (a, b) = (a + step.0, b + step.1);
            if step.0.abs() + step.1.abs() < 1e-6 {
                break;
            }
        }
        // If trials do not support a rising curve, use an almost flat one.
        let slope = b.max(0.05);
        Self {
            trials,
            median: middle - (a / slope).clamp(-20.0, 20.0) * unit,
            spread: unit / slope,
            drop: LOG_LIKELIHOOD_DROP,
        }
    }

    /// Creates a distribution for trials that do not contradict each other. Its scale cannot be
    /// fitted: a smaller one is always more likely.
    pub fn around(trials: Vec<(f64, bool)>, median: f64) -> Self {
        Self {
            trials,
            median,
            spread: INITIAL_SCALE_NS,
            drop: LOG_LIKELIHOOD_DROP_IF_AGREED,
        }
    }

    /// Returns the half-width of the 95 % interval of the median, or infinity if trials are
    /// inconclusive. At the ends of the interval, the likelihood is lower by a fixed factor. The
    /// scale is refitted at each end, so that an underestimated scale does not narrow the interval.
    pub fn interval(&self) -> f64 {
        let top = self.likelihood(self.median);
        let max = MAX_ERROR_SCALES * self.spread;
        let side = |sign: f64| {
            let is_out = |by: f64| self.likelihood(self.median + sign * by) < top - self.drop;
            if !is_out(max) {
                return f64::INFINITY;
            }
            let (mut inside, mut outside) = (0.0, (3.0 * self.deviation()).min(max));
            while !is_out(outside) && outside < max {
                (inside, outside) = (outside, (2.0 * outside).min(max));
            }
            for _ in 0..5 {
                let middle = f64::midpoint(inside, outside);
                if is_out(middle) {
                    outside = middle;
                } else {
                    inside = middle;
                }
            }
            outside
        };
        side(-1.0).max(side(1.0))
    }

    /// Returns true if [`Self::interval`] is at most `wanted`.
    pub fn is_within(&self, wanted: f64) -> bool {
        let min = self.likelihood(self.median) - self.drop;
        let is_out = |distance: f64| self.likelihood(self.median + distance) < min;
        is_out(-wanted) && is_out(wanted)
    }

    /// Returns the log-likelihood of a median with the scale that maximizes it.
    fn likelihood(&self, median: f64) -> f64 {
        let at_scale = |log: f64| {
            let spread = self.spread * f64::exp(log);
            let trials = self.trials.iter();
            trials
                .map(|&(at, caught)| log_probability((at - median) / spread, caught))
                .sum::<f64>()
        };
        let (mut low, mut high) = (-2.5, 2.5);
        for _ in 0..16 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if at_scale(a) < at_scale(b) {
                low = a;
            } else {
                high = b;
            }
        }
        at_scale(f64::midpoint(low, high))
    }

    /// Returns the standard deviation of the median, from the Fisher information of the trials.
    pub fn deviation(&self) -> f64 {
        let Self { median, spread, .. } = *self;
        let information = self.trials.iter().map(|(at, _)| {
            let p = 1.0 / (1.0 + (-(at - median) / spread).exp());
            p * (1.0 - p) / (spread * spread)
        });
        1.0 / information.sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests;
