//! The order of blocks on the members of a pair.

use std::ops::Range;

use crate::array::{Access, Commands};
use crate::request::Op;
use crate::units::SectorCount;

#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// The units of the second member, if it holds them in reverse order.
    pub(super) transposed: Option<Units>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    pub(super) size: u64,
    /// The number of whole units.
    pub(super) count: u64,
}

impl Layout {
    /// Returns the layout of members of `sectors` blocks. With `unit`, the second member holds
    /// units of `unit` blocks in the opposite order.
    pub(super) fn new(unit: Option<SectorCount>, sectors: SectorCount) -> Self {
        let transposed = unit.map(|SectorCount(size)| Units {
            size,
            count: sectors.0 / size,
        });
        Self { transposed }
    }

    /// Returns the position of a block on a member, or the block at a position (its own inverse).
    pub(super) fn position(&self, member: usize, block: u64) -> u64 {
        match self.transposed.filter(|_| member == 1) {
            Some(Units { size, count }) if block / size < count => {
                (count - 1 - block / size) * size + block % size
            }
            _ => block,
        }
    }

    #[inline(always)]
    pub(super) fn commands(&self, member: usize, op: Op, blocks: Range<u64>) -> Commands {
        let access = |blocks: Range<u64>| {
            let start = self.position(member, blocks.start);
            Access::new(member, op, start, blocks.end - blocks.start)
        };
        let Some(Units { size, count }) = self.transposed.filter(|_| member == 1) else {
            return Commands::One(access(blocks));
        };
        if blocks.is_empty() {
            return Commands::One(Access {
                start: blocks.start,
                ..access(blocks)
            });
        }
        let mut start = blocks.start;
        let runs = std::iter::from_fn(|| {
            let unit = start / size;
            // The blocks after the last whole unit keep their positions.
            let unit_end = if unit < count {
                (unit + 1) * size
            } else {
                u64::MAX
            };
            let end = blocks.end.min(unit_end);
            let run = start..end;
            start = end;
            (!run.is_empty()).then(|| access(run))
        });
        runs.collect()
    }
}
