//! A run of blocks on one track.

use crate::units::{Angle, Cylinder, Head, SectorCount};

/// Consecutive blocks on one track, without a gap.
///
/// A run ends at the end of the track's data, before a slipped sector, and where reallocated blocks
/// begin or end, even if these happen to be adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of blocks from the requested one to the end of the run; at least 1.
    pub sectors: SectorCount,
    /// Cylinder of the run.
    pub cylinder: Cylinder,
    /// Surface of the run.
    pub head: Head,
    /// Sector of the requested block, counted from the start of the track.
    pub sector: u32,
    /// Angle at which the requested block begins.
    pub start: Angle,
    /// Width of one sector, rounded down; zero for a whole revolution (one sector per track).
    pub sector_angle: Angle,
}
