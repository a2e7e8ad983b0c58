//! Where blocks lie, as far as one track goes.

use crate::units::{Angle, Cylinder, Head, SectorCount};

/// Blocks that lie one behind another on one track, with no gap.
///
/// It ends with the track's data, before a slipped sector, and where reallocated blocks begin or
/// end, even if these happen to adjoin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Blocks from the one asked for to the end of the run; at least 1.
    pub sectors: SectorCount,
    /// Cylinder of the run.
    pub cylinder: Cylinder,
    /// Surface of the run.
    pub head: Head,
    /// Sector of the block asked for, counted along the track from the track's start.
    pub sector: u32,
    /// Where the block asked for begins.
    pub start: Angle,
    /// Width of one sector, rounded down; zero stands for the whole turn of a track with one
    /// sector.
    pub sector_angle: Angle,
}
