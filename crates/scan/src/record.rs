//! The record of a scan: the blocks read, and checksums. It can be saved to continue the scan.

use crc32fast::Hasher;
use diskarm_core::freeblock::BlockSet;
use diskarm_core::units::{Bytes, Lbn, SectorCount};

use crate::live::{MAX_SECTORS, Size};

/// Size of a chunk with its own checksum: 1 MiB, a multiple of any usual block size.
pub const CHUNK: u64 = 1 << 20;

/// The first bytes of a serialized record, with the version of the format.
const MAGIC: &[u8] = b"diskarm scan 1\n";

/// The blocks of a device that a scan has read, those that are unreadable, and checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanRecord {
    size: Size,
    remaining: BlockSet,
    unreadable: BlockSet,
    sums: Option<Checksums>,
}

impl ScanRecord {
    /// Creates the record of a scan that has read nothing, with checksums if `sums` is set.
    pub fn new(size: Size, sums: bool) -> Self {
        Self {
            size,
            remaining: BlockSet::all(size.sectors),
            unreadable: BlockSet::none(size.sectors),
            sums: sums.then(|| Checksums::new(bytes(size), CHUNK)),
        }
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the blocks that were neither read nor found to be unreadable.
    pub fn remaining(&self) -> &BlockSet {
        &self.remaining
    }

    /// Returns the runs of unreadable blocks, in ascending order.
    pub fn unreadable(&self) -> impl Iterator<Item = (Lbn, SectorCount)> {
        let all = Lbn(self.size.sectors.0);
        self.unreadable.runs_in(Lbn(0), all)
    }

    /// Returns the checksums; blocks that were not read count as zeroes.
    pub fn sums(&self) -> Option<&Checksums> {
        self.sums.as_ref()
    }

    /// Returns the number of unreadable blocks in `first..end`.
    pub fn unreadable_in(&self, first: Lbn, end: Lbn) -> u64 {
        self.unreadable.count_in(first, end)
    }

    /// Records blocks that were read. Panics if one of them was recorded before.
    pub fn add_data(&mut self, first: Lbn, data: &[u8]) {
        let sectors = SectorCount(data.len() as u64 / self.size.sector.0);
        self.check_off(first, sectors);
        if let Some(sums) = &mut self.sums {
            sums.add(first.0 * self.size.sector.0, data);
        }
    }

    /// Records blocks read on a simulated drive. Panics if one of them was recorded before.
    pub fn add_read(&mut self, first: Lbn, sectors: SectorCount) {
        self.check_off(first, sectors);
    }

    /// Records unreadable blocks. Panics if one of them was recorded before.
    pub fn add_unreadable(&mut self, first: Lbn, sectors: SectorCount) {
        self.check_off(first, sectors);
        self.unreadable.insert(first, sectors);
    }

    fn check_off(&mut self, first: Lbn, sectors: SectorCount) {
        let count = self.remaining.count_in(first, first + sectors);
        assert_eq!(count, sectors.0, "blocks from {first:?} are read twice");
        self.remaining.remove(first, sectors);
    }

    /// Serializes the record of a scan of a device called `name`.
    pub fn emit(&self, name: &str) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put(&mut out, name.len() as u64);
        out.extend(name.as_bytes());
        put(&mut out, self.size.sectors.0);
        put(&mut out, self.size.sector.0);
        for set in [&self.remaining, &self.unreadable] {
            let mut at = Lbn(0);
            for (first, sectors) in set.runs_in(at, Lbn(self.size.sectors.0)) {
                put(&mut out, sectors.0);
                put(&mut out, (first - at).0);
                at = first + sectors;
            }
            put(&mut out, 0);
        }
        out.push(u8::from(self.sums.is_some()));
        let differences = self.sums.iter().flat_map(|sums| &sums.differences);
        differences.for_each(|difference| out.extend(difference.to_le_bytes()));
        let sum = crc32fast::hash(&out);
        out.extend(sum.to_le_bytes());
        out
    }

    /// Parses the output of [`Self::emit`] for a scan of a device called `name`, with checksums or
    /// without. Fails if the record is damaged or belongs to another scan.
    pub fn parse(bytes: &[u8], name: &str, sums: bool) -> Result<Self, InvalidCheckpoint> {
        let unknown = InvalidCheckpoint("the file is not a checkpoint of a scan".to_owned());
        let rest = bytes.strip_prefix(MAGIC).ok_or(unknown)?;
        let damaged = || InvalidCheckpoint("the checkpoint is damaged".to_owned());
        let (_, sum) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
        let summed = &bytes[..bytes.len() - sum.len()];
        if crc32fast::hash(summed) != u32::from_le_bytes(*sum) || rest.len() < sum.len() {
            return Err(damaged());
        }
        let mut rest = &rest[..rest.len() - sum.len()];
        let length = take(&mut rest).and_then(|length| usize::try_from(length).ok());
        let name_and_fields = length.and_then(|length| rest.split_at_checked(length));
        let (found_name, mut fields) = name_and_fields.ok_or_else(damaged)?;
        if found_name != name.as_bytes() {
            let found = String::from_utf8_lossy(found_name);
            let why = format!("the checkpoint belongs to a scan of {found}, not of {name}");
            return Err(InvalidCheckpoint(why));
        }
        let record = Self::parse_fields(&mut fields).ok_or_else(damaged)?;
        if record.sums.is_some() != sums {
            let with = if sums { "without" } else { "with" };
            let why = format!("the checkpoint belongs to a scan {with} checksums");
            return Err(InvalidCheckpoint(why));
        }
        Ok(record)
    }

    fn parse_fields(rest: &mut &[u8]) -> Option<Self> {
        let size = Size {
            sectors: SectorCount(take(rest)?),
            sector: Bytes(take(rest)?),
        };
        // The numbers may be impossible even if the checksum is right.
        if size.sectors.0 > MAX_SECTORS || size.sectors.0.checked_mul(size.sector.0).is_none() {
            return None;
        }
        let mut sets = [(); 2].map(|()| BlockSet::none(size.sectors));
        for set in &mut sets {
            let mut at = 0_u64;
            loop {
                let sectors = take(rest)?;
                if sectors == 0 {
                    break;
                }
                let first = at.checked_add(take(rest)?)?;
                at = first.checked_add(sectors)?;
                if at > size.sectors.0 {
                    return None;
                }
                set.insert(Lbn(first), SectorCount(sectors));
            }
        }
        let [remaining, unreadable] = sets;
        let (has_sums, after) = rest.split_first()?;
        let sums = match has_sums {
            0 => None,
            _ => {
                let (words, _) = after.as_chunks::<4>();
                if words.len() as u64 != bytes(size).div_ceil(CHUNK) {
                    return None;
                }
                let mut sums = Checksums::new(bytes(size), CHUNK);
                sums.differences = words.iter().copied().map(u32::from_le_bytes).collect();
                Some(sums)
            }
        };
        Some(Self {
            size,
            remaining,
            unreadable,
            sums,
        })
    }
}

/// The reason why a scan cannot continue from a checkpoint, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCheckpoint(String);

impl std::fmt::Display for InvalidCheckpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidCheckpoint {}

fn bytes(size: Size) -> u64 {
    size.sectors.0 * size.sector.0
}

/// Writes a number with seven bits per byte, lowest first; bit 7 is clear in the last byte.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 1 << 7 {
        out.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number written by [`put`].
fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for index in 0..10 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f).checked_shl(7 * index)?;
        if byte >> 7 == 0 {
            return Some(number);
        }
    }
    None
}

/// CRC-32, as computed by zlib and gzip (ISO 3309, ITU-T V.42), of chunks of equal length, the last
/// of which may be shorter.
///
/// A CRC is linear: the CRC of a chunk differs from that of a chunk of zeroes by the sum of the
/// contributions of its pieces, in any order. So four bytes per chunk suffice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums {
    chunk: u64,
    bytes: u64,
    /// The difference of each chunk's checksum from that of zeroes.
    differences: Vec<u32>,
}

/// Returns the CRC register after `zeroes` more zero bytes.
fn append_zeroes(register: u32, zeroes: u64) -> u32 {
    let mut before = Hasher::new_with_initial_len(register, 0);
    before.combine(&Hasher::new_with_initial_len(0, zeroes));
    before.finalize()
}

fn zero_checksum(bytes: u64) -> u32 {
    !append_zeroes(u32::MAX, bytes)
}

impl Checksums {
    /// Creates the checksums of `bytes` zero bytes.
    fn new(bytes: u64, chunk: u64) -> Self {
        Self {
            chunk,
            bytes,
            differences: vec![0; bytes.div_ceil(chunk) as usize],
        }
    }

    /// Adds data; each byte may be added once. Panics if the data extend beyond the end of the
    /// device.
    fn add(&mut self, offset: u64, data: &[u8]) {
        let (mut at, mut data) = (offset, data);
        while !data.is_empty() {
            let index = at / self.chunk;
            let end = ((index + 1) * self.chunk).min(self.bytes);
            let (piece, rest) = data.split_at(data.len().min((end - at) as usize));
            let length = piece.len() as u64;
            let difference = crc32fast::hash(piece) ^ zero_checksum(length);
            self.differences[index as usize] ^= append_zeroes(difference, end - at - length);
            (at, data) = (at + length, rest);
        }
    }

    /// Returns the first byte, the length and the checksum of each chunk.
    pub fn all(&self) -> impl Iterator<Item = (u64, u64, u32)> {
        let chunks = (0..).zip(&self.differences);
        chunks.map(|(index, difference): (u64, _)| {
            let first = index * self.chunk;
            let length = self.chunk.min(self.bytes - first);
            (first, length, zero_checksum(length) ^ difference)
        })
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::testing::SplitMix64;

    use super::*;

    const SIZE: Size = Size {
        sectors: SectorCount(5000),
        sector: Bytes(512),
    };

    fn random_record(seed: u64, sums: bool) -> ScanRecord {
        let mut random = SplitMix64::new(seed);
        let mut record = ScanRecord::new(SIZE, sums);
        for _ in 0..200 {
            let first = Lbn(random.below(SIZE.sectors.0));
            let end = Lbn((first.0 + 1 + random.below(90)).min(SIZE.sectors.0));
            let Some((first, sectors)) = record.remaining().runs_in(first, end).next() else {
                continue;
            };
            match random.below(10) {
                0 => record.add_unreadable(first, sectors),
                byte => record.add_data(first, &vec![byte as u8; sectors.0 as usize * 512]),
            }
        }
        record
    }

    #[test]
    fn records_round_trip() {
        for seed in 0..20 {
            for sums in [false, true] {
                let record = random_record(seed, sums);
                let bytes = record.emit("a disk");
                assert_eq!(ScanRecord::parse(&bytes, "a disk", sums), Ok(record));
            }
        }
    }

    #[test]
    fn damaged_and_foreign_checkpoints_are_refused() {
        let bytes = random_record(1, true).emit("a disk");
        let why = |bytes: &[u8], name, sums| {
            let parsed = ScanRecord::parse(bytes, name, sums);
            parsed.expect_err("unusable").to_string()
        };
        let other = "the checkpoint belongs to a scan of a disk, not of another";
        assert_eq!(why(&bytes, "another", true), other);
        assert!(why(&bytes, "a disk", false).ends_with("a scan with checksums"));
        for length in 0..bytes.len() {
            why(&bytes[..length], "a disk", true);
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            why(&bytes, "a disk", true);
        }
        // Impossible numbers with a correct checksum.
        let why_with_checksum = |mut bytes: Vec<u8>| {
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            why(&bytes, "a disk", true)
        };
        let fields = |numbers: &[u64]| {
            let mut bytes = [MAGIC, &[6], &b"a disk"[..]].concat();
            numbers.iter().for_each(|number| put(&mut bytes, *number));
            bytes
        };
        let damaged = "the checkpoint is damaged";
        let missing_sum = bytes[..bytes.len() - 8].to_vec();
        assert_eq!(why_with_checksum(missing_sum), damaged);
        for numbers in [
            &[8, 512, 9, 0, 0, 0, 0][..],
            &[8, u64::MAX, 0, 0, 0],
            &[MAX_SECTORS + 1, 512, 0, 0, 0],
        ] {
            assert_eq!(why_with_checksum(fields(numbers)), damaged, "{numbers:?}");
        }
        let possible = why_with_checksum(fields(&[8, 512, 8, 0, 0, 0, 0]));
        assert!(possible.ends_with("a scan without checksums"), "{possible}");
    }

    #[test]
    #[should_panic(expected = "read twice")]
    fn no_block_is_read_twice() {
        let mut record = ScanRecord::new(SIZE, false);
        record.add_data(Lbn(7), &[0; 1024]);
        record.add_unreadable(Lbn(8), SectorCount(1));
    }

    /// Adding pieces in any order gives zlib's checksum of each chunk.
    #[test]
    fn pieces_may_be_added_in_any_order() {
        let mut random = SplitMix64::new(1);
        let bytes: Vec<u8> = (0..10_000).map(|_| random.below(256) as u8).collect();
        let mut cuts: Vec<usize> = (0..40).map(|_| random.below(10_000) as usize).collect();
        cuts.extend([0, 10_000]);
        cuts.sort_unstable();
        let mut pieces: Vec<(usize, usize)> = cuts.windows(2).map(|w| (w[0], w[1])).collect();
        let mut sums = Checksums::new(10_000, 4096);
        while !pieces.is_empty() {
            let next = random.below(pieces.len() as u64) as usize;
            let (first, end) = pieces.swap_remove(next);
            sums.add(first as u64, &bytes[first..end]);
        }
        let expected = bytes.chunks(4096).map(crc32fast::hash);
        assert!(sums.all().map(|(_, _, sum)| sum).eq(expected));
        let (first, length, _) = sums.all().last().expect("there is a chunk");
        assert_eq!((first, length), (8192, 10_000 - 8192));
    }

    /// The check value of the algorithm; missing bytes count as zeroes.
    #[test]
    fn checksums_match_zlib() {
        let mut sums = Checksums::new(9, 9);
        sums.add(0, b"123456789");
        assert_eq!(sums.all().next(), Some((0, 9, 0xcbf4_3926)));
        let without_data = Checksums::new(5, 8).all().next();
        assert_eq!(without_data, Some((0, 5, crc32fast::hash(&[0; 5]))));
    }
}
