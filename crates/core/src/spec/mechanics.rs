//! Reads `[mechanics]`.

use super::error::SpecError;
use super::field;
use super::geometry::MOST_CYLINDERS;
use super::reader::{Table, Value};
use super::{Mechanics, SeekCurve, TwoPiece};
use crate::units::Span;

pub(super) fn read(mut table: Table<'_>, cylinders: u32) -> Result<Mechanics, SpecError> {
    let mechanics = Mechanics {
        period_ns: table.need("rotation", field::period_ns)?,
        seek: table.need("seek", |v| seek(v.table()?))?,
        write_seek: table.maybe("write_seek", |v| seek(v.table()?))?,
        head_switch: table.or("head_switch", Span::ZERO, field::time)?,
        inward_seek: table.or("inward_seek", Span::ZERO, field::signed_time)?,
        write_settle: table.or("write_settle", Span::ZERO, field::signed_time)?,
    };
    let uneven = unevenness(&mechanics, cylinders);
    let uneven = uneven.map(|expected| table.value("inward_seek").error(expected));
    let least = -shortest_movement(&mechanics, cylinders);
    let too_little = (mechanics.write_settle < least).then(|| {
        let expected =
            format!("{least} or more: the shortest movement before a write is no longer");
        table.value("write_settle").error(expected)
    });
    table.finish()?;
    too_little.or(uneven).map_or(Ok(mechanics), Err)
}

/// What is expected of `inward_seek` if it makes a seek take less than no time.
fn unevenness(mechanics: &Mechanics, cylinders: u32) -> Option<String> {
    let last = cylinders.saturating_sub(1).max(1);
    let curves = std::iter::once(&mechanics.seek).chain(&mechanics.write_seek);
    let shortest = curves.map(|curve| shortest_seek(curve, last)).min()?;
    let fits = mechanics.inward_seek <= shortest && mechanics.inward_seek >= -shortest;
    (!fits).then(|| format!("a time from -{shortest} to {shortest}, which is the shortest seek"))
}

/// The shortest seek or head switch before a write: a settle cannot take more than all of it.
fn shortest_movement(mechanics: &Mechanics, cylinders: u32) -> Span {
    let curve = mechanics.write_seek.as_ref().unwrap_or(&mechanics.seek);
    let seek = shortest_seek(curve, cylinders.saturating_sub(1).max(1));
    match mechanics.head_switch {
        Span::ZERO => seek,
        head_switch => seek.min(head_switch),
    }
}

/// The shortest time of a curve over distances from 1 to `last` cylinders. Both pieces of a
/// formula rise, so each is shortest where it begins.
fn shortest_seek(curve: &SeekCurve, last: u32) -> Span {
    match curve {
        SeekCurve::TwoPiece(piece) => {
            let single = piece.single.as_slice();
            shortest_of(single, piece, last)
        }
        SeekCurve::TwoPieceAndTable(piece, first) => shortest_of(first, piece, last),
        SeekCurve::Table(points) => shortest_point(points, last),
        SeekCurve::ThreePoint { single, .. } => *single,
    }
}

/// The shortest time of measured points: that of one of them, or where the line to a point beyond
/// reach is cut off.
fn shortest_point(points: &[(u32, Span)], last: u32) -> Span {
    let (reached, beyond) = points.split_at(points.partition_point(|(d, _)| *d <= last));
    let cut = match (reached.last(), beyond.first()) {
        (Some(&(d0, t0)), Some(&(d1, t1))) => {
            let share = f64::from(last - d0) / f64::from(d1 - d0);
            Some(t0 + Span::from_ns(((t1 - t0).as_ns() as f64 * share).round() as i64))
        }
        (_, beyond) => beyond.map(|(_, time)| *time),
    };
    let times = reached.iter().map(|(_, time)| *time).chain(cut);
    times.min().unwrap_or(Span::ZERO)
}

/// The shortest of the times that are listed, one cylinder first, and of the formula beyond them.
fn shortest_of(listed: &[Span], piece: &TwoPiece, last: u32) -> Span {
    let next = listed.len() as u32 + 1;
    let short = Span::from_ms(piece.short_ms + piece.short_sqrt_ms * f64::from(next).sqrt());
    let knee = piece.knee.max(next);
    let long = Span::from_ms(piece.long_ms + piece.long_slope_ms * f64::from(knee));
    let reached = listed.iter().copied().take(last as usize);
    let short = (next < piece.knee && next <= last).then_some(short);
    let long = (knee <= last).then_some(long);
    reached.chain(short).chain(long).min().unwrap_or(Span::ZERO)
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
