//! Arithmetic of a zone without exceptions: from a sector count to place and angle.

use crate::spec::{Geometry, Sparing, TrackOrder, Zone};
use crate::units::{Angle, Cylinder, Head};

/// Division by a constant as one multiplication.
///
/// With `m = floor((2^64 - 1) / d)` the quotient is `floor((x + 1) m / 2^64)`: since `m d = 2^64 -
/// e` for some `e` in `1..=d`, that falls short of `(x + 1) / d` by `(x + 1) e / (2^64 d)`, which
/// is at most `1 / d`, so the quotient is never too low, as long as `(x + 1) d <= 2^64`. A hardware
/// division would take 20 to 40 cycles, three times per block.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    divisor: u64,
    reciprocal: u64,
}

impl Divisor {
    fn new(divisor: u64) -> Self {
        assert!(divisor > 0, "division by zero");
        Self {
            divisor,
            reciprocal: u64::MAX / divisor,
        }
    }

    #[inline]
    fn of(self, x: u64) -> (u64, u64) {
        let quotient = ((u128::from(x + 1) * u128::from(self.reciprocal)) >> 64) as u64;
        (quotient, x - quotient * self.divisor)
    }
}

/// The location of a sector of a grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) cylinder: Cylinder,
    pub(super) head: Head,
    pub(super) sector: u32,
    pub(super) start: Angle,
    /// Sectors from this one, inclusive, to the end of the grid's sectors on this track.
    pub(super) ahead: u64,
    /// Sectors of the grid before this one on this track.
    pub(super) behind: u64,
}

/// One way of counting the sectors of a zone in LBN order. Every zone has two: one counts all of
/// its places, the other skips the spare places of regions without slips.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Counted sectors in a range of cylinders, if ranges have spares. Handled by a branch, which
    /// is always predicted on a given drive, because another division would cost every drive.
    range: Option<(Divisor, u64)>,
    cylinder: Divisor,
    track: Divisor,
    /// Uncounted sectors at the front of each cylinder.
    front: u64,
    first_cylinder: u32,
    last_head: u32,
    /// 1 if every other cylinder runs from the last head to the first, else 0.
    turns: u32,
    /// 1 if the zone's first cylinder runs from the last head to the first.
    phase: u32,
    origin: Angle,
    track_step: Angle,
    cylinder_step: Angle,
    pub(super) sector_angle: Angle,
}

impl Grid {
    /// Counts every place of the zone.
    pub(super) fn of_places(zone: &Zone, surfaces: u32, order: TrackOrder) -> Self {
        let spt = zone.sectors_per_track;
        let track_step = angle_of(zone.track_skew_sectors, spt);
        let between_cylinders = angle_of(zone.cylinder_skew_sectors, spt);
        Self {
            range: None,
            cylinder: Divisor::new(u64::from(surfaces) * u64::from(spt)),
            track: Divisor::new(u64::from(spt)),
            front: 0,
            first_cylinder: zone.first_cylinder,
            last_head: surfaces - 1,
            turns: u32::from(order != TrackOrder::CylinderMajor),
            phase: u32::from(order == TrackOrder::Serpentine) * zone.first_cylinder,
            origin: angle_of(zone.first_offset_sectors, spt),
            track_step,
            cylinder_step: track_step * u64::from(surfaces - 1) + between_cylinders,
            sector_angle: Angle::from_fraction(1, u64::from(spt)),
        }
    }

    /// Counts the places that hold data while no region has slips.
    pub(super) fn of_data(zone: &Zone, g: &Geometry) -> Self {
        let mut grid = Self::of_places(zone, g.surfaces, g.order);
        let spt = u64::from(zone.sectors_per_track);
        let surfaces = u64::from(g.surfaces);
        let spares = zone.spares * g.physical_sector.0;
        match g.sparing {
            Sparing::SectorsPerTrack => {
                grid.cylinder = Divisor::new(surfaces * (spt - spares));
                grid.track = Divisor::new(spt - spares);
            }
            Sparing::SectorsPerCylinder => {
                grid.cylinder = Divisor::new(surfaces * spt - spares);
            }
            Sparing::SectorsPerCylinderFront => {
                grid.cylinder = Divisor::new(surfaces * spt - spares);
                grid.front = spares;
            }
            Sparing::SectorsPerRange => {
                let cylinders = u64::from(g.sparing_range);
                let places = cylinders * surfaces * spt;
                grid.range = Some((Divisor::new(places - spares), cylinders));
            }
            // One region: spare space is after all data, or there is none.
            Sparing::None
            | Sparing::SectorsPerZone
            | Sparing::TracksPerZone
            | Sparing::SectorsPerDisk => {}
        }
        grid
    }

    /// The place of sector `x`, which must be within the zone.
    #[inline(always)]
    pub(super) fn place(&self, x: u64) -> Place {
        let Some((range, cylinders)) = self.range else {
            return self.place_in_range(0, x);
        };
        let (nth, in_range) = range.of(x);
        let mut place = self.place_in_range(nth * cylinders, in_range);
        place.ahead = place.ahead.min(range.divisor - in_range);
        place
    }

    /// The place of sector `x` of the range that begins at cylinder `first` of the zone.
    #[inline]
    fn place_in_range(&self, first: u64, x: u64) -> Place {
        let (cylinder, in_cylinder) = self.cylinder.of(x);
        let (track, sector) = self.track.of(in_cylinder + self.front);
        let cylinder = first + cylinder;
        Place {
            cylinder: Cylinder(self.first_cylinder + cylinder as u32),
            head: self.head(cylinder as u32, track as u32),
            sector: sector as u32,
            start: self.origin
                + self.cylinder_step * cylinder
                + self.track_step * track
                + self.sector_angle * sector,
            ahead: (self.track.divisor - sector).min(self.cylinder.divisor - in_cylinder),
            behind: sector.min(in_cylinder),
        }
    }

    /// The head of track `track` in the order of cylinder `cylinder` of the zone.
    #[inline]
    pub(super) fn head(&self, cylinder: u32, track: u32) -> Head {
        let down = cylinder.wrapping_add(self.phase) & self.turns;
        Head(if down != 0 {
            self.last_head - track
        } else {
            track
        })
    }
}

/// The angle of a number of sectors, exact to the last bit for whole ones.
fn angle_of(sectors: f64, sectors_per_track: u32) -> Angle {
    let whole = sectors.floor();
    let width = 2f64.powi(64) / f64::from(sectors_per_track);
    Angle::from_fraction(whole as u64, u64::from(sectors_per_track))
        + Angle::from_raw(((sectors - whole) * width) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_divide_exactly_up_to_their_bound() {
        for d in [1, 2, 3, 5, 7, 95, 96, 1248, 65_535, 65_537, 1 << 24] {
            let divisor = Divisor::new(d);
            let bound = u64::MAX / d - 1;
            for quotient in [0, 1, 2, 1000, bound / d] {
                for x in [quotient * d, quotient * d + d - 1, quotient * d + d / 2] {
                    let x = x.min(bound);
                    assert_eq!(divisor.of(x), (x / d, x % d), "{x} / {d}");
                }
            }
        }
    }
}
