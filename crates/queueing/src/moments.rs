//! The first three moments of a time.

/// The means of a time, its square and its cube.
///
/// The variance of a wait needs all three ([`crate::queues::mg1_wait`]). If the time is in
/// milliseconds, their units are ms, ms^2 and ms^3.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    pub first: f64,
    pub second: f64,
    pub third: f64,
}

impl Moments {
    pub fn constant(value: f64) -> Self {
        Self {
            first: value,
            second: value * value,
            third: value * value * value,
        }
    }

    /// Returns the moments of a uniform time from 0 to `max`: max^i / (i + 1) (liu05, eq. 4.5).
    pub fn uniform(max: f64) -> Self {
        Self::constant(max).scaled([1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0])
    }

    /// Returns the moments of an exponential time with mean `mean`: i! mean^i.
    pub fn exponential(mean: f64) -> Self {
        Self::constant(mean).scaled([1.0, 2.0, 6.0])
    }

    /// Returns the moments of a mixture of times, given with their weights. Weights need not add up
    /// to 1; if they add up to 0, all moments are 0.
    pub fn mixture(parts: impl IntoIterator<Item = (f64, Self)>) -> Self {
        let (mut weight, mut sum) = (0.0, Self::default());
        for (share, part) in parts {
            weight += share;
            sum.first += share * part.first;
            sum.second += share * part.second;
            sum.third += share * part.third;
        }
        if weight > 0.0 {
            sum.scaled([1.0 / weight; 3])
        } else {
            Self::default()
        }
    }

    /// Returns the moments of the sum of this time and an independent `other`, by the binomial
    /// theorem; the second moment is liu05, equation 4.8.
    pub fn plus(self, other: Self) -> Self {
        let (a, b) = (self, other);
        Self {
            first: a.first + b.first,
            second: a.second + 2.0 * a.first * b.first + b.second,
            third: a.third + 3.0 * (a.second * b.first + a.first * b.second) + b.third,
        }
    }

    pub fn variance(self) -> f64 {
        self.second - self.first * self.first
    }

    fn scaled(self, by: [f64; 3]) -> Self {
        Self {
            first: self.first * by[0],
            second: self.second * by[1],
            third: self.third * by[2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Moments {
        /// Asserts that the relative errors of all moments are below `tolerance`.
        pub fn assert_near(self, expected: Self, tolerance: f64) {
            let all = |moments: Self| [moments.first, moments.second, moments.third];
            for (found, correct) in all(self).into_iter().zip(all(expected)) {
                let error = found / correct - 1.0;
                assert!(error.abs() < tolerance, "{self:?}, expected {expected:?}");
            }
        }
    }

    /// All 36 outcomes of two dice.
    #[test]
    fn moments_of_a_sum_match_an_enumeration() {
        let die = Moments::mixture((1..=6).map(|n| (1.0, Moments::constant(f64::from(n)))));
        let pairs = (1..=6).flat_map(|a| (1..=6).map(move |b| f64::from(a + b)));
        let expected = Moments::mixture(pairs.map(|sum| (1.0, Moments::constant(sum))));
        let found = die.plus(die);
        found.assert_near(expected, 1e-14);
        assert!((found.variance() - 35.0 / 6.0).abs() < 1e-12);
    }

    /// The midpoint rule, over 10^5 intervals of the time, or of its distribution function.
    #[test]
    fn moments_of_uniform_and_exponential_times_match_their_integrals() {
        let steps = 100_000;
        let at = |n: u32| (f64::from(n) + 0.5) / f64::from(steps);
        let sum = |time: fn(f64) -> f64| {
            Moments::mixture((0..steps).map(|n| (1.0, Moments::constant(time(at(n))))))
        };
        sum(|u| 7.0 * u).assert_near(Moments::uniform(7.0), 1e-8);
        // The tail that is cut off beyond 1 - 1 / (2 steps) is at most 0.5 % of the third moment.
        sum(|u| -2.0 * (-u).ln_1p()).assert_near(Moments::exponential(2.0), 5e-3);
    }
}
