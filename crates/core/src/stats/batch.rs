//! Confidence intervals for the mean of a series of dependent values.

use super::elapsed_ns;
use super::student::t95_factor;
use crate::units::Span;

/// One more than the maximum number of batches. After joining there are at least 32 (31 if two
/// series were merged).
const BATCHES: usize = 64;
/// Minimum number of spans in whole batches for an interval: batches then have at least 16 spans.
const MIN_SPANS: u64 = 512;

/// The half-width of a 95 % confidence interval of the mean of a stationary series.
///
/// # What it does
///
/// Cuts the series into 32 to 63 batches of equal length and treats their means as independent and
/// normal, which they approach as batches become long compared to the series' memory. When there
/// are 64, neighbours are joined and the length doubles, so that memory is constant and the length
/// of the run need not be known in advance. Spans after the last whole batch are left out of the
/// variance.
///
/// # Origin
///
/// Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30(3),
/// 1982: beyond 30 batches little is gained and the means become more dependent. Doubling: Yeh and
/// Schmeiser, "Simulation output analysis via dynamic batch means", Winter Simulation Conference
/// 2000. Departure: no test whether the means are in fact independent.
///
/// # Cost
///
/// About seven instructions per span; 1 KiB.
///
/// # When it is bad
///
/// Too narrow while a batch is shorter than about ten times the series' memory, as near saturation,
/// and meaningless beyond saturation, where there is no stationary mean. Independent replications
/// are safer there.
///
/// # Example
///
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
    /// Sums in nanoseconds of the whole batches: the first `whole`, others zero.
    sums: [u128; BATCHES],
    whole: usize,
    length: u64,
    /// Sum of the incomplete batch, and the number of spans it still lacks.
    filling: u128,
    room: u64,
}

impl Default for BatchMeans {
    fn default() -> Self {
        Self {
            sums: [0; BATCHES],
            whole: 0,
            length: 1,
            filling: 0,
            room: 1,
        }
    }
}

impl BatchMeans {
    /// Adds the next span of the series. Panics when it is negative.
    #[inline]
    pub fn record(&mut self, span: Span) {
        self.filling += u128::from(elapsed_ns(span));
        self.room -= 1;
        if self.room == 0 {
            self.close_batch();
        }
    }

    #[cold]
    fn close_batch(&mut self) {
        self.sums[self.whole] = self.filling;
        self.whole += 1;
        self.filling = 0;
        self.room = self.length;
        if self.whole == BATCHES {
            self.join_neighbours();
        }
    }

    /// Doubles the length of the batches, as if they had had it from the beginning.
    fn join_neighbours(&mut self) {
        let pairs = self.whole / 2;
        if self.whole.is_multiple_of(2) {
            self.room += self.length;
        } else {
            self.filling += self.sums[self.whole - 1];
        }
        for i in 0..pairs {
            self.sums[i] = self.sums[2 * i] + self.sums[2 * i + 1];
        }
        self.sums[pairs..].fill(0);
        self.whole = pairs;
        self.length *= 2;
    }

    /// Appends the batches of `other`, an independent series with the same mean: another
    /// replication. The shorter batches are joined to the length of the longer ones first. Spans of
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
        while self.whole + other.whole >= BATCHES {
            self.join_neighbours();
            other.join_neighbours();
        }
        let whole = self.whole + other.whole;
        self.sums[self.whole..whole].copy_from_slice(&other.sums[..other.whole]);
        self.whole = whole;
    }

    /// Half the width of the 95 % confidence interval of the mean, to the nearest nanosecond.
    /// `None` below 512 spans in whole batches.
    pub fn half_width_95(&self) -> Option<Span> {
        self.half_width_95_of(|batch| self.sums[batch] as f64)
    }

    /// The same of the mean of this series less `factor` times `other`, batch by batch: what both
    /// have in common, such as the sizes of the same requests, cancels out. `None`, too, if their
    /// numbers of spans differ. Neither is [merged](Self::merge) from others.
    pub fn half_width_95_less(&self, factor: f64, other: &Self) -> Option<Span> {
        let shape = |series: &Self| (series.whole, series.length, series.room);
        if shape(self) != shape(other) {
            return None;
        }
        self.half_width_95_of(|batch| self.sums[batch] as f64 - factor * other.sums[batch] as f64)
    }

    /// The same of the series that has these sums of batches.
    fn half_width_95_of(&self, sum: impl Fn(usize) -> f64) -> Option<Span> {
        if self.whole as u64 * self.length < MIN_SPANS {
            return None;
        }
        let batches = self.whole as f64;
        let means = (0..self.whole).map(|batch| sum(batch) / self.length as f64);
        let mean = means.clone().sum::<f64>() / batches;
        let squares: f64 = means.map(|m| (m - mean) * (m - mean)).sum();
        let variance_of_mean = squares / (batches - 1.0) / batches;
        let half = t95_factor(self.whole as u64 - 1) * variance_of_mean.sqrt();
        Some(Span::from_ns(half.round() as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ns: impl IntoIterator<Item = u64>) -> BatchMeans {
        let mut series = BatchMeans::default();
        for ns in ns {
            series.record(Span::from_ns(ns as i64));
        }
        series
    }

    /// Saw teeth of three periods and a square wave, in nanoseconds.
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
            let series = of((0..spans).map(jagged));
            assert_eq!((series.whole, series.length), (batches, length));
            let half: f64 = series.half_width_95().unwrap().as_ns() as f64;
            assert!((half - half_width).abs() <= 1.0, "{half} {half_width}");
        }
    }

    /// The interval of a mean difference is that of the differences.
    #[test]
    fn what_two_series_share_cancels_out() {
        let longer = |i: u64| jagged(i) + i * 31 % 17 * 1_000;
        let both = (of((0..5_000).map(longer)), of((0..5_000).map(jagged)));
        let differences = of((0..5_000).map(|i| longer(i) - jagged(i)));
        let half = both.0.half_width_95_less(1.0, &both.1);
        let half = half.expect("an interval");
        let expected = differences.half_width_95().expect("an interval");
        assert!(
            (half - expected).as_ns().abs() <= 1,
            "{half:?} {expected:?}"
        );
        assert!(half * 100 < both.1.half_width_95().expect("an interval"));
        let fewer = of((0..4_999).map(jagged));
        assert_eq!(both.0.half_width_95_less(1.0, &fewer), None);
        let thrice = of((0..5_000).map(|i| 3 * jagged(i)));
        assert_eq!(thrice.half_width_95_less(3.0, &both.1), Some(Span::ZERO));
    }

    #[test]
    fn batches_match_a_series_cut_afterwards() {
        for spans in [1, 63, 64, 65, 127, 128, 1_000, 4_095, 4_096, 99_999] {
            let series = of((0..spans).map(jagged));
            let all: Vec<u64> = (0..spans).map(jagged).collect();
            let sum = |batch: &[u64]| batch.iter().map(|&ns| u128::from(ns)).sum::<u128>();
            let cut = all.chunks_exact(series.length as usize);
            assert_eq!(series.filling, sum(cut.remainder()));
            assert_eq!(series.room, series.length - cut.remainder().len() as u64);
            let sums: Vec<u128> = cut.map(sum).collect();
            assert_eq!(&series.sums[..series.whole], sums);
            assert!(series.whole < BATCHES && (series.whole >= 32 || series.length == 1));
        }
    }

    #[test]
    fn merging_whole_batches_matches_recording_everything() {
        // 40 batches of 64, then 50 of 32 (25 of 64): 65 make 20 and 12 of 128, one lost of
        // the second; the first's 40 are even, so nothing of it is left over.
        let (first, second) = (0..2_560, 2_560..4_160);
        let mut merged = of(first.clone().map(jagged));
        merged.merge(&of(second.clone().map(jagged)));
        let whole = of(first.chain(second).map(jagged));
        assert_eq!((merged.whole, merged.length), (32, 128));
        assert_eq!(merged.sums, whole.sums);
    }

    #[test]
    fn an_odd_batch_is_filled_further() {
        // 33 batches of 64 become 16 of 128 and one half full.
        let mut merged = of((0..2_112).map(jagged));
        merged.merge(&of((0..8_192 * 2).map(jagged)));
        assert_eq!(merged.length, 512);
        assert_eq!(merged.whole, 4 + 32);
        assert_eq!(merged.room, 512 - 64);
        let tail: u128 = (2_048..2_112).map(|i| u128::from(jagged(i))).sum();
        assert_eq!(merged.filling, tail);
    }

    #[test]
    fn a_short_series_has_no_interval() {
        assert_eq!(of((0..511).map(jagged)).half_width_95(), None);
        assert_eq!(
            of((0..512).map(|_| 5)).half_width_95(),
            Some(Span::from_ns(0))
        );
    }
}
