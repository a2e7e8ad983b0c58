//! `diskarm validate --locked`: predictions of a trace that the model made itself, of one whose
//! clock is broken, and of the measured drives.

use std::fs;

use serde_json::Value;

use crate::{assert_within, diskarm, file_of, json, keys, measured, printed};

/// 3,000 requests, their responses the model's own, from another angle of the platter.
const SYNTHETIC: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/synthetic-hp-c2247.csv"
);

fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["validate", "--locked", "--drive", "hp-c2247"], more].concat()
}

fn judged(more: &[&str]) -> Value {
    json(&arguments(&[more, &["--json"]].concat()))
}

fn number(object: &Value, key: &str) -> f64 {
    let value = object[key].as_f64();
    value.unwrap_or_else(|| panic!("{key} in {object}"))
}

#[test]
fn what_the_model_made_itself_is_predicted() {
    let report = judged(&[SYNTHETIC]);
    assert!(number(&report, "same_revolution_rate") >= 0.999);
    assert!(number(&report, "within_0_25ms_rate") >= 0.999);
    assert!(number(&report, "p95_abs_error_ms") < 0.05);
    assert!(number(&report, "phase_concentration") > 0.99);
    assert_eq!(report["clock"], "unbroken");
    // Only the first is predicted at an unknown angle.
    assert_eq!(
        (number(&report, "unlocked"), number(&report, "history")),
        (1.0, 0.0)
    );
    for side in [&report, &report["reads"], &report["writes"]] {
        let trivial = &side["trivial"];
        assert!(number(trivial, "same_revolution_rate") < 0.7, "{trivial}");
        assert!(number(trivial, "within_0_25ms_rate") < 0.1, "{trivial}");
        assert!(number(trivial, "median_abs_error_ms") > 1.0, "{trivial}");
    }
    for table in ["by_served", "by_size"] {
        let classes = report[table].as_array();
        let counts = classes
            .into_iter()
            .flatten()
            .map(|class| number(class, "requests"));
        assert_eq!(counts.sum::<f64>(), 3000.0, "{table}");
    }
    let class = &report["by_served"][0];
    let figures = [
        "same_revolution_rate",
        "median_abs_error_ms",
        "p95_abs_error_ms",
        "within_0_25ms_rate",
    ];
    let expected = [&["op", "served", "requests"], &figures[..], &["trivial"]].concat();
    assert_eq!(keys(class), expected);
    assert_eq!(keys(&class["trivial"]), figures);
}

#[test]
fn rows_before_the_range_are_history() {
    let whole = judged(&[SYNTHETIC]);
    let first = judged(&["--rows", "..1000", SYNTHETIC]);
    let rest = judged(&["--rows", "1000..", SYNTHETIC]);
    assert_eq!(
        (number(&rest, "requests"), number(&rest, "history")),
        (2000.0, 1000.0)
    );
    assert_eq!(number(&rest, "unlocked"), 0.0);
    // Neither predictor looks ahead or forgets: the counts of the parts sum to those of the whole.
    let both = |path: &dyn Fn(&Value) -> &Value| {
        let hits = |part: &Value| {
            let rate = number(path(part), "within_0_25ms_rate");
            (rate * number(part, "requests")).round()
        };
        assert_eq!(hits(&first) + hits(&rest), hits(&whole));
    };
    both(&|part| part);
    both(&|part| &part["trivial"]);
    for wrong in ["3000..", "0..3001"] {
        let output = diskarm(&arguments(&["--rows", wrong, SYNTHETIC]));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let expected = format!("--rows: found {wrong:?}, expected a range within 0..3000");
        assert!(
            !output.status.success() && message.contains(&expected),
            "{message}"
        );
    }
}

#[test]
fn a_broken_clock_gives_a_warning() {
    let text = fs::read_to_string(SYNTHETIC).unwrap();
    let mut lines = text.lines();
    let mut broken = lines.next().unwrap().to_owned() + "\n";
    for (i, line) in lines.enumerate() {
        // Pauses unrelated to the measured ones.
        let (row, _) = line.rsplit_once(',').unwrap();
        broken += &format!("{row},{}\n", i * 7_919 % 20_011);
    }
    let broken = file_of("broken.csv", &broken);
    let report = judged(&[&broken]);
    assert_eq!(report["clock"], "broken");
    assert!(number(&report, "phase_concentration") < 0.3);
    let output = diskarm(&arguments(&[&broken]));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success());
    assert!(
        message.starts_with("warning: ") && message.lines().count() == 1,
        "{message}"
    );
    assert!(message.contains("clock is broken"), "{message}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(": clock broken\n"), "{text}");
    fs::remove_file(broken).unwrap();
}

#[test]
fn the_table_is_narrow_and_the_plot_has_both_panels() {
    let plot = file_of("errors.svg", "");
    let text = printed(&arguments(&["--plot", &plot, SYNTHETIC]));
    let (_, table) = text.split_once("\n\n").unwrap();
    assert_within(table, 80);
    assert!(table.contains("3000 requests judged after 0 of history\n"));
    for name in [
        "all",
        "read hits",
        "write misses",
        "reads 1..5",
        "writes 65..",
        "trivial",
    ] {
        assert!(table.contains(name), "{name} in {table}");
    }
    let svg = fs::read_to_string(&plot).unwrap();
    for text in [
        "hp-c2247: 100.00 % in the same revolution",
        "Time in the trace (s)",
        "Error (ms)",
        "Requests (%)",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    let output = diskarm(&arguments(&["--plot", &plot, SYNTHETIC, SYNTHETIC]));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("`--plot` takes a single FILE"),
        "{message}"
    );
    fs::remove_file(plot).unwrap();
}

#[test]
fn several_files_and_a_single_row_are_judged() {
    let one = file_of(
        "one.csv",
        "op,lbn,sectors,response_us,think_us\nR,1000,8,15000.5,20000\n",
    );
    let both = judged(&[&one, SYNTHETIC]);
    assert_eq!(both["files"][0], judged(&[&one]));
    assert_eq!(both["files"][1], judged(&[SYNTHETIC]));
    assert_eq!(both["files"][0]["requests"], 1);
    assert_eq!(both["files"][0]["writes"], Value::Null);
    fs::remove_file(one).unwrap();
}

/// Bounds: what the predictor reached on the two traces with an unbroken clock, rounded down.
#[test]
fn measured_drives_are_predicted_in_the_same_revolution() {
    for (drive, bound) in [("hp-c2247", 0.95), ("seagate-st41601n", 0.97)] {
        let trace = measured(drive);
        let report = json(&["validate", "--locked", "--json", "--drive", drive, &trace]);
        let rate = number(&report, "same_revolution_rate");
        assert!(rate >= bound, "{drive}: {rate}");
        assert_eq!(report["clock"], "unbroken");
        assert!(rate > number(&report["trivial"], "same_revolution_rate") + 0.3);
    }
    let drive = "quantum-atlas-10k";
    let trace = measured(drive);
    let report = json(&["validate", "--locked", "--json", "--drive", drive, &trace]);
    assert_eq!(report["clock"], "broken", "its pauses are nominal");
}

/// A figure of the first half of a drive's trace, with its specification as in the catalogue and
/// with lines changed (before, after).
fn figure_of_changes(drive: &str, figure: &str, changes: &[(&str, &str)]) -> (f64, f64) {
    let trace = measured(drive);
    let judge = |drive: &str| {
        let rows = ["--rows", "..4000", "--json", "--drive", drive, &trace];
        let report = json(&[&["validate", "--locked"], &rows[..]].concat());
        number(&report, figure)
    };
    let mut text = diskarm_drives::find(drive).unwrap().text.to_owned();
    for (line, other) in changes {
        assert_eq!(text.matches(line).count(), 1, "{line}");
        text = text.replace(line, other);
    }
    let changed = file_of(&format!("{drive}-changed.toml"), &text);
    let figures = (judge(drive), judge(&changed));
    fs::remove_file(changed).unwrap();
    figures
}

/// docs/background/assumptions.md, "Behaviours settled by measurement": the three that only the
/// angles of single completions show.
#[test]
fn what_single_completions_settle() {
    let slips = [("order = ", "slips_turn_tracks = true\norder = ")];
    let (before, after) = figure_of_changes("seagate-st41601n", "phase_concentration", &slips);
    assert!(before < 0.986 && after > 0.994, "{before} {after}");
    // A move to the next cylinder takes as long as before: 2.89 less 0.49.
    let inward = [
        (
            "head_switch = ",
            "inward_seek = \"0.49 ms\"\nhead_switch = ",
        ),
        ("first_ms = [2.89,", "first_ms = [2.4,"),
    ];
    let (before, after) = figure_of_changes("hp-c2247", "same_revolution_rate", &inward);
    assert!(1.0 - after < 0.55 * (1.0 - before), "{before} {after}");
    let mark = "read_on_arrival = true\nread_watermark = \"28.08 %\"\nwatermark_of = \"segment\"";
    let chunk = [("read_on_arrival = true", mark)];
    let restart = [
        chunk[0],
        (
            "hold_read = true",
            "hold_read = true\nread_restart = \"0.6 ms\"",
        ),
    ];
    let near = |changes| figure_of_changes("dec-rz26", "within_0_25ms_rate", changes);
    let ((given, chunk), (_, both)) = (near(&chunk), near(&restart));
    assert!(
        chunk > 1.5 * given && both > chunk + 0.01,
        "{given} {chunk} {both}"
    );
}
