//! Mean, variance and a summary of response times.

use super::confidence::{BatchMeans, half_width_95};
use super::histogram::Histogram;
use crate::units::{Span, elapsed_ns};

/// Moments, percentiles and confidence interval of a series of response times.
///
/// Recording costs about 35 instructions; memory is a [`Histogram`] and 1 KiB.
///
/// ```
/// use diskarm_core::stats::ResponseSummary;
/// use diskarm_core::units::Span;
/// let mut summary = ResponseSummary::default();
/// for ms in [2.0, 4.0, 9.0] {
///     summary.record(Span::from_ms(ms));
/// }
/// let figures = summary.figures().unwrap();
/// assert_eq!(figures.mean_ms, 5.0);
/// assert_eq!(figures.max_ms, 9.0);
/// assert_eq!(figures.ci95_ms, None); // Too few.
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseSummary {
    moments: Moments,
    histogram: Histogram,
    batches: BatchMeans,
}

/// The statistics of a [`ResponseSummary`], as plain numbers for output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseStats {
    /// Number of responses recorded.
    pub count: u64,
    /// Mean of all responses, in milliseconds.
    pub mean_ms: f64,
    /// Half the width of the mean's 95 % confidence interval; `None` below 512 responses.
    pub ci95_ms: Option<f64>,
    /// Standard deviation; `None` below two responses.
    pub std_ms: Option<f64>,
    /// Squared coefficient of variation; `None` below two responses or with a mean of zero.
    pub cv2: Option<f64>,
    /// Median; this and the next four to within 0.1 % or 64 ns.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p999_ms: f64,
    /// The longest response, exact.
    pub max_ms: f64,
}

impl ResponseStats {
    /// Creates the combined statistics of independent replications. The confidence interval is
    /// Student's over the means of the non-empty ones, and `None` with fewer than two.
    pub fn from_replications<'s>(runs: impl Iterator<Item = &'s ResponseSummary>) -> Option<Self> {
        let mut all = ResponseSummary::default();
        let mut means_ms = Vec::new();
        for run in runs {
            all.merge(run);
            means_ms.extend(run.moments.mean().map(Span::as_ms));
        }
        Some(Self {
            ci95_ms: half_width_95(&means_ms),
            ..all.figures()?
        })
    }
}

impl ResponseSummary {
    /// Records the next response of the series. Panics when it is negative.
    #[inline]
    pub fn record(&mut self, response: Span) {
        self.moments.record(response);
        self.histogram.record(response);
        self.batches.record(response);
    }

    /// Adds everything from `other`, an independent series (see [`BatchMeans::merge`]; for
    /// dependent series all values except the confidence interval are valid).
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
        self.batches.merge(&other.batches);
    }

    /// Creates the summary of a series of which two parts were recorded separately. They depend on
    /// each other, so the confidence interval comes from the whole `series`.
    pub fn together(a: &Self, b: &Self, series: &BatchMeans) -> Self {
        let mut both = a.clone();
        both.moments.merge(&b.moments);
        both.histogram.merge(&b.histogram);
        both.batches = series.clone();
        both
    }

    /// Returns the count, the mean and the deviation.
    pub const fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Returns the histogram, for arbitrary percentiles.
    pub const fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Returns all statistics; `None` when nothing was recorded.
    pub fn figures(&self) -> Option<ResponseStats> {
        let quantile_ms = |p| self.histogram.quantile(p).map(Span::as_ms);
        Some(ResponseStats {
            count: self.moments.count(),
            mean_ms: self.moments.mean()?.as_ms(),
            ci95_ms: self.batches.half_width_95().map(Span::as_ms),
            std_ms: self.moments.std().map(Span::as_ms),
            cv2: self.moments.cv2(),
            p50_ms: quantile_ms(0.5)?,
            p90_ms: quantile_ms(0.9)?,
            p95_ms: quantile_ms(0.95)?,
            p99_ms: quantile_ms(0.99)?,
            p999_ms: quantile_ms(0.999)?,
            max_ms: self.histogram.max()?.as_ms(),
        })
    }
}

/// Sums of a sample of spans and of their squares, as integers: exact, and independent of the order
/// of recording and merging.
///
/// Recording costs about ten instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    sum: u128,
    squares: u128,
    /// Number of times that `squares` has passed 2^128.
    carries: u64,
}

impl Moments {
    /// Records `span`. Panics when it is negative.
    #[inline]
    pub fn record(&mut self, span: Span) {
        let ns = u128::from(elapsed_ns(span));
        self.count += 1;
        self.sum += ns;
        self.add_squares(ns * ns);
    }

    /// Adds everything that `other` has recorded.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.add_squares(other.squares);
        self.carries += other.carries;
    }

    #[inline]
    fn add_squares(&mut self, squares: u128) {
        let (sum, overflowed) = self.squares.overflowing_add(squares);
        self.squares = sum;
        self.carries += u64::from(overflowed);
    }

    /// Returns the number of recorded spans.
    #[inline]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Mean to the nearest nanosecond; `None` when nothing was recorded.
    pub fn mean(&self) -> Option<Span> {
        let count = u128::from(self.count);
        let mean = (self.sum + count / 2).checked_div(count)?;
        Some(Span::from_ns(mean as i64))
    }

    /// Variance in ms², with divisor `count - 1`; `None` below two spans.
    pub fn variance_ms2(&self) -> Option<f64> {
        Some(self.variance_ns2()? * 1e-12)
    }

    /// Standard deviation to the nearest nanosecond; `None` below two spans.
    pub fn std(&self) -> Option<Span> {
        Some(Span::from_ns(self.variance_ns2()?.sqrt().round() as i64))
    }

    /// Squared coefficient of variation, variance over squared mean: the measure of starvation
    /// of worthington94 section 4.4. `None` below two spans or when all are zero.
    pub fn cv2(&self) -> Option<f64> {
        let variance = self.variance_ns2()?;
        let mean = self.sum as f64 / self.count as f64;
        (self.sum > 0).then(|| variance / (mean * mean))
    }

    /// The textbook `squares - sum² / count` loses all digits when the spread is small compared to
    /// the mean, and its integer form overflows. Around the mean rounded down, `floor = (sum -
    /// rest) / count`, the sum of squares is `squares - floor * (sum + rest)`: an integer, and no
    /// term exceeds `squares`. The rounding adds exactly `rest² / count`.
    fn variance_ns2(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        if self.carries > 0 {
            // Such squares (10^12 spans of five hours each have none) come from a queue that
            // grows: the spread is as large as the mean, and few digits cancel.
            let squares = self.carries as f64 * 2f64.powi(128) + self.squares as f64;
            let sum = self.sum as f64;
            let count = self.count as f64;
            return Some((squares - sum * (sum / count)).max(0.0) / (count - 1.0));
        }
        let count = u128::from(self.count);
        let (floor, rest) = (self.sum / count, self.sum % count);
        let around_floor = self.squares - floor * (self.sum + rest);
        let (excess, fraction) = (rest * rest / count, rest * rest % count);
        let around_mean = if fraction == 0 {
            (around_floor - excess) as f64
        } else {
            // A sum of positive terms: no cancellation.
            (around_floor - excess - 1) as f64 + (count - fraction) as f64 / count as f64
        };
        Some(around_mean / (self.count - 1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ns: impl IntoIterator<Item = i64>) -> Moments {
        let mut moments = Moments::default();
        for ns in ns {
            moments.record(Span::from_ns(ns));
        }
        moments
    }

    #[test]
    fn the_first_integers_have_their_closed_form() {
        // 1..=n: mean (n + 1) / 2, variance n (n + 1) / 12; n = 2999 makes both whole.
        let moments = of(1..=2999);
        assert_eq!(moments.count(), 2999);
        assert_eq!(moments.mean(), Some(Span::from_ns(1500)));
        assert_eq!(moments.variance_ns2(), Some(749_750.0));
        assert_eq!(moments.std(), Some(Span::from_ns(866))); // sqrt(749750) = 865.88
        assert_eq!(moments.cv2(), Some(749_750.0 / 2_250_000.0));
    }

    #[test]
    fn a_large_mean_costs_no_digits() {
        // 11 days and 1..=4 ns: non-integer mean, variance 5/3.
        let day = 86_400_000_000_000;
        let moments = of((1..=4).map(|ns| 11 * day + ns));
        assert_eq!(moments.variance_ns2(), Some(5.0 / 3.0));
        assert_eq!(moments.mean(), Some(Span::from_ns(11 * day + 3)));
    }

    #[test]
    fn a_fractional_mean_is_corrected() {
        // 0, 0, 1: mean 1/3, variance ((1/3)² * 2 + (2/3)²) / 2 = 1/3.
        let moments = of([0, 0, 1]);
        assert_eq!(moments.variance_ns2(), Some(1.0 / 3.0));
        assert!((moments.cv2().unwrap() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn squares_beyond_128_bits_are_counted() {
        // As many zeros as largest spans: the variance of n is (max / 2)² n / (n - 1).
        let moments = of([0, i64::MAX].repeat(1000));
        let mut halves = of([0].repeat(1000));
        halves.merge(&of([i64::MAX].repeat(1000)));
        assert_eq!(halves, moments);
        let half = i64::MAX as f64 / 2.0;
        let expected = half * half * 2000.0 / 1999.0;
        let variance = moments.variance_ns2().unwrap();
        assert!((variance / expected - 1.0).abs() < 1e-12, "{variance}");
        assert!((moments.cv2().unwrap() * 1999.0 / 2000.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn too_small_samples_have_no_figures() {
        assert_eq!(of([]).mean(), None);
        assert_eq!(of([7]).mean(), Some(Span::from_ns(7)));
        assert_eq!(of([7]).variance_ms2(), None);
        assert_eq!(of([0, 0]).variance_ms2(), Some(0.0));
        assert_eq!(of([0, 0]).cv2(), None);
    }

    #[test]
    #[should_panic(expected = "took a negative time")]
    fn a_negative_span_is_refused() {
        of([-1]);
    }
}
