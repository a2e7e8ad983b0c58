//! The page on one drive: data sheet, zones and seek curve, as text and as JSON.
//!
//! The text and the JSON of the data sheet are made from one list: all keys of the specification
//! except zones and the seek curve, in sections.

use std::fmt::Write;

use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{self, Key, KeyKind, SheetEntry, Spec, Zone as ZoneSpec};
use diskarm_core::units::Cylinder;
use serde_json::{Map, Value, json};

use crate::prose;

fn total_ms(seek: &SeekTimes, op: Op, distance: u32) -> f64 {
    let (arm, settle) = seek.parts(false, op, (Cylinder(0), Cylinder(distance)), false);
    (arm + settle).as_ms()
}

pub fn page(spec: &Spec) -> String {
    let seek = &SeekTimes::new(&spec.mechanics, spec.geometry.cylinders);
    let mut text = format!("{}\n{}", spec.name, prose::wrapped(&spec.summary, 0));
    let longest = spec.geometry.cylinders - 1;
    for (name, section) in sections(spec) {
        text += &format!("\n{name}\n{}", section_text(&section));
        match name {
            "geometry" => text += &format!("\nzones\n{}", zone_table(spec)),
            "mechanics" if longest > 0 => {
                let plot = draw_seek_curve(longest, |d| total_ms(seek, Op::Read, d));
                text += &format!("\nseek time of reads\n{plot}");
            }
            _ => {}
        }
    }
    text += "\nValues that are not listed are off or zero.\n";
    let kind = if spec.source.nominal {
        "source (nominal values)"
    } else {
        "source (a measured drive)"
    };
    text += &format!("\n{kind}\n{}", prose::wrapped(&spec.source.origin, 2));
    if !spec.source.choices.is_empty() {
        text += &format!("\nchoices\n{}", prose::wrapped(&spec.source.choices, 2));
    }
    text
}

/// Returns the seek times of all short distances, which do not follow a curve, and of longer ones
/// in steps of a hundredth of the stroke.
fn points(spec: &Spec, seek: &SeekTimes) -> Value {
    const SHORTEST: u32 = 16;
    const STEPS: u32 = 100;
    let longest = spec.geometry.cylinders - 1;
    let steps = (1..=STEPS).map(|k| (u64::from(longest) * u64::from(k) / u64::from(STEPS)) as u32);
    let distances = (1..=SHORTEST.min(longest)).chain(steps.filter(|&d| d > SHORTEST));
    let point = |distance| {
        json!({
            "distance_cylinders": distance,
            "read_ms": total_ms(seek, Op::Read, distance),
            "write_ms": total_ms(seek, Op::Write, distance),
        })
    };
    distances.map(point).collect()
}

/// Returns the object that `--json` prints.
pub fn object(spec: &Spec) -> Map<String, Value> {
    let seek = &SeekTimes::new(&spec.mechanics, spec.geometry.cylinders);
    let mut object = Map::new();
    object.insert("name".to_owned(), json!(spec.name));
    object.insert("summary".to_owned(), json!(spec.summary));
    for (name, section) in sections(spec) {
        let section = section.into_iter().collect();
        object.insert(name.to_owned(), Value::Object(section));
    }
    object.insert("zones".to_owned(), zones(spec));
    object.insert("seek".to_owned(), points(spec, seek));
    let source = json!({
        "origin": spec.source.origin.trim(),
        "choices": spec.source.choices.trim(),
        "nominal": spec.source.nominal,
    });
    object.insert("source".to_owned(), source);
    object
}

/// The keys of a section, with their units at the end, and their values.
type Section = Vec<(String, Value)>;

fn sections(spec: &Spec) -> Vec<(&'static str, Section)> {
    let mut sections: Vec<(&str, Section)> = Vec::new();
    for key in Key::all() {
        let (name, rest) = match key.path.split_once('.') {
            Some(parts) if key.shown != SheetEntry::Hidden => parts,
            _ => continue,
        };
        if sections.last().is_none_or(|(last, _)| *last != name) {
            sections.push((name, Section::new()));
        }
        if let Some((_, section)) = sections.last_mut() {
            add(section, key, &rest.replace('.', "_"), spec);
        }
    }
    sections
}

/// Adds the values of a key, under `name` unless data sheets have another name for it.
fn add(section: &mut Section, key: &Key, name: &str, spec: &Spec) {
    let name = match (key.shown, key.kind) {
        (SheetEntry::As(name), _) => name.to_owned(),
        (_, KeyKind::Time { .. }) => format!("{name}_ms"),
        (_, KeyKind::Size { .. }) => format!("{name}_sectors"),
        _ => name.to_owned(),
    };
    let shown = match key.get(spec) {
        Some(spec::Value::Number(ns)) if matches!(key.kind, KeyKind::Rotation) => {
            section.push(("rotation_rpm".to_owned(), (60e9 / ns).into()));
            section.push(("revolution_ms".to_owned(), (ns / 1e6).into()));
            return;
        }
        Some(spec::Value::Count(argument)) if key.shown == SheetEntry::Argument => {
            if let (1.., Some((_, Value::String(before)))) = (argument, section.last_mut()) {
                *before += &format!("({argument})");
            }
            return;
        }
        value if matches!(key.kind, KeyKind::SeekCurve) => value.is_some().into(),
        value => value.map_or(Value::Null, value_json),
    };
    section.push((name, shown));
}

/// Returns a value as JSON, with times in milliseconds.
fn value_json(value: spec::Value) -> Value {
    match value {
        spec::Value::Text(text) => text.into(),
        spec::Value::Flag(flag) => flag.into(),
        spec::Value::Word(word) => word.into(),
        spec::Value::Count(count) => count.into(),
        spec::Value::Time(time) => time.as_ms().into(),
        spec::Value::Number(number) => number.into(),
        spec::Value::Policy(policy) => policy.to_string().into(),
        spec::Value::SeekCurve(_) | spec::Value::Zones(_) => Value::Null,
    }
}

const CAPACITY: &str = "capacity_sectors";

/// Formats bytes in decimal units, as data sheets do.
fn decimal(bytes: u64) -> String {
    let (unit, name) = match bytes {
        ..1_000_000_000 => (1e6, "MB"),
        1_000_000_000..1_000_000_000_000 => (1e9, "GB"),
        _ => (1e12, "TB"),
    };
    format!("{:.3} {name}", bytes as f64 / unit)
}

/// Puts each value on a line, unless it is off, zero, or one host sector per physical sector.
fn section_text(section: &Section) -> String {
    let mut text = String::new();
    let count = |name| {
        let (_, value) = section.iter().find(|(key, _)| key == name)?;
        value.as_u64()
    };
    let bytes = count(CAPACITY).zip(count("sector_bytes"));
    let bytes = bytes.map(|(sectors, sector_bytes)| sectors * sector_bytes);
    for (key, value) in section {
        let value = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::Number(number) if number.as_f64() == Some(0.0) => continue,
            Value::Number(number) if key == "physical_sector_sectors" && *number == 1.into() => {
                continue;
            }
            Value::Bool(true) => "yes".to_owned(),
            Value::String(word) => word.clone(),
            // No measurement is precise to a millionth of these units.
            Value::Number(number) if number.is_f64() => {
                let number = number.as_f64().unwrap_or_default();
                ((number * 1e6).round() / 1e6).to_string()
            }
            other => other.to_string(),
        };
        let (name, unit) = match key.rsplit_once('_') {
            Some((name, unit @ ("ms" | "rpm" | "sectors" | "bytes"))) => (name, unit),
            _ => (key.as_str(), ""),
        };
        let name = name.replace('_', " ");
        let (value, unit) = match (value.as_str(), unit) {
            ("1", "sectors") => (value, "sector"),
            _ if let Some(bytes) = bytes.filter(|_| key == CAPACITY) => {
                (format!("{value} sectors, {}", decimal(bytes)), "")
            }
            _ if key.ends_with("_watermark") => (percent(&value), "%"),
            _ => (value, unit),
        };
        text += format!("  {name:<36} {value} {unit}").trim_end();
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str("  all off or zero\n");
    }
    text
}

fn percent(share: &str) -> String {
    let hundredths = share.parse().unwrap_or(f64::NAN) * 100.0;
    ((hundredths * 1e4).round() / 1e4).to_string()
}

fn zones(spec: &Spec) -> Value {
    let zones = spec.geometry.zones.iter().map(|zone| {
        json!({
            "first_cylinder": zone.first_cylinder,
            "end_cylinder": zone.end_cylinder,
            "sectors_per_track": zone.sectors_per_track,
            "media_rate_bytes_per_s": media_rate_bytes_per_s(spec, zone),
            "first_offset_sectors": zone.first_offset_sectors,
            "track_skew_sectors": zone.track_skew_sectors,
            "cylinder_skew_sectors": zone.cylinder_skew_sectors,
            "reserved_sectors": zone.reserved_sectors.0,
            "spares": zone.spares,
            "slips": zone.slips.len(),
            "defects": zone.defects.len(),
        })
    });
    zones.collect()
}

fn media_rate_bytes_per_s(spec: &Spec, zone: &ZoneSpec) -> f64 {
    let track_bytes = u64::from(zone.sectors_per_track) * u64::from(spec.geometry.sector_bytes);
    track_bytes as f64 * (1e9 / spec.mechanics.period_ns)
}

/// The two lines of a column's heading, and its cells.
type Column = ([&'static str; 2], fn(&Spec, &ZoneSpec) -> String);

/// Columns that are zero in every zone are omitted.
const ZONE_COLUMNS: [Column; 9] = [
    (["sectors/", "track"], |_, z| {
        z.sectors_per_track.to_string()
    }),
    (["media", "MB/s"], |spec, z| {
        format!("{:.2}", media_rate_bytes_per_s(spec, z) / 1e6)
    }),
    (["first", "offset"], |_, z| tenths(z.first_offset_sectors)),
    (["track", "skew"], |_, z| tenths(z.track_skew_sectors)),
    (["cyl.", "skew"], |_, z| tenths(z.cylinder_skew_sectors)),
    (["", "reserved"], |_, z| z.reserved_sectors.0.to_string()),
    (["", "spares"], |_, z| z.spares.to_string()),
    (["", "slips"], |_, z| z.slips.len().to_string()),
    (["", "defects"], |_, z| z.defects.len().to_string()),
];

fn tenths(sectors: f64) -> String {
    format!("{sectors:.1}")
}

/// Returns the zones as a table, indented by two, at most 80 columns wide.
fn zone_table(spec: &Spec) -> String {
    let zones = &spec.geometry.zones;
    let mut lines = vec![String::new(); zones.len() + 2];
    let numbers = (0..zones.len()).map(|number| number.to_string());
    append(&mut lines, ["", "zone"], numbers.collect());
    let range = |zone: &ZoneSpec| format!("[{}, {})", zone.first_cylinder, zone.end_cylinder);
    let ranges = zones.iter().map(range).collect();
    append(&mut lines, ["", "cylinders"], ranges);
    for (heading, cell) in ZONE_COLUMNS {
        let cells: Vec<String> = zones.iter().map(|zone| cell(spec, zone)).collect();
        let is_zero = |cell: &String| cell.bytes().all(|byte| b"0.".contains(&byte));
        if !cells.iter().all(is_zero) {
            append(&mut lines, heading, cells);
        }
    }
    let lines = lines.iter().map(|line| format!(" {}\n", line.trim_end()));
    lines.collect()
}

/// Appends a column to `lines`, as wide as its widest cell.
fn append(lines: &mut [String], heading: [&str; 2], cells: Vec<String>) {
    let cells = cells.iter().map(String::as_str);
    let texts: Vec<&str> = heading.into_iter().chain(cells).collect();
    let width = texts.iter().map(|text| text.len()).max().unwrap_or(0);
    for (line, text) in lines.iter_mut().zip(texts) {
        *line += &format!(" {text:>width$}");
    }
}

/// Width and height of the seek curve in characters; a Braille character has two by four dots.
const PLOT_COLUMNS: usize = 68;
const PLOT_ROWS: usize = 12;
const DOT_COLUMNS: usize = 2 * PLOT_COLUMNS;
const DOT_ROWS: usize = 4 * PLOT_ROWS;

/// The bits for the dots of a Braille character, by row and column (Unicode 16, section 21.1).
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Draws `seek_ms` over all distances from 1 to `longest_cylinders`.
fn draw_seek_curve(longest_cylinders: u32, seek_ms: impl Fn(u32) -> f64) -> String {
    let distance = |column: usize| {
        let share = column as f64 / (DOT_COLUMNS - 1) as f64;
        1 + (share * f64::from(longest_cylinders - 1)).round() as u32
    };
    let time = |column| seek_ms(distance(column));
    let times: Vec<f64> = (0..DOT_COLUMNS).map(time).collect();
    let top = times.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let height = |ms: f64| (ms / top * (DOT_ROWS - 1) as f64).round() as usize;

    let mut cells = [[0u8; PLOT_COLUMNS]; PLOT_ROWS];
    let mut last = height(times[0]);
    for (column, &ms) in times.iter().enumerate() {
        let now = height(ms);
        // Fills the gaps in steep parts.
        for dot in last.min(now)..=last.max(now) {
            let row = DOT_ROWS - 1 - dot;
            cells[row / 4][column / 2] |= BITS[row % 4][column % 2];
        }
        last = now;
    }

    let mut text = String::new();
    for (row, cells) in cells.iter().enumerate() {
        let label = match row {
            0 => format!("{top:.1}"),
            _ if row == PLOT_ROWS / 2 => format!("{:.1}", top / 2.0),
            _ => String::new(),
        };
        let braille = |&bits: &u8| match bits {
            0 => ' ',
            bits => char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' '),
        };
        let line: String = cells.iter().map(braille).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label:>8} │{}", line.trim_end());
    }
    let middle = distance(DOT_COLUMNS / 2);
    let longest = format!("{longest_cylinders} cylinders");
    let half = PLOT_COLUMNS / 2 - 1;
    let _ = writeln!(text, "{:>8} └{}", "ms", "─".repeat(PLOT_COLUMNS));
    let _ = writeln!(text, "{:10}1{middle:>half$}{longest:>half$}", "");
    text
}
