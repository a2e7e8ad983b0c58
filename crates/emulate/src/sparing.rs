//! Changes of defects in use: the geometry of a drive after blocks are reassigned or the drive is
//! formatted.

use diskarm_core::geometry::{Layout, Unit};
use diskarm_core::spec::{Geometry, Sparing};
use diskarm_core::units::{Lbn, SectorCount};

/// A defective unit and its spare; a spare that is defective itself is paired with itself.
type Pair = (Unit, Unit);

/// Returns all pairs of a geometry, including those at random positions.
fn pairs(geometry: &Geometry, layout: &Layout) -> Vec<Pair> {
    let defective_spares = defective_spares(geometry)
        .into_iter()
        .map(|unit| (unit, unit));
    layout.reallocated().chain(defective_spares).collect()
}

/// Returns the defective spares.
fn defective_spares(geometry: &Geometry) -> Vec<Unit> {
    let zones = geometry.zones.iter().enumerate();
    zones
        .flat_map(|(zone, z)| z.defects.iter().map(move |pair| (zone, *pair)))
        .filter(|&(zone, (from, to))| to == spare_number(geometry, Unit { zone, number: from }))
        .map(|(zone, (number, _))| Unit { zone, number })
        .collect()
}

/// Returns the number of a spare as the geometry counts it, in its zone or on the whole disk.
fn spare_number(geometry: &Geometry, spare: Unit) -> u64 {
    if geometry.sparing != Sparing::SectorsPerDisk {
        return spare.number;
    }
    let before = geometry.zones[..spare.zone].iter();
    let units = before.map(|zone| {
        let tracks =
            u64::from(geometry.surfaces) * u64::from(zone.end_cylinder - zone.first_cylinder);
        tracks * u64::from(zone.sectors_per_track)
    });
    units.sum::<u64>() / geometry.physical_sector.0 + spare.number
}

/// Returns the geometry with exactly these pairs and with sorted slips.
fn with_pairs(geometry: &Geometry, pairs: &[Pair]) -> Geometry {
    let mut geometry = geometry.clone();
    geometry.grown_defects.count = 0;
    for zone in &mut geometry.zones {
        zone.slips.sort_unstable();
        zone.defects.clear();
    }
    for (from, to) in pairs {
        let to = spare_number(&geometry, *to);
        geometry.zones[from.zone].defects.push((from.number, to));
    }
    geometry
}

/// Returns the geometry after a block is moved to a spare; `None` if its region has no free spare.
pub(crate) fn reassigned(geometry: &Geometry, layout: &Layout, block: Lbn) -> Option<Geometry> {
    let here = layout.unit_at(layout.pba(block))?;
    let mut pairs = pairs(geometry, layout);
    let defective_spares = defective_spares(geometry);
    match pairs
        .iter()
        .position(|(from, to)| *to == here && from != to)
    {
        Some(moved) => {
            let from = pairs[moved].0;
            pairs[moved].1 = layout.spare(from, &defective_spares)?;
            pairs.push((here, here));
        }
        None => pairs.push((here, layout.spare(here, &defective_spares)?)),
    }
    Some(with_pairs(geometry, &pairs))
}

/// Returns the geometry after formatting: reallocated blocks and `more` are slipped while spares
/// suffice; the rest stay reallocated.
pub(crate) fn formatted(geometry: &Geometry, layout: &Layout, more: &[Unit]) -> Geometry {
    let pairs = pairs(geometry, layout);
    let defective = pairs
        .iter()
        .map(|(from, _)| *from)
        .chain(more.iter().copied());
    let mut units: Vec<Unit> = defective.collect();
    units.sort_unstable();
    units.dedup();
    let mut all = with_pairs(geometry, &[]);
    units.iter().for_each(|unit| slip(&mut all, *unit));
    if Layout::new(&all).is_ok() {
        return all;
    }
    // Otherwise slip them one by one.
    let mut geometry = with_pairs(geometry, &pairs);
    for unit in units {
        let mut next = geometry.clone();
        let defects = &mut next.zones[unit.zone].defects;
        defects.retain(|(from, _)| *from != unit.number);
        slip(&mut next, unit);
        if Layout::new(&next).is_ok() {
            geometry = next;
        }
    }
    geometry
}

/// Slips a unit. With spares at the end of the disk, this uses up one of them.
fn slip(geometry: &mut Geometry, unit: Unit) {
    let slips = &mut geometry.zones[unit.zone].slips;
    let Err(position) = slips.binary_search(&unit.number) else {
        return;
    };
    slips.insert(position, unit.number);
    if geometry.sparing == Sparing::SectorsPerDisk {
        let slipped = geometry.physical_sector.0;
        let unused = geometry.unused_sectors.0.saturating_sub(slipped);
        geometry.unused_sectors = SectorCount(unused);
    }
}
