//! What a study claims, as checks that anybody can repeat: a file a check.

mod bounds;
mod crossing;
mod endless;
mod gain;
mod interval;
mod keys;
mod least;
mod left_out;
mod line;
mod load;
mod order;
mod power;
mod ratio;
mod saturates;
mod search;
mod spread;
mod sustains;
mod tally;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::metric::Column;
use crate::place::Place;
use crate::results::Results;
use diskarm_core::text::InputError;
use keys::Keys;

/// A claim of a paper, and how it is checked.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The claim, in a sentence.
    pub says: String,
    /// Where the paper makes it.
    pub source: String,
    /// The paper's own number, or what it says.
    pub theirs: String,
    /// Why it does not come out, where that was looked into.
    pub known: Option<String>,
    #[serde(skip)]
    check: Arc<dyn Check>,
}

/// How a claim is checked.
trait Check: fmt::Debug + Send + Sync {
    /// Holds it against what came of the study.
    fn judge(&self, results: &Results<'_>) -> Judged;
}

/// What a check says about itself, and how it is read.
pub struct Info {
    /// What `check` calls it.
    pub name: &'static str,
    /// When a claim holds, in one line.
    pub holds: &'static str,
    /// What else the claim says, as it is written with its default, and what each means.
    pub keys: &'static [(&'static str, &'static str)],
    read: fn(&mut Keys<'_>) -> Result<Arc<dyn Check>, InputError>,
}

/// All checks.
pub const CHECKS: &[Info] = &[
    crossing::INFO,
    gain::INFO,
    interval::INFO,
    least::INFO,
    order::INFO,
    power::INFO,
    ratio::INFO,
    saturates::INFO,
    spread::INFO,
    sustains::INFO,
    value::INFO,
];

/// Whether a claim came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// In every cell that it speaks of.
    Holds,
    /// A confidence interval reaches over a bound.
    Unsure,
    /// Not in some cell, beyond its interval.
    Fails,
    /// None of its cells has a figure.
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Unsure => "unsure",
            Self::Fails => "fails",
            Self::NotMeasured => "not measured",
        })
    }
}

/// What came of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// Whether it came out.
    pub verdict: Verdict,
    /// Our own numbers.
    pub ours: String,
}

impl Info {
    /// The names of its keys, without their defaults.
    fn key_names(&self) -> Vec<&'static str> {
        let names = self.keys.iter().map(|(written, _)| written.split(' '));
        names.filter_map(|mut words| words.next()).collect()
    }
}

/// A claim and its verdict; one object in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedClaim<'s> {
    /// The claim.
    #[serde(flatten)]
    pub claim: &'s Claim,
    /// Its verdict.
    #[serde(flatten)]
    pub judged: Judged,
}

impl Claim {
    /// Holds it against what came of its study.
    pub fn judge(&self, results: &Results<'_>) -> Judged {
        self.check.judge(results)
    }
}

#[derive(Deserialize)]
pub(crate) struct RawClaim {
    says: String,
    source: String,
    theirs: String,
    known: Option<String>,
    check: String,
    #[serde(flatten)]
    keys: toml::Table,
}

impl RawClaim {
    pub(crate) fn read(
        self,
        axes: &[Axis],
        columns: &[Column],
        at: &Place,
    ) -> Result<Claim, InputError> {
        let info = CHECKS.iter().find(|info| info.name == self.check);
        let known: Vec<&str> = CHECKS.iter().map(|info| info.name).collect();
        let info = info.ok_or_else(|| at.part("check").unknown(&self.check, "a check", &known))?;
        let mut keys = Keys::new(self.keys, axes, columns, at);
        let check = (info.read)(&mut keys)?;
        keys.finish(info)?;
        Ok(Claim {
            says: self.says,
            source: self.source,
            theirs: self.theirs,
            known: self.known.map(|known| known.trim().to_owned()),
            check,
        })
    }
}
