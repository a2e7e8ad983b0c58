//! Mean errors of rows that are alike.

use diskarm_core::predict::Continuity;

use crate::trace::KINDS;

/// Mean errors of rows that are alike: of one direction, over like distances. The likelihood of
/// single rows leaves out what goes its own way, and with it lost revolutions that do not happen
/// evenly; the mean response of each kind must come out all the same.
pub struct Means {
    /// Of each kind: how many, and the sum of their errors in milliseconds.
    kinds: [(f64, f64); KINDS],
}

impl Default for Means {
    fn default() -> Self {
        Self {
            kinds: [(0.0, 0.0); KINDS],
        }
    }
}

/// Share of requests that lose or gain a revolution, where the angle is known.
const SLIPPING: f64 = 0.02;

impl Means {
    /// A row of this kind was off by so much.
    pub fn record(&mut self, kind: usize, error_ms: f64) {
        self.kinds[kind].0 += 1.0;
        self.kinds[kind].1 += error_ms;
    }

    /// Logarithm of the density of these means, of each kind and of each direction, but for a
    /// constant.
    pub fn ln_density(&self, continuity: Continuity, period_ms: f64) -> f64 {
        let variance = period_ms
            * period_ms
            * match continuity {
                Continuity::Unbroken => SLIPPING,
                // Two independent waits of up to a revolution.
                Continuity::Unknown => 1.0 / 6.0,
            };
        let of = |(count, sum): (f64, f64)| -0.5 * sum * sum / (count.max(1.0) * variance);
        let each: f64 = self.kinds.iter().map(|&kind| of(kind)).sum();
        let direction = |first: usize| {
            let all = self.kinds[first..].iter().step_by(2);
            of(all.fold((0.0, 0.0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1)))
        };
        each + direction(0) + direction(1)
    }
}
