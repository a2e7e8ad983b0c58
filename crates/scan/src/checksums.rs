//! Checksums of the parts of a device, whose blocks come in any order.

use crc32fast::Hasher;

/// CRC-32 of chunks of equal length, the last of which may be shorter, as zlib and gzip compute it
/// (ISO 3309, ITU-T V.42).
///
/// A CRC is linear: a chunk's differs from that of as many zeroes by the sum of what its pieces
/// make of it, in whatever order they come. So four bytes are kept for each chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums {
    /// Bytes of a chunk, and of all.
    chunk: u64,
    bytes: u64,
    /// By how much each chunk's differs from that of zeroes.
    differences: Vec<u32>,
}

/// What a register becomes when `zeroes` bytes of zero follow.
fn shifted(register: u32, zeroes: u64) -> u32 {
    let mut before = Hasher::new_with_initial_len(register, 0);
    before.combine(&Hasher::new_with_initial_len(0, zeroes));
    before.finalize()
}

/// The checksum of `bytes` bytes of zero.
fn of_zeroes(bytes: u64) -> u32 {
    !shifted(u32::MAX, bytes)
}

impl Checksums {
    /// The checksums of a device of `bytes` bytes, none of which has come yet.
    pub fn new(bytes: u64, chunk: u64) -> Self {
        Self {
            chunk,
            bytes,
            differences: vec![0; bytes.div_ceil(chunk) as usize],
        }
    }

    /// The same with what has been kept of them; `None` if that is of another number of chunks.
    pub(crate) fn kept(bytes: u64, chunk: u64, differences: Vec<u32>) -> Option<Self> {
        let is_of_all = differences.len() as u64 == bytes.div_ceil(chunk);
        is_of_all.then_some(Self {
            chunk,
            bytes,
            differences,
        })
    }

    pub(crate) fn differences(&self) -> &[u32] {
        &self.differences
    }

    /// Takes in bytes, each of which comes once; those that never come count as zeroes.
    ///
    /// # Panics
    /// When the device does not have them.
    pub fn take(&mut self, offset: u64, data: &[u8]) {
        let (mut at, mut data) = (offset, data);
        while !data.is_empty() {
            let index = at / self.chunk;
            let end = ((index + 1) * self.chunk).min(self.bytes);
            let (piece, rest) = data.split_at(data.len().min((end - at) as usize));
            let length = piece.len() as u64;
            let difference = crc32fast::hash(piece) ^ of_zeroes(length);
            self.differences[index as usize] ^= shifted(difference, end - at - length);
            (at, data) = (at + length, rest);
        }
    }

    /// That of each chunk, with its first byte and its length.
    pub fn all(&self) -> impl Iterator<Item = (u64, u64, u32)> {
        let chunks = (0..).zip(&self.differences);
        chunks.map(|(index, difference): (u64, _)| {
            let first = index * self.chunk;
            let length = self.chunk.min(self.bytes - first);
            (first, length, of_zeroes(length) ^ difference)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    /// In any order the pieces give what zlib gives for each chunk as a whole.
    #[test]
    fn pieces_come_in_any_order() {
        let mut dice = Dice(1);
        let bytes: Vec<u8> = (0..10_000).map(|_| dice.below(256) as u8).collect();
        let mut cuts: Vec<usize> = (0..40).map(|_| dice.below(10_000) as usize).collect();
        cuts.extend([0, 10_000]);
        cuts.sort_unstable();
        let mut pieces: Vec<(usize, usize)> = cuts.windows(2).map(|w| (w[0], w[1])).collect();
        let mut sums = Checksums::new(10_000, 4096);
        while !pieces.is_empty() {
            let next = dice.below(pieces.len() as u64) as usize;
            let (first, end) = pieces.swap_remove(next);
            sums.take(first as u64, &bytes[first..end]);
        }
        let whole = bytes.chunks(4096).map(crc32fast::hash);
        assert!(sums.all().map(|(_, _, sum)| sum).eq(whole));
        let (first, length, _) = sums.all().last().expect("a chunk");
        assert_eq!((first, length), (8192, 10_000 - 8192));
    }

    /// The check value of the algorithm, and zeroes for what does not come.
    #[test]
    fn the_algorithm_is_that_of_zlib() {
        let mut sums = Checksums::new(9, 9);
        sums.take(0, b"123456789");
        assert_eq!(sums.all().next(), Some((0, 9, 0xcbf4_3926)));
        let nothing = Checksums::new(5, 8).all().next();
        assert_eq!(nothing, Some((0, 5, crc32fast::hash(&[0; 5]))));
    }
}
