//! Runs of the measuring suite, as the example `closed_loop` of `extract` prints them.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The way of measuring whose specifications are compared with the paper.
pub const BEST: &str = "translate";

/// Returns the path of the specification that the suite measured for a drive.
pub fn specification(folder: &Path, drive: &str, way: &str) -> PathBuf {
    folder.join(format!("{drive}-{way}.toml"))
}

#[derive(Deserialize)]
pub struct Run {
    pub drive: String,
    pub way: String,
    /// Measurements that failed or were skipped, and why.
    pub failed: Vec<(String, String)>,
    pub commands: u64,
    pub minutes: f64,
    pub found: Option<Findings>,
    pub why_none: Option<String>,
    /// Values outside their bounds.
    pub misses: Vec<String>,
}

impl Run {
    pub fn misses(&self, bound: &str) -> bool {
        self.misses.iter().any(|miss| miss == bound)
    }
}

#[derive(Deserialize)]
pub struct Findings {
    pub layout: Layout,
    pub assumed: Vec<String>,
    pub period_ns: [f64; 2],
    pub read_seeks: Seek,
    pub write_seeks: Seek,
    /// Sums of overheads: name, and given and found values in milliseconds.
    pub sums: Vec<(String, [f64; 2])>,
    pub facts: Vec<Fact>,
    pub sequences: Vec<Sequence>,
}

#[derive(Deserialize)]
pub struct Layout {
    pub is_exact: bool,
    pub tracks: Counted,
    pub zones: Counted,
    pub defects: Counted,
}

#[derive(Deserialize)]
pub struct Counted {
    pub given: usize,
    pub right: usize,
    pub wrong: usize,
}

impl Counted {
    /// Returns the text `found of all`, with the number of wrong values if there are any.
    pub fn text(&self) -> String {
        let found = format!("{} of {}", self.right, self.given);
        match self.wrong {
            0 => found,
            wrong => format!("{found}, {wrong} wrong"),
        }
    }

    pub fn is_exact(&self) -> bool {
        self.right == self.given && self.wrong == 0
    }
}

#[derive(Deserialize)]
pub struct Seek {
    pub multiple: f64,
    pub distance: u32,
    pub error_ms: f64,
    pub within_zones: Option<f64>,
}

#[derive(Deserialize)]
pub struct Fact {
    pub key: String,
    pub given: String,
    pub found: String,
    pub verdict: Verdict,
    pub reason: Option<String>,
}

/// Sequential requests and their mean responses, given and found.
#[derive(Deserialize)]
pub struct Sequence {
    pub op: String,
    pub kib: u64,
    pub mean_ms: [f64; 2],
}

impl Sequence {
    /// Returns the deviation of the mean that was found, in percent.
    pub fn percent(&self) -> f64 {
        let [was, is] = self.mean_ms;
        100.0 * (is / was - 1.0)
    }
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Right,
    NotDeterminable,
    Wrong,
}

impl Findings {
    /// Returns the sum of overheads that differs most: its name and the difference.
    pub fn worst_sum(&self) -> (&str, f64) {
        let differences = self.sums.iter().map(|(name, [was, is])| (name, is - was));
        let worst = differences.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        worst.map_or(("none", 0.0), |(name, max)| (name, max))
    }

    /// Returns the sequential requests whose mean response deviates most, in percent.
    pub fn worst_sequence(&self) -> Option<&Sequence> {
        let error = |one: &&Sequence| one.percent().abs();
        self.sequences
            .iter()
            .max_by(|a, b| error(a).total_cmp(&error(b)))
    }

    pub fn facts_that_are(&self, verdict: Verdict) -> impl Iterator<Item = &Fact> {
        self.facts
            .iter()
            .filter(move |fact| fact.verdict == verdict)
    }
}
