//! Student's t, for confidence intervals.

/// 0.975 quantiles for 1 to 9 degrees of freedom, where the series below is off by more than 10^-5.
/// Computed with `scipy.stats.t.ppf` (scipy 1.17.1); the tests derive them independently.
const FEW: [f64; 9] = [
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
];

/// The same for infinitely many degrees: the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// The 0.975 quantile of Student's t, for a two-sided 95 % interval, to within 10^-5. Panics
/// without degrees of freedom.
///
/// Origin: Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.5, an expansion in
/// `1 / degrees` around the normal quantile.
pub fn t95_factor(degrees: u64) -> f64 {
    assert!(degrees > 0, "no degrees of freedom");
    if let Some(&quantile) = FEW.get((degrees - 1) as usize) {
        return quantile;
    }
    let x = NORMAL;
    let square = x * x;
    // g1 to g4 of 26.7.5, each divided by x.
    let terms = [
        (square + 1.0) / 4.0,
        ((5.0 * square + 16.0) * square + 3.0) / 96.0,
        (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0,
        ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0)
            / 92_160.0,
    ];
    let inverse = 1.0 / degrees as f64;
    let series = terms.iter().rev().fold(0.0, |sum, g| (sum + g) * inverse);
    x * (1.0 + series)
}

/// Half the width of the 95 % confidence interval of the mean of independent values, normal or
/// nearly so, in their unit; `None` below two.
pub(crate) fn half_width_95(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let degrees = values.len() as u64 - 1;
    Some(t95_factor(degrees) * (squares / degrees as f64 / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_match_an_independent_implementation() {
        // scipy 1.17.1, x the values: t.ppf(0.975, len(x) - 1) * scipy.stats.sem(x).
        let values = [
            48.47, 48.31, 48.95, 48.6, 48.12, 49.03, 48.44, 48.7, 48.25, 48.88,
        ];
        for (count, half_width) in [
            (2, 1.016_496_378_893_953_8),
            (3, 0.827_383_202_006_764_2),
            (5, 0.389_395_807_366),
            (10, 0.222_292_034_848_195_5),
        ] {
            let found = half_width_95(&values[..count]).unwrap();
            assert!(
                (found / half_width - 1.0).abs() < 1e-6,
                "{found} {half_width}"
            );
        }
        assert_eq!(half_width_95(&values[..1]), None);
        assert_eq!(half_width_95(&[]), None);
    }

    /// The probability of `-t..t`: Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even).
    fn within(t: f64, degrees: u64) -> f64 {
        let angle = (t / (degrees as f64).sqrt()).atan();
        let (sin, cos) = angle.sin_cos();
        let odd = degrees % 2;
        // Terms of cos^0, cos^2, ... (even) or cos^1, cos^3, ... (odd), up to cos^(degrees - 2).
        let mut term = if odd == 1 { cos } else { 1.0 };
        let mut sum = 0.0;
        for power in (odd..degrees.saturating_sub(1)).step_by(2) {
            sum += term;
            term *= cos * cos * (power + 1) as f64 / (power + 2) as f64;
        }
        if odd == 1 {
            (angle + sin * sum) / std::f64::consts::FRAC_PI_2
        } else {
            sin * sum
        }
    }

    #[test]
    fn quantiles_enclose_95_percent() {
        for degrees in 1..=2_000 {
            let t = t95_factor(degrees);
            assert!(within(t - 1e-5, degrees) < 0.95, "{degrees}: {t} too long");
            assert!(within(t + 1e-5, degrees) > 0.95, "{degrees}: {t} too short");
        }
    }

    #[test]
    fn quantiles_match_the_printed_tables() {
        for (degrees, printed) in [
            (1, 12.706),
            (2, 4.303),
            (4, 2.776),
            (10, 2.228),
            (30, 2.042),
            (60, 2.000),
            (120, 1.980),
            (u64::MAX, 1.960),
        ] {
            let error: f64 = t95_factor(degrees) - printed;
            assert!(error.abs() <= 0.0005, "{degrees}: off by {error}");
        }
    }
}
