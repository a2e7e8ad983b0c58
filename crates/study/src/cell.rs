//! The inputs of a single cell, with their placeholders replaced.

use std::collections::BTreeMap;
use std::ops::Range;

use diskarm_core::text::InputError;
use serde::Serialize;
use toml::Spanned;

use crate::axis::{Axis, Point, describe, names};
use crate::expression::Scalar;
use crate::expression::{Location, StudyText};
use crate::expression::{Names, fill};
use crate::measure::Measure;

/// The keys of `[cell]`, as written in the file.
pub(crate) type Keys = BTreeMap<String, Spanned<toml::Value>>;

/// All keys of `[cell]`.
pub(crate) const KEYS: &[&str] = &[
    "drive",
    "policy",
    "workload",
    "trace",
    "faster",
    "fit",
    "device",
    "from",
    "until",
    "outstanding",
    "requests",
    "warm_up",
    "seed",
    "replications",
    "until_ci95",
    "most_replications",
    "max_waiting",
    "measure",
    "scan",
    "sizes",
    "spec",
];

/// The inputs of a cell: everything that its results depend on, except the seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inputs {
    /// A name in the catalogue, or the path of a `.toml` file.
    pub drive: String,
    /// Values to set in its specification: TOML text by dotted key.
    pub spec: BTreeMap<String, String>,
    /// The policy, as for `--policy`.
    pub policy: String,
    /// The source of its requests.
    pub source: CellInput,
    /// Completions left out of the results.
    pub warm_up: u64,
    /// A run ends as saturated when more requests than this wait.
    pub max_waiting: Option<u64>,
    /// The measure.
    pub measure: Measure,
    /// The options of the measure `scan`, by keys named after the flags of `diskarm scan`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scan: BTreeMap<String, String>,
    /// The sizes that the measure `predictions` judges: `5..9` in sectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
}

/// The source of a cell's requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CellInput {
    /// A workload.
    #[serde(rename = "drawn")]
    Generated {
        /// The workload, as for `--workload`.
        workload: String,
        /// The number of requests in a run.
        requests: u64,
    },
    /// A trace file.
    Traced {
        /// The path.
        trace: String,
        /// Changes to the trace, named after the flags of `diskarm simulate`.
        changes: BTreeMap<String, String>,
    },
}

/// The number of runs of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Replications {
    /// The first seed.
    pub seed: u64,
    /// The minimum number of runs.
    pub min: u32,
    /// The maximum number of runs.
    pub max: u32,
    /// Runs are added until the half width of the first metric's 95 % interval is this share of
    /// its mean.
    pub until_ci95: Option<f64>,
}

/// A cell: a point of the study and what it simulates.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The index of its value on each axis.
    pub point: Point,
    /// Its inputs.
    pub inputs: Inputs,
    /// The number of its runs.
    pub replications: Replications,
}

impl Cell {
    /// Returns true if runs with other seeds may differ: with generated requests, or of a scan,
    /// whose drive may do things at random. Nothing else about a trace is random.
    pub(crate) fn is_random(&self) -> bool {
        let is_generated = matches!(self.inputs.source, CellInput::Generated { .. });
        is_generated || self.inputs.measure == Measure::Scan
    }
}

/// Reads the cells of a study.
pub(crate) struct Reader<'a> {
    pub(crate) text: StudyText<'a>,
    pub(crate) axes: &'a [Axis],
    pub(crate) keys: &'a Keys,
}

impl Reader<'_> {
    /// The cell at `point`.
    pub(crate) fn read(&self, point: &Point) -> Result<Cell, InputError> {
        let names = names(self.axes, point);
        let filled = Filled {
            reader: self,
            point,
            names: &names,
        };
        filled.one_of_both()?;
        let generated = self.keys.contains_key("workload");
        let source = match generated {
            true => CellInput::Generated {
                workload: filled.text("workload")?,
                requests: filled.count("requests", 1, None)?,
            },
            false => CellInput::Traced {
                trace: filled.text("trace")?,
                changes: filled.changes()?,
            },
        };
        let warm_up = filled.count("warm_up", 0, Some(0))?;
        if let CellInput::Generated { requests, .. } = source
            && warm_up >= requests
        {
            let expected = format!("less than the {requests} requests");
            return Err(filled.at("warm_up").error(warm_up.to_string(), expected));
        }
        let max_waiting = match (generated, self.keys.contains_key("max_waiting")) {
            (false, false) => None,
            _ => Some(filled.count("max_waiting", 1, Some(MAX_WAITING))?),
        };
        let measure = filled.measure()?;
        Ok(Cell {
            point: point.clone(),
            inputs: Inputs {
                drive: filled.text("drive")?,
                spec: filled.spec()?,
                policy: filled.text("policy")?,
                source,
                warm_up,
                max_waiting,
                measure,
                scan: filled.scan(measure)?,
                sizes: filled.sizes(measure)?,
            },
            replications: filled.replications(generated || measure == Measure::Scan)?,
        })
    }
}

/// More waiting requests than at any load that a drive can sustain.
const MAX_WAITING: u64 = 2_000;

/// The keys of one cell.
struct Filled<'r> {
    reader: &'r Reader<'r>,
    point: &'r Point,
    names: &'r Names<'r>,
}

impl Filled<'_> {
    fn at(&self, key: &str) -> Location {
        let keys = self.reader.keys;
        let nowhere: Range<usize> = 0..0;
        let span = keys.get(key).map_or(nowhere, Spanned::span);
        self.reader.text.at(&span, format!("cell.{key}"))
    }

    /// `expected`, with the cell it applies to.
    fn expected(&self, expected: &str) -> String {
        match self.point[..] {
            [] => expected.to_owned(),
            _ => format!(
                "{expected} (in the cell {})",
                describe(self.reader.axes, self.point)
            ),
        }
    }

    fn scalar(&self, key: &str) -> Result<Option<Scalar>, InputError> {
        let Some(value) = self.reader.keys.get(key) else {
            return Ok(None);
        };
        self.fill(value.get_ref(), &self.at(key)).map(Some)
    }

    fn fill(&self, value: &toml::Value, at: &Location) -> Result<Scalar, InputError> {
        let wrong = |expected: &str| at.error(value.to_string(), self.expected(expected));
        let scalar = Scalar::of(value).ok_or_else(|| wrong("a single value"))?;
        match &scalar {
            Scalar::Text(text) => fill(text, self.names).map_err(|why| wrong(&why)),
            _ => Ok(scalar),
        }
    }

    fn text(&self, key: &str) -> Result<String, InputError> {
        let found = self.scalar(key)?.map(|scalar| scalar.to_string());
        let found = found.filter(|text| !text.is_empty());
        found.ok_or_else(|| self.at(key).error("nothing", self.expected("it to be set")))
    }

    /// A whole number of at least `min`; `default` where the key is absent.
    fn count(&self, key: &str, min: u64, default: Option<u64>) -> Result<u64, InputError> {
        let expected = self.expected(&format!("a whole number of {min} or more"));
        let wrong = |found: String| self.at(key).error(found, expected);
        match (self.scalar(key)?, default) {
            (None, Some(default)) => Ok(default),
            (None, None) => Err(wrong("nothing".to_owned())),
            (Some(found), _) => {
                let number = found.number().or_else(|| found.to_string().parse().ok());
                let whole = number.filter(|n| n.fract() == 0.0 && *n >= min as f64 && *n < 1e15);
                let whole = whole.ok_or_else(|| wrong(found.to_string()))?;
                Ok(whole as u64)
            }
        }
    }

    /// Checks that there is either a workload or a trace, with the keys that belong to it.
    fn one_of_both(&self) -> Result<(), InputError> {
        let has = |key: &&&str| self.reader.keys.contains_key(**key);
        let (own, other) = match (has(&&"workload"), has(&&"trace")) {
            (true, false) => ("workload", TRACE_KEYS.to_vec()),
            (false, true) => ("trace", self.keys_without_a_trace()?),
            (false, false) => {
                let expected = "a workload or a trace";
                return Err(self.at("workload").error("neither", expected));
            }
            (true, true) => return Err(self.at("trace").error("both", "a workload or a trace")),
        };
        match other.iter().find(has) {
            Some(stray) => {
                let expected = format!("nothing, as the cell has a {own}");
                Err(self.at(stray).error("a value", expected))
            }
            None => Ok(()),
        }
    }

    /// Keys that need a workload. With the measure `scan` a trace has runs that differ: by what the
    /// drive does at random.
    fn keys_without_a_trace(&self) -> Result<Vec<&'static str>, InputError> {
        Ok(match self.measure()? {
            Measure::Scan => LENGTH_KEYS.to_vec(),
            _ => [LENGTH_KEYS, CHANCE_KEYS].concat(),
        })
    }

    /// The changes to a trace.
    fn changes(&self) -> Result<BTreeMap<String, String>, InputError> {
        let mut changes = BTreeMap::new();
        for key in TRACE_KEYS {
            if let Some(scalar) = self.scalar(key)? {
                changes.insert((*key).to_owned(), scalar.to_string());
            }
        }
        Ok(changes)
    }

    /// The table `key` of this cell, each value as `write` writes it; empty where it is absent.
    fn table(
        &self,
        key: &str,
        expected: &str,
        write: impl Fn(&toml::Value, &Location) -> Result<String, InputError>,
    ) -> Result<BTreeMap<String, String>, InputError> {
        let Some(found) = self.reader.keys.get(key) else {
            return Ok(BTreeMap::new());
        };
        let at = self.at(key);
        let toml::Value::Table(table) = found.get_ref() else {
            return Err(at.error(found.get_ref().to_string(), expected));
        };
        let filled = table
            .iter()
            .map(|(key, value)| Ok((key.clone(), write(value, &at.part(key))?)));
        filled.collect()
    }

    /// The values to set in the drive's specification, as TOML text.
    fn spec(&self) -> Result<BTreeMap<String, String>, InputError> {
        self.table("spec", "a table of dotted keys", |value, at| {
            self.written(value, at)
        })
    }

    /// A value as TOML text; in a list, each of its values is filled.
    fn written(&self, value: &toml::Value, at: &Location) -> Result<String, InputError> {
        match value {
            toml::Value::Array(values) => {
                let values = values.iter().map(|value| self.written(value, at));
                let values: Vec<String> = values.collect::<Result<_, _>>()?;
                Ok(format!("[{}]", values.join(", ")))
            }
            toml::Value::Table(_) => Ok(value.to_string()),
            single => Ok(written(&self.fill(single, at)?)),
        }
    }

    fn scan(&self, measure: Measure) -> Result<BTreeMap<String, String>, InputError> {
        if measure != Measure::Scan && self.reader.keys.contains_key("scan") {
            let expected = self.expected("the measure \"scan\"");
            return Err(self.at("scan").error("a table", expected));
        }
        self.table("scan", "a table of flags of `diskarm scan`", |value, at| {
            Ok(self.fill(value, at)?.to_string())
        })
    }

    /// The sizes that are judged.
    fn sizes(&self, measure: Measure) -> Result<Option<String>, InputError> {
        let sizes = self.scalar("sizes")?.map(|sizes| sizes.to_string());
        match sizes {
            Some(_) if measure != Measure::Predictions => {
                let expected = self.expected("the measure \"predictions\"");
                Err(self.at("sizes").error("sizes", expected))
            }
            sizes => Ok(sizes),
        }
    }

    fn measure(&self) -> Result<Measure, InputError> {
        let measure = match self.scalar("measure")? {
            None => Measure::Responses,
            Some(name) => Measure::find(&name.to_string(), &self.at("measure"))?,
        };
        let changed = TRACE_KEYS
            .iter()
            .find(|key| self.reader.keys.contains_key(**key));
        match changed {
            Some(key) if measure == Measure::Predictions => {
                let expected = "nothing, as the measure \"predictions\" follows a trace as it is";
                Err(self.at(key).error("a value", expected))
            }
            _ => Ok(measure),
        }
    }

    fn replications(&self, is_random: bool) -> Result<Replications, InputError> {
        let count = |key, default| {
            let count = self.count(key, 1, default)?;
            let wrong = |_| {
                self.at(key)
                    .error(count.to_string(), "no more than a million")
            };
            u32::try_from(count)
                .ok()
                .filter(|count| *count <= 1_000_000)
                .ok_or(())
                .map_err(wrong)
        };
        if !is_random {
            // Nothing about a trace is random.
            return Ok(Replications {
                seed: 0,
                min: 1,
                max: 1,
                until_ci95: None,
            });
        }
        let min = count("replications", Some(1))?;
        let until_ci95 = self.share("until_ci95")?;
        if until_ci95.is_some() && min < 3 {
            let expected = "3 or more with until_ci95, as two agree by chance";
            return Err(self.at("replications").error(min.to_string(), expected));
        }
        let max = match until_ci95 {
            Some(_) => count("most_replications", None)?,
            None => min,
        };
        if max < min {
            let expected = format!("at least the {min} of cell.replications");
            return Err(self
                .at("most_replications")
                .error(max.to_string(), expected));
        }
        Ok(Replications {
            seed: self.count("seed", 0, Some(1))?,
            min,
            max,
            until_ci95,
        })
    }

    /// A percentage above 0.
    fn share(&self, key: &str) -> Result<Option<f64>, InputError> {
        let Some(scalar) = self.scalar(key)? else {
            return Ok(None);
        };
        let text = scalar.to_string();
        let share = diskarm_core::text::quantity::fraction(&text).filter(|s| *s > 0.0);
        let wrong = || {
            self.at(key)
                .error(format!("{text:?}"), "a percentage such as \"2 %\"")
        };
        share.ok_or_else(wrong).map(Some)
    }
}

/// Keys that need `trace`; each is a flag of `diskarm simulate`.
const TRACE_KEYS: &[&str] = &["faster", "fit", "device", "from", "until", "outstanding"];

/// Keys that need `workload`, as a trace has an end.
const LENGTH_KEYS: &[&str] = &["requests"];

/// Keys that need chance: a workload, or the measure `scan`.
const CHANCE_KEYS: &[&str] = &["seed", "replications", "until_ci95", "most_replications"];

/// A single value as TOML text.
fn written(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Text(text) => toml::Value::String(text.clone()).to_string(),
        Scalar::Number(number) => number.to_string(),
        Scalar::Flag(flag) => flag.to_string(),
    }
}
