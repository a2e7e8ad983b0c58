//! Maps the blocks of the traced disk to a smaller or larger one.

use diskarm_core::units::{Lbn, SectorCount};

use super::{Notes, with};
use crate::error::TraceError;
use crate::plural::counted;
use crate::reader::Reader;
use crate::record::Record;

/// How to map the blocks of a traced disk to a disk of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Keep them; a request beyond the end is an error.
    Refuse,
    /// Scale first blocks, given the size of the traced disk. Sequential requests then overlap on
    /// a smaller disk, and leave gaps on a larger one.
    Scale(SectorCount),
    /// Wrap blocks beyond the end around to block 0.
    Fold,
    /// Continue blocks beyond the end at block 0 of the next disk, of this many disks.
    Spread(u32),
}

/// Maps requests to disks of a given size.
pub struct Fitted<I> {
    inner: I,
    fit: Fit,
    size: SectorCount,
    /// Requests that would cross the end of a disk, moved before it.
    pulled: u64,
    moved: u64,
}

impl<I: Notes> Fitted<I> {
    /// Wraps `inner`, for disks of `size`, in 512-byte blocks.
    pub fn new(inner: I, size: SectorCount, fit: Fit) -> Self {
        Self {
            inner,
            fit,
            size,
            pulled: 0,
            moved: 0,
        }
    }

    #[inline]
    fn fit(&mut self, record: &mut Record) -> Result<(), TraceError> {
        let size = self.size.0;
        let start = record.start.0;
        if record.sectors > self.size {
            let expected = format!("at most the {size} blocks of the disk");
            return Err(self.wrong(record, &expected));
        }
        let (disk, start) = match self.fit {
            Fit::Refuse if record.end().0 > size => {
                let expected =
                    format!("at most {size} blocks, or another `fit`: scale, fold or spread");
                return Err(self.wrong(record, &expected));
            }
            Fit::Refuse => return Ok(()),
            Fit::Scale(traced) if record.end().0 > traced.0 => {
                let expected = format!("at most the {} traced blocks", traced.0);
                return Err(self.wrong(record, &expected));
            }
            Fit::Scale(traced) => {
                let scaled = u128::from(start) * u128::from(size) / u128::from(traced.0);
                (record.device, scaled as u64)
            }
            Fit::Fold => (record.device, start % size),
            Fit::Spread(disks) => {
                let disk = start / size;
                if disk >= disks.into() {
                    let expected = format!("at most {disks} disks of {size} blocks");
                    return Err(self.wrong(record, &expected));
                }
                let first = record.device.checked_mul(disks);
                let disk = first.and_then(|first| first.checked_add(disk as u32));
                let Some(disk) = disk else {
                    let expected =
                        format!("a device number that leaves room for {disks} disks per device");
                    return Err(self.wrong(record, &expected));
                };
                (disk, start % size)
            }
        };
        let last = size - record.sectors.0;
        self.pulled += u64::from(start > last);
        let start = Lbn(start.min(last));
        self.moved += u64::from(start != record.start || disk != record.device);
        (record.device, record.start) = (disk, start);
        Ok(())
    }

    #[cold]
    fn wrong(&self, record: &Record, expected: &str) -> TraceError {
        let sectors = counted(record.sectors.0, "sector");
        let found = format!("{sectors} from {}", record.start.0);
        TraceError::value(self.inner.name(), record.location, "lbn", &found, expected)
    }
}

impl<I: Notes> Iterator for Fitted<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.inner.next()?;
        Some(next.and_then(|mut record| self.fit(&mut record).map(|()| record)))
    }
}

impl<I: Notes> Notes for Fitted<I> {
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        let read = self.inner.read(record)?;
        Some(read.and_then(|()| self.fit(record)))
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        self.inner.readers()
    }

    fn changes(&self) -> Vec<String> {
        let (size, moved) = (self.size.0, counted(self.moved, "request"));
        let how = match self.fit {
            Fit::Refuse => return self.inner.changes(),
            Fit::Scale(traced) => format!("scaled from {} blocks to {size}", traced.0),
            Fit::Fold => format!("folded into {size} blocks"),
            Fit::Spread(disks) => format!("spread over {disks} disks of {size} blocks per device"),
        };
        let mut note = format!("{how}; {moved} moved");
        if self.pulled > 0 {
            note += &format!(", {} of them away from the end of a disk", self.pulled);
        }
        with(self.inner.changes(), Some(note))
    }
}
