//! The logistic distribution of a threshold that scatters, from yes and no.

/// Trials that contradict each other are first spread over this much, in nanoseconds.
const SPREAD: f64 = 2.5e4;
/// Half the 95th percentile of the chi-square distribution: by this much the logarithm of the
/// likelihood is less at the ends of a 95 % interval.
const LESS: f64 = 1.92;
/// The same where trials agree: they may do so by chance for a while, and whether they are enough
/// is asked after each.
const LESS_IF_AGREED: f64 = 2.0 * LESS;
/// A median that may be off by more scales than this is not known. Trials that are all so far away
/// are as likely wherever it is between them.
const FAR: f64 = 40.0;

/// Trials that contradict each other: the value of each, and whether it caught.
#[derive(Clone, Debug)]
pub(crate) struct Logistic {
    trials: Vec<(f64, bool)>,
    pub median: f64,
    pub spread: f64,
    less: f64,
}

impl Logistic {
    /// The most likely distribution, whose median is looked for between `low` and `high`, about. By
    /// Newton's method on the concave likelihood.
    pub fn fit(trials: Vec<(f64, bool)>, (low, high): (f64, f64)) -> Self {
        let middle = low.midpoint(high);
        let unit = ((low - high) / 2.0).abs().max(SPREAD);
        // Whether a trial at middle + x unit catches: probability 1 / (1 + exp(-(a + b x))).
        let (mut a, mut b) = (0.0, 1.0);
        let likelihood = |a: f64, b: f64| -> f64 {
            let of = |&(at, caught): &(f64, bool)| {
                let score = a + b * (at - middle) / unit;
                let score = if caught { score } else { -score };
                -(-score).exp().ln_1p().min(1e9)
            };
            trials.iter().map(of).sum()
        };
        for _ in 0..30 {
            let mut gradient = (0.0, 0.0);
            let mut curve = (1e-9, 0.0, 1e-9);
            for &(at, caught) in &trials {
                let x = (at - middle) / unit;
                let p = 1.0 / (1.0 + (-(a + b * x)).exp());
                let rest = f64::from(u8::from(caught)) - p;
                let weight = p * (1.0 - p);
                gradient = (gradient.0 + rest, gradient.1 + rest * x);
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
        // Trials that say nothing of a rising curve leave a flat one.
        let b = b.max(0.05);
        Self {
            trials,
            median: middle - (a / b).clamp(-20.0, 20.0) * unit,
            spread: unit / b,
            less: LESS,
        }
    }

    /// What trials say that do not contradict each other, so that any scale is the more likely the
    /// smaller it is.
    pub fn around(trials: Vec<(f64, bool)>, median: f64) -> Self {
        Self {
            trials,
            median,
            spread: SPREAD,
            less: LESS_IF_AGREED,
        }
    }

    /// Half the 95 % interval of the median: where the likelihood, with the scale that fits best
    /// there, is that much less. A scale that came out too small makes it no narrower. Infinite if
    /// trials do not tell.
    pub fn interval(&self) -> f64 {
        let top = self.likelihood(self.median);
        let max = FAR * self.spread;
        let side = |sign: f64| {
            let is_out = |apart: f64| self.likelihood(self.median + sign * apart) < top - self.less;
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

    /// Whether [`Self::interval`] is at most `wanted`.
    pub fn is_within(&self, wanted: f64) -> bool {
        let min = self.likelihood(self.median) - self.less;
        let is_out = |apart: f64| self.likelihood(self.median + apart) < min;
        is_out(-wanted) && is_out(wanted)
    }

    /// The logarithm of the likelihood of a median, with the scale that fits best there. It has one
    /// top over the logarithm of the scale.
    fn likelihood(&self, median: f64) -> f64 {
        let with = |log: f64| {
            let spread = self.spread * f64::exp(log);
            let of = |&(at, caught): &(f64, bool)| {
                let score = (at - median) / spread;
                let score = if caught { score } else { -score };
                -(-score).exp().ln_1p().min(1e9)
            };
            self.trials.iter().map(of).sum::<f64>()
        };
        let (mut low, mut high) = (-2.5, 2.5);
        for _ in 0..16 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if with(a) < with(b) {
                low = a;
            } else {
                high = b;
            }
        }
        with(f64::midpoint(low, high))
    }

    /// Standard deviation of the median, from the information in the trials.
    pub fn deviation(&self) -> f64 {
        let Self { median, spread, .. } = *self;
        let information = self.trials.iter().map(|(at, _)| {
            let p = 1.0 / (1.0 + (-(at - median) / spread).exp());
            p * (1.0 - p) / (spread * spread)
        });
        1.0 / information.sum::<f64>().sqrt()
    }
}
