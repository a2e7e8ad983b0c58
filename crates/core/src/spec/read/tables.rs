//! Readers of seek curves and zones.

use super::tree::{self, Table, Value};
use crate::spec::geometry::{MAX_CYLINDERS, MAX_SECTORS, MAX_SPARES};
use crate::spec::{SeekCurve, TwoPiece, Zone};
use crate::text::InputError;
use crate::units::{SectorCount, Span};

/// Reads a curve of any form.
pub(super) fn curve(table: &Table<'_>) -> Result<SeekCurve, InputError> {
    if table.maybe("form", |_| Ok(()))?.is_none() {
        // Misspelt keys come first, as elsewhere: a user who guessed at them gave no form either.
        table.only(&[
            "form",
            "cylinders_ms",
            "single",
            "average",
            "full",
            "knee",
            "short",
            "short_sqrt",
            "long",
            "long_slope",
            "first_ms",
        ])?;
    }
    let form = tree::word(&table.value("form"), &["two-piece", "table", "three-point"])?;
    match form {
        "two-piece" => two_piece(table),
        "table" => {
            table.only(&["form", "cylinders_ms"])?;
            points(&table.value("cylinders_ms")).map(SeekCurve::Table)
        }
        _ => three_point(table),
    }
}

fn two_piece(table: &Table<'_>) -> Result<SeekCurve, InputError> {
    table.only(&[
        "form",
        "knee",
        "short",
        "short_sqrt",
        "long",
        "long_slope",
        "single",
        "first_ms",
    ])?;
    // Coefficients stay in milliseconds and unrounded: a slope is a few nanoseconds a cylinder.
    let rate = |key, unit| tree::rate_ms(&table.value(key), unit);
    let piece = TwoPiece {
        knee: tree::distance(&table.value("knee"))?,
        short_ms: rate("short", "ms")?,
        short_sqrt_ms: rate("short_sqrt", "ms/sqrt(cylinder)")?,
        long_ms: rate("long", "ms")?,
        long_slope_ms: rate("long_slope", "ms/cylinder")?,
        single: table.maybe("single", tree::time)?,
    };
    let first = table.maybe("first_ms", |value| {
        let expected = "a list of times in ms, one cylinder first";
        match tree::list(value, expected, tree::bare_ms)? {
            times if times.is_empty() => Err(value.error(expected)),
            times => Ok(times),
        }
    })?;
    Ok(match first {
        Some(times) => SeekCurve::TwoPieceAndTable(piece, times),
        None => SeekCurve::TwoPiece(piece),
    })
}

/// Times may decrease as distances increase: measured ones do where the arm's control changes its
/// mode of operation. Distances must increase.
fn points(value: &Value<'_>) -> Result<Vec<(u32, Span)>, InputError> {
    let expected = "pairs [distance in cylinders, time in ms], distances ascending";
    let points = value.elements().ok_or_else(|| value.error(expected))?;
    let mut read: Vec<(u32, Span)> = Vec::with_capacity(points.len());
    for point in &points {
        let before = read.last().map_or(0, |(distance, _)| *distance);
        let distance = |v: &Value<'_>| match tree::count_u32(v, 1..=MAX_CYLINDERS)? {
            distance if distance > before => Ok(distance),
            _ => Err(v.error(format!("ascending distances: more than {before}"))),
        };
        let expected = "a pair: [distance in cylinders, time in ms]";
        read.push(tree::pair(point, expected, distance, tree::bare_ms)?);
    }
    if read.is_empty() {
        return Err(value.error(expected));
    }
    Ok(read)
}

fn three_point(table: &Table<'_>) -> Result<SeekCurve, InputError> {
    table.only(&["form", "single", "average", "full"])?;
    let mut min = Span::ZERO;
    let mut ascending = |key| {
        let value = table.value(key);
        let time = tree::time(&value)?;
        if time < min {
            return Err(value.error(format!("a time of {min} or more: a longer seek takes it")));
        }
        min = time;
        Ok(time)
    };
    Ok(SeekCurve::ThreePoint {
        single: ascending("single")?,
        average: ascending("average")?,
        full: ascending("full")?,
    })
}

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
    let place = |v: &Value<'_>| tree::count(v, 0..=LAST_PLACE);
    let per_track = table.value("sectors_per_track");
    let sectors_per_track = tree::count_u32(&per_track, 1..=MAX_SECTORS_PER_TRACK)?;
    Ok(Zone {
        first_cylinder,
        end_cylinder,
        sectors_per_track,
        first_offset_sectors: table.or("first_offset_sectors", 0.0, |v| {
            match tree::number(v)? {
                offset if offset < f64::from(sectors_per_track) => Ok(offset),
                _ => Err(v.error(format!("less than sectors_per_track = {sectors_per_track}"))),
            }
        })?,
        reserved_sectors: SectorCount(
            table.or("reserved_sectors", 0, |v| tree::count(v, 0..=MAX_SECTORS))?,
        ),
        track_skew_sectors: table.or("track_skew_sectors", 0.0, tree::number)?,
        cylinder_skew_sectors: table.or("cylinder_skew_sectors", 0.0, tree::number)?,
        spares: table.or("spares", 0, |v| tree::count(v, 0..=MAX_SPARES))?,
        slips: table.or("slips", Vec::new(), slips)?,
        defects: table.or("defects", Vec::new(), |v| {
            tree::list(
                v,
                "a list of pairs: [defective place, spare place]",
                |pair| tree::pair(pair, "a pair: [defective place, spare place]", place, place),
            )
        })?,
    })
}

/// Returns a place can slip only once. Ascending order shows that, and is their physical order.
fn slips(value: &Value<'_>) -> Result<Vec<u64>, InputError> {
    let mut before = None;
    let places = value
        .elements()
        .ok_or_else(|| value.error("a list of slipped places"))?;
    places
        .iter()
        .map(|place| {
            let slip = tree::count(place, 0..=LAST_PLACE)?;
            match before.replace(slip) {
                Some(before) if slip <= before => {
                    Err(place.error(format!("ascending places: more than {before}")))
                }
                _ => Ok(slip),
            }
        })
        .collect()
}

/// Returns a half-open range of cylinders that begins at or after the end of the previous zone.
fn zone_cylinders(
    value: &Value<'_>,
    first_free: u32,
    cylinders: u32,
) -> Result<(u32, u32), InputError> {
    let plain = |v: &Value<'_>| tree::count_u32(v, 0..=MAX_CYLINDERS);
    let (first, end) = tree::pair(value, "a pair: [first cylinder, end)", plain, plain)?;
    if first_free <= first && first < end && end <= cylinders {
        Ok((first, end))
    } else {
        Err(value.error(format!(
            "a range that is not empty, from {first_free} (the end of the previous zone) to \
             {cylinders} (geometry.cylinders)"
        )))
    }
}
