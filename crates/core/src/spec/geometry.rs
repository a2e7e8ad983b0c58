//! Reads `[geometry]`.
//!
//! Upper bounds are far above any drive; they keep every product of counts within 63 bits, so
//! that the layout need not check its arithmetic.

use super::error::SpecError;
use super::field;
use super::reader::{Table, Value};
use super::{Geometry, GrownDefects, Sparing, TrackOrder, Zone};
use crate::units::SectorCount;

const MOST_SURFACES: u32 = 100;
pub(super) const MOST_CYLINDERS: u32 = 10_000_000;
const MOST_SECTORS_PER_TRACK: u32 = 1_000_000;
/// All of them on all of those.
const MOST_SECTORS: u64 = 1_000_000_000_000_000;
/// Spare units of a region, there may be one on every track; and grown defects.
const MOST_SPARES: u64 = 1_000_000_000;
/// A place in a zone or on the disk, perhaps counted in tracks.
const LAST_PLACE: u64 = 1_000_000_000_000;
const MOST_SECTOR_BYTES: u32 = 1 << 20;

pub(super) fn read(mut table: Table<'_>) -> Result<Geometry, SpecError> {
    let surfaces = table.need("surfaces", |v| field::count_u32(v, 1..=MOST_SURFACES))?;
    let cylinders = table.need("cylinders", |v| field::count_u32(v, 1..=MOST_CYLINDERS))?;
    let sectors = table.need("sectors", |v| field::count(v, 1..=MOST_SECTORS))?;
    let unused_sectors = table.or("unused_sectors", 0, |v| field::count(v, 0..=MOST_SECTORS))?;
    let sector_bytes = table.need("sector_bytes", |v| {
        field::count_u32(v, 1..=MOST_SECTOR_BYTES)
    })?;
    let order = table.or("order", TrackOrder::CylinderMajor, order)?;
    let sparing = sparing(&mut table)?;
    let zones = table.need("zones", |v| zones(v, cylinders))?;
    let slips_turn_tracks = table.or("slips_turn_tracks", false, field::flag)?;
    let grown = table.value("grown_defects").table()?;
    let geometry = Geometry {
        surfaces,
        cylinders,
        sectors: SectorCount(sectors),
        unused_sectors: SectorCount(unused_sectors),
        sector_bytes,
        order,
        sparing,
        zones,
        slips_turn_tracks,
        grown_defects: grown_defects(grown)?,
    };
    table.finish()?;
    Ok(geometry)
}

fn order(value: &Value<'_>) -> Result<TrackOrder, SpecError> {
    field::word(
        value,
        &[
            ("cylinder-major", TrackOrder::CylinderMajor),
            ("serpentine-per-zone", TrackOrder::SerpentinePerZone),
            ("serpentine", TrackOrder::Serpentine),
        ],
    )
}

/// `sparing`, and `sparing_range` where, and only where, it counts ranges of cylinders.
fn sparing(table: &mut Table<'_>) -> Result<Sparing, SpecError> {
    // The length of a range is filled in below.
    let scheme = table.or("sparing", Sparing::None, |value| {
        field::word(
            value,
            &[
                ("none", Sparing::None),
                ("sectors-per-track", Sparing::SectorsPerTrack),
                ("sectors-per-cylinder", Sparing::SectorsPerCylinder),
                (
                    "sectors-per-cylinder-front",
                    Sparing::SectorsPerCylinderFront,
                ),
                ("sectors-per-range", Sparing::SectorsPerRange(1)),
                ("sectors-per-zone", Sparing::SectorsPerZone),
                ("tracks-per-zone", Sparing::TracksPerZone),
                ("sectors-per-disk", Sparing::SectorsPerDisk),
            ],
        )
    })?;
    if let Sparing::SectorsPerRange(_) = scheme {
        let range = table.need("sparing_range", field::distance)?;
        return Ok(Sparing::SectorsPerRange(range));
    }
    let refuse =
        |value: &Value<'_>| Err(value.error("nothing, unless sparing = \"sectors-per-range\""));
    table.or("sparing_range", scheme, refuse)
}

fn grown_defects(mut table: Table<'_>) -> Result<GrownDefects, SpecError> {
    let grown = GrownDefects {
        count: table.or("count", 0, |v| field::count(v, 0..=MOST_SPARES))?,
        seed: table.or("seed", 0, |v| field::count(v, 0..=i64::MAX as u64))?,
    };
    table.finish()?;
    Ok(grown)
}

fn zones(value: &Value<'_>, cylinders: u32) -> Result<Vec<Zone>, SpecError> {
    let expected = "at least one [[geometry.zones]]";
    let mut first_free = 0;
    let zones = value.elements().ok_or_else(|| value.error(expected))?;
    if zones.is_empty() {
        return Err(value.error(expected));
    }
    let mut read = Vec::with_capacity(zones.len());
    for zone in &zones {
        let zone = self::zone(zone.table()?, first_free, cylinders)?;
        first_free = zone.end_cylinder;
        read.push(zone);
    }
    Ok(read)
}

fn zone(mut table: Table<'_>, first_free: u32, cylinders: u32) -> Result<Zone, SpecError> {
    let (first_cylinder, end_cylinder) =
        table.need("cylinders", |v| zone_cylinders(v, first_free, cylinders))?;
    let place = |v: &Value<'_>| field::count(v, 0..=LAST_PLACE);
    let sectors_per_track = table.need("sectors_per_track", |v| {
        field::count_u32(v, 1..=MOST_SECTORS_PER_TRACK)
    })?;
    let zone = Zone {
        first_cylinder,
        end_cylinder,
        sectors_per_track,
        first_offset_sectors: table.or("first_offset_sectors", 0.0, |v| {
            match field::number(v)? {
                offset if offset < f64::from(sectors_per_track) => Ok(offset),
                _ => Err(v.error(format!("less than sectors_per_track = {sectors_per_track}"))),
            }
        })?,
        reserved_sectors: SectorCount(
            table.or("reserved_sectors", 0, |v| field::count(v, 0..=MOST_SECTORS))?,
        ),
        track_skew_sectors: table.or("track_skew_sectors", 0.0, field::number)?,
        cylinder_skew_sectors: table.or("cylinder_skew_sectors", 0.0, field::number)?,
        spares: table.or("spares", 0, |v| field::count(v, 0..=MOST_SPARES))?,
        slips: table.or("slips", Vec::new(), slips)?,
        defects: table.or("defects", Vec::new(), |v| {
            field::list(v, "a list of pairs: [defective place, stand-in]", |pair| {
                field::pair(pair, "a pair: [defective place, stand-in]", place, place)
            })
        })?,
    };
    table.finish()?;
    Ok(zone)
}

/// A place can slip once only; ascending order shows it, and is the order in which they lie.
fn slips(value: &Value<'_>) -> Result<Vec<u64>, SpecError> {
    let mut before = None;
    let places = value
        .elements()
        .ok_or_else(|| value.error("a list of slipped places"))?;
    places
        .iter()
        .map(|place| {
            let slip = field::count(place, 0..=LAST_PLACE)?;
            match before.replace(slip) {
                Some(before) if slip <= before => {
                    Err(place.error(format!("ascending places: more than {before}")))
                }
                _ => Ok(slip),
            }
        })
        .collect()
}

/// A half-open range of cylinders that begins at or after the end of the zone before.
fn zone_cylinders(
    value: &Value<'_>,
    first_free: u32,
    cylinders: u32,
) -> Result<(u32, u32), SpecError> {
    let plain = |v: &Value<'_>| field::count_u32(v, 0..=MOST_CYLINDERS);
    let (first, end) = field::pair(value, "a pair: [first cylinder, end)", plain, plain)?;
    if first_free <= first && first < end && end <= cylinders {
        Ok((first, end))
    } else {
        Err(value.error(format!(
            "a range that is not empty, from {first_free} (the end of the zone before) to \
             {cylinders} (geometry.cylinders)"
        )))
    }
}
