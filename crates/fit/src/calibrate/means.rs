//! Mean errors of similar rows.

use diskarm_core::predict::Continuity;

use crate::calibrate::trace::KINDS;

/// Mean errors of similar rows: with the same direction and similar distances. The likelihood of
/// single rows ignores outliers, and with them lost revolutions that are not evenly
/// distributed; the mean response of each kind must be right nevertheless.
pub struct Means {
    /// For each kind, the number of rows and the sum of their errors in milliseconds.
    kinds: [(f64, f64); KINDS],
}

impl Default for Means {
    fn default() -> Self {
        Self {
            kinds: [(0.0, 0.0); KINDS],
        }
    }
}

/// Share of requests that lose or gain a revolution, if the angle is known.
const SLIPPING: f64 = 0.02;

impl Means {
    /// Records the error of a row of this kind.
    pub fn record(&mut self, kind: usize, error_ms: f64) {
        self.kinds[kind].0 += 1.0;
        self.kinds[kind].1 += error_ms;
    }

    /// Logarithm of the density of these means, of each kind and of each direction, up to a
    /// constant.
    pub fn ln_density(&self, continuity: Continuity, period_ms: f64) -> f64 {
        let variance = variance_ms2(continuity, period_ms);
        let of = |(count, sum): (f64, f64)| -0.5 * sum * sum / (count.max(1.0) * variance);
        self.terms().map(of).sum()
    }

    /// Each of these means in its standard deviations: half of their squares are what
    /// [`Self::ln_density`] lacks.
    pub fn deviations(&self, continuity: Continuity, period_ms: f64) -> Vec<f64> {
        let variance = variance_ms2(continuity, period_ms);
        let of = |(count, sum): (f64, f64)| sum / (count.max(1.0) * variance).sqrt();
        self.terms().map(of).collect()
    }

    /// The numbers of rows and the sums of errors of each kind and of each direction.
    fn terms(&self) -> impl Iterator<Item = (f64, f64)> {
        let direction = |first: usize| {
            let all = self.kinds[first..].iter().step_by(2);
            all.fold((0.0, 0.0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1))
        };
        let kinds = self.kinds.iter().copied();
        kinds.chain([direction(0), direction(1)])
    }
}

/// The variance of one row's error, in squared milliseconds.
fn variance_ms2(continuity: Continuity, period_ms: f64) -> f64 {
    let share = match continuity {
        Continuity::Unbroken => SLIPPING,
        // A wait of up to a revolution.
        Continuity::Unknown => 1.0 / 12.0,
    };
    period_ms * period_ms * share
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_MS: f64 = 10.0;

    fn of(errors_ms: &[(usize, f64)], continuity: Continuity) -> f64 {
        let mut means = Means::default();
        for &(kind, error_ms) in errors_ms {
            means.record(kind, error_ms);
        }
        let squares = means.deviations(continuity, PERIOD_MS).into_iter();
        let ln = means.ln_density(continuity, PERIOD_MS);
        assert!((squares.map(|z| z * z / -2.0).sum::<f64>() - ln).abs() < 1e-12);
        ln
    }

    /// A sum of `n` errors has `n` times the variance of one: 2 % of a squared period where the
    /// angle is known, a twelfth of a squared period otherwise.
    #[test]
    fn means_have_the_density_of_a_normal_distribution() {
        let (known, unknown) = (Continuity::Unbroken, Continuity::Unknown);
        let near = |is: f64, should: f64| assert!((is - should).abs() < 1e-12, "{is} {should}");
        near(of(&[], known), 0.0);
        // 3^2 / (2 * 2), once for its kind and once for its direction.
        near(of(&[(4, 3.0)], known), 2.0 * -9.0 / 4.0);
        near(of(&[(4, 3.0)], unknown), 2.0 * -9.0 * 6.0 / 100.0);
        // Four of 1.5 ms: 6^2 / (2 * 4 * 2).
        near(of(&[(4, 1.5); 4], known), 2.0 * -36.0 / 16.0);
    }

    #[test]
    fn kinds_of_one_direction_add_up_and_directions_do_not() {
        let known = Continuity::Unbroken;
        let near = |is: f64, should: f64| assert!((is - should).abs() < 1e-12, "{is} {should}");
        // Each kind has an error, the direction has none.
        near(of(&[(2, 3.0), (6, -3.0)], known), 2.0 * -9.0 / 4.0);
        near(of(&[(2, 3.0), (5, -3.0)], known), 4.0 * -9.0 / 4.0);
        near(
            of(&[(3, 3.0), (5, 3.0)], known),
            2.0 * -9.0 / 4.0 - 36.0 / 8.0,
        );
        let last = KINDS - 1;
        near(of(&[(last, 2.0), (1, -2.0)], known), 2.0 * -4.0 / 4.0);
    }
}
