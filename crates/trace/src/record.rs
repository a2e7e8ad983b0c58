//! One request of a trace, in any format.

use std::fmt;

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

pub(crate) const BLOCK_BYTES: u64 = 512;

/// One request of a trace.
///
/// Every format has `op`, `start` and `sectors`; the optional fields may be `None`. A record has 1
/// to 65,536 blocks, and [`Self::end`] does not overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its location in the file.
    pub location: Location,
    /// The instant at which it reached the driver, relative to the start of the trace or, if the
    /// times of the format have another origin, to the first record; at most 2^63 - 1 ns, and never
    /// before the arrival of an earlier record. Either all records of a trace have one, or none do.
    pub arrival: Option<Instant>,
    /// The device number in the trace; 0 if the format has only one device. Devices with names are
    /// numbered in order of first appearance.
    pub device: u32,
    /// The direction, read or write.
    pub op: Op,
    /// The first block.
    pub start: Lbn,
    /// The number of 512-byte blocks.
    pub sectors: SectorCount,
    /// The measured time from arrival to completion; the completion is at most 2^63 - 1 ns. In a
    /// trace without arrivals, all responses and pauses add up to no more than that.
    pub response: Option<Span>,
    /// The last part of the response: the measured time from the start of service to completion.
    pub service: Option<Span>,
    /// The pause from this completion to the next issue.
    pub think: Option<Span>,
    /// The number of requests at the driver when this one arrived.
    pub queue: Option<u32>,
    /// Indicates whether a process waits for it.
    pub urgency: Option<Urgency>,
    /// The observed behaviour of the drive.
    pub observed: Option<Observed>,
}

impl Record {
    /// Returns a record with only the fields that every format gives.
    pub fn new(location: Location, op: Op, start: Lbn, sectors: SectorCount) -> Self {
        Self {
            location,
            arrival: None,
            device: 0,
            op,
            start,
            sectors,
            response: None,
            service: None,
            think: None,
            queue: None,
            urgency: None,
            observed: None,
        }
    }

    /// Returns the block after the last one.
    pub fn end(&self) -> Lbn {
        self.start + self.sectors
    }
}

/// Indicates whether a process waits for a request to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Urgency {
    /// A process waits, as for most reads.
    Synchronous,
    /// No process waits, as for read-ahead and delayed writes.
    Asynchronous,
}

impl Urgency {
    pub(crate) fn new(is_awaited: bool) -> Self {
        if is_awaited {
            Self::Synchronous
        } else {
            Self::Asynchronous
        }
    }
}

/// The observed behaviour of a drive for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observed {
    /// A read that the drive's buffer served.
    Hit,
    /// A read that went to the media.
    Miss,
    /// The number of times the drive disconnected from the bus during a write.
    Disconnects(u8),
}

impl Observed {
    pub(crate) fn parse(op: Op, word: &[u8]) -> Result<Self, &'static str> {
        match (op, word) {
            (Op::Read, b"hit") => Ok(Self::Hit),
            (Op::Read, b"miss") => Ok(Self::Miss),
            (Op::Read, _) => Err("hit or miss for a read"),
            (_, b"two_disconnects") => Ok(Self::Disconnects(2)),
            (_, b"three_disconnects") => Ok(Self::Disconnects(3)),
            _ => Err("two_disconnects or three_disconnects for a write"),
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Disconnects(2) => "two_disconnects",
            Self::Disconnects(_) => "three_disconnects",
        }
    }
}

/// A location in a trace file. Displays as `17`, `byte 4096` or `row 17`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Location {
    /// A line, counted from one, including the header.
    Line(u64),
    /// In a binary format: the byte offset in the decompressed file.
    Byte(u64),
    /// In a columnar format: a row, counted from one.
    Row(u64),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => number.fmt(f),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Row(number) => write!(f, "row {number}"),
        }
    }
}
