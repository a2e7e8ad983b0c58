//! A set of blocks: one bit each.

use crate::units::{Lbn, SectorCount};

/// A set of the blocks of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSet {
    words: Vec<u64>,
    sectors: SectorCount,
    count: u64,
}

impl BlockSet {
    /// None of the blocks of a device of `sectors`.
    pub fn none(sectors: SectorCount) -> Self {
        Self {
            words: vec![0; sectors.0.div_ceil(64) as usize],
            sectors,
            count: 0,
        }
    }

    /// All of its blocks.
    pub fn all(sectors: SectorCount) -> Self {
        let mut set = Self::none(sectors);
        set.insert(Lbn(0), sectors);
        set
    }

    /// The number of blocks of the device.
    pub fn sectors(&self) -> SectorCount {
        self.sectors
    }

    /// The number of blocks in the set.
    pub fn count(&self) -> SectorCount {
        SectorCount(self.count)
    }

    /// Whether no block is in the set.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a block is in the set.
    ///
    /// # Panics
    /// When the device has no such block.
    pub fn contains(&self, at: Lbn) -> bool {
        assert!(at.0 < self.sectors.0, "no such block: {at:?}");
        self.words[(at.0 / 64) as usize] >> (at.0 % 64) & 1 == 1
    }

    /// Adds blocks.
    ///
    /// # Panics
    /// When the device does not have them all.
    pub fn insert(&mut self, first: Lbn, sectors: SectorCount) {
        self.check(first, sectors);
        for (word, mask) in masks(first.0, first.0 + sectors.0) {
            self.count += u64::from((mask & !self.words[word]).count_ones());
            self.words[word] |= mask;
        }
    }

    /// Takes blocks out.
    ///
    /// # Panics
    /// When the device does not have them all.
    pub fn remove(&mut self, first: Lbn, sectors: SectorCount) {
        self.check(first, sectors);
        for (word, mask) in masks(first.0, first.0 + sectors.0) {
            self.count -= u64::from((mask & self.words[word]).count_ones());
            self.words[word] &= !mask;
        }
    }

    /// How many of `first..end` are in the set.
    #[inline]
    pub fn count_in(&self, first: Lbn, end: Lbn) -> u64 {
        let counts = masks(first.0, end.0).map(|(word, mask)| {
            let within = mask & self.words[word];
            u64::from(within.count_ones())
        });
        counts.sum()
    }

    /// The first of `first..end` that is in the set.
    pub fn first_in(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let mut within = masks(first.0, end.0).map(|(word, mask)| (word, mask & self.words[word]));
        let (word, bits) = within.find(|(_, bits)| *bits != 0)?;
        Some(Lbn(64 * word as u64 + u64::from(bits.trailing_zeros())))
    }

    /// The last of `first..end` that is in the set.
    pub fn last_in(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let within = masks(first.0, end.0).map(|(word, mask)| (word, mask & self.words[word]));
        let (word, bits) = within.filter(|(_, bits)| *bits != 0).last()?;
        Some(Lbn(64 * word as u64 + 63 - u64::from(bits.leading_zeros())))
    }

    /// The first of `first..end` that is not in the set, or `end`.
    fn run_end(&self, first: Lbn, end: Lbn) -> Lbn {
        let mut without =
            masks(first.0, end.0).map(|(word, mask)| (word, mask & !self.words[word]));
        let found = without.find(|(_, bits)| *bits != 0);
        found.map_or(end, |(word, bits)| {
            Lbn(64 * word as u64 + u64::from(bits.trailing_zeros()))
        })
    }

    /// The runs of blocks of `first..end` that are in the set, in ascending order.
    pub fn runs_in(&self, first: Lbn, end: Lbn) -> impl Iterator<Item = (Lbn, SectorCount)> {
        let mut at = first;
        std::iter::from_fn(move || {
            let begin = self.first_in(at, end)?;
            at = self.run_end(begin, end);
            Some((begin, at - begin))
        })
    }

    fn check(&self, first: Lbn, sectors: SectorCount) {
        let end = first.0.checked_add(sectors.0);
        let is_within = end.is_some_and(|end| end <= self.sectors.0);
        assert!(is_within, "no such blocks: {sectors:?} from {first:?}");
    }
}

/// The words that blocks `first..end` are in, each with its bits.
#[inline]
fn masks(first: u64, end: u64) -> impl Iterator<Item = (usize, u64)> {
    let words = if first < end {
        first / 64..end.div_ceil(64)
    } else {
        0..0
    };
    words.map(move |word| {
        let from = first.saturating_sub(64 * word).min(63);
        let above = (64 * (word + 1)).saturating_sub(end);
        (word as usize, u64::MAX << from & u64::MAX >> above)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, below, generator};

    /// A list of flags does the same.
    #[test]
    fn a_set_is_a_list_of_flags() {
        let mut dice = generator(1, 0, Purpose::Requests);
        let n = 500;
        let mut set = BlockSet::none(SectorCount(n));
        let mut flags = vec![false; n as usize];
        for _ in 0..2_000 {
            let first = below(&mut dice, n);
            let end = first + below(&mut dice, (n - first).min(150) + 1);
            let adds = below(&mut dice, 2) == 0;
            match adds {
                true => set.insert(Lbn(first), SectorCount(end - first)),
                false => set.remove(Lbn(first), SectorCount(end - first)),
            }
            flags[first as usize..end as usize].fill(adds);
            let first = below(&mut dice, n);
            let end = first + below(&mut dice, n - first + 1);
            let held: Vec<u64> = (first..end).filter(|at| flags[*at as usize]).collect();
            let (from, until) = (Lbn(first), Lbn(end));
            assert_eq!(set.count_in(from, until), held.len() as u64);
            assert_eq!(
                set.first_in(from, until).map(|at| at.0),
                held.first().copied()
            );
            assert_eq!(
                set.last_in(from, until).map(|at| at.0),
                held.last().copied()
            );
            let runs = set.runs_in(from, until);
            let of_runs: Vec<u64> = runs.flat_map(|(at, n)| at.0..at.0 + n.0).collect();
            assert_eq!(of_runs, held);
            assert_eq!(
                set.count().0,
                flags.iter().filter(|flag| **flag).count() as u64
            );
            assert!((0..n).all(|at| set.contains(Lbn(at)) == flags[at as usize]));
        }
        assert_eq!(BlockSet::all(SectorCount(n)).count(), SectorCount(n));
    }
}
