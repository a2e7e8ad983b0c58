//! The simplest way to lay out a small disk: walk over every physical sector in order.

use std::collections::BTreeMap;

use diskarm_core::geometry::{Layout, Pba};
use diskarm_core::spec::{Geometry, Sparing, TrackOrder};
use diskarm_core::units::{Angle, Cylinder, Head, Lbn, SectorCount};

/// The role of a sector, before capacity and defects are considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Data,
    Reserved,
    Spare,
    Slipped,
}

#[derive(Clone, Debug)]
pub struct Sector {
    pub pba: Pba,
    pub revolutions: f64,
    pub zone: usize,
    /// Counted over the zone.
    pub place: u64,
    pub region: u64,
    pub holds: Holds,
}

/// Every physical sector in order, and the sector of each block.
pub struct Reference {
    pub sectors: Vec<Sector>,
    /// Index into `sectors`, by block, reallocations included.
    pub blocks: Vec<usize>,
    /// The layout without reallocations, up to the mapped capacity.
    pub mapped: Vec<usize>,
}

impl Reference {
    pub fn new(g: &Geometry) -> Self {
        let mut sectors = walk(g);
        slip(g, &mut sectors);
        set_aside(g, &mut sectors);
        let mapped: Vec<_> = (0..sectors.len())
            .filter(|&n| sectors[n].holds == Holds::Data)
            .collect();
        let mut blocks = mapped.clone();
        blocks.truncate(g.sectors.0 as usize);
        let mut reference = Self {
            sectors,
            blocks,
            mapped,
        };
        reference.reallocate(g);
        reference
    }

    /// Index of a place of a zone.
    pub fn index(&self, zone: usize, place: u64) -> usize {
        self.sectors.partition_point(|s| s.zone < zone) + place as usize
    }

    fn reallocate(&mut self, g: &Geometry) {
        let mut to = BTreeMap::new();
        for (zone, z) in g.zones.iter().enumerate() {
            let unit = unit(g, zone);
            for &(from, stand_in) in &z.defects {
                for n in 0..unit {
                    let target = if g.sparing == Sparing::SectorsPerDisk {
                        stand_in as usize
                    } else {
                        self.index(zone, stand_in * unit + n)
                    };
                    to.insert(self.index(zone, from * unit + n), target);
                }
            }
        }
        for block in &mut self.blocks {
            *block = to.get(block).copied().unwrap_or(*block);
        }
    }
}

pub fn unit(g: &Geometry, zone: usize) -> u64 {
    match g.sparing {
        Sparing::TracksPerZone => u64::from(g.zones[zone].sectors_per_track),
        _ => 1,
    }
}

fn walk(g: &Geometry) -> Vec<Sector> {
    let mut sectors = Vec::new();
    for (zone, z) in g.zones.iter().enumerate() {
        let mut place = 0;
        let mut start = z.first_offset_sectors;
        for cylinder in z.first_cylinder..z.end_cylinder {
            let mut heads: Vec<u32> = (0..g.surfaces).collect();
            let down = match g.order {
                TrackOrder::CylinderMajor => false,
                TrackOrder::SerpentinePerZone => (cylinder - z.first_cylinder) % 2 == 1,
                TrackOrder::Serpentine => cylinder % 2 == 1,
            };
            if down {
                heads.reverse();
            }
            for (nth, &head) in heads.iter().enumerate() {
                if nth > 0 {
                    start += z.track_skew_sectors;
                } else if cylinder > z.first_cylinder {
                    start += z.cylinder_skew_sectors;
                }
                for sector in 0..z.sectors_per_track {
                    let region = match g.sparing {
                        Sparing::SectorsPerTrack => place / u64::from(z.sectors_per_track),
                        Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => {
                            u64::from(cylinder - z.first_cylinder)
                        }
                        Sparing::SectorsPerRange => {
                            u64::from((cylinder - z.first_cylinder) / g.sparing_range)
                        }
                        _ => 0,
                    };
                    let slips = if g.slips_turn_tracks {
                        turned_by(g, &sectors, zone, region)
                    } else {
                        0.0
                    };
                    let turned = start + slips + f64::from(sector);
                    let turned = turned / f64::from(z.sectors_per_track);
                    sectors.push(Sector {
                        pba: Pba {
                            cylinder: Cylinder(cylinder),
                            head: Head(head),
                            sector,
                        },
                        revolutions: turned.fract(),
                        zone,
                        place,
                        region,
                        holds: Holds::Data,
                    });
                    place += 1;
                }
            }
        }
    }
    sectors
}

/// Slipped places of the zone in regions before `region`.
fn turned_by(g: &Geometry, before: &[Sector], zone: usize, region: u64) -> f64 {
    let slipped = |s: &&Sector| g.zones[zone].slips.contains(&(s.place / unit(g, zone)));
    let earlier = before
        .iter()
        .filter(|s| s.zone == zone && s.region < region);
    earlier.filter(slipped).count() as f64
}

fn slip(g: &Geometry, sectors: &mut [Sector]) {
    for s in sectors {
        if g.zones[s.zone].slips.contains(&(s.place / unit(g, s.zone))) {
            s.holds = Holds::Slipped;
        }
    }
}

/// Removes spares and reserved sectors from each region and zone.
fn set_aside(g: &Geometry, sectors: &mut [Sector]) {
    for of_zone in sectors.chunk_by_mut(|a, b| a.zone == b.zone) {
        let zone = of_zone[0].zone;
        let spares = g.zones[zone].spares * unit(g, zone);
        for region in of_zone.chunk_by_mut(|a, b| a.region == b.region) {
            if matches!(g.sparing, Sparing::None | Sparing::SectorsPerDisk) {
                continue;
            }
            let data = region.len() as u64 - spares;
            let usable = region.iter_mut().filter(|s| s.holds == Holds::Data);
            let spare: Vec<_> = if g.sparing == Sparing::SectorsPerCylinderFront {
                usable.rev().skip(data as usize).collect()
            } else {
                usable.skip(data as usize).collect()
            };
            for s in spare {
                s.holds = Holds::Spare;
            }
        }
        let data = of_zone.iter_mut().filter(|s| s.holds == Holds::Data);
        for s in data.take(g.zones[zone].reserved_sectors.0 as usize) {
            s.holds = Holds::Reserved;
        }
    }
}

/// Compares a layout with the reference, block by block and place by place.
pub fn assert_same(g: &Geometry, layout: &Layout, reference: &Reference) {
    assert_eq!(layout.sectors(), g.sectors);
    assert_eq!(
        layout.mapped_sectors(),
        SectorCount(reference.mapped.len() as u64)
    );
    let mut held = vec![None; reference.sectors.len()];
    for (block, &at) in reference.blocks.iter().enumerate() {
        let lbn = Lbn(block as u64);
        held[at] = Some(lbn);
        assert_eq!(layout.pba(lbn), reference.sectors[at].pba, "{lbn:?}");
        assert_run(layout, reference, lbn);
    }
    for (sector, expected) in reference.sectors.iter().zip(held) {
        assert_eq!(layout.lbn(sector.pba), expected, "{:?}", sector.pba);
    }
}

/// Returns true if blocks `b` and `b + 1` are neighbours on a track.
fn are_adjacent(reference: &Reference, b: u64) -> bool {
    let at = |b: u64| reference.blocks.get(b as usize).copied();
    match (at(b), at(b + 1)) {
        (Some(this), Some(next)) => {
            let (this, next) = (reference.sectors[this].pba, reference.sectors[next].pba);
            next == Pba {
                sector: this.sector + 1,
                ..this
            }
        }
        _ => false,
    }
}

fn is_moved(reference: &Reference, b: u64) -> bool {
    reference.blocks[b as usize] != reference.mapped[b as usize]
}

fn assert_run(layout: &Layout, reference: &Reference, lbn: Lbn) {
    let extent = layout.extent(lbn);
    let sector = &reference.sectors[reference.blocks[lbn.0 as usize]];
    let angle = Angle::from_raw((sector.revolutions * 2f64.powi(64)) as u64);
    let off = (extent.start - angle).as_raw() as i64;
    assert!(
        off.unsigned_abs() < 1 << 28,
        "{lbn:?}: {extent:?}, {sector:?}"
    );

    let end = lbn.0 + extent.sectors.0;
    assert!(
        (lbn.0..end - 1).all(|b| are_adjacent(reference, b)),
        "{lbn:?}"
    );
    let may_end = |b: u64| {
        !are_adjacent(reference, b) || is_moved(reference, b) || is_moved(reference, b + 1)
    };
    assert!(may_end(end - 1), "{lbn:?} ends too early at {end}");

    let first = layout.track_first(lbn);
    assert!(first <= lbn);
    assert_eq!((first + layout.extent(first).sectors).0, end, "{lbn:?}");
    assert!(
        first.0 == 0 || may_end(first.0 - 1),
        "{lbn:?} from {first:?}"
    );
}
