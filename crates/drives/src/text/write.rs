//! Formats values and complete specifications in the style of the catalogue.

use std::fmt::Write;

use diskarm_core::spec::{self, Key, KeyKind, SeekCurve, Spec, TwoPiece, Zone, milliseconds};
use diskarm_core::text::InputError;
use diskarm_core::units::Span;
use toml_edit::TomlError;

use super::Value;

/// The maximum length, as in the catalogue, of lines that can be broken.
const MAX_COLUMNS: usize = 99;

/// Converts a value of `key` to TOML; text becomes a multi-line string if `is_multi_line`. Fails if
/// it is a [`Value::Toml`] that is not TOML.
pub(super) fn value(
    key: &str,
    value: &Value,
    is_multi_line: bool,
) -> Result<toml_edit::Value, InputError> {
    let written = to_toml(key, value, is_multi_line);
    written.parse().map_err(|error: TomlError| {
        let expected = format!("TOML ({})", error.message().replace('\n', " "));
        InputError::shown(key, written, expected)
    })
}

pub(super) fn to_toml(key: &str, value: &Value, is_multi_line: bool) -> String {
    match value {
        Value::SeekTable(points) => seek_table(points),
        Value::Text(text) => match line(text) {
            line if is_multi_line || text.contains('\n') || !fits(key, &line) => lines(text),
            line => line,
        },
        Value::Toml(written) => written.clone(),
    }
}

fn seek_table(points: &[(u32, Span)]) -> String {
    let pair = |(distance, time): &(u32, Span)| format!("[{distance}, {}],", milliseconds(*time));
    let pairs = points.iter().map(pair);
    format!("[\n{}\n]", filled(pairs, "    "))
}

fn fits(key: &str, line: &str) -> bool {
    key.len() + " = ".len() + line.chars().count() <= MAX_COLUMNS
}

fn line(text: &str) -> String {
    let text = escaped(text).replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}

/// Formats a string over several lines that begin below the key.
fn lines(text: &str) -> String {
    // Three quotes would end the string; one or two do not, even at its end.
    let text = escaped(text).replace("\"\"\"", "\"\"\\\"") + "\"\"\"";
    let filled_lines = text.split('\n').map(|line| filled(line.split(' '), ""));
    format!("\"\"\"\n{}", filled_lines.collect::<Vec<_>>().join("\n"))
}

/// Escapes characters that a string cannot contain literally, except quotes and line breaks.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() => {
                let _ = write!(escaped, "\\u{:04X}", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Joins words with spaces, and starts a new line when the next word does not fit.
fn filled(words: impl Iterator<Item = impl AsRef<str>>, indent: &str) -> String {
    let mut filled = String::from(indent);
    let mut column = indent.len();
    for (index, word) in words.enumerate() {
        let columns = word.as_ref().chars().count();
        if index > 0 && column + 1 + columns > MAX_COLUMNS {
            filled.push('\n');
            filled.push_str(indent);
            column = indent.len();
        } else if index > 0 {
            filled.push(' ');
            column += 1;
        }
        filled.push_str(word.as_ref());
        column += columns;
    }
    filled
}

/// Formats `spec` as a file in the style of the catalogue. It parses as an equal specification,
/// except that long lines of text are broken at spaces.
///
/// Keys are written in the order of the manual, except those that have their default value. The
/// text that `remark` returns for the path of a key, such as `overheads.read_completion`, becomes a
/// comment above it, and a key with a remark is always written. The remark of a key that is a
/// table, such as `mechanics.seek`, is above its header.
///
/// # Panics
/// If a number is not finite, because specifications cannot express it.
pub fn specification(spec: &Spec, remark: &dyn Fn(&str) -> Option<String>) -> String {
    let defaults = Spec::default();
    let (mut text, keys) = (String::new(), Key::all());
    for table in tables(&keys) {
        let (mut plain, mut nested) = (String::new(), String::new());
        for key in keys.iter().filter(|key| path(key) == table) {
            let Some(value) = key.get(spec) else { continue };
            let remark = remark(key.path);
            if remark.is_none() && !key.required && value == default(key, spec, &defaults) {
                continue;
            }
            let above = remark.map_or(String::new(), |remark| comment(&remark));
            match &value {
                spec::Value::SeekCurve(curve) => {
                    let _ = write!(nested, "\n{above}[{}]\n{}", key.path, seek_curve(curve));
                }
                spec::Value::Zones(zones) => nested.push_str(&with_zones(&above, key, zones)),
                value => {
                    let _ = writeln!(plain, "{above}{} = {}", key.name(), toml(key, value));
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

/// Returns the path of the table that contains a key; empty for top-level keys.
fn path(key: &Key) -> &'static str {
    key.path.rsplit_once('.').map_or("", |(table, _)| table)
}

/// Returns the tables of `keys`, each once and before the tables in it.
fn tables(keys: &[&'static Key]) -> Vec<&'static str> {
    let mut tables = Vec::new();
    for table in keys.iter().map(|key| path(key)) {
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    tables
}

/// Returns the value that the parser assumes for an absent key.
fn default(key: &Key, spec: &Spec, defaults: &Spec) -> spec::Value {
    match key.same_as.and_then(Key::find) {
        Some(other) => other.get(spec),
        None => key.get(defaults),
    }
    .unwrap_or(spec::Value::Flag(false))
}

fn comment(text: &str) -> String {
    let filled: String = text
        .lines()
        .map(|line| filled(line.split(' '), "# ") + "\n")
        .collect();
    filled
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

fn toml(key: &Key, value: &spec::Value) -> String {
    match (key.kind, value) {
        (_, spec::Value::Text(text)) => to_toml(key.name(), &Value::Text(text.clone()), false),
        // The number is written as a percentage if this parses as the same number.
        (KeyKind::Fraction, spec::Value::Number(part)) => {
            let percent = (part * 1e6).round() / 1e4;
            if percent / 100.0 == *part {
                key.toml(value)
            } else {
                number(*part)
            }
        }
        (KeyKind::Count { .. }, spec::Value::Number(number)) => self::number(*number),
        _ => key.toml(value),
    }
}

/// Formats a number without an exponent, so that it parses as the same number.
fn number(number: f64) -> String {
    assert!(number.is_finite(), "{number} is not finite");
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
            let points = seek_table(points);
            format!("form = \"table\"\ncylinders_ms = {points}\n")
        }
        SeekCurve::TwoPiece(piece) => two_piece(piece),
        SeekCurve::TwoPieceAndTable(piece, first) => {
            let times = first.iter().map(|time| milliseconds(*time) + ",");
            let times = filled(times, "    ");
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

/// Formats the table of each zone, with the remark above the first table.
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
    let pair = |(defective, spare): &(u64, u64)| format!("[{defective}, {spare}],");
    let defects = zone.defects.iter().map(pair);
    text + &list("slips", slips) + &list("defects", defects)
}

/// Formats a list of items that end with commas. The text is empty if there are no items.
fn list(name: &str, items: impl ExactSizeIterator<Item = String>) -> String {
    if items.len() == 0 {
        return String::new();
    }
    let line: Vec<String> = items.collect();
    let joined = line.join(" ");
    let single_line = format!("{name} = [{}]\n", joined.trim_end_matches(','));
    if single_line.len() <= 100 {
        return single_line;
    }
    format!("{name} = [\n{}\n]\n", filled(line.iter(), "    "))
}
