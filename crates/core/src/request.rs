//! Requests from a host to a device.

use crate::units::{Lbn, SectorCount};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Transfers data from the drive to the host.
    Read,
    /// Transfers data from the host to the drive.
    Write,
    /// Transfers nothing, and completes once the data of every write that completed earlier are on
    /// the media (SCSI: SYNCHRONIZE CACHE of all blocks; ATA: FLUSH CACHE).
    Flush,
}

impl Op {
    /// Returns true if this is [`Op::Read`].
    #[inline]
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Read)
    }
}

/// The order of a request relative to others (SAM-5 section 8.6, task attributes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ordering {
    /// In any order that a policy chooses. A policy may also choose the path of the arm.
    Simple(Stroke),
    /// After all earlier requests, and before all later ones except head-of-queue requests.
    Ordered,
    /// Before every waiting request. Among several, the newest is first.
    HeadOfQueue,
}

impl Default for Ordering {
    fn default() -> Self {
        Self::Simple(Stroke::Direct)
    }
}

/// The class of a request, for policies that distinguish classes, such as `hol(by=priority)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Served before all other classes.
    High,
    /// The class of most requests.
    #[default]
    Normal,
    /// Served after all other classes.
    Low,
}

/// The full seeks that the arm makes on its way to a request, for policies that sweep to the edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stroke {
    /// Straight to the request.
    #[default]
    Direct,
    /// To the first cylinder.
    ByFirst,
    /// To the last cylinder.
    ByLast,
    /// To the last cylinder, then to the first.
    ByLastAndFirst,
}

/// A request: one operation on consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// An id that the caller chooses, unique among the outstanding requests of a device.
    pub id: u64,
    /// First block; 0 for a flush.
    pub start: Lbn,
    /// Number of blocks: zero for a flush, and at least one for all other requests.
    pub sectors: SectorCount,
    /// The operation on the blocks.
    pub op: Op,
    /// True if the request must access the media: a read takes nothing from the buffer, and a write
    /// is not absorbed by the write cache (SCSI and ATA: FUA).
    pub force_unit_access: bool,
    /// Its order relative to other requests.
    pub ordering: Ordering,
    /// Class, for policies that distinguish classes.
    pub priority: Priority,
    /// Number of the workload stream that it belongs to, from 0.
    pub stream: u16,
    /// Number of the disk that serves it, from 0, among independent disks (SCSI: logical unit).
    pub unit: u16,
}

impl Request {
    /// Maximum size of an ATA command with 48-bit addresses (READ DMA EXT, a 16-bit count).
    pub const MAX_SECTORS: SectorCount = SectorCount(1 << 16);

    /// Creates a request with default attributes, for unit 0, of stream 0.
    #[inline]
    pub const fn new(id: u64, op: Op, start: Lbn, sectors: SectorCount) -> Self {
        Self {
            id,
            start,
            sectors,
            op,
            force_unit_access: false,
            ordering: Ordering::Simple(Stroke::Direct),
            priority: Priority::Normal,
            stream: 0,
            unit: 0,
        }
    }

    /// Creates a flush of all blocks.
    pub const fn flush(id: u64) -> Self {
        Self::new(id, Op::Flush, Lbn(0), SectorCount(0))
    }

    /// Returns one past the last block.
    #[inline]
    pub fn end(&self) -> Lbn {
        self.start + self.sectors
    }

    /// Returns true if the request transfers data and a policy decides when it is served.
    #[inline]
    pub fn is_simple_transfer(&self) -> bool {
        self.op != Op::Flush && matches!(self.ordering, Ordering::Simple(_))
    }
}
