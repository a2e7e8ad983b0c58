//! What background reads bring, and what they cost.

use std::ops::AddAssign;

use super::tasks::TaskId;
use crate::units::{Instant, Lbn, SectorCount, Span};

/// Blocks of a task that were read, or could not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The task.
    pub task: TaskId,
    /// The first block.
    pub first: Lbn,
    /// How many.
    pub sectors: SectorCount,
    /// When.
    pub at: Instant,
    /// Whether they could be read.
    pub is_readable: bool,
}

/// What was done in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackgroundStats {
    /// Blocks that were read and wanted, those of each task counted.
    pub sectors: u64,
    /// Reads for the background alone.
    pub reads: u64,
    /// Foreground commands that also read for the background.
    pub merged: u64,
    /// Gaps of the foreground in which something was read.
    pub gaps: u64,
    /// Foreground requests that the drive was done with later than it would have been without, by
    /// more than rounding of times, as far as the model of an external scheduler tells.
    pub delayed: u64,
    /// By how much in all.
    pub delay: Span,
    /// Blocks that cannot be read.
    pub unreadable: u64,
}

impl AddAssign for BackgroundStats {
    fn add_assign(&mut self, other: Self) {
        self.sectors += other.sectors;
        self.reads += other.reads;
        self.merged += other.merged;
        self.gaps += other.gaps;
        self.delayed += other.delayed;
        self.delay += other.delay;
        self.unreadable += other.unreadable;
    }
}
