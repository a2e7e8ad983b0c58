//! Reads `[mechanics]`.

use super::error::SpecError;
use super::field;
use super::geometry::MOST_CYLINDERS;
use super::reader::{Table, Value};
use super::{Mechanics, SeekCurve, TwoPiece};
use crate::units::Span;

pub(super) fn read(mut table: Table<'_>) -> Result<Mechanics, SpecError> {
    let mechanics = Mechanics {
        period_ns: table.need("rotation", field::period_ns)?,
        seek: table.need("seek", |v| seek(v.table()?))?,
        write_seek: table.maybe("write_seek", |v| seek(v.table()?))?,
        head_switch: table.or("head_switch", Span::ZERO, field::time)?,
        write_settle: table.or("write_settle", Span::ZERO, field::signed_time)?,
    };
    table.finish()?;
    Ok(mechanics)
}

#[derive(Clone, Copy)]
enum Form {
    TwoPiece,
    Table,
    ThreePoint,
}

fn seek(mut table: Table<'_>) -> Result<SeekCurve, SpecError> {
    let form = table.need("form", |value| {
        field::word(
            value,
            &[
                ("two-piece", Form::TwoPiece),
                ("table", Form::Table),
                ("three-point", Form::ThreePoint),
            ],
        )
    })?;
    let curve = match form {
        Form::TwoPiece => two_piece(&mut table)?,
        Form::Table => SeekCurve::Table(table.need("cylinders_ms", points)?),
        Form::ThreePoint => three_point(&mut table)?,
    };
    table.finish()?;
    Ok(curve)
}

fn two_piece(table: &mut Table<'_>) -> Result<SeekCurve, SpecError> {
    // Coefficients stay in milliseconds and unrounded: a slope is a few nanoseconds a cylinder.
    let ms = |v: &Value<'_>| field::rate_ms(v, "ms");
    let piece = TwoPiece {
        knee: table.need("knee", field::distance)?,
        short_ms: table.need("short", ms)?,
        short_sqrt_ms: table.need("short_sqrt", |v| field::rate_ms(v, "ms/sqrt(cylinder)"))?,
        long_ms: table.need("long", ms)?,
        long_slope_ms: table.need("long_slope", |v| field::rate_ms(v, "ms/cylinder"))?,
        single: table.maybe("single", field::time)?,
    };
    let first = table.maybe("first_ms", |value| {
        let expected = "a list of times in ms, that of one cylinder first";
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

/// Times may fall as distances rise: measured ones do, where the arm's control changes its way
/// of moving. Distances may not.
fn points(value: &Value<'_>) -> Result<Vec<(u32, Span)>, SpecError> {
    let expected = "pairs [distance in cylinders, time in ms], distances ascending";
    let points = value.elements().ok_or_else(|| value.error(expected))?;
    let mut read: Vec<(u32, Span)> = Vec::with_capacity(points.len());
    for point in &points {
        let before = read.last().map_or(0, |(distance, _)| *distance);
        let distance = |v: &Value<'_>| match field::count_u32(v, 1..=MOST_CYLINDERS)? {
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

fn three_point(table: &mut Table<'_>) -> Result<SeekCurve, SpecError> {
    let mut least = Span::ZERO;
    let mut ascending = |value: &Value<'_>| {
        let time = field::time(value)?;
        if time < least {
            return Err(value.error(format!("a time of {least} or more: a longer seek takes it")));
        }
        least = time;
        Ok(time)
    };
    Ok(SeekCurve::ThreePoint {
        single: table.need("single", &mut ascending)?,
        average: table.need("average", &mut ascending)?,
        full: table.need("full", &mut ascending)?,
    })
}
