//! The section on measured drives: demerits, plots, and tables of residuals.

use std::path::Path;

use serde::Deserialize;

use super::PLOTS;
use super::reference::{DRIVES, Drive};
use crate::docs::table;
use crate::program::{self, MEASUREMENTS, trace};

/// The part of the output of `diskarm validate --json` that is used here.
#[derive(Deserialize)]
struct Report {
    #[serde(flatten)]
    all: Side,
    reads: Side,
    writes: Side,
    residuals: Residuals,
    angles: u64,
    phase_seeds: Vec<u64>,
}

#[derive(Deserialize)]
struct Side {
    requests: u64,
    measured_mean_ms: f64,
    simulated_mean_ms: f64,
    demerit_ms: f64,
    demerit_sd_ms: f64,
    demerit_percent: f64,
    floor_ms: f64,
    floor_phase_ms: f64,
}

#[derive(Deserialize)]
struct Residuals {
    by_outcome: Vec<Class>,
    by_size: Vec<Class>,
    by_distance: Vec<Class>,
}

#[derive(Deserialize)]
struct Class {
    op: String,
    relation: Option<String>,
    outcome: Option<String>,
    from_sectors: Option<u64>,
    end_sectors: Option<u64>,
    from_cylinders: Option<u64>,
    end_cylinders: Option<u64>,
    requests: u64,
    measured_mean_ms: f64,
    simulated_mean_ms: f64,
    demerit_ms: f64,
}

/// Writes the plots and returns the section, with all drives in order.
pub fn section(root: &Path) -> Result<String, String> {
    let mut reports = Vec::new();
    for drive in DRIVES.iter() {
        let trace = trace(&drive.name);
        let plot = format!("{PLOTS}/{}.svg", drive.name);
        let arguments = ["validate", "--drive", &drive.name, &trace, "--plot", &plot];
        reports.push((drive, program::json::<Report>(root, &arguments)?));
    }
    let summary: Vec<Vec<String>> = reports.iter().map(|(d, r)| summary(d, r)).collect();
    let drives: String = reports.iter().map(|(d, r)| drive_section(d, r)).collect();
    let Some((_, first)) = reports.first() else {
        return Err("no drives to validate".to_owned());
    };
    let (heading, summary) = (heading(first), table(1, SUMMARY, &summary));
    Ok(format!("{heading}\n{summary}\n{drives}"))
}

fn heading(report: &Report) -> String {
    let angles = report.angles;
    let replays = report.phase_seeds.len();
    let seeds = match report.phase_seeds[..] {
        [from, .., to] => format!("seeds {from} to {to}"),
        _ => "no seeds".to_owned(),
    };
    format!(
        "\
## Measured drives

The model replays the measured requests of each drive, closed-loop: a request is issued the
measured pause after the model's own completion of the previous one. The *demerit* is the root mean
square horizontal distance between the two distributions of response times, over all order
statistics, without bins (worthington94, section 4.1). Each row is printed by

    diskarm validate --drive DRIVE {MEASUREMENTS}/DRIVE.csv.gz

The initial angle of the platter is unknown: the demerit is the mean over {angles} evenly spaced
initial angles, ± its standard deviation over these, and the *floor* is the mean demerit between
the model's own replays from them. Both are nearly zero, because a closed-loop replay forgets the
initial angle at its first media access: from then on all times are relative to that sector. So the
*phase floor* shows the effect of chance when the phase of every request is unknown: the
mean demerit between the model's own replays in which each pause is longer by an independent
random part of a revolution ({replays} replays, {seeds}, all pairs). A model whose demerit is below
that floor is as close as a second measurement of the same drive with other phases would be.

Times in ms. *DiskSim* is the demerit of DiskSim 4.0 on the same rows, from its 64-bit port, over
all order statistics, as in the other columns; a value marked `*` is the published one.
"
    )
}

const SUMMARY: &str = "drive | requests | measured mean | simulated mean | demerit | % | \
    floor | phase floor | bound | DiskSim | verdict";

fn summary(drive: &Drive, report: &Report) -> Vec<String> {
    let all = &report.all;
    let bound_ms = drive.bound_us / 1e3;
    let mark = if drive.published { "*" } else { "" };
    let mut cells = vec![format!("[{0}](#{0})", drive.name)];
    cells.extend(all.cells());
    cells.extend([
        format!("{:.4}", all.floor_ms),
        format!("{:.4}", all.floor_phase_ms),
        format!("{bound_ms:.3}"),
        format!("{}{mark}", shortest(drive.disksim_us / 1e3)),
        verdict(all.demerit_ms, bound_ms),
    ]);
    cells
}

impl Side {
    fn cells(&self) -> [String; 5] {
        [
            self.requests.to_string(),
            format!("{:.3}", self.measured_mean_ms),
            format!("{:.3}", self.simulated_mean_ms),
            format!("{:.4} ± {:.4}", self.demerit_ms, self.demerit_sd_ms),
            format!("{:.2}", self.demerit_percent),
        ]
    }
}

/// Formats a time with three decimals, or with four if the fourth is not zero.
fn shortest(ms: f64) -> String {
    if (ms * 1e3).fract().abs() < 1e-6 {
        format!("{ms:.3}")
    } else {
        format!("{ms:.4}")
    }
}

pub fn verdict(demerit_ms: f64, bound_ms: f64) -> String {
    if demerit_ms <= bound_ms {
        "within the bound".to_owned()
    } else {
        format!("**missed by {:.3}**", demerit_ms - bound_ms)
    }
}

fn drive_section(drive: &Drive, report: &Report) -> String {
    let (name, remaining_differences) = (&drive.name, &drive.remains);
    let sides = [("reads", &report.reads), ("writes", &report.writes)].map(|(side, of)| {
        let mut cells = vec![side.to_owned()];
        cells.extend(of.cells());
        cells.push(format!("{:.4}", of.floor_phase_ms));
        cells
    });
    let head = "type | requests | measured mean | simulated mean | demerit | % | phase floor";
    let outcome = |c: &Class| {
        let names = [&c.relation, &c.outcome];
        let [relation, outcome] = names.map(|name| name.clone().unwrap_or_default());
        vec![c.op.clone(), relation, outcome]
    };
    let size = |c: &Class| vec![c.op.clone(), range(c.from_sectors, c.end_sectors)];
    let distance = |c: &Class| vec![c.op.clone(), range(c.from_cylinders, c.end_cylinders)];
    let residuals = &report.residuals;
    format!(
        "\
### {name}

![Response times of {name}](validation/{name}.svg)

{remaining_differences}

{}
By relation to the previous request (*same track*, *same cylinder*: where it ended;
*near*: on another cylinder, within 30,000 blocks of its end) and by the outcome in the model's
buffer:

{}
By size, in sectors:

{}
Requests that wait for the media in the model, by distance in cylinders from the last block of the
previous request to the first block of this one:

{}
",
        table(1, head, &sides),
        classes("type | relation | outcome", &residuals.by_outcome, outcome),
        classes("type | sectors", &residuals.by_size, size),
        classes("type | cylinders", &residuals.by_distance, distance),
    )
}

/// Formats the first and last value of a range.
fn range(from: Option<u64>, end: Option<u64>) -> String {
    let from = from.unwrap_or(0);
    match end {
        Some(end) if end == from + 1 => from.to_string(),
        Some(end) => format!("{from} to {}", end - 1),
        None => format!("{from} or more"),
    }
}

fn classes(keys: &str, rows: &[Class], key: impl Fn(&Class) -> Vec<String>) -> String {
    let head = "requests | measured mean | simulated mean | difference | demerit";
    let cells = rows.iter().map(|class| {
        let mut cells = key(class);
        cells.extend([
            class.requests.to_string(),
            format!("{:.3}", class.measured_mean_ms),
            format!("{:.3}", class.simulated_mean_ms),
            format!("{:+.3}", class.simulated_mean_ms - class.measured_mean_ms),
            format!("{:.3}", class.demerit_ms),
        ]);
        cells
    });
    let (texts, cells) = (keys.split(" | ").count(), cells.collect::<Vec<_>>());
    table(texts, &format!("{keys} | {head}"), &cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_can_be_met_exactly() {
        assert_eq!(verdict(0.34, 0.34), "within the bound");
        assert_eq!(verdict(0.425, 0.34), "**missed by 0.085**");
    }

    #[test]
    fn ranges_show_first_and_last() {
        assert_eq!(range(Some(0), Some(1)), "0");
        assert_eq!(range(Some(5), Some(9)), "5 to 8");
        assert_eq!(range(Some(65), None), "65 or more");
    }

    #[test]
    fn numbers_keep_their_known_digits() {
        assert_eq!(shortest(0.083), "0.083");
        assert_eq!(shortest(0.0929), "0.0929");
        assert_eq!(shortest(0.3410), "0.341");
    }
}
