//! The role of each physical place: data, reserved, spare or slipped.
//!
//! Roles are computed from a zone's regions and a binary search in its slips, so the plan stores a
//! few numbers per zone and nothing per track. It also maps a place back to its block.

use super::check::zone_error;
use super::grid::{Piece, PieceList, Pieces};
use crate::spec::{Geometry, Sparing, TrackOrder, Zone};
use crate::text::InputError;
use crate::units::{Cylinder, Head, Lbn, SectorCount};

/// A physical block address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pba {
    /// Cylinder of the sector.
    pub cylinder: Cylinder,
    /// Surface, numbered like its head.
    pub head: Head,
    /// The sector, counted along the track from the track's start, not from the index mark.
    pub sector: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Holds this block, unless it was reallocated.
    Block(Lbn),
    /// At the front of a zone, for the drive's own use.
    Reserved,
    /// Mapped, but beyond the exported capacity.
    Beyond,
    Spare,
    Slipped,
}

/// A sector of a zone, counted over all places of the zone in the order of its tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ZonePlace {
    pub(super) zone: usize,
    pub(super) place: u64,
}

/// The regions of one zone.
///
/// The places of a zone form regions of one size, except that the last may be shorter. Each region
/// sets aside the same number of places as spares, and each slip uses up one of them. Data are in
/// the first places that are not slipped, or in the last ones if spares are at the front, so that
/// the number of blocks of a region does not depend on slips. The zone's first data places are
/// reserved.
#[derive(Debug)]
pub(super) struct ZonePlan {
    pub(super) first_cylinder: u32,
    pub(super) end_cylinder: u32,
    pub(super) sectors_per_track: u64,
    pub(super) places: u64,
    /// Number of places in a unit of sparing.
    pub(super) unit: u64,
    pub(super) region: u64,
    spares: u64,
    spares_in_front: bool,
    /// Slipped units, in ascending order.
    pub(super) slips: Vec<u64>,
    /// True if a slip rotates the tracks of all regions after its own.
    slips_turn_tracks: bool,
    reserved: u64,
    /// The block in the first place that is mapped and not reserved.
    pub(super) first_block: u64,
}

struct Stretch {
    /// True in a region with slips, where all places are counted; otherwise only data are counted.
    is_slipped: bool,
    first: u64,
    sectors: u64,
}

impl ZonePlan {
    /// Creates the plan of a zone that `check` has validated.
    fn new(zone: &Zone, g: &Geometry) -> Self {
        let spt = u64::from(zone.sectors_per_track);
        let cylinder = u64::from(g.surfaces) * spt;
        let places = cylinder * u64::from(zone.end_cylinder - zone.first_cylinder);
        let unit = match g.sparing {
            Sparing::TracksPerZone => spt,
            _ => g.physical_sector.0,
        };
        let mut slips = zone.slips.clone();
        slips.sort_unstable();
        let region = match g.sparing {
            Sparing::SectorsPerTrack => spt,
            Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => cylinder,
            Sparing::SectorsPerRange => cylinder * u64::from(g.sparing_range),
            _ => places,
        };
        let spares = match g.sparing {
            // Slipped sectors have no replacement, or one at the end of the disk.
            Sparing::None | Sparing::SectorsPerDisk => slips.len() as u64 * unit,
            _ => zone.spares * unit,
        };
        Self {
            first_cylinder: zone.first_cylinder,
            end_cylinder: zone.end_cylinder,
            sectors_per_track: spt,
            places,
            unit,
            region,
            spares,
            spares_in_front: g.sparing == Sparing::SectorsPerCylinderFront,
            slips,
            slips_turn_tracks: g.slips_turn_tracks,
            reserved: zone.reserved_sectors.0,
            first_block: 0,
        }
    }

    /// Returns the first place and the number of places of a region.
    fn region(&self, region: u64) -> (u64, u64) {
        let first = region * self.region;
        (first, self.region.min(self.places - first))
    }

    fn slips_between(&self, first: u64, end: u64) -> &[u64] {
        let from = self.slips.partition_point(|&s| s < first / self.unit);
        let to = self.slips.partition_point(|&s| s < end / self.unit);
        &self.slips[from..to]
    }

    /// Returns the number of sectors by which the tracks of the region of `place` are rotated.
    pub(super) fn turned(&self, place: u64) -> u32 {
        if !self.slips_turn_tracks {
            return 0;
        }
        let region = place / self.region * self.region;
        (self.slips_between(0, region).len() as u64 * self.unit) as u32
    }

    /// Returns the number of places that hold data, including reserved ones.
    fn mapped(&self) -> u64 {
        let regions = self.places.div_ceil(self.region);
        self.places - regions * self.spares
    }

    /// Returns the index of `place` in the zone's data, or its role if it is slipped or spare.
    fn rank(&self, place: u64) -> Result<u64, Role> {
        let unit = place / self.unit;
        if self.slips.binary_search(&unit).is_ok() {
            return Err(Role::Slipped);
        }
        let region = place / self.region;
        let (first, places) = self.region(region);
        let before = self.slips_between(first, unit * self.unit).len() as u64 * self.unit;
        let rank = place - first - before;
        let lead = self.lead(first, places);
        if (lead..lead + (places - self.spares)).contains(&rank) {
            Ok(region * (self.region - self.spares) + rank - lead)
        } else {
            Err(Role::Spare)
        }
    }

    /// Returns the number of remaining spare places in front of a region's data.
    fn lead(&self, first: u64, places: u64) -> u64 {
        if self.spares_in_front {
            self.spares - self.slips_between(first, first + places).len() as u64 * self.unit
        } else {
            0
        }
    }

    /// Returns the bounds of the places that contain all spares of a region.
    pub(super) fn spare_bounds(&self, region: u64) -> (u64, u64) {
        let (first, places) = self.region(region);
        if self.spares_in_front {
            (first, first + places)
        } else {
            (first + places - self.spares, first + places)
        }
    }

    fn stretches(&self) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let data = self.region - self.spares;
        let mut next = 0;
        for slip in &self.slips {
            let region = slip * self.unit / self.region;
            if region < next {
                continue;
            }
            stretches.push(Stretch {
                is_slipped: false,
                first: next * data,
                sectors: (region - next) * data,
            });
            self.slipped_region(region, &mut stretches);
            next = region + 1;
        }
        // No stretch follows a slip in a short last region.
        let first = next * data;
        stretches.push(Stretch {
            is_slipped: false,
            first,
            sectors: self.mapped().saturating_sub(first),
        });
        stretches
    }

    fn slipped_region(&self, region: u64, stretches: &mut Vec<Stretch>) {
        let (first, places) = self.region(region);
        let mut lead = self.lead(first, places);
        let mut left = places - self.spares;
        let mut from = first;
        let slips = self.slips_between(first, first + places);
        let gaps = slips.iter().map(|s| (s * self.unit, self.unit));
        for (gap, width) in gaps.chain([(first + places, 0)]) {
            let dropped = lead.min(gap - from);
            lead -= dropped;
            let sectors = left.min(gap - from - dropped);
            left -= sectors;
            stretches.push(Stretch {
                is_slipped: true,
                first: from + dropped,
                sectors,
            });
            from = gap + width;
        }
    }
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) zones: Vec<ZonePlan>,
    surfaces: u32,
    order: TrackOrder,
    pub(super) capacity: u64,
    pub(super) spares_at_disk_end: bool,
    pub(super) mapped: SectorCount,
}

impl Plan {
    /// Creates the plan of a geometry whose zones `check` has validated.
    pub(super) fn new(g: &Geometry) -> Result<Self, InputError> {
        let mut zones: Vec<_> = g.zones.iter().map(|zone| ZonePlan::new(zone, g)).collect();
        let mut block = 0;
        for (index, zone) in zones.iter_mut().enumerate() {
            let mapped = zone.mapped();
            if zone.reserved > mapped {
                let spares = g.zones[index].spares;
                let expected = format!(
                    "at most {mapped}, the sectors that remain in the zone with spares = {spares}"
                );
                let (field, reserved) = ("reserved_sectors", zone.reserved);
                return Err(zone_error(index, field, reserved, expected));
            }
            zone.first_block = block;
            block += mapped - zone.reserved;
        }
        check_capacity(g, block)?;
        Ok(Self {
            zones,
            surfaces: g.surfaces,
            order: g.order,
            capacity: g.sectors.0,
            spares_at_disk_end: g.sparing == Sparing::SectorsPerDisk,
            mapped: SectorCount(block),
        })
    }

    /// Returns the role of a place, before any reallocation.
    pub(super) fn role(&self, at: ZonePlace) -> Role {
        let zone = &self.zones[at.zone];
        let rank = match zone.rank(at.place) {
            Ok(rank) => rank,
            Err(role) => return role,
        };
        if rank < zone.reserved {
            return Role::Reserved;
        }
        let block = zone.first_block + (rank - zone.reserved);
        if block < self.capacity {
            Role::Block(Lbn(block))
        } else if self.spares_at_disk_end {
            Role::Spare
        } else {
            Role::Beyond
        }
    }

    pub(super) fn place(&self, at: Pba) -> Option<ZonePlace> {
        let Cylinder(cylinder) = at.cylinder;
        let zone = self.zones.partition_point(|z| z.end_cylinder <= cylinder);
        let z = self.zones.get(zone)?;
        let inside = cylinder >= z.first_cylinder
            && at.head.0 < self.surfaces
            && u64::from(at.sector) < z.sectors_per_track;
        if !inside {
            return None;
        }
        let in_zone = cylinder - z.first_cylinder;
        let down = match self.order {
            TrackOrder::CylinderMajor => false,
            TrackOrder::SerpentinePerZone => in_zone % 2 == 1,
            TrackOrder::Serpentine => cylinder % 2 == 1,
        };
        let Head(head) = at.head;
        let in_cylinder = if down { self.surfaces - 1 - head } else { head };
        let track = u64::from(in_zone) * u64::from(self.surfaces) + u64::from(in_cylinder);
        Some(ZonePlace {
            zone,
            place: track * z.sectors_per_track + u64::from(at.sector),
        })
    }

    /// Returns the exported blocks of the unit of sparing that begins at `at`: the first, the end,
    /// and the number of places before them. `None` if the unit has no exported blocks.
    pub(super) fn blocks_of_unit(&self, at: ZonePlace) -> Option<(Lbn, Lbn, u64)> {
        let zone = &self.zones[at.zone];
        let rank = zone.rank(at.place).ok()?;
        let first = rank.max(zone.reserved);
        let end = (rank + zone.unit).max(first);
        let block = |rank: u64| (zone.first_block + (rank - zone.reserved)).min(self.capacity);
        let (start, end) = (block(first), block(end));
        (start < end).then_some((Lbn(start), Lbn(end), first - rank))
    }

    /// Returns the first place of unit `n`, counted over all places of the disk in LBN order.
    pub(super) fn disk_place(&self, n: u64) -> Option<ZonePlace> {
        let mut place = n.checked_mul(self.zones[0].unit)?;
        for (zone, z) in self.zones.iter().enumerate() {
            if place < z.places {
                return Some(ZonePlace { zone, place });
            }
            place -= z.places;
        }
        None
    }

    pub(super) fn unit_start(&self, at: ZonePlace) -> ZonePlace {
        let place = at.place - at.place % self.zones[at.zone].unit;
        ZonePlace { place, ..at }
    }

    /// Returns the bounds of units that may be spares for `defect`. The last block is at `last`.
    pub(super) fn spares_for(&self, defect: ZonePlace, last: ZonePlace) -> (ZonePlace, ZonePlace) {
        if self.spares_at_disk_end {
            let (zone, place) = (self.zones.len(), 0);
            return (self.unit_start(last), ZonePlace { zone, place });
        }
        let zone = &self.zones[defect.zone];
        let (first, end) = zone.spare_bounds(defect.place / zone.region);
        let in_zone = |place| ZonePlace { place, ..defect };
        (in_zone(first), in_zone(end))
    }

    /// Returns the first places of the units from `first` to `end`, in order.
    pub(super) fn units(
        &self,
        first: ZonePlace,
        end: ZonePlace,
    ) -> impl Iterator<Item = ZonePlace> {
        let mut at = first;
        std::iter::from_fn(move || {
            if at < end && at.place >= self.zones[at.zone].places {
                let (zone, place) = (at.zone + 1, 0);
                at = ZonePlace { zone, place };
            }
            let unit = (at < end).then_some(at)?;
            at.place += self.zones[at.zone].unit;
            Some(unit)
        })
    }

    /// Returns all exported blocks in order, as pieces that each refer to one grid of their zone.
    pub(super) fn pieces(&self) -> Pieces {
        let mut list = PieceList::default();
        let mut block = 0;
        for (index, zone) in self.zones.iter().enumerate() {
            let mut reserved = zone.reserved;
            for stretch in zone.stretches() {
                let first = stretch.first;
                let (grid, place) = if stretch.is_slipped {
                    (places_grid(index), first)
                } else {
                    let region = first / (zone.region - zone.spares).max(1);
                    (2 * index as u32, region * zone.region)
                };
                let dropped = reserved.min(stretch.sectors);
                reserved -= dropped;
                let sectors = (stretch.sectors - dropped).min(self.capacity - block);
                if sectors > 0 {
                    let end = block + sectors;
                    let turned = zone.turned(place);
                    list.push(Piece::new((block, end), first + dropped, grid, turned));
                    block = end;
                }
            }
        }
        assert_eq!(block, self.capacity, "pieces must cover the capacity");
        list.finish()
    }
}

/// Checks that the capacity plus the unused sectors equals the number of sectors that the zones
/// map. Too small a capacity is an error too, because it may result from a mistyped zone.
fn check_capacity(g: &Geometry, mapped: u64) -> Result<(), InputError> {
    let unused = g.unused_sectors.0;
    let Some(exported @ 1..) = mapped.checked_sub(unused) else {
        let expected = format!("fewer than {mapped}, the number of sectors that the zones map");
        let field = "geometry.unused_sectors";
        return Err(InputError::shown(field, unused, expected));
    };
    if g.sectors.0 == exported {
        return Ok(());
    }
    let expected = format!("{exported}: the zones map {mapped}, less unused_sectors = {unused}");
    Err(InputError::shown("geometry.sectors", g.sectors.0, expected))
}

/// Returns the index of the grid of all places of a zone. It follows the grid of the zone's data.
pub(super) fn places_grid(zone: usize) -> u32 {
    2 * zone as u32 + 1
}
