//! The section on halves: the measured drives, as given and as fitted to the first halves of their
//! traces, compared on the second halves.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::measured::verdict;
use super::reference::{DISKSIM, DRIVES, Drive};
use super::single;
use crate::docs::table;
use crate::program;
use crate::program::{MEASUREMENTS, calibrated_name, middle, trace};

/// The part of the output of `diskarm validate --json` that is used here.
#[derive(Deserialize)]
struct Report {
    requests: u64,
    measured_mean_ms: f64,
    simulated_mean_ms: f64,
    demerit_ms: f64,
    demerit_sd_ms: f64,
    floor_phase_ms: f64,
}

/// Writes the plots and returns the section, with all drives in order.
pub fn section(root: &Path) -> Result<String, String> {
    let mut demerits = Vec::new();
    let mut predicted = Vec::new();
    let mut drives = String::new();
    for drive in DRIVES.iter() {
        demerits.push(demerits_of(root, drive)?);
        let single = single::predict(root, drive)?;
        drives += &drive_section(root, drive, &single)?;
        predicted.push(single);
    }
    let demerits = table(1, HEAD, &demerits);
    let single = single::section(&predicted);
    Ok(format!("{}\n{demerits}\n{single}\n{drives}", heading()))
}

fn heading() -> String {
    format!(
        "\
## First half against second half

The drives named `-calibrated` in the catalogue are fitted to the first half of each trace, rows 0
to N/2, by

    diskarm calibrate --drive DRIVE {MEASUREMENTS}/DRIVE.csv.gz --rows ..N/2 \\
        --output DRIVE-calibrated.toml

(`cargo xtask calibrate` does this for all). The given parameter sets and the fitted variants are
compared here on the second half only, which the fit has not seen.

### Distributions

The demerit, as above, on rows N/2 to N, times in ms. Each row is printed by

    diskarm validate --rows N/2.. --drive DRIVE {MEASUREMENTS}/TRACE.csv.gz

*Bound* is the bound of the calibrated variant. *DiskSim* is the demerit of DiskSim 4.0 on the
second half, from its 64-bit port with its own parameter sets, which bins the distributions by 1 %.
The port hangs on the trace of one drive.
"
    )
}

const HEAD: &str = "drive | requests | measured mean | mean, given | demerit, given | \
    mean, calibrated | demerit, calibrated | phase floor | bound | DiskSim | verdict";

fn demerits_of(root: &Path, drive: &Drive) -> Result<Vec<String>, String> {
    let trace = trace(&drive.name);
    let rows = format!("{}..", middle(root, &drive.name)?);
    let validate = |name: &str| -> Result<Report, String> {
        let arguments = ["validate", "--drive", name, "--rows", &rows, &trace];
        program::json(root, &arguments)
    };
    let given = validate(&drive.name)?;
    let fitted = validate(&calibrated_name(&drive.name))?;
    let disksim = DISKSIM.second_half_demerit_ms.get(&drive.name).copied();
    Ok(row(drive, &given, &fitted, disksim))
}

fn row(drive: &Drive, given: &Report, fitted: &Report, disksim_ms: Option<f64>) -> Vec<String> {
    let bound_ms = drive.half_bound_us / 1e3;
    let demerit = |of: &Report| format!("{:.4} ± {:.4}", of.demerit_ms, of.demerit_sd_ms);
    vec![
        format!("[{}](#{})", drive.name, calibrated_name(&drive.name)),
        fitted.requests.to_string(),
        format!("{:.3}", fitted.measured_mean_ms),
        format!("{:.3}", given.simulated_mean_ms),
        demerit(given),
        format!("{:.3}", fitted.simulated_mean_ms),
        demerit(fitted),
        format!("{:.4}", fitted.floor_phase_ms),
        format!("{bound_ms:.3}"),
        disksim_ms.map_or_else(|| "hangs".to_owned(), |ms| format!("{ms:.3}")),
        verdict(fitted.demerit_ms, bound_ms),
    ]
}

fn drive_section(root: &Path, drive: &Drive, single: &single::Predicted) -> Result<String, String> {
    Ok(format!(
        "\
### {}

{}

What the calibration changed; times in ms, keys as `diskarm drives show --json` prints them:

{}
{}",
        calibrated_name(&drive.name),
        drive.cause,
        changes(root, &drive.name)?,
        single::drive_section(single)
    ))
}

/// The part of `diskarm drives show --json` that a trace determines.
#[derive(Deserialize)]
struct Sheet {
    #[serde(flatten)]
    sections: Map<String, Value>,
    seek: Vec<Point>,
}

/// The sections whose differences are listed.
const SECTIONS: [&str; 5] = ["geometry", "mechanics", "buffer", "overheads", "bus"];

#[derive(Deserialize)]
struct Point {
    distance_cylinders: u32,
    read_ms: f64,
    write_ms: f64,
}

/// Keys that repeat the information of another key.
const REDUNDANT: [&str; 2] = ["revolution_ms", "write_seek_curve_of_its_own"];

/// Returns a table of the differences between a drive's given and fitted parameter sets.
fn changes(root: &Path, drive: &str) -> Result<String, String> {
    let sheet = |name: &str| program::json::<Sheet>(root, &["drives", "show", name]);
    let (given, fitted) = (sheet(drive)?, sheet(&calibrated_name(drive))?);
    let table = table(1, "key | given | calibrated", &diff(&given, &fitted));
    Ok(format!("{table}\n{}\n", seeks(&given, &fitted)))
}

fn diff(given: &Sheet, fitted: &Sheet) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for section in SECTIONS {
        let members = given.sections.get(section).and_then(Value::as_object);
        for (key, was) in members.into_iter().flatten() {
            let [was, is] = [was, &fitted.sections[section][key]].map(round);
            if was != is && !REDUNDANT.contains(&key.as_str()) {
                rows.push(vec![format!("`{section}.{key}`"), was, is]);
            }
        }
    }
    rows
}

/// Rounds numbers to four decimals. For times in ms, this is finer than any trace.
fn round(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            ((number * 1e4).round() / 1e4).to_string()
        }
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// Summarises the seek curves by their largest changes.
fn seeks(given: &Sheet, fitted: &Sheet) -> String {
    let [reads, writes] = [|p: &Point| p.read_ms, |p: &Point| p.write_ms].map(|of| {
        let pairs = given.seek.iter().zip(&fitted.seek);
        range(pairs.map(|(was, is)| (was.distance_cylinders, of(is) - of(was))))
    });
    format!(
        "Changes of inward seeks with settling, by distance in cylinders: before reads\n\
         {reads}; before writes {writes}."
    )
}

/// Returns the largest decrease and the largest increase, in milliseconds, with their distances.
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

    #[test]
    fn a_row_compares_the_calibrated_variant_with_its_bound() {
        let report = |demerit_ms: f64| Report {
            requests: 7,
            measured_mean_ms: 5.0,
            simulated_mean_ms: 5.25,
            demerit_ms,
            demerit_sd_ms: 0.001,
            floor_phase_ms: 0.1,
        };
        let drive = &DRIVES[0];
        let bound_ms = drive.half_bound_us / 1e3;
        let row =
            |fitted_ms: f64, disksim_ms| row(drive, &report(9.0), &report(fitted_ms), disksim_ms);
        let met = row(bound_ms, Some(0.1224));
        assert_eq!(met[4], "9.0000 ± 0.0010");
        assert_eq!(met[9..], ["0.122", "within the bound"]);
        let missed = row(bound_ms + 0.01, None);
        assert_eq!(missed[9..], ["hangs", "**missed by 0.010**"]);
        assert_eq!(met.len(), HEAD.split(" | ").count());
    }

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
        assert_eq!(diff(&was, &is), expected);
        // Differences below the rounding are not listed.
        let similar = sheet(1.000_04, true, [1.0, 5.0]);
        assert!(diff(&was, &similar).is_empty());
        let reads = "before reads\n-1.00 ms (at 9) to +0.50 ms (at 1);";
        assert!(seeks(&was, &is).contains(reads), "{}", seeks(&was, &is));
    }
}
