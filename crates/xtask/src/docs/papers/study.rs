//! Studies and the verdicts on their claims, as `diskarm` prints them, and the papers and their
//! conclusions, as `papers.toml` lists them.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::docs::entries;

/// The part of the output of `diskarm study list --json` that is used here.
#[derive(Deserialize)]
pub struct StudyEntry {
    pub name: String,
    pub title: String,
    pub source: String,
    pub cells: usize,
    pub takes_traces: bool,
}

impl StudyEntry {
    /// Returns true if the study reproduces the paper `name`: its source begins with that name.
    pub fn is_of(&self, name: &str) -> bool {
        self.source.split(',').next() == Some(name)
    }
}

/// A study in `diskarm study check --json`.
#[derive(Deserialize)]
pub struct Study {
    pub study: String,
    pub claims: Vec<Claim>,
}

#[derive(Deserialize)]
pub struct Claim {
    pub says: String,
    pub source: String,
    pub theirs: String,
    pub ours: String,
    pub known: Option<KnownReason>,
    pub verdict: String,
    pub explained: bool,
    pub bounds: String,
    pub model_check: bool,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    pub numbers: Vec<Number>,
}

/// A number of a claim, as the ends of its interval; they are absent if the cell is saturated.
#[derive(Deserialize)]
pub struct Number {
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Claim {
    /// Returns true if the claim goes beyond the paper: its source is `beyond NAME`.
    pub fn is_beyond(&self) -> bool {
        self.source.starts_with("beyond ")
    }

    pub fn has_our_bounds(&self) -> bool {
        self.bounds == "ours"
    }

    /// Returns the bounds that the source prints; `None` if the bounds are ours, the claim is a
    /// model check, or there is only one bound.
    pub fn printed_bounds(&self) -> Option<[f64; 2]> {
        let is_printed = !self.has_our_bounds() && !self.model_check;
        let has_number = self.theirs.contains(|c: char| c.is_ascii_digit());
        let bounds = [self.at_least?, self.at_most?];
        (is_printed && has_number && bounds[0] > 0.0).then_some(bounds)
    }

    /// Returns the range of all numbers with their intervals; `None` if a cell is saturated.
    pub fn range(&self) -> Option<[f64; 2]> {
        let numbers = self.numbers.iter();
        let ends = numbers.map(|number| Some([number.low?, number.high?]));
        let ends: Vec<[f64; 2]> = ends.collect::<Option<_>>()?;
        ends.into_iter()
            .reduce(|all, one| [all[0].min(one[0]), all[1].max(one[1])])
    }
}

/// The reason for a failing claim, from its study.
#[derive(Deserialize)]
pub struct KnownReason {
    pub why: String,
    pub cause: String,
    pub evidence: String,
    pub command: Option<String>,
}

impl KnownReason {
    /// Returns the cause, its evidence and the reason.
    pub fn note(&self) -> String {
        let command = self.command.as_ref();
        let shown = command.map_or_else(String::new, |command| format!(" by `{command}`"));
        format!("({}; {}{shown}) {}", self.cause, self.evidence, self.why)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The name; the sources of the paper's studies begin with it.
    pub name: String,
    /// Authors, title and year.
    pub title: String,
    /// A page in `docs` that shows these studies' figures, instead of a page in `docs/papers`.
    pub illustrated: Option<String>,
    pub conclusions: Vec<Conclusion>,
}

impl Paper {
    /// Returns the path of the page relative to `docs`, without the extension.
    pub fn page(&self) -> String {
        let papers = || format!("papers/{}", self.name);
        self.illustrated.clone().unwrap_or_else(papers)
    }
}

/// A conclusion of a paper, and the claims that check it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// The conclusion, in a sentence.
    pub says: String,
    /// The section in which the paper draws it.
    pub place: String,
    /// Names of studies, each with words that claims must contain (none to select all claims).
    pub claims: Vec<(String, String)>,
}

/// All papers, in the order of the index.
pub static PAPERS: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    entries("papers.toml", "paper", include_str!("papers.toml")).expect("papers.toml is valid")
});
