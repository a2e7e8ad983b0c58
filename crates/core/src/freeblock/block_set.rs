//! A set of blocks, with a bitmap for each chunk that is only partly in the set.

use std::mem;
use std::ops::Range;

use crate::units::{Lbn, SectorCount};

/// Number of blocks in a chunk. The bitmap of a chunk takes 4 KiB.
const CHUNK: u64 = 1 << 15;

const WORDS: usize = (CHUNK / 64) as usize;

/// A set of the blocks of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSet {
    chunks: Vec<Chunk>,
    sectors: SectorCount,
    count: u64,
}

/// The blocks of a chunk that are in a set, in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Chunk {
    None,
    All,
    Some(Box<Bits>),
}

/// Bits, some but not all of which are set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bits {
    words: [u64; WORDS],
    count: u64,
}

impl Chunk {
    /// Returns the number of blocks in the set. The chunk has `len` blocks.
    fn count(&self, len: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::All => len,
            Self::Some(bits) => bits.count,
        }
    }

    #[inline]
    fn count_in(&self, range: Range<u64>) -> u64 {
        match self {
            Self::None => 0,
            Self::All => range.end - range.start,
            Self::Some(bits) => {
                let counts = masks(range).map(|(word, mask)| mask & bits.words[word]);
                counts.map(|bits| u64::from(bits.count_ones())).sum()
            }
        }
    }

    #[inline]
    fn first_in(&self, range: Range<u64>) -> Option<u64> {
        match self {
            Self::None => None,
            Self::All => Some(range.start),
            Self::Some(bits) => first_of(range, |word| bits.words[word]),
        }
    }

    #[inline]
    fn first_outside(&self, range: Range<u64>) -> Option<u64> {
        match self {
            Self::None => Some(range.start),
            Self::All => None,
            Self::Some(bits) => first_of(range, |word| !bits.words[word]),
        }
    }

    #[inline]
    fn last_in(&self, range: Range<u64>) -> Option<u64> {
        match self {
            Self::None => None,
            Self::All => Some(range.end - 1),
            Self::Some(bits) => {
                let present = masks(range).map(|(word, mask)| (word, mask & bits.words[word]));
                let (word, bits) = present.filter(|(_, bits)| *bits != 0).last()?;
                Some(64 * word as u64 + 63 - u64::from(bits.leading_zeros()))
            }
        }
    }

    /// Adds or removes the blocks `range` of a chunk of `len` blocks.
    fn change(&mut self, range: Range<u64>, len: u64, adds: bool) {
        let uniform = if adds { Self::All } else { Self::None };
        if range == (0..len) || *self == uniform {
            *self = uniform;
            return;
        }
        let mut bits = match mem::replace(self, Self::None) {
            Self::Some(bits) => bits,
            Self::None => Bits::none(),
            Self::All => {
                let mut bits = Bits::none();
                bits.change(0..len, true);
                bits
            }
        };
        bits.change(range, adds);
        *self = match bits.count {
            0 => Self::None,
            count if count == len => Self::All,
            _ => Self::Some(bits),
        };
    }
}

impl Bits {
    fn none() -> Box<Self> {
        Box::new(Self {
            words: [0; WORDS],
            count: 0,
        })
    }

    fn change(&mut self, range: Range<u64>, adds: bool) {
        for (word, mask) in masks(range) {
            let word = &mut self.words[word];
            let before = u64::from(word.count_ones());
            if adds {
                *word |= mask;
            } else {
                *word &= !mask;
            }
            self.count = self.count - before + u64::from(word.count_ones());
        }
    }
}

impl BlockSet {
    /// Creates an empty set for a device of `sectors` blocks.
    pub fn none(sectors: SectorCount) -> Self {
        Self {
            chunks: vec![Chunk::None; sectors.0.div_ceil(CHUNK) as usize],
            sectors,
            count: 0,
        }
    }

    /// Creates a set of all blocks of a device.
    pub fn all(sectors: SectorCount) -> Self {
        let mut set = Self::none(sectors);
        set.insert(Lbn(0), sectors);
        set
    }

    /// Returns the number of blocks of the device.
    pub fn sectors(&self) -> SectorCount {
        self.sectors
    }

    /// Returns the number of blocks in the set.
    pub fn count(&self) -> SectorCount {
        SectorCount(self.count)
    }

    /// Returns true if no block is in the set.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns true if a block is in the set.
    ///
    /// # Panics
    /// If `at` is beyond the end of the device.
    pub fn contains(&self, at: Lbn) -> bool {
        assert!(at.0 < self.sectors.0, "no such block: {at:?}");
        let (chunk, offset) = (at.0 / CHUNK, at.0 % CHUNK);
        match &self.chunks[chunk as usize] {
            Chunk::None => false,
            Chunk::All => true,
            Chunk::Some(bits) => bits.words[(offset / 64) as usize] >> (offset % 64) & 1 == 1,
        }
    }

    /// Adds a range of blocks.
    ///
    /// # Panics
    /// If the device does not have all of these blocks.
    pub fn insert(&mut self, first: Lbn, sectors: SectorCount) {
        self.change(first, sectors, true);
    }

    /// Removes a range of blocks.
    ///
    /// # Panics
    /// If the device does not have all of these blocks.
    pub fn remove(&mut self, first: Lbn, sectors: SectorCount) {
        self.change(first, sectors, false);
    }

    /// Returns the number of blocks of `first..end` that are in the set.
    #[inline]
    pub fn count_in(&self, first: Lbn, end: Lbn) -> u64 {
        let parts = self.parts(first, end);
        parts.map(|(chunk, _, range)| chunk.count_in(range)).sum()
    }

    /// Returns the first block of `first..end` that is in the set.
    pub fn first_in(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let mut parts = self.parts(first, end);
        parts.find_map(|(chunk, begin, range)| Some(Lbn(begin + chunk.first_in(range)?)))
    }

    /// Returns the last block of `first..end` that is in the set.
    pub fn last_in(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let last =
            |(chunk, begin, range): (&Chunk, u64, _)| Some(Lbn(begin + chunk.last_in(range)?));
        self.parts(first, end).filter_map(last).last()
    }

    /// Returns the first block of `first..end` that is not in the set, or `end`.
    fn run_end(&self, first: Lbn, end: Lbn) -> Lbn {
        let mut parts = self.parts(first, end);
        let found =
            parts.find_map(|(chunk, begin, range)| Some(begin + chunk.first_outside(range)?));
        found.map_or(end, Lbn)
    }

    /// Returns the chunks of `first..end`, each with its first block and the range within it.
    #[inline]
    fn parts(&self, first: Lbn, end: Lbn) -> impl Iterator<Item = (&Chunk, u64, Range<u64>)> {
        let (mut at, end) = (first.0, end.0.min(self.sectors.0));
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (index, from) = (at / CHUNK, at % CHUNK);
            let begin = at - from;
            at = end.min(begin + CHUNK);
            Some((&self.chunks[index as usize], begin, from..at - begin))
        })
    }

    /// Returns the runs of blocks of `first..end` that are in the set, in ascending order.
    pub fn runs_in(&self, first: Lbn, end: Lbn) -> impl Iterator<Item = (Lbn, SectorCount)> {
        let mut at = first;
        std::iter::from_fn(move || {
            let begin = self.first_in(at, end)?;
            at = self.run_end(begin, end);
            Some((begin, at - begin))
        })
    }

    fn change(&mut self, first: Lbn, sectors: SectorCount, adds: bool) {
        let end = first.0.checked_add(sectors.0);
        let Some(end) = end.filter(|end| *end <= self.sectors.0) else {
            panic!("no such blocks: {sectors:?} from {first:?}");
        };
        let mut at = first.0;
        while at < end {
            let (index, from) = (at / CHUNK, at % CHUNK);
            let begin = at - from;
            let len = CHUNK.min(self.sectors.0 - begin);
            let until = len.min(end - begin);
            let chunk = &mut self.chunks[index as usize];
            let before = chunk.count(len);
            chunk.change(from..until, len, adds);
            self.count = self.count - before + chunk.count(len);
            at = begin + until;
        }
    }
}

fn first_of(range: Range<u64>, word: impl Fn(usize) -> u64) -> Option<u64> {
    let mut present = masks(range).map(|(index, mask)| (index, mask & word(index)));
    let (index, bits) = present.find(|(_, bits)| *bits != 0)?;
    Some(64 * index as u64 + u64::from(bits.trailing_zeros()))
}

/// Returns the indices of the words with bits of `range`, each with a mask of these bits.
#[inline]
fn masks(range: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = range;
    let words = if start < end {
        start / 64..end.div_ceil(64)
    } else {
        0..0
    };
    words.map(move |word| {
        let from = start.saturating_sub(64 * word).min(63);
        let above = (64 * (word + 1)).saturating_sub(end);
        (word as usize, u64::MAX << from & u64::MAX >> above)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, below, generator};

    #[test]
    fn a_set_matches_a_list_of_flags() {
        compare_with_flags(500, 150, 2_000);
        // Several chunks, the last of which is incomplete.
        compare_with_flags(3 * CHUNK + 77, 2 * CHUNK, 200);
    }

    fn compare_with_flags(n: u64, max: u64, rounds: u64) {
        let mut random = generator(1, 0, Purpose::Requests);
        let mut set = BlockSet::none(SectorCount(n));
        let mut flags = vec![false; n as usize];
        for _ in 0..rounds {
            let first = below(&mut random, n);
            let end = first + below(&mut random, (n - first).min(max) + 1);
            let adds = below(&mut random, 2) == 0;
            if adds {
                set.insert(Lbn(first), SectorCount(end - first));
            } else {
                set.remove(Lbn(first), SectorCount(end - first));
            }
            flags[first as usize..end as usize].fill(adds);
            let first = below(&mut random, n);
            let end = first + below(&mut random, n - first + 1);
            let expected: Vec<u64> = (first..end).filter(|at| flags[*at as usize]).collect();
            let (from, until) = (Lbn(first), Lbn(end));
            assert_eq!(set.count_in(from, until), expected.len() as u64);
            let [first, last] = [expected.first(), expected.last()].map(|at| at.copied().map(Lbn));
            assert_eq!(set.first_in(from, until), first);
            assert_eq!(set.last_in(from, until), last);
            let runs = set.runs_in(from, until);
            let from_runs: Vec<u64> = runs.flat_map(|(at, n)| at.0..at.0 + n.0).collect();
            assert_eq!(from_runs, expected);
            let count = flags.iter().filter(|flag| **flag).count();
            assert_eq!(set.count().0, count as u64);
            assert!((0..n).all(|at| set.contains(Lbn(at)) == flags[at as usize]));
        }
        assert_eq!(BlockSet::all(SectorCount(n)).count(), SectorCount(n));
    }

    #[test]
    fn sets_of_the_same_blocks_are_equal() {
        let n = SectorCount(2 * CHUNK + 100);
        let mut set = BlockSet::all(n);
        set.remove(Lbn(5), SectorCount(n.0 - 10));
        let mut other = BlockSet::none(n);
        other.insert(Lbn(0), SectorCount(5));
        other.insert(Lbn(n.0 - 5), SectorCount(5));
        assert_eq!(set, other);
        set.insert(Lbn(3), SectorCount(n.0 - 6));
        assert_eq!(set, BlockSet::all(n));
        // Blocks beyond the device are in no set.
        let beyond = Lbn(n.0 + 1000);
        assert_eq!(set.count_in(Lbn(0), beyond), n.0);
        assert_eq!(set.last_in(Lbn(0), beyond), Some(Lbn(n.0 - 1)));
    }

    /// Reads the first third of 16 TB and the last block, so that only two chunks need bitmaps.
    #[test]
    fn blocks_read_in_order_need_few_bitmaps() {
        let n = SectorCount(31_251_759_104 + 77);
        let mut set = BlockSet::all(n);
        set.remove(Lbn(0), SectorCount(n.0 / 3));
        set.remove(Lbn(n.0 - 1), SectorCount(1));
        let with_bits = |chunk: &&Chunk| matches!(chunk, Chunk::Some(_));
        assert_eq!(set.chunks.iter().filter(with_bits).count(), 2);
        assert_eq!(set.first_in(Lbn(0), Lbn(n.0)), Some(Lbn(n.0 / 3)));
    }
}
