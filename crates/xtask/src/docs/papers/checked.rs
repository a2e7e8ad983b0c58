//! Studies and the verdicts on their claims, as the command line prints them.

use serde::Deserialize;

/// The used part of `diskarm study list --json`.
#[derive(Deserialize)]
pub struct Listed {
    pub name: String,
    pub title: String,
    pub source: String,
    pub cells: usize,
    pub takes_traces: bool,
}

impl Listed {
    /// Whether it repeats the paper `name`: its source begins with the paper's name.
    pub fn is_of(&self, name: &str) -> bool {
        self.source.split(',').next() == Some(name)
    }
}

/// A study in `diskarm study check --json`.
#[derive(Deserialize)]
pub struct Checked {
    pub study: String,
    pub claims: Vec<Claim>,
}

#[derive(Deserialize)]
pub struct Claim {
    pub says: String,
    pub source: String,
    pub theirs: String,
    pub ours: String,
    pub known: Option<Known>,
    pub verdict: String,
    pub explained: bool,
    pub bounds: String,
    pub model_check: bool,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    pub numbers: Vec<Number>,
}

/// A number of a claim: the ends of its interval, absent if its cell is saturated.
#[derive(Deserialize)]
pub struct Number {
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Claim {
    /// Whether a study of the paper's goes beyond it here: its source is `beyond NAME`.
    pub fn is_beyond(&self) -> bool {
        self.source.starts_with("beyond ")
    }

    /// Whether the bounds are not the source's.
    pub fn has_our_bounds(&self) -> bool {
        self.bounds == "ours"
    }

    /// What the source prints, as bounds of the number: `None` if the bounds are ours, if it is a
    /// model check, or if there is only one bound.
    pub fn printed(&self) -> Option<[f64; 2]> {
        let is_printed = !self.has_our_bounds() && !self.model_check;
        let has_number = self.theirs.contains(|c: char| c.is_ascii_digit());
        let bounds = [self.at_least?, self.at_most?];
        (is_printed && has_number && bounds[0] > 0.0).then_some(bounds)
    }

    /// From the least to the largest number, with their intervals; `None` if a cell is saturated.
    pub fn range(&self) -> Option<[f64; 2]> {
        let ends = self
            .numbers
            .iter()
            .map(|number| Some([number.low?, number.high?]));
        let ends: Vec<[f64; 2]> = ends.collect::<Option<_>>()?;
        ends.into_iter()
            .reduce(|all, one| [all[0].min(one[0]), all[1].max(one[1])])
    }
}

/// Why a claim fails, as its study has it.
#[derive(Deserialize)]
pub struct Known {
    pub why: String,
    pub cause: String,
    pub evidence: String,
    pub command: Option<String>,
}

impl Known {
    /// The cause, its evidence and the reason.
    pub fn note(&self) -> String {
        let Self {
            cause,
            evidence,
            why,
            ..
        } = self;
        let command = self.command.as_ref();
        let shown = command.map_or_else(String::new, |command| format!(" by `{command}`"));
        format!("({cause}; {evidence}{shown}) {why}")
    }
}
