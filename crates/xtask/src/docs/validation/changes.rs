//! Part of the section on halves: what a calibration changed.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::docs::table;
use crate::program;
use crate::traces::calibrated;

/// The output of `diskarm drives show --json`, as far as a trace determines it.
#[derive(Deserialize)]
struct Sheet {
    geometry: Map<String, Value>,
    mechanics: Map<String, Value>,
    buffer: Map<String, Value>,
    overheads: Map<String, Value>,
    bus: Map<String, Value>,
    seek: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    distance_cylinders: u32,
    read_ms: f64,
    write_ms: f64,
}

impl Sheet {
    fn sections(&self) -> [(&'static str, &Map<String, Value>); 5] {
        [
            ("geometry", &self.geometry),
            ("mechanics", &self.mechanics),
            ("buffer", &self.buffer),
            ("overheads", &self.overheads),
            ("bus", &self.bus),
        ]
    }
}

/// Keys that repeat the information of another key.
const REDUNDANT: [&str; 2] = ["revolution_ms", "write_seek_curve_of_its_own"];

/// A table of the differences between a drive's parameter set as given and its fitted variant.
pub fn of_drive(root: &Path, drive: &str) -> Result<String, String> {
    let sheet = |name: &str| program::json::<Sheet>(root, &["drives", "show", name]);
    let (given, fitted) = (sheet(drive)?, sheet(&calibrated(drive))?);
    let changed = changed(&given, &fitted);
    Ok(format!(
        "{}\n{}\n",
        table(1, &["key", "given", "calibrated"], &changed),
        seeks(&given, &fitted)
    ))
}

fn changed(given: &Sheet, fitted: &Sheet) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for ((section, was), (_, is)) in given.sections().into_iter().zip(fitted.sections()) {
        for (key, value) in was {
            let other = is.get(key).unwrap_or(&Value::Null);
            let [was, is] = [value, other].map(rounded);
            if was != is && !REDUNDANT.contains(&key.as_str()) {
                rows.push(vec![format!("`{section}.{key}`"), was, is]);
            }
        }
    }
    rows
}

/// Rounds to a tenth of a microsecond or a thousandth, which is finer than any trace.
fn rounded(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            ((number * 1e4).round() / 1e4).to_string()
        }
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// The curves are summarised by their largest changes.
fn seeks(given: &Sheet, fitted: &Sheet) -> String {
    let [reads, writes] = [|p: &Point| p.read_ms, |p: &Point| p.write_ms].map(|of| {
        let pairs = given.seek.iter().zip(&fitted.seek);
        range(pairs.map(|(was, is)| (was.distance_cylinders, of(is) - of(was))))
    });
    format!(
        "Seeks inward, with what settling adds, by their distance in cylinders: before reads\n\
         {reads}; before writes {writes}."
    )
}

/// From the largest decrease to the largest increase, in milliseconds, each with its distance.
fn range(changes: impl Iterator<Item = (u32, f64)>) -> String {
    let all: Vec<(u32, f64)> = changes.collect();
    let by_change = |a: &&(u32, f64), b: &&(u32, f64)| a.1.total_cmp(&b.1);
    match (all.iter().min_by(by_change), all.iter().max_by(by_change)) {
        (Some((short, min)), Some((long, max))) => {
            format!("{min:+.2} ms (at {short}) to {max:+.2} ms (at {long})")
        }
        _ => "no distance".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(read_hit_ms: f64, hold_read: bool, seek_ms: [f64; 2]) -> Sheet {
        let point = |(distance, read_ms): (u32, f64)| {
            serde_json::json!({
                "distance_cylinders": distance, "read_ms": read_ms, "write_ms": 1.0,
            })
        };
        let sheet = serde_json::json!({
            "geometry": { "order": "serpentine" },
            "mechanics": { "rotation_rpm": 6000.0, "revolution_ms": read_hit_ms },
            "buffer": { "segments": 2 },
            "overheads": { "read_hit_ms": read_hit_ms },
            "bus": { "hold_read": hold_read },
            "seek": [point((1, seek_ms[0])), point((9, seek_ms[1]))],
        });
        serde_json::from_value(sheet).unwrap()
    }

    #[test]
    fn only_differences_are_listed() {
        let (was, is) = (sheet(1.0, true, [1.0, 5.0]), sheet(1.25, false, [1.5, 4.0]));
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let expected = [
            row(["`overheads.read_hit_ms`", "1", "1.25"]),
            row(["`bus.hold_read`", "true", "false"]),
        ];
        assert_eq!(changed(&was, &is), expected);
        // Differences below the rounding are not listed.
        let alike = sheet(1.000_04, true, [1.0, 5.0]);
        assert!(changed(&was, &alike).is_empty());
        let reads = "before reads\n-1.00 ms (at 9) to +0.50 ms (at 1);";
        assert!(seeks(&was, &is).contains(reads), "{}", seeks(&was, &is));
    }
}
