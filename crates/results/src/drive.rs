//! One drive: zones, seek curve, and the rest of its specification.

mod seek_plot;
mod sheet;
mod zones;

use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_core::units::Cylinder;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::prose;

fn total_ms(seek: &SeekTimes, op: Op, distance: u32) -> f64 {
    let way = (Cylinder(0), Cylinder(distance));
    let (arm, settle) = seek.parts(op, way, false);
    (arm + settle).as_ms()
}

/// The human-readable page.
pub fn page(spec: &Spec) -> String {
    let seek = &SeekTimes::new(&spec.mechanics, spec.geometry.cylinders);
    let mut text = format!("{}\n{}", spec.name, prose::wrapped(&spec.summary, 0));
    let longest = spec.geometry.cylinders - 1;
    for (name, section) in sheet::of(spec) {
        text += &format!("\n{name}\n{}", sheet::lines(&section));
        match name {
            "geometry" => text += &format!("\nzones\n{}", zones::table(&zones::of(spec))),
            "mechanics" if longest > 0 => {
                let plot = seek_plot::draw(longest, |d| total_ms(seek, Op::Read, d));
                text += &format!("\nseek time of reads\n{plot}");
            }
            _ => {}
        }
    }
    text += "\nWhat is not listed is off or zero.\n";
    let kind = if spec.source.nominal {
        "source (nominal figures)"
    } else {
        "source (a measured drive)"
    };
    text += &format!("\n{kind}\n{}", prose::wrapped(&spec.source.origin, 2));
    if !spec.source.choices.is_empty() {
        text += &format!("\nchoices\n{}", prose::wrapped(&spec.source.choices, 2));
    }
    text
}

/// A point on the seek curve.
#[derive(Serialize)]
struct Point {
    distance_cylinders: u32,
    read_ms: f64,
    write_ms: f64,
}

/// The shortest seeks, which do not follow a curve, then steps of a hundredth of the stroke.
fn points(spec: &Spec, seek: &SeekTimes) -> Vec<Point> {
    const SHORTEST: u32 = 16;
    const STEPS: u32 = 100;
    let longest = spec.geometry.cylinders - 1;
    let steps = (1..=STEPS).map(|k| (u64::from(longest) * u64::from(k) / u64::from(STEPS)) as u32);
    let distances = (1..=SHORTEST.min(longest)).chain(steps.filter(|&d| d > SHORTEST));
    let point = |distance| Point {
        distance_cylinders: distance,
        read_ms: total_ms(seek, Op::Read, distance),
        write_ms: total_ms(seek, Op::Write, distance),
    };
    distances.map(point).collect()
}

/// The object that `--json` prints.
pub fn object(spec: &Spec) -> Map<String, Value> {
    let seek = &SeekTimes::new(&spec.mechanics, spec.geometry.cylinders);
    let mut object = Map::new();
    object.insert("name".to_owned(), json!(spec.name));
    object.insert("summary".to_owned(), json!(spec.summary));
    for (name, section) in sheet::of(spec) {
        object.insert(name.to_owned(), Value::Object(sheet::object(section)));
    }
    object.insert("zones".to_owned(), json!(zones::of(spec)));
    object.insert("seek".to_owned(), json!(points(spec, seek)));
    let source = json!({
        "origin": spec.source.origin.trim(),
        "choices": spec.source.choices.trim(),
        "nominal": spec.source.nominal,
    });
    object.insert("source".to_owned(), source);
    object
}
