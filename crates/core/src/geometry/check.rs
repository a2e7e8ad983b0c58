//! Consistency checks of a geometry, zone by zone.

use std::fmt;

use crate::spec::{Geometry, Sparing, Zone};
use crate::text::InputError;

/// Returns the error that a field of the zone with this index has a value other than `expected`.
pub(super) fn zone_error(
    zone: usize,
    field: &str,
    value: impl fmt::Display,
    expected: impl Into<String>,
) -> InputError {
    InputError::shown(format!("geometry.zones[{zone}].{field}"), value, expected)
}

/// Checks what the arithmetic relies on, except capacity, reserved space and reallocations.
pub(super) fn check(g: &Geometry) -> Result<(), InputError> {
    for (field, value) in [
        ("geometry.surfaces", g.surfaces),
        ("geometry.cylinders", g.cylinders),
        ("geometry.sector_bytes", g.sector_bytes),
    ] {
        if value == 0 {
            return Err(InputError::shown(field, value, "at least 1"));
        }
    }
    let physical = g.physical_sector.0;
    if !physical.is_power_of_two() || physical > Geometry::MAX_PHYSICAL {
        let (field, found) = ("geometry.physical_sector", format!("{physical} sectors"));
        return Err(InputError::shown(field, found, Geometry::PHYSICAL));
    }
    for (field, value) in [
        ("geometry.sectors", g.sectors.0),
        ("geometry.unused_sectors", g.unused_sectors.0),
    ] {
        if value % physical != 0 {
            return Err(InputError::shown(field, value, in_whole(physical)));
        }
    }
    if g.zones.is_empty() {
        let expected = "at least one zone";
        return Err(InputError::shown("geometry.zones", "[]", expected));
    }
    if g.sparing == Sparing::SectorsPerRange && g.sparing_range == 0 {
        let (field, expected) = ("geometry.sparing_range", "at least 1 cylinder");
        return Err(InputError::shown(field, "0 cylinders", expected));
    }
    let mut free = 0;
    for (index, zone) in g.zones.iter().enumerate() {
        check_numbers(index, zone, free, g)?;
        let places = check_size(index, zone, g)?;
        check_sparing(index, zone, places, g)?;
        free = zone.end_cylinder;
    }
    Ok(())
}

fn in_whole(physical: u64) -> String {
    format!("whole physical sectors: a multiple of {physical} (geometry.physical_sector)")
}

fn check_numbers(index: usize, zone: &Zone, free: u32, g: &Geometry) -> Result<(), InputError> {
    let (cylinders, physical) = (g.cylinders, g.physical_sector.0);
    let (first, end) = (zone.first_cylinder, zone.end_cylinder);
    if first < free {
        let expected = format!("at least {free}, the end of the previous zone");
        return Err(zone_error(index, "first_cylinder", first, expected));
    }
    if end <= first || end > cylinders {
        let expected = format!(
            "more than first_cylinder = {first} and at most geometry.cylinders = {cylinders}"
        );
        return Err(zone_error(index, "end_cylinder", end, expected));
    }
    if zone.sectors_per_track == 0 {
        return Err(zone_error(index, "sectors_per_track", 0, "at least 1"));
    }
    for (field, value) in [
        ("first_offset_sectors", zone.first_offset_sectors),
        ("track_skew_sectors", zone.track_skew_sectors),
        ("cylinder_skew_sectors", zone.cylinder_skew_sectors),
    ] {
        // A larger number would lose its fraction.
        if !(0.0..=f64::from(u32::MAX)).contains(&value) {
            let expected = "a number of sectors from 0 to 2^32 - 1";
            return Err(zone_error(index, field, value, expected));
        }
    }
    for (field, value) in [
        ("sectors_per_track", u64::from(zone.sectors_per_track)),
        ("reserved_sectors", zone.reserved_sectors.0),
    ] {
        if value % physical != 0 {
            return Err(zone_error(index, field, value, in_whole(physical)));
        }
    }
    Ok(())
}

/// Returns the number of places in a zone, or an error if it is too large for [`super::grid`] to
/// divide exactly.
fn check_size(index: usize, zone: &Zone, g: &Geometry) -> Result<u64, InputError> {
    let spt = u64::from(zone.sectors_per_track);
    let cylinder = spt * u64::from(g.surfaces);
    let cylinders = u64::from(zone.end_cylinder - zone.first_cylinder);
    let region_cylinders = match g.sparing {
        Sparing::SectorsPerRange => u64::from(g.sparing_range),
        _ => 1,
    };
    if let Some(places) = cylinder.checked_mul(cylinders)
        && let Some(region) = cylinder.checked_mul(region_cylinders)
        && places.checked_mul(region).is_some()
    {
        return Ok(places);
    }
    let expected = format!(
        "so few sectors per track that the sectors of the zone ({cylinders} cylinders) times \
         those of a region ({region_cylinders} cylinders) are fewer than 2^64"
    );
    Err(zone_error(index, "sectors_per_track", spt, expected))
}

fn check_sparing(index: usize, zone: &Zone, places: u64, g: &Geometry) -> Result<(), InputError> {
    let spt = u64::from(zone.sectors_per_track);
    let cylinder = spt * u64::from(g.surfaces);
    let physical = g.physical_sector.0;
    let (unit, region) = match g.sparing {
        Sparing::TracksPerZone => (spt, places),
        Sparing::SectorsPerTrack => (physical, spt),
        Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => (physical, cylinder),
        Sparing::SectorsPerRange => (physical, cylinder * u64::from(g.sparing_range)),
        Sparing::None | Sparing::SectorsPerZone | Sparing::SectorsPerDisk => (physical, places),
    };
    let (units, region) = (places / unit, region / unit);
    let shared = matches!(g.sparing, Sparing::None | Sparing::SectorsPerDisk);
    if shared && zone.spares != 0 {
        let expected = "0: this sparing scheme sets nothing aside in a zone";
        return Err(zone_error(index, "spares", zone.spares, expected));
    }
    // The last range may be shorter than the others, but has the same number of spares.
    let smallest = match units % region {
        0 => region,
        partial => partial,
    };
    if zone.spares >= smallest {
        let expected =
            format!("fewer than {smallest}, the size of the smallest region of the sparing scheme");
        return Err(zone_error(index, "spares", zone.spares, expected));
    }
    let spares = if shared { units - 1 } else { zone.spares };
    check_slips(index, zone, units, region, spares)
}

fn check_slips(
    index: usize,
    zone: &Zone,
    units: u64,
    region: u64,
    spares: u64,
) -> Result<(), InputError> {
    let mut slips: Vec<_> = zone.slips.iter().copied().enumerate().collect();
    slips.sort_unstable_by_key(|&(at, slip)| (slip, at));
    let mut in_region = 0;
    for (n, &(at, slip)) in slips.iter().enumerate() {
        let before = n.checked_sub(1).map(|n| slips[n].1);
        let wrong =
            |expected: String| Err(zone_error(index, &format!("slips[{at}]"), slip, expected));
        if slip >= units {
            return wrong(format!("less than {units}, the size of the zone"));
        }
        if before == Some(slip) {
            return wrong("each slip only once".to_owned());
        }
        in_region = match before {
            Some(before) if before / region == slip / region => in_region + 1,
            _ => 1,
        };
        if in_region > spares {
            return wrong(format!(
                "at most {spares} slips in a region of the sparing scheme, which has no more \
                 spares"
            ));
        }
    }
    Ok(())
}
