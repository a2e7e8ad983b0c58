//! Physical sectors: what the media hold, each one block or several.

use crate::units::{Lbn, SectorCount};

/// How many blocks a physical sector has: a power of two. The first block of the drive begins one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Physical {
    /// The number of blocks less one.
    mask: u64,
}

impl Physical {
    /// Physical sectors of `blocks` blocks.
    ///
    /// # Panics
    /// If that is not a power of two.
    pub fn new(blocks: SectorCount) -> Self {
        assert!(
            blocks.0.is_power_of_two(),
            "{blocks:?} is not a power of two"
        );
        Self { mask: blocks.0 - 1 }
    }

    /// The blocks of one.
    #[inline]
    pub fn blocks(self) -> SectorCount {
        SectorCount(self.mask + 1)
    }

    /// Whether each block is one.
    #[inline]
    pub fn is_block(self) -> bool {
        self.mask == 0
    }

    /// A number of blocks in whole physical sectors, rounded down.
    #[inline]
    pub fn down(self, blocks: u64) -> u64 {
        blocks & !self.mask
    }

    /// The same, rounded up.
    #[inline]
    pub fn up(self, blocks: u64) -> u64 {
        self.down(blocks + self.mask)
    }

    /// The first block of the physical sector of a block.
    #[inline]
    pub fn first(self, at: Lbn) -> Lbn {
        Lbn(self.down(at.0))
    }

    /// One past the last block of the physical sector of the block before `end`.
    #[inline]
    pub fn end(self, end: Lbn) -> Lbn {
        Lbn(self.up(end.0))
    }

    /// Whether a physical sector begins with a block.
    #[inline]
    pub fn begins_at(self, at: Lbn) -> bool {
        at.0 & self.mask == 0
    }
}
