//! The distance between a model's response times and a drive's.

use crate::units::{Span, gcd};

/// A sample in ascending order, sorted once for many comparisons.
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

/// Returns the demerit figure: root mean square horizontal distance between the distributions of
/// two samples, to the nearest nanosecond; `None` when a sample is empty.
///
/// # What it does
///
/// Integrates `(f(u) - g(u))²` over `u` from 0 to 1, where `f` and `g` are the quantile functions
/// of the samples, both step functions, and takes the root. For samples of equal size that is the
/// root mean square difference of their order statistics. There are no bins and no interpolation.
///
/// # Origin
///
/// Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994, as
/// defined in worthington94 section 4.1.
///
/// # Cost
///
/// One step per order statistic of either sample; no memory.
///
/// # When it is bad
///
/// Equal distributions do not imply equal requests: a model that permutes the response times of
/// requests has demerit zero.
///
/// # Example
///
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
    assert!(range <= 1 << 64, "samples of {len_a} and {len_b} spans");

    // The integral, in two overlapping halves of 64 bits, because squares alone may need 128.
    let (mut high, mut low) = (0u128, 0u128);
    let (mut i, mut j) = (0, 0);
    let (mut left_a, mut left_b) = (width_a, width_b);
    while i < a.len() && j < b.len() {
        let width = left_a.min(left_b);
        let distance = u128::from(a[i].as_ns().abs_diff(b[j].as_ns()));
        let square = distance * distance;
        high += (square >> 64) * u128::from(width);
        low += (square & u128::from(u64::MAX)) * u128::from(width);
        left_a -= width;
        left_b -= width;
        if left_a == 0 {
            (i, left_a) = (i + 1, width_a);
        }
        if left_b == 0 {
            (j, left_b) = (j + 1, width_b);
        }
    }
    let mean = (high as f64 * 2f64.powi(64) + low as f64) / range as f64;
    Some(Span::from_ns(mean.sqrt().round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<const N: usize>(ns: [i64; N]) -> SortedSpans {
        ns.map(Span::from_ns).into_iter().collect()
    }

    #[test]
    fn unequal_sizes_weigh_the_overlaps_of_their_steps() {
        // Steps of 0, 6 (halves) and 0, 3, 9 (thirds) overlap for 1/3, 1/6, 1/6, 1/3 of the way
        // at distances 0, 3, 3, 3: mean square 6.
        let distance = demerit(&sorted([6_000, 0]), &sorted([9_000, 0, 3_000]));
        assert_eq!(distance, Some(Span::from_ns(2_449))); // 1000 sqrt(6) = 2449.49
    }

    #[test]
    fn an_empty_sample_has_no_distance() {
        assert_eq!(demerit(&sorted([]), &sorted([1])), None);
        assert_eq!(demerit(&sorted([1]), &sorted([])), None);
    }

    #[test]
    fn the_longest_spans_do_not_wrap() {
        let zero = sorted([0, 0, 0]);
        let longest = sorted([i64::MAX; 2]);
        assert_eq!(demerit(&zero, &longest), Some(Span::from_ns(i64::MAX)));
    }
}
