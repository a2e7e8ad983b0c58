//! A whole specification as text.

use std::fmt::Write;

use diskarm_core::spec::{Key, KeyKind, SeekCurve, Spec, TwoPiece, Value, Zone, milliseconds};
use diskarm_core::units::Span;

use crate::text::write;

/// Formats `spec` as a file in the style of the catalogue. It parses as an equal specification,
/// except that long lines of a text are broken at spaces.
///
/// Keys are written in the order of the manual, without those that have their default value. The
/// text that `remark` returns for the path of a key, such as `overheads.read_completion`, becomes a
/// comment above it, and a key with a remark is always written. The remark of a key that is a table
/// of its own, such as `mechanics.seek`, is above the header.
///
/// # Panics
/// If a number is not finite: no TOML value means that here.
pub fn specification(spec: &Spec, remark: &dyn Fn(&str) -> Option<String>) -> String {
    let defaults = Spec::default();
    let mut text = String::new();
    let keys = Key::all();
    for table in tables(&keys) {
        let inside = keys.iter().filter(|key| path(key) == table);
        let mut plain = String::new();
        let mut nested = String::new();
        for key in inside {
            let Some(value) = key.get(spec) else { continue };
            let remark = remark(key.path);
            if remark.is_none() && !key.required && value == default(key, spec, &defaults) {
                continue;
            }
            let remark = remark.map_or(String::new(), |remark| comment(&remark));
            match &value {
                Value::SeekCurve(curve) => {
                    let _ = write!(nested, "\n{remark}[{}]\n{}", key.path, seek_curve(curve));
                }
                Value::Zones(zones) => nested.push_str(&with_zones(&remark, key, zones)),
                value => {
                    let _ = writeln!(plain, "{remark}{} = {}", key.name(), written(key, value));
                }
            }
        }
        if !table.is_empty() && !plain.is_empty() {
            let _ = write!(text, "\n[{table}]\n");
        }
        text.push_str(&plain);
        text.push_str(&nested);
    }
    text
}

/// Returns the path of the table that a key is in; empty at the top.
fn path(key: &Key) -> &'static str {
    key.path.rsplit_once('.').map_or("", |(table, _)| table)
}

/// Returns the tables of `keys`, each once and before the tables inside it.
fn tables(keys: &[&'static Key]) -> Vec<&'static str> {
    let mut tables: Vec<&'static str> = Vec::new();
    for key in keys {
        if !tables.contains(&path(key)) {
            tables.push(path(key));
        }
    }
    tables
}

/// Returns the value that the parser assumes for an absent key.
fn default(key: &Key, spec: &Spec, defaults: &Spec) -> Value {
    match key.same_as.and_then(Key::find) {
        Some(other) => other.get(spec),
        None => key.get(defaults),
    }
    .unwrap_or(Value::Flag(false))
}

fn comment(text: &str) -> String {
    text.lines()
        .flat_map(|line| {
            let filled = write::filled(line.split(' '), "# ");
            filled.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .fold(String::new(), |all, line| all + line.trim_end() + "\n")
}

fn written(key: &Key, value: &Value) -> String {
    match (key.kind, value) {
        (_, Value::Text(text)) => {
            write::written(key.name(), &crate::text::Value::Text(text.clone()), false)
        }
        // As a percentage where that parses as the same number.
        (KeyKind::Fraction, Value::Number(part)) => {
            let percent = (part * 1e6).round() / 1e4;
            if percent / 100.0 == *part {
                key.toml(value)
            } else {
                number(*part)
            }
        }
        (KeyKind::Count { .. }, Value::Number(number)) => self::number(*number),
        _ => key.toml(value),
    }
}

/// Formats a number without an exponent, which the parser does not accept, such that it parses as
/// the same number.
fn number(number: f64) -> String {
    assert!(number.is_finite(), "{number} cannot be written");
    number.to_string()
}

fn rate(ms: f64, unit: &str) -> String {
    format!("\"{} {unit}\"", number(ms))
}

fn time(time: Span) -> String {
    format!("\"{} ms\"", milliseconds(time))
}

fn seek_curve(curve: &SeekCurve) -> String {
    match curve {
        SeekCurve::Table(points) => {
            let points = write::written("", &crate::text::Value::SeekTable(points.clone()), false);
            format!("form = \"table\"\ncylinders_ms = {points}\n")
        }
        SeekCurve::TwoPiece(piece) => two_piece(piece),
        SeekCurve::TwoPieceAndTable(piece, first) => {
            let times = first.iter().map(|time| milliseconds(*time) + ",");
            let times = write::filled(times, "    ");
            format!("{}first_ms = [\n{times}\n]\n", two_piece(piece))
        }
        SeekCurve::ThreePoint {
            single,
            average,
            full,
        } => format!(
            "form = \"three-point\"\nsingle = {}\naverage = {}\nfull = {}\n",
            time(*single),
            time(*average),
            time(*full)
        ),
    }
}

fn two_piece(piece: &TwoPiece) -> String {
    let mut text = format!(
        "form = \"two-piece\"\nknee = \"{} cylinders\"\nshort = {}\nshort_sqrt = {}\nlong = {}\n\
         long_slope = {}\n",
        piece.knee,
        rate(piece.short_ms, "ms"),
        rate(piece.short_sqrt_ms, "ms/sqrt(cylinder)"),
        rate(piece.long_ms, "ms"),
        rate(piece.long_slope_ms, "ms/cylinder"),
    );
    if let Some(single) = piece.single {
        let _ = writeln!(text, "single = {}", time(single));
    }
    text
}

/// Formats the table of each zone, with the remark above the first.
fn with_zones(remark: &str, key: &Key, zones: &[Zone]) -> String {
    let mut text = String::new();
    for (index, zone) in zones.iter().enumerate() {
        let remark = if index == 0 { remark } else { "" };
        let _ = write!(text, "\n{remark}[[{}]]\n{}", key.path, self::zone(zone));
    }
    text
}

fn zone(zone: &Zone) -> String {
    let mut text = format!(
        "cylinders = [{}, {}]\nsectors_per_track = {}\n",
        zone.first_cylinder, zone.end_cylinder, zone.sectors_per_track
    );
    let numbers = [
        ("first_offset_sectors", zone.first_offset_sectors),
        ("track_skew_sectors", zone.track_skew_sectors),
        ("cylinder_skew_sectors", zone.cylinder_skew_sectors),
    ];
    for (name, value) in numbers.into_iter().filter(|(_, value)| *value != 0.0) {
        let _ = writeln!(text, "{name} = {}", number(value));
    }
    let counts = [
        ("reserved_sectors", zone.reserved_sectors.0),
        ("spares", zone.spares),
    ];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count != 0) {
        let _ = writeln!(text, "{name} = {count}");
    }
    let slips = zone.slips.iter().map(|slip| format!("{slip},"));
    let defects = zone
        .defects
        .iter()
        .map(|(defective, spare)| format!("[{defective}, {spare}],"));
    text + &list("slips", slips) + &list("defects", defects)
}

/// Formats a list whose items end with a comma; empty without items.
fn list(name: &str, items: impl ExactSizeIterator<Item = String>) -> String {
    if items.len() == 0 {
        return String::new();
    }
    let line: Vec<String> = items.collect();
    let joined = line.join(" ");
    let one = format!("{name} = [{}]\n", joined.trim_end_matches(','));
    if one.len() <= 100 {
        one
    } else {
        format!("{name} = [\n{}\n]\n", write::filled(line.iter(), "    "))
    }
}
