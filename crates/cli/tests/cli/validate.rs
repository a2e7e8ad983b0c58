//! Tests of `diskarm validate` with small traces, invalid input, and the measured drives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::{diskarm, trace_of};

const DRIVE: &str = "hp-c2247";
const HEADER: &str = "op,lbn,sectors,response_us,think_us\n";
const ROWS: [&str; 4] = [
    "R,1000,8,15000.5,20000\n",
    "R,1008,8,2000,3000.25\n",
    "W,900000,16,21000,10000\n",
    "R,64,2,12000,0\n",
];

fn run(arguments: &[&str]) -> Output {
    diskarm(&[&["validate"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    crate::json(&[&["validate"], arguments, &["--json"]].concat())
}

/// Returns an error, which must be one line.
fn error_line(arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

/// Returns a folder for this test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{error}"));
    folder
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap_or_else(|error| panic!("{error}"));
    path.display().to_string()
}

fn ms(object: &Value, key: &str) -> f64 {
    let value = object[key].as_f64();
    value.unwrap_or_else(|| panic!("{key} in {object}"))
}

#[test]
fn json_has_the_documented_values_overall_and_by_type() {
    let folder = folder("json");
    let trace = file(&folder, "t.csv", &(HEADER.to_owned() + &ROWS.concat()));
    let report = json(&["--drive", DRIVE, &trace]);
    assert_eq!(report["requests"], 4);
    // The mean of the rows' responses.
    assert_eq!(ms(&report, "measured_mean_ms"), 12.500_125);
    assert_eq!(ms(&report["writes"], "measured_mean_ms"), 21.0);
    let percent = 100.0 * ms(&report, "demerit_ms") / ms(&report, "measured_mean_ms");
    assert!((ms(&report, "demerit_percent") - percent).abs() < 1e-9);
    for side in [&report, &report["reads"], &report["writes"]] {
        for key in [
            "simulated_mean_ms",
            "demerit_sd_ms",
            "floor_ms",
            "floor_phase_ms",
        ] {
            assert!(ms(side, key) >= 0.0);
        }
    }
    assert_eq!(
        (report["drive"].as_str(), report["angles"].as_u64()),
        (Some(DRIVE), Some(16))
    );
    assert_eq!(report["phase_seeds"].as_array().map(Vec::len), Some(8));
    for table in ["by_outcome", "by_size"] {
        let classes = report["residuals"][table].as_array();
        let counts = classes
            .into_iter()
            .flatten()
            .map(|class| class["requests"].as_u64());
        assert_eq!(counts.sum::<Option<u64>>(), Some(4), "{table}");
    }
}

#[test]
fn each_of_several_files_is_reported() {
    let folder = folder("several");
    let one = file(&folder, "1.csv", &(HEADER.to_owned() + ROWS[0]));
    let two = file(&folder, "2.csv", &(HEADER.to_owned() + ROWS[0] + ROWS[2]));
    let both = json(&["--drive", DRIVE, &one, &two]);
    assert_eq!(both["files"][0], json(&["--drive", DRIVE, &one]));
    assert_eq!(both["files"][1], json(&["--drive", DRIVE, &two]));
    assert_eq!(both["files"][0]["writes"], Value::Null);
    let plot = folder.join("p.svg").display().to_string();
    let message = error_line(&["--drive", DRIVE, "--plot", &plot, &one, &two]);
    assert!(
        message.contains("`--plot` takes a single FILE"),
        "{message}"
    );
}

#[test]
fn rows_are_half_open_from_zero() {
    let folder = folder("rows");
    let all = file(&folder, "all.csv", &(HEADER.to_owned() + &ROWS.concat()));
    let middle = file(
        &folder,
        "middle.csv",
        &(HEADER.to_owned() + &ROWS[1..3].concat()),
    );
    let of = |arguments: &[&str]| {
        let mut report = json(&[&["--drive", DRIVE], arguments].concat());
        report["file"].take();
        report
    };
    assert_eq!(of(&["--rows", "1..3", &all]), of(&[&middle]));
    assert_eq!(of(&["--rows", "0..4", &all]), of(&[&all]));
    assert_eq!(of(&["--rows", "2..", &all]), of(&["--rows", "2..4", &all]));
    for wrong in ["0..5", "4..", "4..5", "7..9"] {
        let message = error_line(&["--drive", DRIVE, "--rows", wrong, &all]);
        let expected = format!("--rows: found {wrong:?}, expected a range within 0..4");
        assert!(message.contains(&expected), "{message}");
    }
    for wrong in ["2..2", "3..2", "x", "1-3", "-1..3"] {
        let message = error_line(&["--drive", DRIVE, "--rows", wrong, &all]);
        assert!(message.contains("expected rows A..B"), "{message}");
    }
}

#[test]
fn errors_name_their_location_and_leave_no_plot() {
    let folder = folder("wrong");
    let good = HEADER.to_owned() + ROWS[0];
    let beyond = file(
        &folder,
        "beyond.csv",
        &(good.clone() + "W,2054860,16,9000,0\n"),
    );
    let nameless = file(&folder, "open.trace", "0.25 0 1200 8 1\n1.5 0 90 16 0\n");
    let good = file(&folder, "good.csv", &good);
    let plot = folder.join("p.svg");
    let draw = plot.display().to_string();
    let message = error_line(&["--drive", DRIVE, "--plot", &draw, &beyond]);
    let place = format!("{beyond}:3: lbn: found \"16 sectors from 2054860\"");
    let place = place + ", expected at most 2054864 blocks";
    assert!(message.contains(&place), "{message}");
    // An invalid row outside the requested range is not an error.
    assert!(
        run(&["--drive", DRIVE, "--rows", "0..1", &beyond])
            .status
            .success()
    );
    let message = error_line(&["--drive", DRIVE, "--plot", &draw, &nameless]);
    assert!(message.contains("measured responses"), "{message}");
    let message = error_line(&["--drive", "c2247", "--plot", &draw, &good]);
    assert!(message.contains("--drive: found \"c2247\""), "{message}");
    let absent = folder.join("absent/p.svg").display().to_string();
    let message = error_line(&["--drive", DRIVE, "--plot", &absent, &good]);
    assert!(message.contains("cannot write"), "{message}");
    // A folder cannot be replaced by a file: the temporary plot next to it must be removed.
    let in_the_way = folder.join("taken.svg");
    fs::create_dir(&in_the_way).unwrap_or_else(|error| panic!("{error}"));
    error_line(&[
        "--drive",
        DRIVE,
        "--plot",
        &in_the_way.display().to_string(),
        &good,
    ]);
    let unnamed = folder.join("p.txt").display().to_string();
    let message = error_line(&["--drive", DRIVE, "--plot", &unnamed, &good]);
    let expected = format!(
        "--plot: found {unnamed:?}, expected a name ending in .svg, or - for standard output"
    );
    assert!(message.contains(&expected), "{message}");
    let count = fs::read_dir(&folder).map(|entries| entries.count());
    assert_eq!(count.ok(), Some(4), "three traces and a folder");
    assert!(
        run(&["--drive", DRIVE, "--plot", &draw, &good])
            .status
            .success()
    );
    let svg = fs::read_to_string(&plot).unwrap_or_default();
    for text in [
        "hp-c2247: demerit",
        "Response time (ms)",
        "Cumulative fraction of requests",
        "simulated",
    ] {
        assert!(svg.contains(text), "{text}");
    }
}

/// A trace counts in blocks of 512 bytes, the hp-335h in sectors of 256: 8 blocks are 16 sectors,
/// and the 1,309,896 sectors are 654,948 blocks.
#[test]
fn blocks_are_converted_to_the_drive_s_sectors() {
    let folder = folder("blocks");
    let of = |name: &str, row: &str| file(&folder, name, &(HEADER.to_owned() + row));
    let last = of("last.csv", "R,654940,8,20000,0\n");
    let report = json(&["--drive", "hp-335h", &last]);
    let class = &report["residuals"]["by_size"][0];
    let (from, end) = (&class["from_sectors"], &class["end_sectors"]);
    let is_within = from.as_u64() <= Some(16) && end.as_u64().is_none_or(|end| 16 < end);
    assert!(is_within && from.as_u64() > Some(8), "{class}");
    let beyond = of("beyond.csv", "R,654941,8,20000,0\n");
    let message = error_line(&["--drive", "hp-335h", &beyond]);
    let expected = "lbn: found \"8 sectors from 654941\", expected at most 654948 blocks\n";
    assert!(message.ends_with(expected), "{message}");

    let text = diskarm_drives::find(DRIVE).map(|entry| entry.text);
    let longer = text
        .unwrap_or_default()
        .replace("sector_bytes = 512", "sector_bytes = 520");
    let drive = file(&folder, "long.toml", &longer);
    let good = of("good.csv", ROWS[0]);
    let expected = "expected a drive whose sector size divides or is a multiple of a trace's \
                    block size, 512 bytes; this drive has sectors of 520 bytes\n";
    let message = error_line(&["--drive", &drive, &good]);
    assert!(message.ends_with(expected), "{message}");
    let simulate = ["simulate", "--drive", &drive, "--trace", &good];
    let simulated = diskarm(&[&simulate[..], &["--policy", "fcfs"]].concat());
    assert_eq!(String::from_utf8_lossy(&simulated.stderr), message);
}

/// The bounds are the demerits of DiskSim 4.0 with its validated parameters on the same rows.
#[test]
fn demerits_on_the_measured_drives_are_within_their_bounds() {
    for (drive, bound_us) in [
        ("hp-c2247", 100.0),
        ("seagate-st41601n", 95.0),
        ("quantum-atlas-10k", 268.0),
        ("seagate-barracuda-st32171w", 348.0),
        ("seagate-cheetah-st34501n", 318.0),
    ] {
        let report = json(&["--drive", drive, &trace_of(drive)]);
        let demerit_ms = ms(&report, "demerit_ms");
        assert!(demerit_ms * 1e3 <= bound_us, "{drive}: {demerit_ms} ms");
        // Measurements of another drive would be far off.
        assert!(demerit_ms > 0.01, "{drive}: {demerit_ms} ms");
        assert!(ms(&report, "floor_ms") < 0.01 && ms(&report, "demerit_sd_ms") < 0.01);
        assert!(ms(&report, "floor_phase_ms") > 0.02, "{drive}");
    }
}
