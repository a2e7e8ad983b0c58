//! Confidence intervals of the mean of a series of dependent values, or of independent values.

use crate::units::{Span, elapsed_ns};

/// One more than the maximum number of batches. Joining leaves at least 32, or 31 in a merge.
const BATCHES: usize = 64;
/// Minimum number of spans in whole batches for an interval: batches then have at least 16 spans.
const MIN_SPANS: u64 = 512;

/// The half-width of a 95 % confidence interval of the mean of a stationary series.
///
/// # What it does
/// Cuts the series into 32 to 63 batches of equal length and treats their means as independent and
/// normal, which they approach as batches become long compared to the series' memory. When there
/// are 64, neighbours are joined and the length doubles, so that memory is constant and the length
/// of the run need not be known. Only whole batches count toward the variance.
///
/// # Origin
/// Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30(3),
/// 1982: beyond 30 batches little is gained and the means become more dependent. Doubling: Yeh and
/// Schmeiser, "Simulation output analysis via dynamic batch means", Winter Simulation Conference
/// 2000. Departure: it does not test whether the means are in fact independent.
///
/// # Cost
/// About seven instructions per span; 1 KiB.
///
/// # When it is bad
/// The interval is too narrow while a batch is shorter than about ten times the series' memory, for
/// example near saturation. Beyond saturation there is no stationary mean: use replications.
///
/// # Example
/// ```
/// use diskarm_core::stats::BatchMeans;
/// use diskarm_core::units::Span;
/// let mut series = BatchMeans::default();
/// for i in 0..6400 {
///     series.record(Span::from_us(f64::from(i * 37 % 101)));
/// }
/// assert!(series.half_width_95().unwrap() < Span::from_us(1.0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchMeans {
    /// Sums in nanoseconds of the complete batches: the first `count`; the others are zero.
    sums: [u128; BATCHES],
    count: usize,
    length: u64,
    /// Sum of the incomplete batch, and the number of spans it still lacks.
    incomplete: u128,
    missing: u64,
}

impl Default for BatchMeans {
    fn default() -> Self {
        Self {
            sums: [0; BATCHES],
            count: 0,
            length: 1,
            incomplete: 0,
            missing: 1,
        }
    }
}

impl BatchMeans {
    /// Adds the next span of the series. Panics if `span` is negative.
    #[inline]
    pub fn record(&mut self, span: Span) {
        self.incomplete += u128::from(elapsed_ns(span));
        self.missing -= 1;
        if self.missing == 0 {
            self.close_batch();
        }
    }

    #[cold]
    fn close_batch(&mut self) {
        self.sums[self.count] = self.incomplete;
        self.count += 1;
        self.incomplete = 0;
        self.missing = self.length;
        if self.count == BATCHES {
            self.join_neighbours();
        }
    }

    /// Doubles the length of the batches, as if it had been double from the beginning.
    fn join_neighbours(&mut self) {
        let pairs = self.count / 2;
        if self.count.is_multiple_of(2) {
            self.missing += self.length;
        } else {
            self.incomplete += self.sums[self.count - 1];
        }
        for i in 0..pairs {
            self.sums[i] = self.sums[2 * i] + self.sums[2 * i + 1];
        }
        self.sums[pairs..].fill(0);
        self.count = pairs;
        self.length *= 2;
    }

    /// Appends the batches of `other`, an independent series with the same mean, such as another
    /// replication. Shorter batches are first joined to the length of the longer ones. Spans of
    /// `other` after its last whole batch are dropped, because they cannot be split to fit. Series
    /// of one run that depend on each other (two drives of an array) must be recorded in one
    /// `BatchMeans` in order of time instead.
    pub fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.length < other.length {
            self.join_neighbours();
        }
        while other.length < self.length {
            other.join_neighbours();
        }
        while self.count + other.count >= BATCHES {
            self.join_neighbours();
            other.join_neighbours();
        }
        let count = self.count + other.count;
        self.sums[self.count..count].copy_from_slice(&other.sums[..other.count]);
        self.count = count;
    }

    /// Returns half the width of the mean's 95 % interval, if the whole batches together have at
    /// least 512 spans.
    pub fn half_width_95(&self) -> Option<Span> {
        self.half_width_95_of(|batch| self.sums[batch] as f64)
    }

    /// Returns half the width of the mean's 95 % interval for this series minus `factor` times
    /// `other`. Batches are subtracted one by one, so common effects, such as the sizes of
    /// requests, cancel out. Also `None` if the series differ in length. Neither series may result
    /// from a [merge](Self::merge).
    pub fn half_width_95_less(&self, factor: f64, other: &Self) -> Option<Span> {
        let shape = |series: &Self| (series.count, series.length, series.missing);
        if shape(self) != shape(other) {
            return None;
        }
        self.half_width_95_of(|batch| self.sums[batch] as f64 - factor * other.sums[batch] as f64)
    }

    /// Returns half the width of the interval of a series with these batch sums.
    fn half_width_95_of(&self, sum: impl Fn(usize) -> f64) -> Option<Span> {
        if self.count as u64 * self.length < MIN_SPANS {
            return None;
        }
        let means = (0..self.count).map(|batch| sum(batch) / self.length as f64);
        let half = half_width_95_of_numbers(&means.collect::<Vec<_>>())?;
        Some(Span::from_ns(half.round() as i64))
    }
}

/// 0.975 quantiles for 1 to 9 degrees of freedom, where the series below is off by more than 10^-5.
/// Computed with `scipy.stats.t.ppf` (scipy 1.17.1); the tests derive them independently.
const SMALL_SAMPLES: [f64; 9] = [
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
];

/// The 0.975 quantile for infinitely many degrees: the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Returns the 0.975 quantile of Student's t, for a two-sided 95 % interval, to within 10^-5.
/// Panics if `degrees` is 0.
///
/// Origin: Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.5, an expansion in
/// `1 / degrees` around the normal quantile.
pub fn t95_factor(degrees: u64) -> f64 {
    assert!(degrees > 0, "no degrees of freedom");
    if let Some(&quantile) = SMALL_SAMPLES.get((degrees - 1) as usize) {
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

/// Returns half the width of the mean's 95 % interval of normally distributed numbers; `None` for
/// fewer than two.
pub fn half_width_95_of_numbers(numbers: &[f64]) -> Option<f64> {
    if numbers.len() < 2 {
        return None;
    }
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let degrees = numbers.len() as u64 - 1;
    Some(t95_factor(degrees) * (squares / degrees as f64 / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series_of(ns: impl IntoIterator<Item = u64>) -> BatchMeans {
        let mut series = BatchMeans::default();
        for ns in ns {
            series.record(Span::from_ns(ns as i64));
        }
        series
    }

    /// Jagged waves of two periods plus a square wave, in nanoseconds.
    fn jagged(i: u64) -> u64 {
        let wave = if i / 50 % 2 == 1 { 2_000_000 } else { 0 };
        5_000_000 + i * 7919 % 1009 * 1000 + wave + i * i % 97 * 10_000
    }

    #[test]
    fn half_widths_match_an_independent_implementation() {
        // numpy 2 and scipy 1.17.1, x the series above, k batches of length l:
        // b = x[:k*l].reshape(k, l).mean(axis=1); t.ppf(0.975, k - 1) * scipy.stats.sem(b)
        for (spans, batches, length, half_width) in [
            (512, 32, 16, 316_637.452_432_072_6),
            (1_000, 62, 16, 216_682.437_347_009_63),
            (10_000, 39, 256, 35_888.059_498_940_87),
        ] {
            let series = series_of((0..spans).map(jagged));
            assert_eq!((series.count, series.length), (batches, length));
            let half: f64 = series.half_width_95().unwrap().as_ns() as f64;
            assert!((half - half_width).abs() <= 1.0, "{half} {half_width}");
        }
    }

    /// The interval of a mean difference equals the interval of the mean of the differences.
    #[test]
    fn common_effects_cancel_out() {
        let longer = |i: u64| jagged(i) + i * 31 % 17 * 1_000;
        let [more, base] = [
            series_of((0..5_000).map(longer)),
            series_of((0..5_000).map(jagged)),
        ];
        let differences = series_of((0..5_000).map(|i| longer(i) - jagged(i)));
        let half = more.half_width_95_less(1.0, &base).expect("an interval");
        let expected = differences.half_width_95().expect("an interval");
        assert!((half - expected).as_ns().abs() <= 1, "{half} {expected}");
        assert!(half * 100 < base.half_width_95().expect("an interval"));
        let fewer = series_of((0..4_999).map(jagged));
        assert_eq!(more.half_width_95_less(1.0, &fewer), None);
        let thrice = series_of((0..5_000).map(|i| 3 * jagged(i)));
        assert_eq!(thrice.half_width_95_less(3.0, &base), Some(Span::ZERO));
    }

    #[test]
    fn batches_match_a_series_cut_afterwards() {
        for spans in [1, 63, 64, 65, 127, 128, 1_000, 4_095, 4_096, 99_999] {
            let series = series_of((0..spans).map(jagged));
            let all: Vec<u64> = (0..spans).map(jagged).collect();
            let sum = |batch: &[u64]| batch.iter().map(|&ns| u128::from(ns)).sum::<u128>();
            let cut = all.chunks_exact(series.length as usize);
            assert_eq!(series.incomplete, sum(cut.remainder()));
            assert_eq!(series.missing, series.length - cut.remainder().len() as u64);
            let sums: Vec<u128> = cut.map(sum).collect();
            assert_eq!(&series.sums[..series.count], sums);
            assert!(series.count < BATCHES && (series.count >= 32 || series.length == 1));
        }
    }

    #[test]
    fn merging_whole_batches_matches_recording_everything() {
        // 40 batches of 64, then 50 of 32, which become 25 of 64. Joining all 65 gives 20 and 12 of
        // 128; the odd batch of the second series is lost.
        let (first, second) = (0..2_560, 2_560..4_160);
        let mut merged = series_of(first.clone().map(jagged));
        merged.merge(&series_of(second.clone().map(jagged)));
        let series = series_of(first.chain(second).map(jagged));
        assert_eq!((merged.count, merged.length), (32, 128));
        assert_eq!(merged.sums, series.sums);
    }

    #[test]
    fn an_odd_batch_keeps_filling() {
        // 33 batches of 64 become 16 of 128 and one that is half full.
        let mut merged = series_of((0..2_112).map(jagged));
        merged.merge(&series_of((0..8_192 * 2).map(jagged)));
        assert_eq!(merged.length, 512);
        assert_eq!(merged.count, 4 + 32);
        assert_eq!(merged.missing, 512 - 64);
        let tail: u128 = (2_048..2_112).map(|i| u128::from(jagged(i))).sum();
        assert_eq!(merged.incomplete, tail);
    }

    #[test]
    fn a_short_series_has_no_interval() {
        assert_eq!(series_of((0..511).map(jagged)).half_width_95(), None);
        assert_eq!(series_of([5; 512]).half_width_95(), Some(Span::ZERO));
    }

    #[test]
    fn half_widths_of_independent_values_match_an_independent_implementation() {
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
            let found = half_width_95_of_numbers(&values[..count]).unwrap();
            let error = found / half_width - 1.0;
            assert!(error.abs() < 1e-6, "{found} {half_width}");
        }
        assert_eq!(half_width_95_of_numbers(&values[..1]), None);
        assert_eq!(half_width_95_of_numbers(&[]), None);
    }

    /// Returns the probability of `-t..t`: Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even).
    fn probability_within(t: f64, degrees: u64) -> f64 {
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
            assert!(
                probability_within(t - 1e-5, degrees) < 0.95,
                "{degrees}: {t} too long"
            );
            assert!(
                probability_within(t + 1e-5, degrees) > 0.95,
                "{degrees}: {t} too short"
            );
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
