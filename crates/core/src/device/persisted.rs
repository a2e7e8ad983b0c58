//! What has reached the media.

use crate::units::{Lbn, SectorCount};

/// Consecutive blocks whose data have reached the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Persisted {
    /// The first block.
    pub first: Lbn,
    /// How many.
    pub sectors: SectorCount,
}
