//! The inputs of a single cell, with their placeholders replaced.

use std::collections::BTreeMap;

use diskarm_core::text::{InputError, quantity};
use serde::Serialize;
use toml::Spanned;

use crate::axis::{Axis, Point, describe, names};
use crate::expression::{Location, Names, Scalar, StudyText, fill};
use crate::measure::Measure;

/// The keys of `[cell]`, as written in the file.
pub(crate) type Keys = BTreeMap<String, Spanned<toml::Value>>;

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
    /// The values to set in the drive's specification, as TOML, by dotted key.
    pub spec: BTreeMap<String, String>,
    /// The policy, in the syntax of `--policy`.
    pub policy: String,
    pub source: CellInput,
    /// The number of completions at the start of a run that are left out of the results.
    pub warm_up: u64,
    /// A run is saturated, and ends, once more requests than this are waiting.
    pub max_waiting: Option<u64>,
    pub measure: Measure,
    /// The options of the measure `scan`, keyed by the flags of `diskarm scan`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scan: BTreeMap<String, String>,
    /// The request sizes that the measure `predictions` covers, in sectors, such as `5..9`.
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
        /// The workload, in the syntax of `--workload`.
        workload: String,
        /// The number of requests in a run.
        requests: u64,
    },
    /// A trace file.
    Traced {
        /// The path of the file.
        trace: String,
        /// Changes to the trace, keyed by the flags of `diskarm simulate`.
        changes: BTreeMap<String, String>,
    },
}

/// The number of runs of a cell, from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Replications {
    /// The first seed.
    pub seed: u64,
    pub min: u32,
    pub max: u32,
    /// Runs are added until the half-width of the first metric's interval is at most this fraction
    /// of its mean.
    pub until_ci95: Option<f64>,
}

/// A point of the study, and what the study simulates there.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub point: Point,
    pub inputs: Inputs,
    pub replications: Replications,
}

impl Cell {
    pub(crate) fn read(
        text: StudyText<'_>,
        axes: &[Axis],
        keys: &Keys,
        point: Point,
    ) -> Result<Self, InputError> {
        let filled = CellKeys {
            text,
            axes,
            keys,
            point: &point,
            names: names(axes, &point),
        };
        filled.check_source()?;
        let generated = keys.contains_key("workload");
        let source = if generated {
            CellInput::Generated {
                workload: filled.text("workload")?,
                requests: filled.count("requests", 1, None)?,
            }
        } else {
            CellInput::Traced {
                trace: filled.text("trace")?,
                changes: filled.changes()?,
            }
        };
        let warm_up = filled.count("warm_up", 0, Some(0))?;
        if let CellInput::Generated { requests, .. } = source
            && warm_up >= requests
        {
            let expected = format!("less than the {requests} requests");
            return Err(filled.location("warm_up").error(warm_up, expected));
        }
        let has_limit = generated || keys.contains_key("max_waiting");
        let max_waiting = || filled.count("max_waiting", 1, Some(MAX_WAITING));
        let max_waiting = has_limit.then(max_waiting).transpose()?;
        let measure = filled.measure()?;
        let inputs = Inputs {
            drive: filled.text("drive")?,
            spec: filled.spec()?,
            policy: filled.text("policy")?,
            source,
            warm_up,
            max_waiting,
            measure,
            scan: filled.scan(measure)?,
            sizes: filled.sizes(measure)?,
        };
        Ok(Self {
            replications: filled.replications(generated || measure == Measure::Scan)?,
            inputs,
            point,
        })
    }

    /// Returns true if runs with different seeds may differ: if requests are generated, or if a
    /// scan is measured on a drive that may behave randomly.
    pub(crate) fn is_random(&self) -> bool {
        let is_generated = matches!(self.inputs.source, CellInput::Generated { .. });
        is_generated || self.inputs.measure == Measure::Scan
    }
}

/// At any load that a drive can sustain, fewer requests than this are waiting.
const MAX_WAITING: u64 = 2_000;

struct CellKeys<'a> {
    text: StudyText<'a>,
    axes: &'a [Axis],
    keys: &'a Keys,
    point: &'a Point,
    names: Names<'a>,
}

impl CellKeys<'_> {
    fn location(&self, key: &str) -> Location {
        let span = self.keys.get(key).map_or(0..0, Spanned::span);
        self.text.location(&span, format!("cell.{key}"))
    }

    fn expected(&self, expected: &str) -> String {
        if self.point.is_empty() {
            return expected.to_owned();
        }
        let cell = describe(self.axes, self.point);
        format!("{expected} (in the cell {cell})")
    }

    fn scalar(&self, key: &str) -> Result<Option<Scalar>, InputError> {
        let value = self.keys.get(key).map(Spanned::get_ref);
        let filled = value.map(|value| self.fill(value, &self.location(key)));
        filled.transpose()
    }

    fn fill(&self, value: &toml::Value, at: &Location) -> Result<Scalar, InputError> {
        let wrong = |expected: &str| at.error(value, self.expected(expected));
        let scalar = Scalar::new(value).ok_or_else(|| wrong("a single value"))?;
        match &scalar {
            Scalar::Text(text) => fill(text, &self.names).map_err(|why| wrong(&why)),
            _ => Ok(scalar),
        }
    }

    fn text(&self, key: &str) -> Result<String, InputError> {
        let found = self.scalar(key)?.map(|scalar| scalar.to_string());
        let found = found.filter(|text| !text.is_empty());
        let expected = || self.expected("a value");
        found.ok_or_else(|| self.location(key).error("nothing", expected()))
    }

    /// Returns a whole number of at least `min`; `default` if the key is absent.
    fn count(&self, key: &str, min: u64, default: Option<u64>) -> Result<u64, InputError> {
        let expected = self.expected(&format!("a whole number of {min} or more"));
        let wrong = |found: &str| self.location(key).error(found, expected);
        let Some(found) = self.scalar(key)? else {
            return default.ok_or_else(|| wrong("nothing"));
        };
        let number = found.number().or_else(|| found.to_string().parse().ok());
        let whole = number.filter(|n| n.fract() == 0.0 && *n >= min as f64 && *n < 1e15);
        let whole = whole.ok_or_else(|| wrong(&found.to_string()))?;
        Ok(whole as u64)
    }

    /// Checks that the cell has either a workload or a trace, and only keys that apply to it.
    fn check_source(&self) -> Result<(), InputError> {
        let has = |key: &&&str| self.keys.contains_key(**key);
        let expected = "a workload or a trace";
        let (source, others) = match (has(&&"workload"), has(&&"trace")) {
            (true, false) => ("workload", TRACE_KEYS.to_vec()),
            // The drive of a scan may behave randomly, so its runs may differ.
            (false, true) if self.measure()? == Measure::Scan => ("trace", LENGTH_KEYS.to_vec()),
            (false, true) => ("trace", [LENGTH_KEYS, RANDOM_KEYS].concat()),
            (false, false) => return Err(self.location("workload").error("neither", expected)),
            (true, true) => return Err(self.location("trace").error("both", expected)),
        };
        let stray = others.iter().find(has);
        stray.map_or(Ok(()), |stray| {
            let expected = format!("nothing, as the cell has a {source}");
            Err(self.location(stray).error("a value", expected))
        })
    }

    fn changes(&self) -> Result<BTreeMap<String, String>, InputError> {
        let mut changes = BTreeMap::new();
        for key in TRACE_KEYS {
            if let Some(scalar) = self.scalar(key)? {
                changes.insert((*key).to_owned(), scalar.to_string());
            }
        }
        Ok(changes)
    }

    /// Returns the table `key`, with each value formatted by `write`; empty if the key is absent.
    fn table(
        &self,
        key: &str,
        expected: &str,
        write: impl Fn(&toml::Value, &Location) -> Result<String, InputError>,
    ) -> Result<BTreeMap<String, String>, InputError> {
        let Some(found) = self.keys.get(key) else {
            return Ok(BTreeMap::new());
        };
        let at = self.location(key);
        let toml::Value::Table(table) = found.get_ref() else {
            return Err(at.error(found.get_ref(), expected));
        };
        let filled = table.iter();
        let filled = filled.map(|(key, value)| Ok((key.clone(), write(value, &at.part(key))?)));
        filled.collect()
    }

    fn spec(&self) -> Result<BTreeMap<String, String>, InputError> {
        self.table("spec", "a table of dotted keys", |value, at| {
            self.to_toml(value, at)
        })
    }

    /// Formats a value, or a list of values, as TOML with its placeholders replaced.
    fn to_toml(&self, value: &toml::Value, at: &Location) -> Result<String, InputError> {
        match value {
            toml::Value::Array(values) => {
                let values = values.iter().map(|value| self.to_toml(value, at));
                let values: Vec<String> = values.collect::<Result<_, _>>()?;
                Ok(format!("[{}]", values.join(", ")))
            }
            toml::Value::Table(_) => Ok(value.to_string()),
            single => Ok(match self.fill(single, at)? {
                Scalar::Text(text) => toml::Value::String(text).to_string(),
                other => other.to_string(),
            }),
        }
    }

    fn scan(&self, measure: Measure) -> Result<BTreeMap<String, String>, InputError> {
        if measure != Measure::Scan && self.keys.contains_key("scan") {
            let expected = self.expected("nothing, as the measure is not \"scan\"");
            return Err(self.location("scan").error("a table", expected));
        }
        self.table("scan", "a table of flags of `diskarm scan`", |value, at| {
            Ok(self.fill(value, at)?.to_string())
        })
    }

    fn sizes(&self, measure: Measure) -> Result<Option<String>, InputError> {
        let sizes = self.scalar("sizes")?.map(|sizes| sizes.to_string());
        if sizes.is_some() && measure != Measure::Predictions {
            let expected = self.expected("nothing, as the measure is not \"predictions\"");
            return Err(self.location("sizes").error("sizes", expected));
        }
        Ok(sizes)
    }

    fn measure(&self) -> Result<Measure, InputError> {
        let measure = match self.scalar("measure")? {
            None => Measure::Responses,
            Some(name) => Measure::find(&name.to_string(), &self.location("measure"))?,
        };
        let mut keys = TRACE_KEYS.iter();
        match keys.find(|key| self.keys.contains_key(**key)) {
            Some(key) if measure == Measure::Predictions => {
                let expected = "nothing, as the measure \"predictions\" needs the trace unchanged";
                Err(self.location(key).error("a value", expected))
            }
            _ => Ok(measure),
        }
    }

    fn replications(&self, is_random: bool) -> Result<Replications, InputError> {
        let count = |key, default| {
            let count = self.count(key, 1, default)?;
            if count <= 1_000_000 {
                Ok(count as u32)
            } else {
                Err(self.location(key).error(count, "at most a million"))
            }
        };
        if !is_random {
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
            let expected = "3 or more with until_ci95, as two may agree by chance";
            return Err(self.location("replications").error(min, expected));
        }
        let max = match until_ci95 {
            Some(_) => count("most_replications", None)?,
            None => min,
        };
        if max < min {
            let expected = format!("at least the {min} of cell.replications");
            return Err(self.location("most_replications").error(max, expected));
        }
        Ok(Replications {
            seed: self.count("seed", 0, Some(1))?,
            min,
            max,
            until_ci95,
        })
    }

    fn share(&self, key: &str) -> Result<Option<f64>, InputError> {
        let Some(scalar) = self.scalar(key)? else {
            return Ok(None);
        };
        let text = scalar.to_string();
        let share = quantity::fraction(&text).filter(|share| *share > 0.0);
        let expected = "a percentage such as \"2 %\"";
        let wrong = || self.location(key).error(format!("{text:?}"), expected);
        share.ok_or_else(wrong).map(Some)
    }
}

/// Keys that need `trace`; each is a flag of `diskarm simulate`.
const TRACE_KEYS: &[&str] = &["faster", "fit", "device", "from", "until", "outstanding"];

/// Keys that need `workload`: a trace determines its own number of requests.
const LENGTH_KEYS: &[&str] = &["requests"];

/// Keys that only random runs use: those of a workload or of the measure `scan`.
const RANDOM_KEYS: &[&str] = &["seed", "replications", "until_ci95", "most_replications"];
