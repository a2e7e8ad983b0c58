//! Figures 4 to 7 of worthington96: what was found replays a measured trace as well as what the
//! drive was made of.

use std::path::Path;

use serde::Deserialize;

use super::run::Run;
use crate::docs::table;
use crate::program;
use crate::traces::{MEASUREMENTS, trace};

/// Drives of the paper's kind that have a measured trace.
const DRIVES: [&str; 3] = ["hp-c2247", "dec-rz26", "seagate-st41601n"];

/// The ways whose specifications are replayed.
const WAYS: [&str; 3] = [super::BEST, "notches", "timing"];

/// By how much the demerits may differ.
const BOUND_MS: f64 = 0.02;

/// The output of `diskarm validate --json`, as far as it is shown.
#[derive(Deserialize)]
struct Figures {
    demerit_ms: f64,
    simulated_mean_ms: f64,
}

const HEAD: &str = "
## Replays of measured traces

The paper's figures 4 to 7 compare the distributions of measured service times with those of a
simulator that has the extracted values. Here the drive that was found and the one that was given
replay the same measured requests, as on the page about [validation](validation.md); their demerits
may differ by up to 0.02 ms. Of the paper's four drives two have a published trace; the third trace
is of another drive of that time. Times in ms.

";

/// The section; a note if the traces are absent.
pub fn section(root: &Path, folder: &Path, runs: &[Run]) -> Result<String, String> {
    if !root.join(MEASUREMENTS).is_dir() {
        eprintln!("extraction: {MEASUREMENTS} is absent: no replays");
        return Ok(format!(
            "{HEAD}The traces were absent when this page was generated.\n"
        ));
    }
    let mut rows = Vec::new();
    for drive in DRIVES {
        let ways = WAYS.iter().filter(|way| {
            let has = |run: &&Run| run.drive == drive && run.way == **way && run.found.is_some();
            runs.iter().any(|run| has(&run))
        });
        let ways: Vec<&str> = ways.copied().collect();
        if ways.is_empty() {
            continue;
        }
        let trace = trace(drive);
        let replayed = |name: &str| -> Result<Figures, String> {
            let arguments = ["validate", "--drive", name, &trace];
            program::json(root, &arguments)
        };
        let given = replayed(drive)?;
        for way in ways {
            let found = replayed(&super::found(folder, drive, way).to_string_lossy())?;
            rows.push(row(drive, way, [&given, &found]));
        }
    }
    let head = [
        "drive",
        "found by",
        "mean, given",
        "mean, found",
        "demerit, given",
        "demerit, found",
        "difference",
        "verdict",
    ];
    Ok(format!("{HEAD}{}", table(2, &head, &rows)))
}

fn row(drive: &str, way: &str, [given, found]: [&Figures; 2]) -> Vec<String> {
    let difference = found.demerit_ms - given.demerit_ms;
    vec![
        drive.to_owned(),
        way.to_owned(),
        format!("{:.3}", given.simulated_mean_ms),
        format!("{:.3}", found.simulated_mean_ms),
        format!("{:.4}", given.demerit_ms),
        format!("{:.4}", found.demerit_ms),
        format!("{difference:+.4}"),
        match difference.abs() <= BOUND_MS {
            true => "within".to_owned(),
            false => "**missed**".to_owned(),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demerits_may_differ_either_way() {
        let figures = |demerit_ms| Figures {
            demerit_ms,
            simulated_mean_ms: 10.0,
        };
        let verdict = |found| {
            row("d", "w", [&figures(0.1), &figures(found)])
                .pop()
                .unwrap()
        };
        assert_eq!(verdict(0.119), "within");
        assert_eq!(verdict(0.081), "within");
        assert_eq!(verdict(0.121), "**missed**");
        assert_eq!(verdict(0.079), "**missed**");
    }
}
