//! The data sheet of a drive: every key of its specification except zones and seek curve, in
//! sections. JSON and text are made from the same list.

use std::fmt::Write;

use diskarm_core::spec::{self, Key, KeyKind, SheetEntry, Spec};
use serde_json::{Map, Value};

/// The keys of a section and their values. A key ends with its unit.
type Section = Vec<(String, Value)>;

/// The sections of `spec` and their names.
pub fn of(spec: &Spec) -> Vec<(&'static str, Section)> {
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

/// Adds the lines of a key, under `name` unless the key has another name for the data sheet.
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
        value => value.map_or(Value::Null, json),
    };
    section.push((name, shown));
}

/// A value as JSON; times in milliseconds.
fn json(value: spec::Value) -> Value {
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

/// A section as an object.
pub fn object(section: Section) -> Map<String, Value> {
    section.into_iter().collect()
}

/// The key of the capacity.
const CAPACITY: &str = "capacity_sectors";

/// The capacity in bytes, if this section has it.
fn capacity_bytes(section: &Section) -> Option<u64> {
    let count = |name| {
        let (_, value) = section.iter().find(|(key, _)| key == name)?;
        value.as_u64()
    };
    Some(count(CAPACITY)? * count("sector_bytes")?)
}

/// Bytes in decimal units, as a data sheet has them.
fn decimal(bytes: u64) -> String {
    let (unit, name) = match bytes {
        ..1_000_000_000 => (1e6, "MB"),
        1_000_000_000..1_000_000_000_000 => (1e9, "GB"),
        _ => (1e12, "TB"),
    };
    format!("{:.3} {name}", bytes as f64 / unit)
}

/// A section as text: a line for everything that is not off or zero, and for physical sectors that
/// are not those of the host.
pub fn lines(section: &Section) -> String {
    let mut text = String::new();
    let bytes = capacity_bytes(section);
    for (key, value) in section {
        let value = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::Number(number) if number.as_f64() == Some(0.0) => continue,
            Value::Number(number) if key == "physical_sector_sectors" && *number == 1.into() => {
                continue;
            }
            Value::Bool(true) => "yes".to_owned(),
            Value::String(word) => word.clone(),
            // Measurements were never as precise as a millionth of these units.
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
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}",
            format!("  {name:<36} {value} {unit}").trim_end()
        );
    }
    if text.is_empty() {
        text.push_str("  all off or zero\n");
    }
    text
}

/// A share from 0 to 1, as a percentage.
fn percent(share: &str) -> String {
    let hundredths = share.parse().unwrap_or(f64::NAN) * 100.0;
    ((hundredths * 1e4).round() / 1e4).to_string()
}
