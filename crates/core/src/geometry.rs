//! The layout of a drive: the location of every block, computed from its [`spec::Geometry`].
//!
//! A [`Layout`] maps blocks to cylinder, head, sector and angle, and back, and finds gap-free runs.
//!
//! # How places are counted
//! The places of a zone are its sectors, counted from 0 in the order of its tracks: cylinder by
//! cylinder, heads in the order of [`TrackOrder`], sectors ascending. Slips and defects are given
//! as places (tracks for [`Sparing::TracksPerZone`]) from the front of their zone, counting
//! reserved and spare places too. If a physical sector has several blocks
//! ([`Geometry::physical_sector`]), slips, defects and spares are counted in physical sectors. Only
//! the spare places of defects under [`Sparing::SectorsPerDisk`] are counted from the front of the
//! disk, because the spare space belongs to the whole disk.
//!
//! # What holds data
//! * Each region of the sparing scheme sets aside [`Zone::spares`] units. Slips use these up, so a
//!   region holds the same number of blocks regardless of slips. If the spares are in front, a slip
//!   moves the data before it forward. A region must have enough spares.
//! * If regions are ranges of cylinders, they begin at the first cylinder of the zone; a shorter
//!   last range has the same number of spares as the others.
//! * [`Zone::reserved_sectors`] counts sectors that would otherwise hold data, not spares.
//! * [`Sparing::SectorsPerDisk`] and [`Sparing::None`] set nothing aside in a zone. Sectors beyond
//!   the exported capacity are spare space under the former, and unused under all other schemes.
//!
//! With these rules, the capacities of dec-rz26, hp-c2247, hp-c2490a and seagate-st41601n are exact
//! to the sector. Drives sold with round or common capacities export fewer sectors than they map
//! ([`Layout::mapped_sectors`]); [`Geometry::unused_sectors`] is the difference.
//!
//! # Angle
//! The first place of a zone is at [`Zone::first_offset_sectors`]. Each following track, in track
//! order and including tracks without data, starts later by the track skew, or by the cylinder skew
//! if it begins a cylinder. The offset and both skews are in sectors of the zone.
//!
//! [`spec::Geometry`]: crate::spec::Geometry
//! [`Geometry::physical_sector`]: crate::spec::Geometry::physical_sector
//! [`TrackOrder`]: crate::spec::TrackOrder
//! [`Sparing::TracksPerZone`]: crate::spec::Sparing::TracksPerZone
//! [`Sparing::SectorsPerDisk`]: crate::spec::Sparing::SectorsPerDisk
//! [`Sparing::None`]: crate::spec::Sparing::None
//! [`Zone::spares`]: crate::spec::Zone::spares
//! [`Zone::reserved_sectors`]: crate::spec::Zone::reserved_sectors
//! [`Zone::first_offset_sectors`]: crate::spec::Zone::first_offset_sectors
//! [`Geometry::unused_sectors`]: crate::spec::Geometry::unused_sectors

mod check;
mod grid;
mod media;
mod plan;
mod reallocations;

use grid::{Grid, Piece, Pieces};
use plan::{Plan, Role};
use reallocations::Reallocations;

use crate::spec::Geometry;
use crate::text::InputError;
use crate::units::{Lbn, SectorCount};

pub use crate::extent::Extent;
pub use media::Unit;
pub use plan::Pba;

/// The layout of a drive.
///
/// Its tables have an entry for each run of blocks between two exceptions (zone boundaries, slips,
/// reallocations) but none for cylinders or tracks, so memory does not grow with the capacity.
#[derive(Debug)]
pub struct Layout {
    plan: Plan,
    cylinders: u32,
    surfaces: u32,
    physical: Physical,
    /// Each zone has two grids: one for its data, and one for all its places.
    grids: Vec<Grid>,
    pieces: Pieces,
    reallocations: Reallocations,
}

impl Layout {
    /// Builds the layout of a geometry.
    ///
    /// # Errors
    /// If the numbers are inconsistent: zones out of order, overlapping or beyond the last
    /// cylinder, sizes of zero, spares that do not fit or are too few, slips and defects out of
    /// range or duplicated, or a capacity that, together with the unused sectors, differs from what
    /// the zones map.
    pub fn new(g: &Geometry) -> Result<Self, InputError> {
        check::check(g)?;
        let plan = Plan::new(g)?;
        let zones = g.zones.iter();
        let grids = zones.flat_map(|zone| [Grid::for_data(zone, g), Grid::for_places(zone, g)]);
        let mut layout = Self {
            cylinders: g.cylinders,
            surfaces: g.surfaces,
            grids: grids.collect(),
            physical: Physical::new(g.physical_sector),
            pieces: plan.pieces(),
            plan,
            reallocations: Reallocations::default(),
        };
        layout.reallocations = Reallocations::new(g, &layout.plan, &|at| layout.pba(at))?;
        let reallocated = layout.reallocations.pieces(&layout.plan);
        layout.pieces = layout.pieces.overlay(&reallocated);
        Ok(layout)
    }

    /// Returns the size of a physical sector.
    #[inline]
    pub fn physical(&self) -> Physical {
        self.physical
    }

    /// Returns the exported capacity in blocks.
    pub fn sectors(&self) -> SectorCount {
        SectorCount(self.plan.capacity)
    }

    /// Returns the number of sectors that the zones map: all except reserved, spare and slipped
    /// ones. Some of them may not be exported ([`Self::sectors`]).
    pub fn mapped_sectors(&self) -> SectorCount {
        self.plan.mapped
    }

    /// Returns the number of physical cylinders, including those without data.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Returns the number of data surfaces.
    pub fn surfaces(&self) -> u32 {
        self.surfaces
    }

    /// Returns the location of `at`, and the gap-free run of blocks that begins there.
    ///
    /// # Panics
    /// If `at` is beyond the capacity.
    #[inline(always)]
    pub fn extent(&self, at: Lbn) -> Extent {
        let piece = self.piece(at);
        let grid = &self.grids[piece.grid as usize];
        let place = grid.place(piece.sector(at.0));
        Extent {
            sectors: SectorCount(place.ahead.min(piece.end - at.0)),
            cylinder: place.cylinder,
            head: place.head,
            sector: place.sector,
            start: place.start + grid.sector_angle * u64::from(piece.turned),
            sector_angle: grid.sector_angle,
        }
    }

    /// Returns the first block of the gap-free run that contains `at`.
    ///
    /// # Panics
    /// If `at` is beyond the capacity.
    pub fn track_first(&self, at: Lbn) -> Lbn {
        let piece = self.piece(at);
        let place = self.grids[piece.grid as usize].place(piece.sector(at.0));
        Lbn(at.0 - place.behind.min(at.0 - piece.start))
    }

    /// Returns the address of a block.
    ///
    /// # Panics
    /// If `at` is beyond the capacity.
    #[inline]
    pub fn pba(&self, at: Lbn) -> Pba {
        let extent = self.extent(at);
        Pba {
            cylinder: extent.cylinder,
            head: extent.head,
            sector: extent.sector,
        }
    }

    /// Returns the block at an address: the inverse of [`Self::pba`]. Returns `None` for places
    /// that hold no block: reserved, slipped, defective, spare, not exported, or nonexistent.
    pub fn lbn(&self, at: Pba) -> Option<Lbn> {
        let place = self.plan.place(at)?;
        let original = self.reallocations.original(&self.plan, place)?;
        match self.plan.role(original) {
            Role::Block(lbn) => Some(lbn),
            Role::Reserved | Role::Beyond | Role::Spare | Role::Slipped => None,
        }
    }

    #[inline]
    fn piece(&self, at: Lbn) -> &Piece {
        if at.0 >= self.plan.capacity {
            no_such_block(at);
        }
        self.pieces.find(at.0)
    }
}

/// A separate function, so that the message does not slow down the hot path.
#[cold]
#[inline(never)]
fn no_such_block(at: Lbn) -> ! {
    panic!("no such block: {at:?}")
}

/// The size of a physical sector in blocks, a power of two. Block 0 begins a physical sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Physical {
    /// The number of blocks minus one.
    mask: u64,
}

impl Physical {
    /// Creates physical sectors of `blocks` blocks.
    ///
    /// # Panics
    /// If `blocks` is not a power of two.
    pub fn new(blocks: SectorCount) -> Self {
        let is_power = blocks.0.is_power_of_two();
        assert!(is_power, "{blocks:?} is not a power of two");
        Self { mask: blocks.0 - 1 }
    }

    /// Returns the number of blocks in a physical sector.
    #[inline]
    pub fn blocks(self) -> SectorCount {
        SectorCount(self.mask + 1)
    }

    /// Returns true if each block is a physical sector.
    #[inline]
    pub fn is_block(self) -> bool {
        self.mask == 0
    }

    /// Rounds a number of blocks down to whole physical sectors.
    #[inline]
    pub fn down(self, blocks: u64) -> u64 {
        blocks & !self.mask
    }

    /// Rounds a number of blocks up to whole physical sectors.
    #[inline]
    pub fn up(self, blocks: u64) -> u64 {
        self.down(blocks + self.mask)
    }

    /// Returns the first block of the physical sector of a block.
    #[inline]
    pub fn first(self, at: Lbn) -> Lbn {
        Lbn(self.down(at.0))
    }

    /// Returns the end of the physical sector that contains block `end - 1`.
    #[inline]
    pub fn end(self, end: Lbn) -> Lbn {
        Lbn(self.up(end.0))
    }

    /// Returns true if a physical sector begins with a block.
    #[inline]
    pub fn begins_at(self, at: Lbn) -> bool {
        at.0 & self.mask == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{GrownDefects, Sparing, TrackOrder, Zone};

    /// Returns a drive of 20 terabytes in 512-byte sectors: 18 surfaces, 30 zones of 20,000
    /// cylinders with 4,000 to 3,420 sectors per track, 4,000 slips and 4,000 grown defects.
    fn huge() -> Geometry {
        let zones = (0..30).map(|n| Zone {
            first_cylinder: n * 20_000,
            end_cylinder: (n + 1) * 20_000,
            sectors_per_track: 4_000 - 20 * n,
            first_offset_sectors: 0.0,
            reserved_sectors: SectorCount(0),
            track_skew_sectors: 300.0,
            cylinder_skew_sectors: 500.0,
            spares: 5_000,
            slips: (0..4_000 / 30).map(|k| k * 9_000_001).collect(),
            defects: Vec::new(),
        });
        Geometry {
            surfaces: 18,
            cylinders: 600_000,
            sectors: SectorCount(39_000_000_000),
            unused_sectors: SectorCount(1_067_850_000),
            sector_bytes: 512,
            order: TrackOrder::SerpentinePerZone,
            sparing: Sparing::SectorsPerZone,
            zones: zones.collect(),
            grown_defects: GrownDefects {
                count: 4_000,
                seed: 1,
            },
            ..Geometry::default()
        }
    }

    #[test]
    fn layout_of_a_20_tb_drive_takes_less_than_a_mebibyte() {
        let layout = Layout::new(&huge()).unwrap();
        let slips: usize = layout.plan.zones.iter().map(|z| 8 * z.slips.len()).sum();
        let grids = size_of_val(layout.grids.as_slice());
        let bytes = layout.pieces.bytes() + layout.reallocations.bytes() + slips + grids;
        assert!(bytes < 1 << 20, "{bytes}");
        for n in 0..100_000 {
            let lbn = Lbn(n * 389_999 % 39_000_000_000);
            assert_eq!(layout.lbn(layout.pba(lbn)), Some(lbn));
        }
    }
}
