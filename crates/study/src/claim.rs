//! The claims of a study, as checks that readers can repeat: one file per family of checks.

mod check;
mod known;
mod line;
mod model;
mod ratio;
mod sustains;
mod tally;
#[cfg(test)]
mod tests;
mod value;

use std::sync::Arc;

use diskarm_core::text::InputError;
use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::expression::Location;
use crate::expression::Scalar;
use crate::metric::Column;
use crate::results::Results;
use check::{Check, Finding, Keys};
use known::RawKnown;

pub use check::{CheckInfo, Number, Verdict};
pub use known::{Cause, Evidence, Known};

/// A claim, usually of a paper, and its check.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The claim, in a sentence.
    pub says: String,
    /// The place of the claim in the paper.
    pub source: String,
    /// The paper's own number or wording.
    pub theirs: String,
    /// The origin of the bounds.
    pub bounds: BoundsOf,
    /// The lower bound of its check.
    pub at_least: Option<f64>,
    /// The upper bound.
    pub at_most: Option<f64>,
    /// True if it only repeats an input of the model, which the model may not change.
    pub model_check: bool,
    /// The reason why it fails, if that was investigated.
    pub known: Option<Known>,
    /// The reason why it may not be measured.
    pub not_measured: Option<String>,
    #[serde(skip)]
    check: Arc<dyn Check>,
}

/// The origin of the bounds of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundsOf {
    /// They are the source's, or follow from its wording.
    #[default]
    Source,
    /// They are chosen here: the source has no number.
    Ours,
}

/// All checks.
pub const CHECKS: &[CheckInfo] = &[
    model::BIRTH_DEATH,
    ratio::EQUIVALENT,
    value::EXISTS,
    ratio::GAIN,
    ratio::ORDER,
    model::POWER,
    ratio::RATIO,
    sustains::SATURATES,
    value::SPREAD,
    sustains::SUSTAINS,
    value::VALUE,
];

/// The verdict on a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The numbers measured here.
    pub ours: String,
    /// True if the study explains why it fails or is not measured.
    pub explained: bool,
    /// The numbers measured here, one by one.
    pub numbers: Vec<Number>,
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

impl JudgedClaim<'_> {
    /// Returns the reason why it does not hold, as far as the study gives one: the cause, its
    /// evidence and an explanation.
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
    /// Returns true if its numbers are ratios of metrics, and not metrics themselves.
    pub fn is_of_ratios(&self) -> bool {
        self.judged.verdict != Verdict::NotMeasured && self.claim.check.is_of_ratios()
    }
}

impl Claim {
    /// Returns remarks to follow its source: on the origin of the bounds, and on a model check.
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

    /// Returns the claim for a short form without its cells.
    pub(crate) fn left_out(&self) -> Self {
        Self {
            check: Arc::new(LeftOut),
            ..self.clone()
        }
    }
}

/// The check of a claim whose cells the short form of a study leaves out.
#[derive(Debug)]
struct LeftOut;

impl Check for LeftOut {
    fn judge(&self, _: &Results<'_>) -> Finding {
        Finding {
            verdict: Verdict::NotMeasured,
            ours: "left out of the short form".to_owned(),
            numbers: Vec::new(),
            is_left_out: true,
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
