//! What one row of a trace says, whatever the format.

use std::fmt;

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

/// One request of a trace.
///
/// Every format gives `op`, `start` and `sectors`; what it does not carry is `None`. A record
/// always has at least one sector and at most 2^32, and [`Self::end`] does not overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where in the file it stands.
    pub line: Line,
    /// When it reached the driver, since the trace's own zero; at most 2^63 - 1 ns, and never
    /// before the arrival of an earlier record.
    pub arrival: Option<Instant>,
    /// The trace's number of the device; 0 where the format knows one device only.
    pub device: u32,
    /// Direction.
    pub op: Op,
    /// First block.
    pub start: Lbn,
    /// Number of 512-byte blocks.
    pub sectors: SectorCount,
    /// Measured, from issue to completion. All responses and pauses of a trace up to any record
    /// add up to at most 2^63 - 1 ns.
    pub response: Option<Span>,
    /// Pause from this completion to the next issue.
    pub think: Option<Span>,
    /// What the drive was seen to do.
    pub observed: Option<Observed>,
}

impl Record {
    /// One past the last block.
    pub fn end(&self) -> Lbn {
        self.start + self.sectors
    }
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

/// A line of a trace file, counted from one, the header included; in a binary format, a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u64);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
