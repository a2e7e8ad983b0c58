//! `diskarm study diff`: compares the results of two runs of a study, cell by cell.

use std::io;
use std::path::{Path, PathBuf};

use diskarm_core::text::with_noun;
use diskarm_results::prose;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::output;

#[derive(clap::Args)]
pub struct Diff {
    /// Folder with the results of a study
    #[arg(value_name = "A")]
    before: PathBuf,

    /// Folder with other results of that study, or of a study that shares some of its cells
    #[arg(value_name = "B")]
    after: PathBuf,
}

/// The part of `results.json` that is compared.
#[derive(Deserialize)]
struct Results {
    title: String,
    cells: Vec<Cell>,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Cell {
    at: Map<String, Value>,
    inputs: Value,
    saturated: bool,
    figures: Map<String, Value>,
}

#[derive(Deserialize)]
struct Claim {
    says: String,
    verdict: String,
    ours: String,
}

pub fn run(args: &Diff) -> Result<(), Error> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let mut text = String::new();
    if before.title != after.title {
        text += &format!("titles: {:?} and {:?}\n", before.title, after.title);
    }
    let found = |cell: &Cell| before.cells.iter().find(|other| other.at == cell.at);
    let cells = after.cells.iter();
    let pairs = cells.filter_map(|cell| Some((found(cell)?, cell)));
    let pairs: Vec<(&Cell, &Cell)> = pairs.collect();
    if pairs.is_empty() && before.title != after.title {
        let message = format!(
            "A and B have no cell in common: they are results of {:?} and {:?}",
            before.title, after.title
        );
        return Err(Error::Failed(message));
    }
    text += &format!("{} in both", with_noun(pairs.len(), "cell"));
    for (name, results) in [("A", &before), ("B", &after)] {
        let only_here = results.cells.len() - pairs.len();
        if only_here > 0 {
            text += &format!("; {} only in {name}", with_noun(only_here, "cell"));
        }
    }
    let changed = pairs.iter().filter(|(a, b)| a.inputs != b.inputs).count();
    if changed > 0 {
        text += &format!("; {} with different inputs", with_noun(changed, "cell"));
    }
    text.push('\n');
    let unchanged_length = text.len();
    for (before, after) in &pairs {
        if before.saturated != after.saturated {
            let only = if after.saturated { "B" } else { "A" };
            text += &format!("  saturated in {only} only: {}\n", before.position());
        }
    }
    text += &metrics(&pairs);
    text += &verdicts(&before.claims, &after.claims);
    let is_same = text.len() == unchanged_length && before.cells.len() == after.cells.len();
    if is_same && pairs.len() == after.cells.len() {
        text += "all numbers and verdicts are equal\n";
        return output::print(&text);
    }
    output::print(&text)?;
    Err(Error::differ())
}

fn read(folder: &Path) -> Result<Results, Error> {
    let path = folder.join("results.json");
    let name = path.display().to_string();
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::Failed(format!(
                "{} has no results.json: give a folder with the results of a study, such as \
                 results/NAME",
                folder.display()
            )));
        }
        text => text.map_err(Error::io("read", &name))?,
    };
    serde_json::from_str(&text)
        .map_err(|error| Error::Failed(format!("{name} has no valid study results: {error}")))
}

impl Cell {
    /// Formats the cell's values on the axes: `policy = sptf, rate = 40`.
    fn position(&self) -> String {
        let value = |value: &Value| match (value, value.as_f64()) {
            (Value::String(text), _) => text.clone(),
            (_, Some(number)) => number.to_string(),
            (other, None) => other.to_string(),
        };
        let values = self.at.iter();
        let values = values.map(|(axis, at)| format!("{axis} = {}", value(at)));
        values.collect::<Vec<_>>().join(", ")
    }

    /// Returns the mean of `metric` and half the width of its interval (0 if unknown).
    fn metric(&self, metric: &str) -> Option<(f64, f64)> {
        let figure = self.figures.get(metric)?;
        let half = figure["half_width"].as_f64().unwrap_or(0.0);
        Some((figure["mean"].as_f64()?, half))
    }
}

/// Formats a line for each metric that differs in any cell, with the largest change relative to A.
fn metrics(pairs: &[(&Cell, &Cell)]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (before, _) in pairs {
        names.extend(before.figures.keys().map(String::as_str));
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let mut text = String::new();
    for metric in names {
        let values = pairs.iter().filter_map(|(before, after)| {
            let (a, b) = (before.metric(metric)?, after.metric(metric)?);
            (a.0 != b.0).then_some((before, a, b))
        });
        let values: Vec<_> = values.collect();
        let relative = |a: f64, b: f64| (b - a) / a.abs().max(f64::MIN_POSITIVE);
        let size = |a: f64, b: f64| relative(a, b).abs();
        let max = values.iter();
        let max = max.max_by(|(_, a, b), (_, c, d)| size(a.0, b.0).total_cmp(&size(c.0, d.0)));
        let Some((cell, a, b)) = max else {
            continue;
        };
        if text.is_empty() {
            text += "\n  metric                       cells beyond ci95  largest change\n";
        }
        let beyond = values
            .iter()
            .filter(|(_, a, b)| (b.0 - a.0).abs() > a.1.hypot(b.1));
        let change = if a.0 == 0.0 {
            format!("from 0 to {}", b.0)
        } else {
            format!("{:+.2} %", 100.0 * relative(a.0, b.0))
        };
        let (cells, beyond) = (values.len(), beyond.count());
        let position = cell.position();
        text += &format!("  {metric:<26}{cells:>8}{beyond:>12}  {change}: {position}\n");
    }
    text
}

fn verdicts(before: &[Claim], after: &[Claim]) -> String {
    let mut text = String::new();
    for claim in after {
        let Some(old) = before.iter().find(|old| old.says == claim.says) else {
            continue;
        };
        if old.verdict != claim.verdict {
            let (from, to) = (&old.verdict, &claim.verdict);
            text += &format!("\n  {from} in A, {to} in B\n");
            text += &prose::wrapped(&claim.says, 4);
            let ours = format!("our result: {} in A, {} in B", old.ours, claim.ours);
            text += &prose::wrapped(&ours, 4);
        }
    }
    text
}
