//! What a single cell simulates, once its placeholders are filled in.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use toml::Spanned;

use crate::axis::{Axis, Point, describe, names};
use crate::measure::Measure;
use crate::place::{Place, Text};
use crate::scalar::Scalar;
use crate::template::{Names, fill};
use diskarm_core::text::InputError;

/// The keys of `[cell]`, as the file has them.
pub(crate) type Keys = BTreeMap<String, Spanned<toml::Value>>;

/// All that `[cell]` can say.
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
    "most_waiting",
    "measure",
    "spec",
];

/// What a cell simulates: all that its figures depend on but the replication's seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inputs {
    /// A name of the catalogue, or a file that ends in `.toml`.
    pub drive: String,
    /// Values that are set in its specification, by dotted key, as TOML writes them.
    pub spec: BTreeMap<String, String>,
    /// As `--policy` takes it.
    pub policy: String,
    /// Where its requests come from.
    pub source: Source,
    /// Completions that do not count.
    pub warm_up: u64,
    /// A run whose queue grows beyond this many requests ends there.
    pub most_waiting: Option<u64>,
    /// What is measured.
    pub measure: Measure,
}

/// Where the requests of a cell come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// They are drawn.
    Drawn {
        /// As `--workload` takes it.
        workload: String,
        /// How many a run has.
        requests: u64,
    },
    /// They stand in a file.
    Traced {
        /// The file.
        trace: String,
        /// How to change it, by the names of the flags of `diskarm simulate`.
        changes: BTreeMap<String, String>,
    },
}

/// How often a cell is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Replications {
    /// The first seed.
    pub seed: u64,
    /// At least so often.
    pub least: u32,
    /// At most so often.
    pub most: u32,
    /// Until the half width of the 95 % confidence interval of the first metric is this share of
    /// its mean.
    pub until_ci95: Option<f64>,
}

/// A cell: where it lies, and what it simulates.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The places of its values on the axes.
    pub point: Point,
    /// What it simulates.
    pub inputs: Inputs,
    /// How often.
    pub replications: Replications,
}

/// Reads the cells of a study, all of them before any is simulated.
pub(crate) struct Reader<'a> {
    pub(crate) text: Text<'a>,
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
        let drawn = self.keys.contains_key("workload");
        let source = match drawn {
            true => Source::Drawn {
                workload: filled.text("workload")?,
                requests: filled.count("requests", 1, None)?,
            },
            false => Source::Traced {
                trace: filled.text("trace")?,
                changes: filled.changes()?,
            },
        };
        let warm_up = filled.count("warm_up", 0, Some(0))?;
        if let Source::Drawn { requests, .. } = source
            && warm_up >= requests
        {
            let expected = format!("less than the {requests} requests");
            return Err(filled.at("warm_up").error(warm_up.to_string(), expected));
        }
        let most_waiting = match (drawn, self.keys.contains_key("most_waiting")) {
            (false, false) => None,
            _ => Some(filled.count("most_waiting", 1, Some(MOST_WAITING))?),
        };
        Ok(Cell {
            point: point.clone(),
            inputs: Inputs {
                drive: filled.text("drive")?,
                spec: filled.spec()?,
                policy: filled.text("policy")?,
                source,
                warm_up,
                most_waiting,
                measure: filled.measure()?,
            },
            replications: filled.replications(drawn)?,
        })
    }
}

/// More requests waiting than at any load that a drive keeps up with.
const MOST_WAITING: u64 = 2_000;

/// The keys of one cell.
struct Filled<'r> {
    reader: &'r Reader<'r>,
    point: &'r Point,
    names: &'r Names<'r>,
}

impl Filled<'_> {
    fn at(&self, key: &str) -> Place {
        let keys = self.reader.keys;
        let nowhere: Range<usize> = 0..0;
        let span = keys.get(key).map_or(nowhere, Spanned::span);
        self.reader.text.at(&span, format!("cell.{key}"))
    }

    /// What `expected` is, of which cell.
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

    fn fill(&self, value: &toml::Value, at: &Place) -> Result<Scalar, InputError> {
        let wrong = |expected: &str| at.error(value.to_string(), self.expected(expected));
        let scalar = Scalar::of(value).ok_or_else(|| wrong("a single value"))?;
        match &scalar {
            Scalar::Text(text) => fill(text, self.names).map_err(|why| wrong(&why)),
            _ => Ok(scalar),
        }
    }

    /// A text that is not empty.
    fn text(&self, key: &str) -> Result<String, InputError> {
        let found = self.scalar(key)?.map(|scalar| scalar.to_string());
        let found = found.filter(|text| !text.is_empty());
        found.ok_or_else(|| self.at(key).error("nothing", self.expected("it to be set")))
    }

    /// A whole number from `least` on; `default` where it is absent.
    fn count(&self, key: &str, least: u64, default: Option<u64>) -> Result<u64, InputError> {
        let expected = self.expected(&format!("a whole number of {least} or more"));
        let wrong = |found: String| self.at(key).error(found, expected);
        match (self.scalar(key)?, default) {
            (None, Some(default)) => Ok(default),
            (None, None) => Err(wrong("nothing".to_owned())),
            (Some(found), _) => {
                let number = found.number().or_else(|| found.to_string().parse().ok());
                let whole = number.filter(|n| n.fract() == 0.0 && *n >= least as f64 && *n < 1e15);
                let whole = whole.ok_or_else(|| wrong(found.to_string()))?;
                Ok(whole as u64)
            }
        }
    }

    /// Either a workload or a trace, with the keys that belong to it.
    fn one_of_both(&self) -> Result<(), InputError> {
        let has = |key: &&&str| self.reader.keys.contains_key(**key);
        let (own, other): (&str, &[&str]) = match (has(&&"workload"), has(&&"trace")) {
            (true, false) => ("workload", TRACE_KEYS),
            (false, true) => ("trace", DRAWN_KEYS),
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

    /// What is changed of a trace.
    fn changes(&self) -> Result<BTreeMap<String, String>, InputError> {
        let mut changes = BTreeMap::new();
        for key in TRACE_KEYS {
            if let Some(scalar) = self.scalar(key)? {
                changes.insert((*key).to_owned(), scalar.to_string());
            }
        }
        Ok(changes)
    }

    /// What is set in the drive's specification, as TOML writes it.
    fn spec(&self) -> Result<BTreeMap<String, String>, InputError> {
        let Some(spec) = self.reader.keys.get("spec") else {
            return Ok(BTreeMap::new());
        };
        let at = self.at("spec");
        let toml::Value::Table(table) = spec.get_ref() else {
            return Err(at.error(spec.get_ref().to_string(), "a table of dotted keys"));
        };
        let filled = |(key, value): (&String, &toml::Value)| {
            let value = match value {
                toml::Value::Array(_) | toml::Value::Table(_) => value.to_string(),
                single => written(&self.fill(single, &at.part(key))?),
            };
            Ok((key.clone(), value))
        };
        table.iter().map(filled).collect()
    }

    fn measure(&self) -> Result<Measure, InputError> {
        match self.scalar("measure")? {
            None => Ok(Measure::Responses),
            Some(name) => Measure::find(&name.to_string(), &self.at("measure")),
        }
    }

    fn replications(&self, drawn: bool) -> Result<Replications, InputError> {
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
        if !drawn {
            // A trace is what it is.
            return Ok(Replications {
                seed: 0,
                least: 1,
                most: 1,
                until_ci95: None,
            });
        }
        let least = count("replications", Some(1))?;
        let until_ci95 = self.share("until_ci95")?;
        if until_ci95.is_some() && least < 3 {
            let expected = "3 or more with until_ci95, as two agree by chance";
            return Err(self.at("replications").error(least.to_string(), expected));
        }
        let most = match until_ci95 {
            Some(_) => count("most_replications", None)?,
            None => least,
        };
        if most < least {
            let expected = format!("at least the {least} of cell.replications");
            return Err(self
                .at("most_replications")
                .error(most.to_string(), expected));
        }
        Ok(Replications {
            seed: self.count("seed", 0, Some(1))?,
            least,
            most,
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

/// Keys that only a trace has, but for its name; each is a flag of `diskarm simulate`.
const TRACE_KEYS: &[&str] = &["faster", "fit", "device", "from", "until", "outstanding"];

/// Keys that only what is drawn has, but for the workload.
const DRAWN_KEYS: &[&str] = &[
    "requests",
    "seed",
    "replications",
    "until_ci95",
    "most_replications",
];

/// A single value as TOML writes it.
fn written(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Text(text) => toml::Value::String(text.clone()).to_string(),
        Scalar::Number(number) => number.to_string(),
        Scalar::Flag(flag) => flag.to_string(),
    }
}
