//! Runs of the measuring suite, as the example `closed_loop` of `extract` prints them.

use serde::Deserialize;

/// A run, and how near it came.
#[derive(Debug, Deserialize)]
pub struct Run {
    pub drive: String,
    pub way: String,
    /// Measurements that failed or were skipped, and why.
    pub failed: Vec<(String, String)>,
    pub commands: u64,
    pub minutes: f64,
    pub found: Option<Found>,
    pub why_none: Option<String>,
    /// What is not within the bounds.
    pub misses: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Found {
    pub layout: Layout,
    pub assumed: Vec<String>,
    pub period_ns: [f64; 2],
    pub read_seeks: Seek,
    pub write_seeks: Seek,
    /// Sums of overheads: names, and given and found in milliseconds.
    pub sums: Vec<(String, [f64; 2])>,
    pub facts: Vec<Fact>,
    pub sequences: Vec<Sequence>,
}

#[derive(Debug, Deserialize)]
pub struct Layout {
    pub is_exact: bool,
    pub tracks: Counted,
    pub zones: Counted,
    pub defects: Counted,
}

#[derive(Debug, Deserialize)]
pub struct Counted {
    pub given: usize,
    pub right: usize,
    pub wrong: usize,
}

impl Counted {
    /// As `found of all`, with what was found and is not there.
    pub fn shown(&self) -> String {
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

#[derive(Debug, Deserialize)]
pub struct Seek {
    pub multiple: f64,
    pub distance: u32,
    pub error_ms: f64,
    pub within_zones: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub struct Fact {
    pub key: String,
    pub given: String,
    pub found: String,
    pub verdict: Verdict,
    pub reason: Option<String>,
}

/// Sequential requests: what they do, and their mean response, given and found.
#[derive(Debug, Deserialize)]
pub struct Sequence {
    pub op: String,
    pub kib: u64,
    pub mean_ms: [f64; 2],
}

impl Sequence {
    /// By how much the mean that was found is off, in percent.
    pub fn percent(&self) -> f64 {
        let [was, is] = self.mean_ms;
        100.0 * (is / was - 1.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Right,
    NotDeterminable,
    Wrong,
}

impl Found {
    /// The sum of overheads that differs most: its name and the difference.
    pub fn worst_sum(&self) -> (&str, f64) {
        let differences = self.sums.iter().map(|(name, [was, is])| (name, is - was));
        let worst = differences.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        worst.map_or(("none", 0.0), |(name, max)| (name, max))
    }

    /// The sequential requests whose mean response is off most, in proportion.
    pub fn worst_sequence(&self) -> Option<&Sequence> {
        let off = |one: &&Sequence| one.percent().abs();
        self.sequences
            .iter()
            .max_by(|a, b| off(a).total_cmp(&off(b)))
    }

    pub fn facts_that_are(&self, verdict: Verdict) -> impl Iterator<Item = &Fact> {
        self.facts
            .iter()
            .filter(move |fact| fact.verdict == verdict)
    }
}
