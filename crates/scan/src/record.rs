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
mod tests;
