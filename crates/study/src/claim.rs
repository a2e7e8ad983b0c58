//! The claims of a study and their checks, with one file for each family of checks.

mod along;
mod check;
mod ratio;
mod tally;
#[cfg(test)]
mod tests;
mod value;

use std::sync::Arc;

use diskarm_core::text::{InputError, quantity, with_noun};
use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Point, Selection};
use crate::expression::{Location, Scalar};
use crate::metric::Scope;
use crate::results::Results;
use check::{Bounds, Check, Finding, Keys};

pub use check::{CheckInfo, Number, Verdict};

/// A claim, usually of a paper, and its check.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The claim, in a sentence.
    pub says: String,
    /// The location of the claim in the paper.
    pub source: String,
    /// The paper's own number or wording.
    pub theirs: String,
    /// The origin of the bounds.
    pub bounds: BoundsOrigin,
    /// The lower bound of its check.
    pub at_least: Option<f64>,
    /// The upper bound of its check.
    pub at_most: Option<f64>,
    /// True if it only checks that the model reproduces one of its inputs.
    pub model_check: bool,
    /// The reason why it fails, if that was investigated.
    pub known: Option<KnownReason>,
    /// The reason why it is not measured, if known.
    pub not_measured: Option<String>,
    #[serde(skip)]
    check: Arc<Check>,
}

/// The origin of the bounds of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundsOrigin {
    /// The source gives them, or they follow from its wording.
    #[default]
    Source,
    /// The study chose them, because the source gives no number.
    Ours,
}

/// The checks that a claim can name.
pub const CHECKS: &[CheckInfo] = &[
    along::BIRTH_DEATH,
    ratio::EQUIVALENT,
    value::EXISTS,
    ratio::GAIN,
    ratio::ORDER,
    along::POWER,
    ratio::RATIO,
    along::SATURATES,
    value::SPREAD,
    along::SUSTAINS,
    value::VALUE,
];

/// The verdict on a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The verdict on all of its cells.
    pub verdict: Verdict,
    /// The measured numbers, as text.
    pub ours: String,
    /// True if the study explains why it fails or is not measured.
    pub explained: bool,
    /// The measured numbers, one by one.
    pub numbers: Vec<Number>,
}

/// A claim and its verdict; one object in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedClaim<'s> {
    /// The claim itself.
    #[serde(flatten)]
    pub claim: &'s Claim,
    /// Its verdict and its numbers.
    #[serde(flatten)]
    pub judged: Judgement,
}

impl JudgedClaim<'_> {
    /// Returns the reason why it does not hold, if known: cause, evidence and explanation.
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

    /// Returns true if its numbers are ratios of metrics rather than metrics.
    pub fn is_of_ratios(&self) -> bool {
        self.judged.verdict != Verdict::NotMeasured && self.claim.check.is_of_ratios
    }

    /// Returns true if it needs an explanation that the study does not give.
    pub fn is_unexplained(&self) -> bool {
        let verdict = self.judged.verdict;
        matches!(verdict, Verdict::Fails | Verdict::NotMeasured) && !self.judged.explained
    }
}

impl Claim {
    /// Returns remarks on the source: that we chose the bounds, and that this is a model check.
    pub fn remarks(&self) -> String {
        let bounds = (self.bounds == BoundsOrigin::Ours).then_some("; bounds ours");
        let kind = self.model_check.then_some("; a model check");
        [bounds, kind].into_iter().flatten().collect()
    }

    /// Judges the claim by the results of its study.
    pub fn judge(&self, results: &Results<'_>) -> Judgement {
        let found = (self.check.judge)(results);
        let explained = match found.verdict {
            Verdict::Holds | Verdict::Unsure => false,
            Verdict::Fails => {
                let known = self.known.as_ref();
                known.is_some_and(|known| known.explains(results.axes, &found.numbers))
            }
            Verdict::NotMeasured => found.is_left_out || self.not_measured.is_some(),
        };
        Judgement {
            verdict: found.verdict,
            ours: found.ours,
            explained,
            numbers: found.numbers,
        }
    }

    /// Returns this claim for a short form that leaves its cells out, so that it is not measured.
    pub(crate) fn without_cells(&self) -> Self {
        let finding = |_: &Results<'_>| Finding {
            verdict: Verdict::NotMeasured,
            ours: "left out of the short form".to_owned(),
            numbers: Vec::new(),
            is_left_out: true,
        };
        Self {
            check: Check::new(false, finding),
            ..self.clone()
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct RawClaim {
    says: String,
    source: String,
    theirs: String,
    #[serde(default)]
    bounds: BoundsOrigin,
    #[serde(default)]
    model_check: bool,
    known: Option<KnownReason>,
    not_measured: Option<String>,
    check: String,
    #[serde(flatten)]
    keys: toml::Table,
}

impl RawClaim {
    pub(crate) fn read(self, scope: &Scope<'_>) -> Result<Claim, InputError> {
        let at = &scope.at;
        let info = CHECKS.iter().find(|info| info.name == self.check);
        let names: Vec<&str> = CHECKS.iter().map(|info| info.name).collect();
        let info = info.ok_or_else(|| at.part("check").unknown(&self.check, "a check", &names))?;
        let bound = |key: &str| Scalar::new(self.keys.get(key)?)?.number();
        let within = self.keys.get("within").and_then(toml::Value::as_str);
        let (at_least, at_most) = match within.and_then(quantity::fraction) {
            Some(within) => (Some(1.0 / (1.0 + within)), Some(1.0 + within)),
            None => (bound("at_least"), bound("at_most")),
        };
        let (left, known) = (self.keys, at.part("known"));
        let mut keys = Keys { left, scope };
        let check = (info.read)(&mut keys)?;
        keys.finish(info)?;
        let known = self.known.map(|reason| reason.validate(scope.axes, &known));
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

const CAUSES: [&str; 5] = [
    // The source leaves something open, and this study chose.
    "our reading",
    // The source's workload is not known well enough to repeat it.
    "different workload",
    // The source disagrees with itself, or with its successor.
    "inconsistent paper",
    // The source uses a trace that is not public.
    "different trace",
    // The model is not right yet, or the cause has not been found.
    "model-defect",
];

/// A known reason for the failure of a claim. It applies only to numbers that belong to its cells
/// and lie within its bounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownReason {
    /// The reason, in a few sentences.
    pub why: String,
    /// The kind of cause, such as `different workload`.
    pub cause: String,
    /// `tested` if an experiment shows the cause, otherwise `conjecture`.
    pub evidence: String,
    /// The command that repeats the experiment.
    pub command: Option<String>,
    /// The smallest number that it explains, in the unit of the check; `None` if it explains only
    /// saturated cells.
    pub at_least: Option<f64>,
    /// The largest number that it explains, in the same unit.
    pub at_most: Option<f64>,
    /// True if it explains saturated cells, and ratios to them.
    #[serde(default)]
    pub saturated: bool,
    /// The file names of the traces that it is about; empty if the study needs none.
    #[serde(default)]
    pub traces: Vec<String>,
    #[serde(default, rename = "where", skip_serializing)]
    selected: toml::Table,
    /// The cells that `selected` selects; `None` if the short form leaves all of them out.
    #[serde(skip)]
    cells: Option<Selection>,
}

impl KnownReason {
    /// Returns the cause and its evidence: `different workload, conjecture`.
    pub fn kind(&self) -> String {
        format!("{}, {}", self.cause, self.evidence)
    }

    fn explains(&self, axes: &[Axis], numbers: &[Number]) -> bool {
        let is_failure = |number: &&Number| number.verdict == Verdict::Fails;
        let mut failures = numbers.iter().filter(is_failure);
        failures.all(|failure| self.covers(axes, failure))
    }

    /// Returns true if it covers the cell of this number and the number is within its bounds.
    fn covers(&self, axes: &[Axis], number: &Number) -> bool {
        let is_here = self
            .cells
            .as_ref()
            .is_some_and(|c| c.contains(&number.point));
        if !(is_here && self.is_about_trace(axes, &number.point)) {
            return false;
        }
        if number.is_saturated() {
            return self.saturated;
        }
        let (Some(min), Some(max)) = (self.at_least, self.at_most) else {
            return false;
        };
        // A number is outside the bounds only if its whole interval is.
        let bounds = Bounds::new(Some(min), Some(max), 0.0);
        bounds.verdict_between(number.low, number.high) != Verdict::Fails
    }

    fn is_about_trace(&self, axes: &[Axis], point: &Point) -> bool {
        let given = axes.iter().zip(point).filter(|(axis, _)| axis.is_given);
        let mut labels = given.map(|(axis, index)| &axis.values[*index].label);
        labels.all(|label| self.traces.contains(label))
    }

    fn validate(mut self, axes: &[Axis], at: &Location) -> Result<Self, InputError> {
        if !CAUSES.contains(&self.cause.as_str()) {
            return Err(at.part("cause").unknown(&self.cause, "a cause", &CAUSES));
        }
        self.check_evidence(at)?;
        self.check_bounds(at)?;
        if self.traces.is_empty() && axes.iter().any(|axis| axis.is_given) {
            let expected = "the file names of the traces that it is about";
            return Err(at.part("traces").error("nothing", expected));
        }
        let is_short = axes.iter().any(|axis| !axis.left_out.is_empty());
        self.cells = match Selection::read(&self.selected, axes, &at.part("where")) {
            // The selection is valid in the full form, so the short form must leave its cells out.
            Err(_) if is_short => None,
            cells => Some(cells?),
        };
        self.why = self.why.trim().to_owned();
        Ok(self)
    }

    fn check_evidence(&self, at: &Location) -> Result<(), InputError> {
        let command = at.part("command");
        match (self.evidence.as_str(), &self.command) {
            ("tested", Some(_)) | ("conjecture", None) => Ok(()),
            ("tested", None) => {
                let expected = "the command that repeats the experiment, as evidence is \"tested\"";
                Err(command.error("nothing", expected))
            }
            ("conjecture", Some(found)) => {
                let expected = "nothing, as evidence is \"conjecture\"";
                Err(command.error(format!("{found:?}"), expected))
            }
            (other, _) => {
                let all = ["tested", "conjecture"];
                Err(at.part("evidence").unknown(other, "evidence", &all))
            }
        }
    }

    /// Checks that both bounds are present and in order. Both may be absent if the reason explains
    /// only saturated cells.
    fn check_bounds(&self, at: &Location) -> Result<(), InputError> {
        let missing = |key, expected: &str| Err(at.part(key).error("nothing", expected));
        match (self.at_least, self.at_most) {
            (Some(min), Some(max)) if min <= max => Ok(()),
            (Some(min), Some(max)) => {
                let expected = format!("a number no greater than at_most = {max}");
                Err(at.part("at_least").error(min, expected))
            }
            (None, None) if self.saturated => Ok(()),
            (None, _) => missing("at_least", "the smallest number that it explains"),
            (_, None) => missing("at_most", "the largest number that it explains"),
        }
    }
}

/// The numbers of claims and of model checks with each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The numbers of claims that are not model checks.
    #[serde(flatten)]
    pub claims: Verdicts,
    /// The numbers of model checks, whose verdicts say nothing about a paper.
    pub model_checks: Verdicts,
}

/// The number of claims with each verdict; `known` marks those whose reason the study gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    holds: usize,
    unsure: usize,
    fails: usize,
    fails_known: usize,
    not_measured: usize,
    not_measured_known: usize,
}

impl Count {
    /// Counts the verdicts on these claims.
    pub fn new(claims: &[JudgedClaim<'_>]) -> Self {
        let mut count = Self::default();
        for JudgedClaim { claim, judged } in claims {
            let kind = if claim.model_check {
                &mut count.model_checks
            } else {
                &mut count.claims
            };
            let slot = match (judged.verdict, judged.explained) {
                (Verdict::Holds, _) => &mut kind.holds,
                (Verdict::Unsure, _) => &mut kind.unsure,
                (Verdict::Fails, false) => &mut kind.fails,
                (Verdict::Fails, true) => &mut kind.fails_known,
                (Verdict::NotMeasured, false) => &mut kind.not_measured,
                (Verdict::NotMeasured, true) => &mut kind.not_measured_known,
            };
            *slot += 1;
        }
        count
    }

    /// Returns the number of claims and model checks that still need an explanation.
    pub fn unexplained(&self) -> usize {
        let [claims, checks] = [self.claims, self.model_checks].map(|k| k.fails + k.not_measured);
        claims + checks
    }

    /// Formats the counts in one line: `31 claims: 27 hold, 4 fail; 3 model checks: 3 hold`.
    pub fn text(&self) -> String {
        let claims = self.claims.text("claim");
        let claims = claims.unwrap_or_else(|| "no claims".to_owned());
        match self.model_checks.text("model check") {
            None => claims,
            Some(checks) => format!("{claims}; {checks}"),
        }
    }
}

impl Verdicts {
    /// Formats the counts as `28 claims: 27 hold, 1 unsure`; `None` if all are 0.
    fn text(&self, what: &str) -> Option<String> {
        let not_measured_known = "not measured for a known reason";
        let parts = [
            (self.holds, ["holds", "hold"]),
            (self.unsure, ["unsure"; 2]),
            (
                self.fails_known,
                ["fails for a known reason", "fail for a known reason"],
            ),
            (self.fails, ["fails", "fail"]),
            (self.not_measured_known, [not_measured_known; 2]),
            (self.not_measured, ["not measured"; 2]),
        ];
        let all: usize = parts.iter().map(|(count, _)| count).sum();
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts =
            parts.map(|(count, words)| format!("{count} {}", words[usize::from(*count > 1)]));
        let parts = parts.collect::<Vec<_>>().join(", ");
        (all > 0).then(|| format!("{}: {parts}", with_noun(all, what)))
    }
}
