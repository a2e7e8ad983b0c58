//! The layout of the drive.
//!
//! The upper bounds are far above those of any drive. They keep every product of counts within 63
//! bits, so that the layout need not check for overflow.

use super::key::{DISKSIM, FLAG, Key, KeyKind, SheetEntry, count, size, table, word};
use crate::units::SectorCount;

/// Maximum number of cylinders.
pub const MAX_CYLINDERS: u32 = 2_000_000;
const MAX_SURFACES: u64 = 100;
/// Maximum number of sectors: a million on every track of the largest drive.
pub(super) const MAX_SECTORS: u64 = 200_000_000_000_000;
/// Maximum capacity in bytes, 1 PiB: that of 4096 drives fits in 63 bits, too.
const MAX_BYTES: u64 = 1 << 50;
/// Maximum number of spare units in a region.
pub(super) const MAX_SPARES: u64 = 1_000_000_000;
/// Maximum number of grown defects, each of which takes memory.
const MAX_GROWN_DEFECTS: u64 = 1_000_000;
const MAX_SECTOR_BYTES: u64 = 1 << 20;
const APPENDIX_B: &str = "worthington96 appendix B";

section! {
    /// The layout of the drive.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Geometry at "geometry." |spec| (Some(&spec.geometry), &mut spec.geometry) {
        /// Exported capacity: the sectors that the zones map, minus `unused_sectors`.
        sectors: SectorCount = SectorCount(0) => count("sectors", 1, MAX_SECTORS)
            .required().shown(SheetEntry::As("capacity_sectors")).cited(APPENDIX_B);
        /// Sectors at the end that the zones map but the drive does not export: spare space with
        /// `sectors-per-disk`, otherwise unused, as in a drive sold with a round capacity.
        unused_sectors: SectorCount = SectorCount(0)
            => count("sectors", 0, MAX_SECTORS).shown(SheetEntry::Hidden);
        /// Bytes per sector.
        sector_bytes: u32 = 0 => count("bytes", 1, MAX_SECTOR_BYTES).required().cited(APPENDIX_B);
        /// Size of a sector on the media, if the drive emulates smaller ones ("512e"; SCSI:
        /// physical block; ATA: physical sector): a number of sectors that is a power of two. A
        /// write of part of such a sector first reads it, unless the rest is in the buffer, and
        /// writes it a revolution later. Tracks, reserved space and capacity are multiples of this
        /// size; spares, slips and defects are counted in physical sectors, unless they are tracks.
        physical_sector: SectorCount = SectorCount(1) => size(1).cited("SBC-4, ACS-4");
        /// Number of data surfaces, each with one head.
        surfaces: u32 = 0 => count("surfaces", 1, MAX_SURFACES).required().cited(APPENDIX_B);
        /// Number of physical cylinders, including those without data.
        cylinders: u32 = 0
            => count("cylinders", 1, MAX_CYLINDERS as u64).required().cited(APPENDIX_B);
        /// The order of heads in successive cylinders: always ascending; alternately ascending and
        /// descending, beginning anew in each zone; or alternating through the whole disk.
        order: TrackOrder = TrackOrder::CylinderMajor => word(TrackOrder::WORDS).cited(DISKSIM);
        /// Location of the spare space, and the unit of `spares`, `slips` and `defects`.
        sparing: Sparing = Sparing::None => word(Sparing::WORDS).cited("worthington96 table 6");
        /// Cylinders in a range; required with `sectors-per-range`, and not allowed otherwise.
        sparing_range: u32 = 0
            => Key::new(KeyKind::Distance)
                .shown(SheetEntry::Argument)
                .cited("worthington96 table 6");
        /// A slip rotates all tracks between its sparing region and the end of the zone by the
        /// width of the slip, because skews are counted from the end of the previous data. If off,
        /// skews are counted between whole tracks.
        ///
        /// On the ST41601N the completions after each of 26 slips come one sector later.
        slips_turn_tracks: bool = false => FLAG.switched(20);
        /// Physical sectors (or tracks, when sparing is by track) that became defective in use, at
        /// random locations, and were reallocated.
        grown_defects: GrownDefects = GrownDefects::default()
            => table(GrownDefects::KEYS).cited("worthington94 section 5.2");
        /// Zones, outermost first, covering ascending ranges of cylinders. Cylinders between two
        /// zones hold no data.
        zones: Vec<Zone> = Vec::new()
            => Key::new(KeyKind::Zones)
                .required()
                .shown(SheetEntry::Hidden)
                .cited("worthington96 table 5");
    }
}

section! {
    /// Optional defects at random locations that appeared in use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct GrownDefects at "geometry.grown_defects." |spec| (
        Some(&spec.geometry.grown_defects),
        &mut spec.geometry.grown_defects
    ) {
        /// Number of units of sparing (physical sectors or tracks) that are reallocated.
        count: u64 = 0 => count("physical sectors or tracks", 0, MAX_GROWN_DEFECTS)
            .shown(SheetEntry::As("grown_defects")).cited("worthington94 section 5.2");
        /// Seed of the locations of these defects.
        seed: u64 = 0 => count("", 0, i64::MAX as u64).shown(SheetEntry::Hidden);
    }
}

words! {
    /// The order in which ascending LBNs fill the tracks.
    pub enum TrackOrder {
        /// Every cylinder in ascending order of heads.
        CylinderMajor = "cylinder-major",
        /// Heads ascending in one cylinder, descending in the next; each zone begins ascending.
        SerpentinePerZone = "serpentine-per-zone",
        /// Heads ascending in one cylinder and descending in the next, through the whole disk.
        Serpentine = "serpentine",
    }
}

words! {
    /// Location of the spare space. [`Zone::spares`], [`Zone::slips`] and [`Zone::defects`] count
    /// in the unit that the variant names.
    pub enum Sparing {
        /// No spare space.
        None = "none",
        /// Spare sectors at the end of each track.
        SectorsPerTrack = "sectors-per-track",
        /// Spare sectors at the end of each cylinder.
        SectorsPerCylinder = "sectors-per-cylinder",
        /// Spare sectors at the front of each cylinder.
        SectorsPerCylinderFront = "sectors-per-cylinder-front",
        /// Spare sectors at the end of each range of [`Geometry::sparing_range`] cylinders.
        SectorsPerRange = "sectors-per-range",
        /// Spare sectors at the end of each zone.
        SectorsPerZone = "sectors-per-zone",
        /// Spare tracks at the end of each zone.
        TracksPerZone = "tracks-per-zone",
        /// Spare sectors at the end of the disk.
        SectorsPerDisk = "sectors-per-disk",
    }
}

/// A range of cylinders with the same number of sectors per track.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Zone {
    /// First cylinder of the zone.
    pub first_cylinder: u32,
    /// One past the last cylinder.
    pub end_cylinder: u32,
    /// Sectors on each track.
    pub sectors_per_track: u32,
    /// Angle of the zone's first sector, in sectors of this zone; less than a whole track.
    pub first_offset_sectors: f64,
    /// Sectors at the front of the zone that hold no host data.
    pub reserved_sectors: SectorCount,
    /// Angular shift from one track to the next in a cylinder, in sectors.
    pub track_skew_sectors: f64,
    /// Angular shift from the last track of a cylinder to the first of the next, in sectors.
    pub cylinder_skew_sectors: f64,
    /// Spare physical sectors per region of the scheme; tracks with [`Sparing::TracksPerZone`].
    pub spares: u64,
    /// Slipped units: skipped when blocks were numbered during formatting.
    pub slips: Vec<u64>,
    /// Reallocated units: (defective place, spare place).
    pub defects: Vec<(u64, u64)>,
}

impl Geometry {
    /// Maximum sectors in a physical sector: READ CAPACITY has four bits for its exponent.
    pub const MAX_PHYSICAL: u64 = 1 << 15;

    /// The requirement on the size of a physical sector.
    pub(crate) const PHYSICAL: &str = "a number of sectors that is a power of two, at most 32768";

    /// Returns the name of the first key that conflicts with another one, and what is allowed.
    pub fn contradiction(&self) -> Option<(&'static str, String)> {
        let max = MAX_BYTES / u64::from(self.sector_bytes.max(1));
        if self.sectors.0 > max {
            return Some(("sectors", format!("at most {max}, which are 1 PiB")));
        }
        let physical = self.physical_sector.0;
        if !physical.is_power_of_two() || physical > Self::MAX_PHYSICAL {
            return Some(("physical_sector", Self::PHYSICAL.to_owned()));
        }
        let expected = match (self.sparing, self.sparing_range) {
            (Sparing::SectorsPerRange, 0) => "a distance with its unit, such as \"300 cylinders\"",
            (Sparing::SectorsPerRange, _) | (_, 0) => return None,
            _ => "nothing, unless sparing = \"sectors-per-range\"",
        };
        Some(("sparing_range", expected.to_owned()))
    }
}
