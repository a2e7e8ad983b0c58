//! The section on the uniformly random workload, compared with a reference simulator.

use std::fmt::Write;
use std::path::Path;

use diskarm_core::stats::half_width_95_of_numbers;
use serde::Deserialize;

use super::reference::{DISKSIM, Run};
use crate::docs::table;
use crate::program;

const DRIVE: &str = "hp-c2247";
const REQUESTS: &str = "250000";
const SEEDS: [&str; 5] = ["1", "2", "3", "4", "5"];

/// The names of policies in the reference data and in Diskarm.
const POLICIES: [(&str, &str); 7] = [
    ("FCFS", "fcfs"),
    ("SSTF by LBN", "sstf"),
    ("VSCAN(0.2) by LBN", "vscan(r=0.2)"),
    ("C-LOOK by LBN", "clook"),
    ("SPTF", "sptf"),
    ("ASPTF(6)", "asptf(w=6)"),
    ("SPCTF", "spctf"),
];

/// The means that are compared. Seek includes head switches and the settling of writes.
const QUANTITIES: [&str; 4] = ["response", "service", "seek", "rotational wait"];

/// A difference above this, in percent, is flagged.
const FLAGGED_PERCENT: f64 = 3.0;

/// The part of the output of `diskarm simulate --json` that is used here.
#[derive(Deserialize)]
struct Report {
    response_ms: Mean,
    service_ms: Service,
}

#[derive(Deserialize)]
struct Mean {
    mean: f64,
}

#[derive(Deserialize)]
struct Service {
    mean: f64,
    seek: f64,
    settle: f64,
    rotation: f64,
}

struct Cell {
    run: Run,
    ours: [Estimate; QUANTITIES.len()],
}

pub fn section(root: &Path) -> Result<String, String> {
    let mut cells = Vec::new();
    let mut runs = DISKSIM.random.clone();
    // Sorted by load, in order of first appearance, and then in the order of the policies.
    runs.sort_by_key(|run| {
        let load = DISKSIM.random.iter().position(|one| one.load == run.load);
        let policy = POLICIES.iter().position(|(name, _)| *name == run.policy);
        (load, policy)
    });
    for run in runs {
        let ours = simulate(root, &run)?;
        cells.push(Cell { run, ours });
    }
    let table = |quantity| quantity_table(quantity, &cells);
    let tables: String = (0..QUANTITIES.len()).map(table).collect();
    Ok(format!("{}\n{tables}{}", heading(), causes(&cells)))
}

fn simulate(root: &Path, run: &Run) -> Result<[Estimate; QUANTITIES.len()], String> {
    let policy = POLICIES.iter().find(|(name, _)| *name == run.policy);
    let policy = policy.map_or("", |(_, ours)| ours);
    let (flag, value) = run.load()?;
    let mut means: [Vec<f64>; QUANTITIES.len()] = Default::default();
    for seed in SEEDS {
        let run = ["simulate", "--drive", DRIVE, "--random", "--seed", seed];
        let options = ["--requests", REQUESTS, "--policy", policy, flag, value];
        let report: Report = program::json(root, &[run, options].concat())?;
        let (response, service) = (report.response_ms.mean, report.service_ms);
        // DiskSim includes head switches and write settling in seek, which are separate here.
        let seek = service.seek + service.settle;
        let found = [response, service.mean, seek, service.rotation];
        for (means, mean) in means.iter_mut().zip(found) {
            means.push(mean);
        }
    }
    Ok(means.map(|means| estimate(&means)))
}

fn heading() -> String {
    format!(
        "\
## The random workload

{DRIVE}, {REQUESTS} requests of 16 sectors, aligned to 16, uniform over the disk, two thirds of
them reads, compared with DiskSim 4.0 on the same workload, in its 64-bit port with fixed
positioning estimates. Diskarm's values are means over independent runs with seeds {},
± half the width of the 95 % confidence interval over these (Student's t); DiskSim's intervals are
of the same kind where available. Each run is

    diskarm simulate --drive {DRIVE} --random --requests {REQUESTS} --policy POLICY \\
        --interarrival \"31.2 ms\" (or: --outstanding 64) --seed SEED

Times in ms, differences in percent of DiskSim's value; those over {FLAGGED_PERCENT} % are in bold,
with their causes below. Seeks include head switches and the settling of writes, as DiskSim counts
them. If requests arrive faster than they can be served, the mean response
grows with the length of the run and is only useful for comparison.
",
        SEEDS.join(", ")
    )
}

impl Cell {
    fn difference_percent(&self, quantity: usize) -> f64 {
        let theirs = self.run.means_ms[quantity];
        100.0 * (self.ours[quantity].mean - theirs) / theirs
    }

    fn is_flagged(&self, quantity: usize) -> bool {
        self.difference_percent(quantity).abs() > FLAGGED_PERCENT
    }
}

fn quantity_table(quantity: usize, cells: &[Cell]) -> String {
    let rows = cells.iter().map(|cell| {
        let ours = cell.ours[quantity];
        let theirs = cell.run.means_ms[quantity];
        // Only the response has an interval.
        let ci95 = cell.run.ci95_ms.filter(|_| quantity == 0);
        let theirs = match ci95 {
            Some(ci95) => format!("{theirs:.3} ± {ci95:.2}"),
            None => format!("{theirs:.3}"),
        };
        let percent = cell.difference_percent(quantity);
        vec![
            cell.run.load.clone(),
            cell.run.policy.clone(),
            format!("{:.3} ± {:.3}", ours.mean, ours.ci95),
            theirs,
            if cell.is_flagged(quantity) {
                format!("**{percent:+.2} (cause: see below)**")
            } else {
                format!("{percent:+.2}")
            },
        ]
    });
    let head = "load | policy | Diskarm | DiskSim | difference, %";
    let table = table(2, head, &rows.collect::<Vec<_>>());
    format!("Mean {}:\n\n{table}\n", QUANTITIES[quantity])
}

/// Returns an entry for each policy and mean that is flagged under any load.
fn causes(cells: &[Cell]) -> String {
    let mut text = String::new();
    for (policy, _) in POLICIES {
        for (index, quantity) in QUANTITIES.iter().enumerate() {
            let of_policy = cells.iter().filter(|cell| cell.run.policy == policy);
            let flagged = of_policy.filter(|cell| cell.is_flagged(index));
            let loads = flagged.map(|cell| {
                let percent = cell.difference_percent(index);
                format!("{} ({percent:+.2} %)", cell.run.load)
            });
            let loads: Vec<String> = loads.collect();
            if loads.is_empty() {
                continue;
            }
            let cause = DISKSIM
                .cause(policy, quantity)
                .unwrap_or("not explained yet.");
            let loads = loads.join(",\n  ");
            let _ = writeln!(
                text,
                "* {policy}, mean {quantity}:\n  {loads}.\n  Cause: {cause}"
            );
        }
    }
    if text.is_empty() {
        text += "None.\n";
    }
    format!("### Differences over {FLAGGED_PERCENT} %\n\n{text}")
}

/// A mean and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    mean: f64,
    ci95: f64,
}

/// Returns the estimate from one independent value per seed.
fn estimate(values: &[f64]) -> Estimate {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let ci95 = half_width_95_of_numbers(values).expect("there are several seeds");
    Estimate { mean, ci95 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_over_three_percent_are_flagged() {
        let cell = |ours_ms: f64| Cell {
            run: Run {
                load: "64 outstanding".to_owned(),
                policy: "FCFS".to_owned(),
                means_ms: [100.0; 4],
                ci95_ms: None,
            },
            ours: [100.0, 100.0, ours_ms, 100.0].map(|mean| Estimate { mean, ci95: 0.0 }),
        };
        assert!(!cell(102.9).is_flagged(2) && cell(96.9).is_flagged(2));
        assert!(causes(&[cell(103.0)]).ends_with("None.\n"));
        let flagged = causes(&[cell(104.0)]);
        let line = "* FCFS, mean seek:\n  64 outstanding (+4.00 %).\n  Cause: not explained yet.\n";
        assert!(flagged.ends_with(line), "{flagged}");
        assert!(quantity_table(2, &[cell(104.0)]).contains("**+4.00 (cause: see below)** |"));
    }

    #[test]
    fn intervals_match_the_textbook() {
        // The deviations are -2 to 2, so the variance is 10 / 4, and that of the mean is 0.5.
        let five = estimate(&[8.0, 9.0, 10.0, 11.0, 12.0]);
        assert_eq!(five.mean, 10.0);
        assert!((five.ci95 - 2.776_445 * 0.5f64.sqrt()).abs() < 1e-12);
    }
}
