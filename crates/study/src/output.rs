//! The output folder of a study, and its results as CSV and JSON.

pub use diskarm_results::output_file::Files;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use diskarm_results::output_file::OutputFile;
use serde::{Deserialize, Serialize};

use crate::cell::{Inputs, Replications};
use crate::claim::JudgedClaim;
use crate::error::{BUILD, StudyError, VERSION};
use crate::expression::Scalar;
use crate::file::Study;
use crate::metric::Metric;
use crate::results::{Estimate, Results};

/// The names of the files in the folder of every study.
const NAMES: [&str; 5] = [LOCK, RUNS, "results.csv", "results.json", "report.html"];

pub(crate) const LOCK: &str = "lock";
pub(crate) const RUNS: &str = "runs.jsonl";
pub(crate) const FIGURES: &str = "figures";

/// The folder of a study's results. Inputs of the study are never overwritten.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The flag or argument that names it.
    field: &'static str,
    inputs: Files,
}

impl Folder {
    /// Returns the folder at `path` for a study that reads `inputs`. Fails if one of the folder's
    /// output files is also an input, even under another name. Figures are checked when written.
    pub fn new(path: &Path, field: &'static str, inputs: Files) -> Result<Self, StudyError> {
        let mut files = inputs.clone();
        for name in NAMES {
            files.output(field, path.join(name))?;
        }
        Ok(Self {
            path: path.to_owned(),
            field,
            inputs,
        })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn output_file(&self, name: impl AsRef<Path>) -> Result<OutputFile, StudyError> {
        let mut files = self.inputs.clone();
        Ok(files.output(self.field, self.path.join(name))?)
    }

    /// Writes a file completely or not at all; fails if the study reads it.
    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), StudyError> {
        Ok(self.output_file(name)?.write(bytes)?)
    }
}

impl Study {
    /// Writes `results.csv` and `results.json` into `folder`, each completely or not at all. Fails
    /// if one of them cannot be written or is an input of the study.
    pub fn write(&self, results: &Results<'_>, folder: &Folder) -> Result<(), StudyError> {
        folder.write("results.csv", self.csv(results).as_bytes())?;
        folder.write("results.json", self.json(results).as_bytes())
    }

    /// Returns the title of another study whose results are in `folder`. Studies are identified by
    /// their titles, as their files may be edited and moved. Writing replaces these results, but
    /// not the other study's runs, so its results can be written again without simulating.
    pub fn replaced_title(&self, folder: &Path) -> Option<String> {
        // Errors are reported when the results are written.
        let text = fs::read_to_string(folder.join("results.json")).ok()?;
        let owner: Owner = serde_json::from_str(&text).ok()?;
        (owner.title != self.title).then_some(owner.title)
    }

    /// Returns a row for each cell and metric, with the labels of the axes, `metric`, `mean`,
    /// `ci95_half_width`, `replications`, `saturated`. A saturated cell has one row and no metric.
    pub fn csv(&self, results: &Results<'_>) -> String {
        let axes = self.axes.iter().map(|axis| csv_field(&axis.name) + ",");
        let mut text: String = axes.collect();
        text += "metric,mean,ci95_half_width,replications,saturated\n";
        for (cell, outcome) in self.cells.iter().zip(&results.outcomes) {
            let values = self.axes.iter().zip(&cell.point);
            let labels = values.map(|(axis, index)| csv_field(&axis.values[*index].label) + ",");
            let labels: String = labels.collect();
            let replications = outcome.seeds.len();
            if outcome.is_saturated {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{labels},,,{replications},true");
            }
            for (index, column) in self.columns.iter().enumerate() {
                let Some(estimate) = outcome.estimate(Metric(index)) else {
                    continue;
                };
                let half_width = estimate.half_width.map(|half| half.to_string());
                let half = half_width.unwrap_or_default();
                let (name, mean) = (&column.name, estimate.mean);
                let _ = writeln!(text, "{labels}{name},{mean},{half},{replications},false");
            }
        }
        text
    }

    /// Returns everything as JSON: the inputs and metrics of each cell, and the claims.
    pub fn json(&self, results: &Results<'_>) -> String {
        let cells = self.cells.iter().zip(&results.outcomes);
        let cells = cells.map(|(cell, outcome)| {
            let values = self.axes.iter().zip(&cell.point);
            let values =
                values.map(|(axis, index)| (axis.name.as_str(), &axis.values[*index].value));
            let metrics = self.columns.iter().enumerate();
            let metrics = metrics.filter_map(|(index, column)| {
                Some((column.name.as_str(), outcome.estimate(Metric(index))?))
            });
            CellOut {
                at: Map(values.collect()),
                inputs: &cell.inputs,
                replications: &cell.replications,
                seeds: &outcome.seeds,
                saturated: outcome.is_saturated,
                figures: Map(metrics.collect()),
            }
        });
        let out = Out {
            study: &self.name,
            title: &self.title,
            version: VERSION,
            sources: BUILD,
            quick: self.options.quick,
            cells: cells.collect(),
            claims: self.judge(results),
        };
        serde_json::to_string_pretty(&out).expect("plain data can be serialised") + "\n"
    }
}

/// The part of `results.json` that identifies the study.
#[derive(Deserialize)]
struct Owner {
    title: String,
}

#[derive(Serialize)]
struct Out<'a> {
    study: &'a str,
    title: &'a str,
    version: &'a str,
    sources: &'a str,
    quick: bool,
    cells: Vec<CellOut<'a>>,
    claims: Vec<JudgedClaim<'a>>,
}

#[derive(Serialize)]
struct CellOut<'a> {
    at: Map<'a, &'a Scalar>,
    inputs: &'a Inputs,
    replications: &'a Replications,
    seeds: &'a [u64],
    saturated: bool,
    figures: Map<'a, &'a Estimate>,
}

/// A JSON object that keeps the order of its keys.
struct Map<'a, T>(Vec<(&'a str, T)>);

impl<T: Serialize> Serialize for Map<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Formats a CSV field, quoted if necessary.
fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
