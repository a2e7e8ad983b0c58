//! What a scan has read so far, as bytes from which it continues.

use diskarm_core::freeblock::BlockSet;
use diskarm_core::units::{Bytes, Lbn, SectorCount};

use crate::checksums::Checksums;
use crate::live::SourceSize;

/// Bytes of a chunk with a checksum of its own: 1 MiB, which is whole blocks of any usual size.
pub const CHUNK: u64 = 1 << 20;

/// With what the bytes of an account begin. The number is that of their format.
const MAGIC: &[u8] = b"diskarm scan 1\n";

/// What a scan has read of a device, and what it has found there. Each block is read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanRecord {
    size: SourceSize,
    left: BlockSet,
    unreadable: BlockSet,
    sums: Option<Checksums>,
}

impl ScanRecord {
    /// A scan that has read nothing; `sums` if it computes checksums.
    pub fn new(size: SourceSize, sums: bool) -> Self {
        Self {
            size,
            left: BlockSet::all(size.sectors),
            unreadable: BlockSet::none(size.sectors),
            sums: sums.then(|| Checksums::new(bytes(size), CHUNK)),
        }
    }

    /// How large the device is.
    pub fn size(&self) -> SourceSize {
        self.size
    }

    /// The blocks that were neither read nor found to be unreadable.
    pub fn left(&self) -> &BlockSet {
        &self.left
    }

    /// The runs of blocks that cannot be read, in ascending order.
    pub fn unreadable(&self) -> impl Iterator<Item = (Lbn, SectorCount)> {
        let all = Lbn(self.size.sectors.0);
        self.unreadable.runs_in(Lbn(0), all)
    }

    /// The checksums, in which what was not read counts as zeroes.
    pub fn sums(&self) -> Option<&Checksums> {
        self.sums.as_ref()
    }

    /// How many blocks of `first..end` cannot be read.
    pub fn unreadable_in(&self, first: Lbn, end: Lbn) -> u64 {
        self.unreadable.count_in(first, end)
    }

    /// Takes note of blocks that were read.
    ///
    /// # Panics
    /// When one of them was taken note of before.
    pub fn read(&mut self, first: Lbn, data: &[u8]) {
        let sectors = SectorCount(data.len() as u64 / self.size.sector.0);
        self.check_off(first, sectors);
        if let Some(sums) = &mut self.sums {
            sums.take(first.0 * self.size.sector.0, data);
        }
    }

    /// Takes note of blocks that were read, whose data nobody has: those of a simulated drive.
    ///
    /// # Panics
    /// When one of them was taken note of before.
    pub fn passed(&mut self, first: Lbn, sectors: SectorCount) {
        self.check_off(first, sectors);
    }

    /// Takes note of blocks that cannot be read.
    ///
    /// # Panics
    /// When one of them was taken note of before.
    pub fn failed(&mut self, first: Lbn, sectors: SectorCount) {
        self.check_off(first, sectors);
        self.unreadable.insert(first, sectors);
    }

    fn check_off(&mut self, first: Lbn, sectors: SectorCount) {
        let left = self.left.count_in(first, first + sectors);
        assert_eq!(left, sectors.0, "blocks from {first:?} on come twice");
        self.left.remove(first, sectors);
    }

    /// All of it as bytes, for a scan of what is called `name`.
    pub fn emit(&self, name: &str) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put(&mut out, name.len() as u64);
        out.extend(name.as_bytes());
        put(&mut out, self.size.sectors.0);
        put(&mut out, self.size.sector.0);
        for set in [&self.left, &self.unreadable] {
            let mut at = Lbn(0);
            for (first, sectors) in set.runs_in(at, Lbn(self.size.sectors.0)) {
                put(&mut out, sectors.0);
                put(&mut out, (first - at).0);
                at = first + sectors;
            }
            put(&mut out, 0);
        }
        out.push(u8::from(self.sums.is_some()));
        let differences = self.sums.iter().flat_map(Checksums::differences);
        differences.for_each(|difference| out.extend(difference.to_le_bytes()));
        let sum = crc32fast::hash(&out);
        out.extend(sum.to_le_bytes());
        out
    }

    /// Reads what [`Self::emit`] wrote for a scan of what is called `name`, with checksums or
    /// without.
    ///
    /// # Errors
    /// It is of something else, or damaged.
    pub fn parse(bytes: &[u8], name: &str, sums: bool) -> Result<Self, InvalidCheckpoint> {
        let unknown = InvalidCheckpoint("found no checkpoint of a scan".to_owned());
        let rest = bytes.strip_prefix(MAGIC).ok_or(unknown)?;
        let damaged = || InvalidCheckpoint("the checkpoint is damaged".to_owned());
        let (_, sum) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
        let whole = &bytes[..bytes.len() - sum.len()];
        if crc32fast::hash(whole) != u32::from_le_bytes(*sum) || rest.len() < sum.len() {
            return Err(damaged());
        }
        let mut rest = &rest[..rest.len() - sum.len()];
        let length = take(&mut rest).ok_or_else(damaged)?;
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let (found, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
        if found != name.as_bytes() {
            let found = String::from_utf8_lossy(found);
            return Err(InvalidCheckpoint(format!(
                "found a scan of {found}, expected {name}"
            )));
        }
        let mut rest = after;
        let account = Self::fields(&mut rest).ok_or_else(damaged)?;
        if account.sums.is_some() != sums {
            let (found, expected) = match sums {
                true => ("without", "with"),
                false => ("with", "without"),
            };
            let why = format!("found a scan {found} checksums, expected one {expected}");
            return Err(InvalidCheckpoint(why));
        }
        Ok(account)
    }

    fn fields(rest: &mut &[u8]) -> Option<Self> {
        let size = SourceSize {
            sectors: SectorCount(take(rest)?),
            sector: Bytes(take(rest)?),
        };
        size.sectors.0.checked_mul(size.sector.0)?;
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
        let [left, unreadable] = sets;
        let (has_sums, after) = rest.split_first()?;
        let words = after.chunks_exact(4);
        let words = words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let sums = match has_sums {
            0 => None,
            _ => Some(Checksums::kept(bytes(size), CHUNK, words.collect())?),
        };
        Some(Self {
            size,
            left,
            unreadable,
            sums,
        })
    }
}

/// An account that a scan cannot continue from, for a reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCheckpoint(String);

impl std::fmt::Display for InvalidCheckpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidCheckpoint {}

fn bytes(size: SourceSize) -> u64 {
    size.sectors.0 * size.sector.0
}

/// Writes a number, seven bits a byte, the lowest first; the last byte has the highest bit clear.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 1 << 7 {
        out.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads such a number.
fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for place in 0..10 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f).checked_shl(7 * place)?;
        if byte >> 7 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    const SIZE: SourceSize = SourceSize {
        sectors: SectorCount(5000),
        sector: Bytes(512),
    };

    fn some(seed: u64, sums: bool) -> ScanRecord {
        let mut dice = Dice(seed);
        let mut account = ScanRecord::new(SIZE, sums);
        for _ in 0..200 {
            let first = Lbn(dice.below(SIZE.sectors.0));
            let end = Lbn((first.0 + 1 + dice.below(90)).min(SIZE.sectors.0));
            let Some((first, sectors)) = account.left().runs_in(first, end).next() else {
                continue;
            };
            match dice.below(10) {
                0 => account.failed(first, sectors),
                byte => account.read(first, &vec![byte as u8; sectors.0 as usize * 512]),
            }
        }
        account
    }

    #[test]
    fn an_account_is_read_as_it_was_written() {
        for seed in 0..20 {
            for sums in [false, true] {
                let account = some(seed, sums);
                let bytes = account.emit("a disk");
                assert_eq!(ScanRecord::parse(&bytes, "a disk", sums), Ok(account));
            }
        }
    }

    #[test]
    fn what_is_damaged_or_of_something_else_is_refused() {
        let bytes = some(1, true).emit("a disk");
        let why = |bytes: &[u8], name, sums| {
            let parsed = ScanRecord::parse(bytes, name, sums);
            parsed.expect_err("unusable").to_string()
        };
        let other = "found a scan of a disk, expected another";
        assert_eq!(why(&bytes, "another", true), other);
        assert!(why(&bytes, "a disk", false).starts_with("found a scan with checksums"));
        for length in 0..bytes.len() {
            why(&bytes[..length], "a disk", true);
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            why(&bytes, "a disk", true);
        }
    }

    #[test]
    #[should_panic(expected = "come twice")]
    fn no_block_is_read_twice() {
        let mut account = ScanRecord::new(SIZE, false);
        account.read(Lbn(7), &[0; 1024]);
        account.failed(Lbn(8), SectorCount(1));
    }
}
