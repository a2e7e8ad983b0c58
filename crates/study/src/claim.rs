//! The claims of a study, as checks that anybody can repeat: one file per check.

mod birth_death;
mod bounds;
mod crossing;
mod endless;
mod equal_queue;
mod equivalent;
mod exists;
mod gain;
mod interval;
mod keys;
mod known;
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
mod subject;
mod sustains;
mod tally;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;
use std::sync::Arc;

use diskarm_core::text::InputError;
use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Point};
use crate::location::Location;
use crate::metric::Column;
use crate::results::Results;
use crate::scalar::Scalar;
use keys::Keys;
use known::RawKnown;
pub use known::{Cause, Evidence, Known};

/// A claim, usually of a paper, and its check.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The claim, in a sentence.
    pub says: String,
    /// Where the claim is made.
    pub source: String,
    /// The paper's own number or wording.
    pub theirs: String,
    /// Whose the bounds are.
    pub bounds: BoundsOf,
    /// The lower bound of its check, if it has one.
    pub at_least: Option<f64>,
    /// The upper bound.
    pub at_most: Option<f64>,
    /// Whether it only repeats an input of the model, which the model may not change.
    pub model_check: bool,
    /// Why it fails, if that was investigated.
    pub known: Option<Known>,
    /// Why it may not be measured, if that is so.
    pub not_measured: Option<String>,
    #[serde(skip)]
    check: Arc<dyn Check>,
}

/// Whose bounds a claim is checked with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundsOf {
    /// They are the source's, or follow from its wording.
    #[default]
    Source,
    /// They are chosen here: the source has no number.
    Ours,
}

/// The check of a claim.
trait Check: fmt::Debug + Send + Sync {
    /// Judges the claim by the results of the study.
    fn judge(&self, results: &Results<'_>) -> Found;

    /// Whether its numbers are ratios of metrics, and not metrics themselves.
    fn is_of_ratios(&self) -> bool {
        false
    }
}

/// What a check finds.
struct Found {
    verdict: Verdict,
    ours: String,
    numbers: Vec<Number>,
    /// Whether the short form leaves its cells out.
    is_left_out: bool,
}

/// The description of a check, and its reader.
pub struct CheckInfo {
    /// Its name, the value of `check`.
    pub name: &'static str,
    /// When a claim holds, in one line.
    pub holds: &'static str,
    /// Its other keys, each with its default, and their meanings.
    pub keys: &'static [(&'static str, &'static str)],
    read: fn(&mut Keys<'_>) -> Result<Arc<dyn Check>, InputError>,
}

/// All checks.
pub const CHECKS: &[CheckInfo] = &[
    birth_death::INFO,
    crossing::INFO,
    equal_queue::INFO,
    equivalent::INFO,
    exists::INFO,
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

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds in every cell that it covers.
    Holds,
    /// A confidence interval contains a bound.
    Unsure,
    /// It fails in some cell by more than the interval.
    Fails,
    /// None of its cells has the metric.
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

/// The verdict on a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Whether it holds.
    pub verdict: Verdict,
    /// The numbers measured here.
    pub ours: String,
    /// Whether the study explains why it fails or is not measured; `false` if it does neither.
    pub explained: bool,
    /// The numbers measured here, one by one.
    pub numbers: Vec<Number>,
}

/// A number that a claim is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    /// The cell or line that it belongs to.
    pub at: String,
    /// The lower end of its 95 % interval, or of the range of a load.
    pub low: f64,
    /// The upper end; infinite, and `null` in JSON, if the cell is saturated.
    pub high: f64,
    /// Whether the claim holds there.
    pub verdict: Verdict,
    #[serde(skip)]
    point: Point,
}

impl CheckInfo {
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

impl Number {
    /// Whether its cell is saturated, or the cell that it is a multiple of.
    fn is_saturated(&self) -> bool {
        self.low == f64::INFINITY || (self.low, self.high) == (0.0, 0.0)
    }
}

impl JudgedClaim<'_> {
    /// Why it does not hold, as far as the study says: the cause, its evidence and the reason.
    pub fn reason(&self) -> Option<String> {
        let known = self.claim.known.as_ref();
        let known = known.map(|known| format!("{}: {}", known.kind(), known.why));
        match self.judged.verdict {
            Verdict::Holds => None,
            Verdict::Fails if !self.judged.explained => {
                known.map(|known| format!("not for the known reason ({known})"))
            }
            Verdict::Unsure | Verdict::Fails => known,
            Verdict::NotMeasured => self.claim.not_measured.clone(),
        }
    }
}

impl JudgedClaim<'_> {
    /// Whether its numbers are ratios of metrics, and not metrics themselves.
    pub fn is_of_ratios(&self) -> bool {
        self.judged.verdict != Verdict::NotMeasured && self.claim.check.is_of_ratios()
    }
}

impl Claim {
    /// What to say behind its source: whether the bounds are ours, and whether it is a model check.
    pub fn remarks(&self) -> String {
        let bounds = (self.bounds == BoundsOf::Ours).then_some("; bounds ours");
        let kind = self.model_check.then_some("; a model check");
        [bounds, kind].into_iter().flatten().collect()
    }

    /// Judges it by the results of its study.
    pub fn judge(&self, results: &Results<'_>) -> Judged {
        let found = self.check.judge(results);
        let explained = match found.verdict {
            Verdict::Holds | Verdict::Unsure => false,
            Verdict::Fails => {
                let known = self.known.as_ref();
                known.is_some_and(|known| known.explains(results.axes, &found.numbers))
            }
            Verdict::NotMeasured => found.is_left_out || self.not_measured.is_some(),
        };
        Judged {
            verdict: found.verdict,
            ours: found.ours,
            explained,
            numbers: found.numbers,
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct RawClaim {
    says: String,
    source: String,
    theirs: String,
    #[serde(default)]
    bounds: BoundsOf,
    #[serde(default)]
    model_check: bool,
    known: Option<RawKnown>,
    not_measured: Option<String>,
    check: String,
    #[serde(flatten)]
    keys: toml::Table,
}

impl RawClaim {
    pub(crate) fn read(
        self,
        axes: &[Axis],
        columns: &[Column],
        at: &Location,
    ) -> Result<Claim, InputError> {
        let info = CHECKS.iter().find(|info| info.name == self.check);
        let names: Vec<&str> = CHECKS.iter().map(|info| info.name).collect();
        let info = info.ok_or_else(|| at.part("check").unknown(&self.check, "a check", &names))?;
        let bound = |key: &str| {
            self.keys
                .get(key)
                .and_then(|value| Scalar::of(value)?.number())
        };
        let within = self.keys.get("within").and_then(toml::Value::as_str);
        let (at_least, at_most) = match within.and_then(diskarm_core::text::quantity::fraction) {
            Some(within) => (Some(1.0 / (1.0 + within)), Some(1.0 + within)),
            None => (bound("at_least"), bound("at_most")),
        };
        let mut keys = Keys::new(self.keys, axes, columns, at);
        let check = (info.read)(&mut keys)?;
        keys.finish(info)?;
        let known = self.known.map(|known| known.read(axes, &at.part("known")));
        Ok(Claim {
            says: self.says,
            source: self.source,
            theirs: self.theirs,
            bounds: self.bounds,
            at_least,
            at_most,
            model_check: self.model_check,
            known: known.transpose()?,
            not_measured: self.not_measured,
            check,
        })
    }
}
