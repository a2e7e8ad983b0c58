//! Percentiles in constant memory.

use crate::units::{Span, elapsed_ns};

/// Width of the finest cell in nanoseconds, as a power of two: 128 ns.
const FINEST_BITS: u32 = 7;
/// Cells per doubling of the span, as a power of two: half a cell is 2^-10 of its span.
const OCTAVE_BITS: u32 = 9;
const OCTAVE: u64 = 1 << OCTAVE_BITS;

/// A histogram for percentiles, whose cells widen with the span.
///
/// # What it does
/// Cells are 128 ns wide up to 131 µs; from there each doubling of the span has 512 equal cells. A
/// quantile is the middle of its cell, so its error is at most 64 ns or 1/1024 (0.098 %), whichever
/// is larger. The shortest and longest spans are exact. Histograms merge without loss.
///
/// # Origin
/// The cells are as in HdrHistogram (Gil Tene, 2012). Departures: there is no upper limit to
/// configure, and a quantile is the middle of a cell instead of its upper end.
///
/// # Cost
/// About twenty instructions per span. 4 KiB per doubling up to the longest span and 8 KiB below
/// 131 µs: 44 KiB up to 67 ms, 72 KiB up to 8.6 s, at most 192 KiB.
///
/// # When it is bad
/// Differences smaller than a cell are lost; [`SortedSpans`](super::SortedSpans) keeps them.
///
/// # Example
/// ```
/// use diskarm_core::stats::Histogram;
/// use diskarm_core::units::Span;
/// let mut histogram = Histogram::default();
/// for ms in 1..=1000 {
///     histogram.record(Span::from_ms(ms.into()));
/// }
/// let p95 = histogram.quantile(0.95).unwrap().as_ms();
/// assert!((p95 - 950.0).abs() <= 950.0 / 1024.0);
/// assert_eq!(histogram.max(), Some(Span::from_ms(1000.0)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Number of spans in each cell, for whole octaves up to that of the longest span.
    cells: Vec<u64>,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            cells: Vec::new(),
            min: u64::MAX,
            max: 0,
        }
    }
}

impl Histogram {
    /// Records `span`. Panics if it is negative.
    #[inline]
    pub fn record(&mut self, span: Span) {
        let ns = elapsed_ns(span);
        // A branch that is rarely taken is cheaper than always storing `self.min.min(ns)`.
        if ns < self.min {
            self.min = ns;
        }
        if ns > self.max {
            self.max = ns;
        }
        let cell = cell_of(ns);
        match self.cells.get_mut(cell) {
            Some(count) => *count += 1,
            None => self.record_beyond(cell),
        }
    }

    #[cold]
    fn record_beyond(&mut self, cell: usize) {
        self.grow((cell + 1).next_multiple_of(OCTAVE as usize));
        self.cells[cell] += 1;
    }

    fn grow(&mut self, cells: usize) {
        if let Some(more) = cells.checked_sub(self.cells.len()) {
            self.cells.reserve_exact(more);
            self.cells.resize(cells, 0);
        }
    }

    /// Adds everything that `other` has recorded.
    pub fn merge(&mut self, other: &Self) {
        self.grow(other.cells.len());
        for (count, more) in self.cells.iter_mut().zip(&other.cells) {
            *count += more;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of recorded spans; iterates over the cells.
    pub fn count(&self) -> u64 {
        self.cells.iter().sum()
    }

    /// Returns the shortest span, exactly; `None` when nothing was recorded.
    pub fn min(&self) -> Option<Span> {
        (self.min <= self.max).then(|| Span::from_ns(self.min as i64))
    }

    /// Returns the longest span, exactly; `None` when nothing was recorded.
    pub fn max(&self) -> Option<Span> {
        (self.min <= self.max).then(|| Span::from_ns(self.max as i64))
    }

    /// Returns the `ceil(fraction * n)`-th shortest of `n` spans, within the error of the cells;
    /// `None` when nothing was recorded. Panics unless `fraction` is in `[0, 1]`.
    pub fn quantile(&self, fraction: f64) -> Option<Span> {
        assert!((0.0..=1.0).contains(&fraction), "fraction is {fraction}");
        let count = self.count();
        let rank = (fraction * count as f64).ceil() as u64;
        if rank <= 1 {
            return self.min();
        }
        if rank >= count {
            return self.max();
        }
        let mut seen = 0;
        let cell = self.cells.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let middle = middle_of(cell).clamp(self.min, self.max);
        Some(Span::from_ns(middle as i64))
    }
}

/// Returns the cell of a span of `ns`. Cells of octave `e` begin at `(e + 1) * OCTAVE`; below the
/// first octave the same formula gives `ns` in units of the finest cell.
#[inline]
fn cell_of(ns: u64) -> usize {
    let finest = ns >> FINEST_BITS;
    let octave = (finest | OCTAVE).ilog2() - OCTAVE_BITS;
    ((u64::from(octave) << OCTAVE_BITS) + (finest >> octave)) as usize
}

/// Returns the middle of the spans of `cell`, in nanoseconds.
fn middle_of(cell: usize) -> u64 {
    let cell = cell as u64;
    let octave = (cell >> OCTAVE_BITS).saturating_sub(1);
    let shift = octave as u32 + FINEST_BITS;
    ((cell - (octave << OCTAVE_BITS)) << shift) + (1 << (shift - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_of_each_cell_are_within_the_stated_error_of_its_middle() {
        let assert_near = |edge: u64, middle: u64| {
            let error = middle.abs_diff(edge);
            assert!(error <= 64 || error <= edge / 1024, "{edge} {middle}");
        };
        assert_eq!((cell_of(0), middle_of(0)), (0, 64));
        for cell in 1..=cell_of(i64::MAX as u64) {
            // The edge between two cells, found from `cell_of` alone.
            let (mut below, mut above) = (middle_of(cell - 1), middle_of(cell));
            assert_eq!((cell_of(below), cell_of(above)), (cell - 1, cell));
            while above - below > 1 {
                let between = below + (above - below) / 2;
                let side = if cell_of(between) < cell {
                    &mut below
                } else {
                    &mut above
                };
                *side = between;
            }
            assert_near(below, middle_of(cell - 1));
            assert_near(above, middle_of(cell));
        }
    }

    #[test]
    fn memory_matches_the_documentation() {
        for (ns, kib) in [
            (0, 4),
            (131_071, 8),
            (67_000_000, 44),
            (8_589_000_000, 72),
            (i64::MAX, 192),
        ] {
            let mut histogram = Histogram::default();
            histogram.record(Span::from_ns(ns));
            assert_eq!(histogram.cells.capacity() * 8, kib * 1024, "{ns} ns");
        }
    }

    #[test]
    fn an_empty_histogram_has_no_statistics() {
        let empty = Histogram::default();
        assert_eq!((empty.min(), empty.max()), (None, None));
        assert_eq!(empty.quantile(0.5), None);
        assert_eq!(empty.count(), 0);
    }

    #[test]
    #[should_panic(expected = "the time is negative")]
    fn a_negative_span_panics() {
        Histogram::default().record(Span::from_ns(-1));
    }
}
