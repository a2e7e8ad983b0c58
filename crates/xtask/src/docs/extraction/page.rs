//! The tables of the page: a row for each drive and way of measuring, and the deviations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use super::run::{BEST, Findings, Run, Verdict, specification};
use crate::docs::{entries, table};
use crate::program::{self, MEASUREMENTS, trace};

#[derive(Deserialize)]
struct Way {
    name: String,
    title: String,
    text: String,
}

/// Returns the part of the page about all drives.
pub fn drives_section(runs: &[Run]) -> Result<String, String> {
    let ways: Vec<Way> = entries("ways.toml", "way", include_str!("ways.toml"))?;
    let of_way =
        |way: &Way| -> Vec<&Run> { runs.iter().filter(|run| run.way == way.name).collect() };
    let mut page = include_str!("head.md").to_owned();
    let summarised = ways.iter().map(|way| summary(&way.title, &of_way(way)));
    let summary: Vec<_> = summarised.collect();
    let head = format!("way | drives | meet all | {MISSES}");
    let _ = write!(
        page,
        "\n## Summary\n\nThe numbers of drives that meet all bounds, and that miss each \
         bound.\n\n{}",
        table(1, &head, &summary)
    );
    for way in &ways {
        let runs = of_way(way);
        let rows: Vec<_> = runs.iter().map(|run| row(run)).collect();
        let (title, text, rows) = (&way.title, &way.text, table(1, COLUMNS, &rows));
        let _ = write!(page, "\n## {title}\n\n{text}\n\n{rows}");
        page.push_str(&deviations(&runs));
    }
    page.push_str(&undetermined_section(runs));
    Ok(page)
}

const COLUMNS: &str = "drive | layout | defects | period, ns | seeks | overheads, ms | cache | \
    sequential | commands | minutes | misses";

fn row(run: &Run) -> Vec<String> {
    let mut cells = vec![run.drive.clone()];
    match &run.found {
        Some(found) => cells.extend(cells_of(found)),
        None => cells.extend(["none", "", "", "", "", "", ""].map(str::to_owned)),
    }
    cells.push(run.commands.to_string());
    cells.push(format!("{:.1}", run.minutes));
    cells.push(match run.misses.as_slice() {
        [] => "none".to_owned(),
        misses => format!("**{}**", misses.join(", ")),
    });
    cells
}

fn cells_of(found: &Findings) -> [String; 7] {
    let layout = &found.layout;
    let (tracks, zones) = (&layout.tracks, &layout.zones);
    let accuracy = match (layout.is_exact, tracks.is_exact() && zones.is_exact()) {
        (true, _) => "exact".to_owned(),
        (false, true) => "all tracks and zones".to_owned(),
        (false, false) => format!("tracks: {}; zones: {}", tracks.text(), zones.text()),
    };
    let (worst, difference_ms) = found.worst_sum();
    let [right, unknown, wrong] = [Verdict::Right, Verdict::NotDeterminable, Verdict::Wrong]
        .map(|verdict| found.facts_that_are(verdict).count());
    [
        accuracy,
        layout.defects.text(),
        format!("{:+.1}", found.period_ns[1] - found.period_ns[0]),
        format!(
            "{:.2}, {:.2}",
            found.read_seeks.multiple, found.write_seeks.multiple
        ),
        format!("{difference_ms:+.4} {worst}"),
        format!("{right} / {unknown} / {wrong}"),
        found.worst_sequence().map_or(String::new(), |worst| {
            format!(
                "{:+.2} % {} of {} KiB",
                worst.percent(),
                worst.op,
                worst.kib
            )
        }),
    ]
}

/// Returns the row of the summary for one way of measuring.
fn summary(title: &str, runs: &[&Run]) -> Vec<String> {
    let count = |miss: &str| runs.iter().filter(|run| run.misses(miss)).count();
    let misses = MISSES.split(" | ").map(count);
    let meet_all = runs.iter().filter(|run| run.misses.is_empty()).count();
    let counts = [runs.len(), meet_all].into_iter().chain(misses);
    let counts = counts.map(|count| count.to_string());
    [title.to_owned()].into_iter().chain(counts).collect()
}

/// The bounds that can be missed, as the example names them.
const MISSES: &str = "no specification | failed | layout | defects | read seeks | write seeks | \
    overheads | cache | sequential | time";

fn deviations(runs: &[&Run]) -> String {
    let mut lines = String::new();
    for run in runs {
        let mut line = |text: &str| {
            let _ = writeln!(lines, "- {}: {text}", run.drive);
        };
        if let Some(why) = &run.why_none {
            line(why);
        }
        let Some(found) = &run.found else { continue };
        for (name, why) in &run.failed {
            line(&format!("{name}: {why}"));
        }
        for (what, seek) in [
            ("read seeks", &found.read_seeks),
            ("write seeks", &found.write_seeks),
        ] {
            if run.misses(what) {
                let zones = seek.within_zones.map_or(String::new(), |multiple| {
                    format!("; within a zone, at most {multiple:.2} times the tolerance")
                });
                let (error_ms, distance) = (seek.error_ms, seek.distance);
                line(&format!(
                    "{what} are {error_ms:+.3} ms off over {distance} cylinders{zones}"
                ));
            }
        }
        if run.misses("overheads") {
            let (name, error_ms) = found.worst_sum();
            line(&format!("{name} is {error_ms:+.3} ms off"));
        }
        if run.misses("sequential") {
            for one in &found.sequences {
                let ([was, is], op, kib) = (one.mean_ms, &one.op, one.kib);
                line(&format!(
                    "sequential {op} of {kib} KiB take {was:.3} ms, found {is:.3} ms"
                ));
            }
        }
        for fact in found.facts_that_are(Verdict::Wrong) {
            let (key, was, is) = (&fact.key, &fact.given, &fact.found);
            line(&format!("`{key}` is {was}, found {is}"));
        }
    }
    if lines.is_empty() {
        return lines;
    }
    format!("\nDeviations:\n\n{lines}")
}

/// Returns the section on values that the suite cannot determine, with the number of drives.
fn undetermined_section(runs: &[Run]) -> String {
    let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let translated = runs.iter().filter(|run| run.way == BEST);
    for found in translated.filter_map(|run| run.found.as_ref()) {
        for fact in found.facts_that_are(Verdict::NotDeterminable) {
            let reason = fact.reason.as_deref().unwrap_or_default();
            *reasons.entry((&fact.key, reason)).or_default() += 1;
        }
        for assumed in &found.assumed {
            *reasons.entry(("geometry", assumed)).or_default() += 1;
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let rows = reasons.iter().map(|((key, why), drives)| {
        vec![format!("`{key}`"), (*why).to_owned(), drives.to_string()]
    });
    let table = table(2, "key | reason | drives", &rows.collect::<Vec<_>>());
    format!(
        "\n## What the suite cannot determine\n\n\
         These values are unknown even for drives that translate addresses.\n\n{table}"
    )
}

/// Drives of the paper's time that have a measured trace.
const REPLAYED: [&str; 3] = ["hp-c2247", "dec-rz26", "seagate-st41601n"];

/// The ways whose specifications are replayed.
const REPLAYED_WAYS: [&str; 3] = [BEST, "notches", "timing"];

/// The largest allowed difference between the demerits.
const MAX_DIFFERENCE_MS: f64 = 0.02;

/// The part of the output of `diskarm validate --json` that is used here.
#[derive(Deserialize)]
struct Figures {
    demerit_ms: f64,
    simulated_mean_ms: f64,
}

const REPLAYS: &str = "
## Replays of measured traces

The paper's figures 4 to 7 compare the distributions of measured service times with those of a
simulator that has the extracted values. Here the given and the extracted drive replay the same
measured requests, as on the page about [validation](validation.md); their demerits
may differ by up to 0.02 ms. Two of the paper's four drives have a published trace; the third trace
is of another drive of that time. Times in ms.

";

/// Returns the section on replays, which is only a note if the traces are absent.
pub fn replays(root: &Path, folder: &Path, runs: &[Run]) -> Result<String, String> {
    if !root.join(MEASUREMENTS).is_dir() {
        eprintln!("extraction: {MEASUREMENTS} is absent: no replays");
        return Ok(format!(
            "{REPLAYS}The traces were absent when this page was generated.\n"
        ));
    }
    let mut rows = Vec::new();
    for drive in REPLAYED {
        let trace = trace(drive);
        let replay = |name: &str| -> Result<Figures, String> {
            program::json(root, &["validate", "--drive", name, &trace])
        };
        let is_found = |way: &&str| {
            let matches = |run: &Run| run.drive == drive && run.way == *way && run.found.is_some();
            runs.iter().any(matches)
        };
        let ways: Vec<&str> = REPLAYED_WAYS.into_iter().filter(is_found).collect();
        if ways.is_empty() {
            continue;
        }
        let given = replay(drive)?;
        for way in ways {
            let found = replay(&specification(folder, drive, way).to_string_lossy())?;
            rows.push(comparison(drive, way, [&given, &found]));
        }
    }
    let head = "drive | found by | mean, given | mean, found | demerit, given | \
        demerit, found | difference | verdict";
    Ok(format!("{REPLAYS}{}", table(2, head, &rows)))
}

fn comparison(drive: &str, way: &str, [given, found]: [&Figures; 2]) -> Vec<String> {
    let difference = found.demerit_ms - given.demerit_ms;
    vec![
        drive.to_owned(),
        way.to_owned(),
        format!("{:.3}", given.simulated_mean_ms),
        format!("{:.3}", found.simulated_mean_ms),
        format!("{:.4}", given.demerit_ms),
        format!("{:.4}", found.demerit_ms),
        format!("{difference:+.4}"),
        if difference.abs() <= MAX_DIFFERENCE_MS {
            "within".to_owned()
        } else {
            "**missed**".to_owned()
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
        for (found, verdict) in [
            (0.119, "within"),
            (0.081, "within"),
            (0.121, "**missed**"),
            (0.079, "**missed**"),
        ] {
            let row = comparison("d", "w", [&figures(0.1), &figures(found)]);
            assert_eq!(row[7], verdict, "{found}");
        }
    }
}
