//! Summary statistics of a run: moments, percentiles, confidence intervals, time averages, and the
//! distance between two distributions.
//!
//! Spans and instants are recorded one at a time in constant memory; only [`demerit()`] needs whole
//! samples. Sums are integers, so results are exactly reproducible.

mod confidence;
mod histogram;
mod over_time;

pub use confidence::{BatchMeans, half_width_95_of_numbers, t95_factor};
pub use histogram::Histogram;
pub use over_time::{DiskMeter, OverTime};

use crate::units::{Span, elapsed_ns, gcd};

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
/// let stats = summary.stats().unwrap();
/// assert_eq!(stats.mean_ms, 5.0);
/// assert_eq!(stats.max_ms, 9.0);
/// assert_eq!(stats.ci95_ms, None); // Too few responses.
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
    /// Half the width of the mean's 95 % confidence interval; `None` for fewer than 512 responses.
    pub ci95_ms: Option<f64>,
    /// Standard deviation, in milliseconds; `None` for fewer than two responses.
    pub std_ms: Option<f64>,
    /// Squared coefficient of variation; `None` for fewer than two responses or a mean of zero.
    pub cv2: Option<f64>,
    /// Median. This and the next four values are accurate to 0.1 % or 64 ns.
    pub p50_ms: f64,
    /// 90th percentile of the responses.
    pub p90_ms: f64,
    /// 95th percentile of the responses.
    pub p95_ms: f64,
    /// 99th percentile of the responses.
    pub p99_ms: f64,
    /// 99.9th percentile of the responses.
    pub p999_ms: f64,
    /// The longest response, exact.
    pub max_ms: f64,
}

impl ResponseStats {
    /// Creates the combined statistics of independent replications. The confidence interval is
    /// Student's, over the means of at least two non-empty replications.
    pub fn from_replications<'s>(runs: impl Iterator<Item = &'s ResponseSummary>) -> Option<Self> {
        let mut all = ResponseSummary::default();
        let mut means_ms = Vec::new();
        for run in runs {
            all.merge(run);
            means_ms.extend(run.moments.mean().map(Span::as_ms));
        }
        Some(Self {
            ci95_ms: half_width_95_of_numbers(&means_ms),
            ..all.stats()?
        })
    }
}

impl ResponseSummary {
    /// Records the next response of the series. Panics when the response is negative.
    #[inline]
    pub fn record(&mut self, response: Span) {
        self.moments.record(response);
        self.histogram.record(response);
        self.batches.record(response);
    }

    /// Adds everything from `other`, an independent series; see [`BatchMeans::merge`]. If the two
    /// series depend on each other, all values except the confidence interval are valid.
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
        self.batches.merge(&other.batches);
    }

    /// Creates the summary of a series whose two parts were recorded separately. The parts are
    /// dependent, so the confidence interval comes from the whole `series`.
    pub fn combine(a: &Self, b: &Self, series: &BatchMeans) -> Self {
        let mut both = a.clone();
        both.moments.merge(&b.moments);
        both.histogram.merge(&b.histogram);
        both.batches = series.clone();
        both
    }

    /// Returns the moments: count, mean and deviation.
    pub const fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Returns the histogram, for arbitrary percentiles.
    pub const fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Returns all statistics; `None` when nothing was recorded.
    pub fn stats(&self) -> Option<ResponseStats> {
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

/// Integer sums of spans and of their squares: exact, and independent of the order of recording.
///
/// Recording costs about ten instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    sum: u128,
    squares: u128,
    /// Number of times that `squares` has wrapped at 2^128.
    carries: u64,
}

impl Moments {
    /// Records `span`. Panics if it is negative.
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

    /// Returns the mean to the nearest nanosecond; `None` when nothing was recorded.
    pub fn mean(&self) -> Option<Span> {
        let count = u128::from(self.count);
        let mean = (self.sum + count / 2).checked_div(count)?;
        Some(Span::from_ns(mean as i64))
    }

    /// Returns the variance in ms², with divisor `count - 1`; `None` for fewer than two spans.
    pub fn variance_ms2(&self) -> Option<f64> {
        Some(self.variance_ns2()? * 1e-12)
    }

    /// Returns the standard deviation to the nearest nanosecond; `None` for fewer than two spans.
    pub fn std(&self) -> Option<Span> {
        Some(Span::from_ns(self.variance_ns2()?.sqrt().round() as i64))
    }

    /// Returns the squared coefficient of variation, variance over squared mean: the measure of
    /// starvation in worthington94 section 4.4. `None` for fewer than two spans or all zeros.
    pub fn cv2(&self) -> Option<f64> {
        let variance = self.variance_ns2()?;
        let mean = self.sum as f64 / self.count as f64;
        (self.sum > 0).then(|| variance / (mean * mean))
    }

    /// Returns the variance in ns². The textbook formula `squares - sum² / count` loses all digits
    /// when the spread is small compared to the mean, and its integer form overflows. Around the
    /// mean rounded down, `floor = (sum - rest) / count`, the sum of squares is `squares - floor *
    /// (sum + rest)`. This is an integer, and no term exceeds `squares`. The rounding adds exactly
    /// `rest² / count`.
    fn variance_ns2(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        if self.carries > 0 {
            // Such large sums come from a queue that grows without limit (10^12 spans of five hours
            // are still smaller). The spread is then as large as the mean, so few digits cancel.
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

/// A sample in ascending order, which is sorted once for many comparisons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortedSpans(Vec<Span>);

impl SortedSpans {
    /// Sorts `spans` in ascending order.
    pub fn new(mut spans: Vec<Span>) -> Self {
        spans.sort_unstable();
        Self(spans)
    }

    /// Returns the spans, shortest first.
    pub fn as_slice(&self) -> &[Span] {
        &self.0
    }
}

impl FromIterator<Span> for SortedSpans {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        Self::new(spans.into_iter().collect())
    }
}

/// Returns the demerit figure: the root mean square horizontal distance between the distributions
/// of two samples, to the nearest nanosecond; `None` when a sample is empty.
///
/// # What it does
/// Integrates `(f(u) - g(u))²` over `u` from 0 to 1, where `f` and `g` are the quantile functions
/// of the samples, both step functions, and takes the square root. For samples of equal size, this
/// is the root mean square difference of their order statistics. It needs neither bins nor
/// interpolation.
///
/// # Origin
/// Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994, as
/// defined in worthington94 section 4.1.
///
/// # Cost
/// One step per order statistic of either sample; no extra memory.
///
/// # When it is bad
/// A model that permutes the response times of requests has demerit zero.
///
/// # Example
/// ```
/// use diskarm_core::stats::{SortedSpans, demerit};
/// use diskarm_core::units::Span;
/// let drive: SortedSpans = [9.0, 15.0].map(Span::from_ms).into_iter().collect();
/// let model: SortedSpans = [12.0, 19.0].map(Span::from_ms).into_iter().collect();
/// // The root of the mean of 3² and 4².
/// assert_eq!(demerit(&drive, &model), Some(Span::from_ms(12.5f64.sqrt())));
/// ```
pub fn demerit(a: &SortedSpans, b: &SortedSpans) -> Option<Span> {
    let (a, b) = (a.as_slice(), b.as_slice());
    if a.is_empty() || b.is_empty() {
        return None;
    }
    // In units of 1 / lcm(sizes), the steps of both quantile functions have integer width.
    let (len_a, len_b) = (a.len() as u64, b.len() as u64);
    let common = gcd(len_a, len_b);
    let (width_a, width_b) = (len_b / common, len_a / common);
    let range = u128::from(len_a) * u128::from(width_a);
    // Ensures that neither half below can overflow.
    assert!(
        range <= 1 << 64,
        "samples of {len_a} and {len_b} spans are too large"
    );

    // The integral, in two overlapping halves of 64 bits, because squares alone may need 128 bits.
    let (mut high, mut low) = (0u128, 0u128);
    let (mut i, mut j) = (0, 0);
    let (mut remaining_a, mut remaining_b) = (width_a, width_b);
    while i < a.len() && j < b.len() {
        let width = remaining_a.min(remaining_b);
        let distance = u128::from(a[i].as_ns().abs_diff(b[j].as_ns()));
        let square = distance * distance;
        high += (square >> 64) * u128::from(width);
        low += (square & u128::from(u64::MAX)) * u128::from(width);
        remaining_a -= width;
        remaining_b -= width;
        if remaining_a == 0 {
            (i, remaining_a) = (i + 1, width_a);
        }
        if remaining_b == 0 {
            (j, remaining_b) = (j + 1, width_b);
        }
    }
    let mean = (high as f64 * 2f64.powi(64) + low as f64) / range as f64;
    Some(Span::from_ns(mean.sqrt().round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments_of(ns: impl IntoIterator<Item = i64>) -> Moments {
        let mut moments = Moments::default();
        for ns in ns {
            moments.record(Span::from_ns(ns));
        }
        moments
    }

    #[test]
    fn moments_of_the_first_integers_match_the_closed_form() {
        // 1..=n has mean (n + 1) / 2 and variance n (n + 1) / 12; n = 2999 makes both integers.
        let moments = moments_of(1..=2999);
        assert_eq!(moments.count(), 2999);
        assert_eq!(moments.mean(), Some(Span::from_ns(1500)));
        assert_eq!(moments.variance_ns2(), Some(749_750.0));
        assert_eq!(moments.std(), Some(Span::from_ns(866))); // sqrt(749750) = 865.88
        assert_eq!(moments.cv2(), Some(749_750.0 / 2_250_000.0));
    }

    #[test]
    fn a_large_mean_costs_no_digits() {
        // 11 days plus 1 to 4 ns: the mean is not an integer, and the variance is 5/3.
        let day = 86_400_000_000_000;
        let moments = moments_of((1..=4).map(|ns| 11 * day + ns));
        assert_eq!(moments.variance_ns2(), Some(5.0 / 3.0));
        assert_eq!(moments.mean(), Some(Span::from_ns(11 * day + 3)));
    }

    #[test]
    fn a_fractional_mean_is_corrected() {
        // 0, 0, 1: mean 1/3, variance ((1/3)² * 2 + (2/3)²) / 2 = 1/3.
        let moments = moments_of([0, 0, 1]);
        assert_eq!(moments.variance_ns2(), Some(1.0 / 3.0));
        assert!((moments.cv2().unwrap() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn squares_beyond_128_bits_are_counted() {
        // Half of n spans are zero, and half maximal: the variance is (max / 2)² n / (n - 1).
        let moments = moments_of([0, i64::MAX].repeat(1000));
        let mut halves = moments_of([0].repeat(1000));
        halves.merge(&moments_of([i64::MAX].repeat(1000)));
        assert_eq!(halves, moments);
        let half = i64::MAX as f64 / 2.0;
        let expected = half * half * 2000.0 / 1999.0;
        let variance = moments.variance_ns2().unwrap();
        assert!((variance / expected - 1.0).abs() < 1e-12, "{variance}");
        assert!((moments.cv2().unwrap() * 1999.0 / 2000.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn samples_that_are_too_small_have_no_variance() {
        assert_eq!(moments_of([]).mean(), None);
        assert_eq!(moments_of([7]).mean(), Some(Span::from_ns(7)));
        assert_eq!(moments_of([7]).variance_ms2(), None);
        assert_eq!(moments_of([0, 0]).variance_ms2(), Some(0.0));
        assert_eq!(moments_of([0, 0]).cv2(), None);
    }

    #[test]
    #[should_panic(expected = "the time is negative")]
    fn a_negative_span_panics() {
        moments_of([-1]);
    }

    fn sorted<const N: usize>(ns: [i64; N]) -> SortedSpans {
        ns.map(Span::from_ns).into_iter().collect()
    }

    #[test]
    fn demerit_of_unequal_sizes_weights_overlapping_steps() {
        // Steps of 0, 6 (halves) and 0, 3, 9 (thirds) overlap for 1/3, 1/6, 1/6 and 1/3 at
        // distances of 0, 3, 3 and 3, so the mean square is 6.
        let distance = demerit(&sorted([6_000, 0]), &sorted([9_000, 0, 3_000]));
        assert_eq!(distance, Some(Span::from_ns(2_449))); // 1000 sqrt(6) = 2449.49
    }

    #[test]
    fn an_empty_sample_has_no_distance() {
        assert_eq!(demerit(&sorted([]), &sorted([1])), None);
        assert_eq!(demerit(&sorted([1]), &sorted([])), None);
    }

    #[test]
    fn the_longest_spans_do_not_overflow() {
        let zero = sorted([0, 0, 0]);
        let longest = sorted([i64::MAX; 2]);
        assert_eq!(demerit(&zero, &longest), Some(Span::from_ns(i64::MAX)));
    }
}
