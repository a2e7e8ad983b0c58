//! What one row of a trace says, whatever the format.

use std::fmt;

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

/// One request of a trace.
///
/// Every format gives `op`, `start` and `sectors`; what it does not carry is `None`. A record
/// always has at least one block and at most 65,536, and [`Self::end`] does not overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where in the file it stands.
    pub location: Location,
    /// When it reached the driver, since the trace's own zero or, where the format counts from
    /// elsewhere, since the first record; at most 2^63 - 1 ns, and never before the arrival of an
    /// earlier record. Either all records of a trace have it or none.
    pub arrival: Option<Instant>,
    /// The trace's number of the device; 0 where the format knows one device only. Where devices
    /// have names, their numbers follow the order of first appearance.
    pub device: u32,
    /// Direction.
    pub op: Op,
    /// First block.
    pub start: Lbn,
    /// Number of 512-byte blocks.
    pub sectors: SectorCount,
    /// Measured, from arrival to completion, which is at most 2^63 - 1 ns. In a trace without
    /// arrivals, all responses and pauses up to any record add up to no more.
    pub response: Option<Span>,
    /// The last part of the response: measured from the start of the service to its completion.
    pub service: Option<Span>,
    /// Pause from this completion to the next issue.
    pub think: Option<Span>,
    /// Requests that were at the driver when this one arrived.
    pub queue: Option<u32>,
    /// Whether somebody waits for it.
    pub urgency: Option<Urgency>,
    /// What the drive was seen to do.
    pub observed: Option<Observed>,
}

impl Record {
    /// A record of which no more is known than what every format gives.
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

    /// One past the last block.
    pub fn end(&self) -> Lbn {
        self.start + self.sectors
    }
}

/// Whether somebody waits for a request to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Urgency {
    /// A process waits.
    Synchronous,
    /// Nobody does: read-ahead, delayed writes.
    Asynchronous,
}

/// What was seen of a drive's handling of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observed {
    /// A read that the drive's buffer served.
    Hit,
    /// A read that went to the media.
    Miss,
    /// How many times the drive left the bus during a write.
    Disconnects(u8),
}

/// Where something stands in a trace file. Displays as `17`, as `byte 4096`, or as `row 17`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Location {
    /// A line, counted from one, the header included.
    Line(u64),
    /// In a binary format: bytes before it, in the file as it is when decompressed.
    Byte(u64),
    /// In a format of columns: a row, counted from one.
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
