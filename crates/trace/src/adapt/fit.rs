//! Blocks of the traced disk as blocks of one that is smaller or larger.

use diskarm_core::units::{Lbn, SectorCount};

use super::{Notes, and};
use crate::error::TraceError;
use crate::plural::counted;
use crate::reader::Reader;
use crate::record::Record;

/// What becomes of the blocks of a traced disk on a disk with room for fewer or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// They stay; a request beyond the end is an error.
    Refuse,
    /// First blocks keep their share of the disk, of which so many were traced. Sequential
    /// requests then overlap on a smaller disk, and leave gaps on a larger one.
    Scale(SectorCount),
    /// Those beyond the end begin again at block 0, over what lies there.
    Fold,
    /// Those beyond the end go on at block 0 of the next of so many disks.
    Spread(u32),
}

/// Requests on disks with so much room.
pub struct Fitted<I> {
    inner: I,
    fit: Fit,
    room: SectorCount,
    /// Requests that a fold or a disk's end would have cut, moved before it.
    pulled: u64,
    moved: u64,
}

impl<I: Notes> Fitted<I> {
    /// Those of `inner` on disks with `room`, in blocks of 512 bytes.
    pub fn new(inner: I, room: SectorCount, fit: Fit) -> Self {
        Self {
            inner,
            fit,
            room,
            pulled: 0,
            moved: 0,
        }
    }

    fn fit(&mut self, record: Record) -> Result<Record, TraceError> {
        let room = self.room.0;
        let start = record.start.0;
        if record.sectors > self.room {
            let expected = format!("at most the {room} blocks of the disk");
            return Err(self.wrong(&record, &expected));
        }
        let (disk, start) = match self.fit {
            Fit::Refuse if record.end().0 > room => {
                let expected = format!("at most {room} blocks, or another fit than refuse");
                return Err(self.wrong(&record, &expected));
            }
            Fit::Refuse => return Ok(record),
            Fit::Scale(traced) if record.end().0 > traced.0 => {
                let expected = format!("at most the {} blocks that were traced", traced.0);
                return Err(self.wrong(&record, &expected));
            }
            Fit::Scale(traced) => {
                let scaled = u128::from(start) * u128::from(room) / u128::from(traced.0);
                (record.device, scaled as u64)
            }
            Fit::Fold => (record.device, start % room),
            Fit::Spread(disks) => {
                let disk = start / room;
                if disk >= disks.into() {
                    let expected = format!("at most {disks} disks of {room} blocks");
                    return Err(self.wrong(&record, &expected));
                }
                let first = record.device.checked_mul(disks);
                let disk = first.and_then(|first| first.checked_add(disk as u32));
                let Some(disk) = disk else {
                    let expected = format!("devices of which {disks} disks each can be numbered");
                    return Err(self.wrong(&record, &expected));
                };
                (disk, start % room)
            }
        };
        let last = room - record.sectors.0;
        self.pulled += u64::from(start > last);
        let start = Lbn(start.min(last));
        self.moved += u64::from(start != record.start || disk != record.device);
        Ok(Record {
            device: disk,
            start,
            ..record
        })
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
        let record = self.inner.next()?;
        Some(record.and_then(|record| self.fit(record)))
    }
}

impl<I: Notes> Notes for Fitted<I> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        self.inner.readers()
    }

    fn changes(&self) -> Vec<String> {
        let (room, moved) = (self.room.0, counted(self.moved, "request"));
        let how = match self.fit {
            Fit::Refuse => return self.inner.changes(),
            Fit::Scale(traced) => format!("scaled from {} blocks to {room}", traced.0),
            Fit::Fold => format!("folded into {room} blocks"),
            Fit::Spread(disks) => format!("spread over {disks} disks of {room} blocks a device"),
        };
        let mut note = format!("{how}, which moved {moved}");
        if self.pulled > 0 {
            note += &format!(", {} of them back from a disk's end", self.pulled);
        }
        and(self.inner.changes(), Some(note))
    }
}
