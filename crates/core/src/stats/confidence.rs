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
mod tests;
