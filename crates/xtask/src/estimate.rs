//! Means and confidence intervals for the generated pages.

/// 0.975 quantiles of Student's t by number of values, which is one more than the degrees of
/// freedom.
const T95: [(usize, f64); 2] = [(5, 2.776_445), (20, 2.093_024)];

/// A mean and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    pub ci95: f64,
}

/// The estimate from five or twenty independent values; for other numbers the interval is NaN.
pub fn estimate(values: &[f64]) -> Estimate {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let quantile = T95.iter().find(|(n, _)| *n == values.len());
    let quantile = quantile.map_or(f64::NAN, |&(_, t)| t);
    let ci95 = quantile * (squares / (count - 1.0) / count).sqrt();
    Estimate { mean, ci95 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_match_the_textbook() {
        // Deviations -2, -1, 0, 1, 2: variance 10 / 4, of the mean 0.5.
        let five = estimate(&[8.0, 9.0, 10.0, 11.0, 12.0]);
        assert_eq!(five.mean, 10.0);
        assert!((five.ci95 - 2.776_445 * 0.5f64.sqrt()).abs() < 1e-12);
    }
}
