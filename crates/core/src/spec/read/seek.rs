//! Reads seek curves.

use super::field;
use super::tree::{Table, Value};
use crate::spec::geometry::MAX_CYLINDERS;
use crate::spec::{SeekCurve, TwoPiece};
use crate::text::InputError;
use crate::units::Span;

/// Reads a curve of any form.
pub(super) fn curve(table: &Table<'_>) -> Result<SeekCurve, InputError> {
    if table.maybe("form", |_| Ok(()))?.is_none() {
        // Misspelt keys come first, as elsewhere: whoever guessed at them gave no form either.
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
    let form = field::word(&table.value("form"), &["two-piece", "table", "three-point"])?;
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
    let rate = |key, unit| field::rate_ms(&table.value(key), unit);
    let piece = TwoPiece {
        knee: field::distance(&table.value("knee"))?,
        short_ms: rate("short", "ms")?,
        short_sqrt_ms: rate("short_sqrt", "ms/sqrt(cylinder)")?,
        long_ms: rate("long", "ms")?,
        long_slope_ms: rate("long_slope", "ms/cylinder")?,
        single: table.maybe("single", field::time)?,
    };
    let first = table.maybe("first_ms", |value| {
        let expected = "a list of times in ms, one cylinder first";
        match field::list(value, expected, field::bare_ms)? {
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
        let distance = |v: &Value<'_>| match field::count_u32(v, 1..=MAX_CYLINDERS)? {
            distance if distance > before => Ok(distance),
            _ => Err(v.error(format!("ascending distances: more than {before}"))),
        };
        let expected = "a pair: [distance in cylinders, time in ms]";
        read.push(field::pair(point, expected, distance, field::bare_ms)?);
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
        let time = field::time(&value)?;
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
