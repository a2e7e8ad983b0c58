//! A histogram over a range that is not known in advance.

/// Counts of values in cells of equal width, a power of two that doubles whenever a value is
/// beyond the last cell. Memory is fixed, and one pass is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    counts: Vec<u64>,
    /// The maximum number of cells; even.
    max: usize,
    width_log2: u32,
}

impl Bins {
    /// A histogram of at most `max_count` cells, an even number.
    pub fn new(max_count: usize) -> Self {
        assert!(max_count.is_multiple_of(2) && max_count > 0);
        Self {
            counts: Vec::new(),
            max: max_count,
            width_log2: 0,
        }
    }

    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        while (value >> self.width_log2) as usize >= self.max {
            self.widen();
        }
        let cell = (value >> self.width_log2) as usize;
        if cell >= self.counts.len() {
            self.counts.resize(cell + 1, 0);
        }
        self.counts[cell] += 1;
    }

    #[cold]
    fn widen(&mut self) {
        let pairs = self.counts.chunks(2).map(|pair| pair.iter().sum());
        self.counts = pairs.collect();
        self.width_log2 += 1;
    }

    /// The counts from 0 up to the last cell that is not empty, in at most `max_count` columns,
    /// and the width of a column.
    pub fn columns(&self, max_count: usize) -> (Vec<u64>, u64) {
        let cells = self.counts.len().div_ceil(max_count).max(1);
        let sums = self.counts.chunks(cells).map(|cells| cells.iter().sum());
        (sums.collect(), (cells as u64) << self.width_log2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widening_cells_keeps_all_counts() {
        let mut bins = Bins::new(4);
        for value in [0, 1, 2, 3, 3] {
            bins.record(value);
        }
        assert_eq!(bins.columns(4), (vec![1, 1, 1, 2], 1));
        // 9 needs cells of 4: 0..4, 4..8, 8..12.
        bins.record(9);
        assert_eq!(bins.columns(4), (vec![5, 0, 1], 4));
        assert_eq!(bins.columns(2), (vec![5, 1], 8));
        bins.record(u64::MAX);
        let (counts, width) = bins.columns(4);
        assert_eq!((counts, width), (vec![6, 0, 0, 1], 1 << 62));
    }
}
