//! What a host asks for.

use crate::units::{Lbn, SectorCount};

/// Direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// From the drive to the host.
    Read,
    /// From the host to the drive.
    Write,
}

impl Op {
    /// Whether this is [`Op::Read`].
    #[inline]
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Read)
    }
}

/// A command: consecutive blocks, one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The host's name for it, carried to the completion.
    pub id: u64,
    /// Direction.
    pub op: Op,
    /// First block.
    pub start: Lbn,
    /// Number of blocks; at least one.
    pub sectors: SectorCount,
}

impl Request {
    /// The largest size: what one ATA command with 48-bit addresses can name (READ DMA EXT, a
    /// count of 16 bits whose zero stands for all of them).
    pub const MOST_SECTORS: SectorCount = SectorCount(1 << 16);

    /// One past the last block.
    #[inline]
    pub fn end(&self) -> Lbn {
        self.start + self.sectors
    }
}
