//! Defects, the angles of places without blocks, and the blocks of zones and cylinders.

use super::Layout;
use super::plan::{Pba, Role, ZonePlace, places_grid};
use crate::units::{Angle, Cylinder, Lbn};

/// A unit of sparing: a physical sector or a track, as in [`Zone::slips`] and [`Zone::defects`].
///
/// [`Zone::slips`]: crate::spec::Zone::slips
/// [`Zone::defects`]: crate::spec::Zone::defects
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// Index of the zone that contains the unit.
    pub zone: usize,
    /// Number of the unit within the zone.
    pub number: u64,
}

impl Layout {
    /// Returns the slipped units, in the order of their places.
    pub fn slips(&self) -> impl Iterator<Item = Unit> {
        let zones = self.plan.zones.iter().enumerate();
        zones.flat_map(|(zone, z)| z.slips.iter().map(move |&number| Unit { zone, number }))
    }

    /// Returns the reallocated units with their spares, in the order of their places.
    pub fn reallocated_units(&self) -> impl Iterator<Item = (Unit, Unit)> {
        let pairs = self.reallocations.pairs().iter();
        pairs.map(|&(from, to)| (self.unit(from), self.unit(to)))
    }

    fn unit(&self, at: ZonePlace) -> Unit {
        Unit {
            zone: at.zone,
            number: at.place / self.plan.zones[at.zone].unit,
        }
    }

    fn unit_place(&self, Unit { zone, number }: Unit) -> ZonePlace {
        let place = number * self.plan.zones[zone].unit;
        ZonePlace { zone, place }
    }

    /// Returns the unit that contains an address; `None` if the address does not exist.
    pub fn unit_at(&self, at: Pba) -> Option<Unit> {
        self.plan.place(at).map(|place| self.unit(place))
    }

    /// Returns the address of the first sector of a unit.
    ///
    /// # Panics
    /// If the unit does not exist.
    pub fn address(&self, unit: Unit) -> Pba {
        let at = self.unit_place(unit);
        let place = self.grids[places_grid(at.zone) as usize].place(at.place);
        Pba {
            cylinder: place.cylinder,
            head: place.head,
            sector: place.sector,
        }
    }

    /// Returns the first block originally assigned to a unit, if any, even if it was reallocated.
    pub fn original_block(&self, unit: Unit) -> Option<Lbn> {
        let blocks = self.plan.blocks_of_unit(self.unit_place(unit));
        blocks.map(|(first, ..)| first)
    }

    /// Returns the first spare in the region of a unit that is neither in use nor among `dead`.
    pub fn spare(&self, of: Unit, dead: &[Unit]) -> Option<Unit> {
        let last = self.plan.place(self.pba(Lbn(self.plan.capacity - 1)))?;
        let (first, end) = self.plan.spares_for(self.unit_place(of), last);
        let is_free = |at: &ZonePlace| {
            self.plan.role(*at) == Role::Spare
                && self.reallocations.original(&self.plan, *at) == Some(*at)
                && !dead.contains(&self.unit(*at))
        };
        let free = self.plan.units(first, end).find(is_free);
        free.map(|at| self.unit(at))
    }

    /// Returns the start angle and width of the sector at an address; `None` if it does not exist.
    pub fn angle(&self, at: Pba) -> Option<(Angle, Angle)> {
        let place = self.plan.place(at)?;
        let grid = &self.grids[places_grid(place.zone) as usize];
        let turned = u64::from(self.plan.zones[place.zone].turned(place.place));
        let start = grid.place(place.place).start + grid.sector_angle * turned;
        Some((start, grid.sector_angle))
    }

    /// Returns the number of sectors on a track of a cylinder; `None` outside of all zones.
    pub fn track_sectors(&self, at: Cylinder) -> Option<u64> {
        let zone = self.plan.zones.partition_point(|z| z.end_cylinder <= at.0);
        let zone = self.plan.zones.get(zone)?;
        (at.0 >= zone.first_cylinder).then_some(zone.sectors_per_track)
    }

    /// Returns the first block of a zone and the first after it. They are equal in an empty zone.
    pub fn zone_blocks(&self, zone: usize) -> (Lbn, Lbn) {
        let zones = &self.plan.zones;
        let first = |zone: usize| match zones.get(zone) {
            Some(zone) => zone.first_block.min(self.plan.capacity),
            None => self.plan.capacity,
        };
        (Lbn(first(zone)), Lbn(first(zone + 1)))
    }

    /// Returns true if a block has been moved from its original place.
    ///
    /// # Panics
    /// If `at` is beyond the capacity.
    pub fn is_reallocated(&self, at: Lbn) -> bool {
        let moved = |place| self.reallocations.original(&self.plan, place) != Some(place);
        self.plan.place(self.pba(at)).is_some_and(moved)
    }

    /// Returns the first block after the original cylinder of `at`.
    ///
    /// # Panics
    /// If `at` is beyond the capacity.
    pub fn cylinder_end(&self, at: Lbn) -> Lbn {
        let cylinder = self.original_cylinder(at);
        let (mut low, mut high) = (at.0, self.plan.capacity);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.original_cylinder(Lbn(middle)) == cylinder {
                low = middle;
            } else {
                high = middle;
            }
        }
        Lbn(high)
    }

    /// Returns the original cylinder of a block. It never decreases as block numbers increase.
    fn original_cylinder(&self, at: Lbn) -> Cylinder {
        let pba = self.pba(at);
        let place = self.plan.place(pba);
        let original = place.and_then(|place| self.reallocations.original(&self.plan, place));
        let Some(original) = original else {
            return pba.cylinder;
        };
        let grid = &self.grids[places_grid(original.zone) as usize];
        grid.place(original.place).cylinder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Geometry, GrownDefects, Sparing, Zone};
    use crate::units::SectorCount;

    fn small() -> Geometry {
        let zone = |first_cylinder, sectors_per_track, slips, defects| Zone {
            first_cylinder,
            end_cylinder: first_cylinder + 10,
            sectors_per_track,
            first_offset_sectors: 0.0,
            reserved_sectors: SectorCount(0),
            track_skew_sectors: 3.0,
            cylinder_skew_sectors: 5.0,
            spares: 4,
            slips,
            defects,
        };
        Geometry {
            surfaces: 2,
            cylinders: 20,
            sectors: SectorCount(10 * (40 - 4) + 10 * (30 - 4)),
            sector_bytes: 512,
            sparing: Sparing::SectorsPerCylinder,
            grown_defects: GrownDefects { count: 5, seed: 1 },
            zones: vec![
                zone(0, 20, vec![7], vec![(45, 79)]),
                zone(10, 15, vec![], vec![]),
            ],
            ..Geometry::default()
        }
    }

    /// Checks every block.
    #[test]
    fn cylinders_and_places_match_those_of_the_blocks() {
        let layout = Layout::new(&small()).unwrap();
        let capacity = layout.sectors().0;
        let mut moved = 0;
        for n in 0..capacity {
            let (at, pba) = (Lbn(n), layout.pba(Lbn(n)));
            // A cylinder has 36 blocks in the first zone and 26 in the second.
            let (zone, size) = if n < 360 { (0, 36) } else { (360, 26) };
            let end = (n - zone) / size * size + zone + size;
            assert_eq!(layout.cylinder_end(at), Lbn(end), "{n}");
            let extent = layout.extent(at);
            assert_eq!(layout.angle(pba), Some((extent.start, extent.sector_angle)));
            moved += u64::from(layout.is_reallocated(at));
        }
        assert_eq!(moved, 6);
        assert_eq!(layout.reallocated_units().count(), 6);
        assert_eq!(layout.zone_blocks(1), (Lbn(360), Lbn(capacity)));
        let slip = layout.slips().next().unwrap();
        assert_eq!(slip, Unit { zone: 0, number: 7 });
        assert_eq!(layout.unit_at(layout.address(slip)), Some(slip));
        assert_eq!(layout.lbn(layout.address(slip)), None);
        assert_eq!(layout.original_block(slip), None);
        for (from, to) in layout.reallocated_units() {
            let block = layout.original_block(from).unwrap();
            assert!(layout.is_reallocated(block));
            assert_eq!(layout.pba(block), layout.address(to));
        }
    }
}
