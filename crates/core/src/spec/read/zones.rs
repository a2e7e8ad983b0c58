//! Reads zones.

use super::field;
use super::tree::{Table, Value};
use crate::spec::Zone;
use crate::spec::geometry::{MAX_CYLINDERS, MAX_SECTORS, MAX_SPARES};
use crate::text::InputError;
use crate::units::SectorCount;

const MAX_SECTORS_PER_TRACK: u32 = 1_000_000;
/// A place in a zone or on the disk, perhaps counted in tracks.
const LAST_PLACE: u64 = 1_000_000_000_000;

/// Reads the zones of a drive with `cylinders`.
pub(super) fn zones(value: &Value<'_>, cylinders: u32) -> Result<Vec<Zone>, InputError> {
    let expected = "at least one [[geometry.zones]]";
    let mut first_free = 0;
    let zones = value.elements().ok_or_else(|| value.error(expected))?;
    if zones.is_empty() {
        return Err(value.error(expected));
    }
    let mut read = Vec::with_capacity(zones.len());
    for zone in &zones {
        let zone = self::zone(&zone.table()?, first_free, cylinders)?;
        first_free = zone.end_cylinder;
        read.push(zone);
    }
    Ok(read)
}

fn zone(table: &Table<'_>, first_free: u32, cylinders: u32) -> Result<Zone, InputError> {
    table.only(&[
        "cylinders",
        "sectors_per_track",
        "first_offset_sectors",
        "reserved_sectors",
        "track_skew_sectors",
        "cylinder_skew_sectors",
        "spares",
        "slips",
        "defects",
    ])?;
    let (first_cylinder, end_cylinder) =
        zone_cylinders(&table.value("cylinders"), first_free, cylinders)?;
    let place = |v: &Value<'_>| field::count(v, 0..=LAST_PLACE);
    let per_track = table.value("sectors_per_track");
    let sectors_per_track = field::count_u32(&per_track, 1..=MAX_SECTORS_PER_TRACK)?;
    Ok(Zone {
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
            table.or("reserved_sectors", 0, |v| field::count(v, 0..=MAX_SECTORS))?,
        ),
        track_skew_sectors: table.or("track_skew_sectors", 0.0, field::number)?,
        cylinder_skew_sectors: table.or("cylinder_skew_sectors", 0.0, field::number)?,
        spares: table.or("spares", 0, |v| field::count(v, 0..=MAX_SPARES))?,
        slips: table.or("slips", Vec::new(), slips)?,
        defects: table.or("defects", Vec::new(), |v| {
            field::list(
                v,
                "a list of pairs: [defective place, spare place]",
                |pair| field::pair(pair, "a pair: [defective place, spare place]", place, place),
            )
        })?,
    })
}

/// A place can slip only once. Ascending order shows that, and is their physical order.
fn slips(value: &Value<'_>) -> Result<Vec<u64>, InputError> {
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

/// A half-open range of cylinders that begins at or after the end of the previous zone.
fn zone_cylinders(
    value: &Value<'_>,
    first_free: u32,
    cylinders: u32,
) -> Result<(u32, u32), InputError> {
    let plain = |v: &Value<'_>| field::count_u32(v, 0..=MAX_CYLINDERS);
    let (first, end) = field::pair(value, "a pair: [first cylinder, end)", plain, plain)?;
    if first_free <= first && first < end && end <= cylinders {
        Ok((first, end))
    } else {
        Err(value.error(format!(
            "a range that is not empty, from {first_free} (the end of the previous zone) to \
             {cylinders} (geometry.cylinders)"
        )))
    }
}
