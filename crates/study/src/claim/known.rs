//! Known reasons for the failure of a claim: a cause, its evidence, and the bounds of our numbers.

use diskarm_core::text::InputError;
use serde::{Deserialize, Serialize};

use super::check::{Bounds, Number, Verdict};
use crate::axis::Selection;
use crate::axis::{Axis, Point};
use crate::expression::Location;

/// The cause of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Cause {
    /// The source leaves something open, and this study chose.
    #[serde(rename = "our reading")]
    Reading,
    /// The source's workload is not known well enough to repeat it.
    #[serde(rename = "other workload")]
    Workload,
    /// The source disagrees with itself, or with its successor.
    #[serde(rename = "the paper's own")]
    Paper,
    /// The source uses a trace that is not public.
    #[serde(rename = "other trace")]
    Trace,
    /// The model is not right yet, or the cause has not been found.
    #[serde(rename = "model-defect")]
    Model,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 5] = [
        Self::Reading,
        Self::Workload,
        Self::Paper,
        Self::Trace,
        Self::Model,
    ];

    /// As it is written in a study.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reading => "our reading",
            Self::Workload => "other workload",
            Self::Paper => "the paper's own",
            Self::Trace => "other trace",
            Self::Model => "model-defect",
        }
    }
}

/// The evidence for a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// An experiment shows it; there is a command that repeats the experiment.
    Tested,
    /// It has not been tested.
    Conjecture,
}

/// A known reason for the failure of a claim. It applies only to numbers within its bounds and of
/// its
#[derive(Clone, Debug, Serialize)]
pub struct Known {
    /// The reason, in a few sentences.
    pub why: String,
    /// The kind of cause.
    pub cause: Cause,
    /// True if the cause was tested.
    pub evidence: Evidence,
    /// The command that shows it; present if it was tested.
    pub command: Option<String>,
    /// The least figure that it explains, in the unit of the check; `None` if it explains only
    /// saturated cells.
    pub at_least: Option<f64>,
    /// The largest figure that it explains, in the same unit.
    pub at_most: Option<f64>,
    /// True if it explains saturated cells, and ratios to them.
    pub saturated: bool,
    /// The file names of the traces that it is about; empty if the study needs none.
    pub traces: Vec<String>,
    /// The cells that it is about; `None` if the short form leaves all of them out.
    #[serde(skip)]
    cells: Option<Selection>,
}

impl Known {
    /// Returns true if it explains all `failures`, each of which fails its check.
    pub(super) fn explains(&self, axes: &[Axis], numbers: &[Number]) -> bool {
        let is_failure = |number: &&Number| number.verdict == Verdict::Fails;
        let mut failures = numbers.iter().filter(is_failure);
        failures.all(|failure| self.covers(axes, failure))
    }

    /// Returns true if it is about the cell of this number, and the number is where it says.
    fn covers(&self, axes: &[Axis], number: &Number) -> bool {
        let is_here = self.cells.as_ref().is_some_and(|c| c.has(&number.point));
        if !(is_here && self.is_of_its_trace(axes, &number.point)) {
            return false;
        }
        match (number.is_saturated(), self.bounds()) {
            (true, _) => self.saturated,
            (false, None) => false,
            // It leaves the bounds where its whole interval does.
            (false, Some(bounds)) => {
                bounds.verdict_between(number.low, number.high) != Verdict::Fails
            }
        }
    }

    fn bounds(&self) -> Option<Bounds> {
        let (Some(_), Some(_)) = (self.at_least, self.at_most) else {
            return None;
        };
        Some(Bounds {
            at_least: self.at_least,
            at_most: self.at_most,
            tie: 0.0,
        })
    }

    fn is_of_its_trace(&self, axes: &[Axis], point: &Point) -> bool {
        let given = axes.iter().zip(point).filter(|(axis, _)| axis.is_given);
        let mut labels = given.map(|(axis, place)| &axis.values[*place].label);
        labels.all(|label| self.traces.contains(label))
    }

    /// The cause and its evidence: `other workload, conjecture`.
    pub fn kind(&self) -> String {
        let evidence = match self.evidence {
            Evidence::Tested => "tested",
            Evidence::Conjecture => "conjecture",
        };
        format!("{}, {evidence}", self.cause.name())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKnown {
    why: String,
    cause: String,
    evidence: String,
    command: Option<String>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    #[serde(default)]
    saturated: bool,
    #[serde(default)]
    traces: Vec<String>,
    #[serde(default, rename = "where")]
    cells: toml::Table,
}

impl RawKnown {
    pub(super) fn read(self, axes: &[Axis], at: &Location) -> Result<Known, InputError> {
        let names = Cause::ALL.map(Cause::name);
        let cause = Cause::ALL.into_iter().find(|c| c.name() == self.cause);
        let unknown = || at.part("cause").unknown(&self.cause, "a cause", &names);
        let cause = cause.ok_or_else(unknown)?;
        let evidence = self.evidence(at)?;
        self.check_bounds(at)?;
        let is_given = axes.iter().any(|axis| axis.is_given);
        if is_given && self.traces.is_empty() {
            let expected = "the file names of the traces that it is about";
            return Err(at.part("traces").error("nothing", expected));
        }
        let is_short = axes.iter().any(|axis| !axis.left_out.is_empty());
        let cells = match Selection::read(&self.cells, axes, &at.part("where")) {
            Ok(cells) => Some(cells),
            // Read without error in the full form: its cells are those left out.
            Err(_) if is_short => None,
            Err(error) => return Err(error),
        };
        Ok(Known {
            why: self.why.trim().to_owned(),
            cause,
            evidence,
            command: self.command,
            at_least: self.at_least,
            at_most: self.at_most,
            saturated: self.saturated,
            traces: self.traces,
            cells,
        })
    }

    fn evidence(&self, at: &Location) -> Result<Evidence, InputError> {
        match (self.evidence.as_str(), &self.command) {
            ("tested", Some(_)) => Ok(Evidence::Tested),
            ("conjecture", None) => Ok(Evidence::Conjecture),
            ("tested", None) => {
                let expected = "the command that shows it, as evidence is \"tested\"";
                Err(at.part("command").error("nothing", expected))
            }
            ("conjecture", Some(command)) => {
                let expected = "none, as evidence is \"conjecture\"";
                Err(at.part("command").error(format!("{command:?}"), expected))
            }
            (other, _) => {
                let all = ["tested", "conjecture"];
                Err(at.part("evidence").unknown(other, "evidence", &all))
            }
        }
    }

    /// Both bounds, in order; none where it explains saturated cells only.
    fn check_bounds(&self, at: &Location) -> Result<(), InputError> {
        match (self.at_least, self.at_most) {
            (Some(min), Some(max)) if min <= max => Ok(()),
            (Some(min), Some(max)) => {
                let expected = format!("no more than at_most, {max}");
                Err(at.part("at_least").error(min.to_string(), expected))
            }
            (None, None) if self.saturated => Ok(()),
            (None, _) => Err(at
                .part("at_least")
                .error("nothing", "the least figure that it explains")),
            (_, None) => Err(at
                .part("at_most")
                .error("nothing", "the largest figure that it explains")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::AxisValue;
    use crate::expression::Scalar;
    use crate::expression::StudyText;

    fn traces(names: &[&str]) -> Vec<Axis> {
        let values = names.iter().map(|name| Scalar::Text((*name).to_owned()));
        vec![Axis {
            name: "trace".to_owned(),
            title: "trace".to_owned(),
            unit: None,
            values: values.map(AxisValue::plain).collect(),
            is_given: true,
            left_out: Vec::new(),
        }]
    }

    fn read(text: &str, axes: &[Axis]) -> Result<Known, InputError> {
        let file = "t.toml";
        let raw: RawKnown = toml::from_str(text).unwrap();
        raw.read(axes, &StudyText { file, text }.at(&(0..0), "known"))
    }

    /// The reason for one trace does not excuse the same number of another.
    #[test]
    fn a_reason_is_about_its_own_trace() {
        let text = "why = \"w\"\ncause = \"other trace\"\nevidence = \"conjecture\"\n\
                    at_least = 1\nat_most = 2\n";
        let axes = traces(&["theirs", "mine"]);
        let known = read(&format!("{text}traces = [\"theirs\"]"), &axes).unwrap();
        let number = |trace: usize| Number {
            at: String::new(),
            low: 1.5,
            high: 1.5,
            verdict: Verdict::Fails,
            point: vec![trace],
        };
        assert!(known.explains(&axes, &[number(0)]));
        assert!(!known.explains(&axes, &[number(0), number(1)]));
        let error = read(text, &axes).unwrap_err().to_string();
        let expected =
            "traces: found nothing, expected the file names of the traces that it is about";
        assert!(error.contains(expected), "{error}");
    }
}
