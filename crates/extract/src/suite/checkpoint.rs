//! What a run has found so far, as a file.

use diskarm_core::spec::Spec;
use diskarm_core::units::Span;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Findings, MEASUREMENTS, Measurement, Options, Progress};
use crate::{Cost, Identity};

/// Changes whenever findings are written in another way.
const VERSION: u32 = 2;

/// What a run has found so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    version: u32,
    /// The drive, as it was named by whoever began the run.
    pub drive: String,
    /// Which drive it says it is.
    pub identity: Identity,
    /// SHA-256 of the specification of a simulated drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    specification: Option<String>,
    /// How it is measured.
    pub options: Options,
    /// The measurements that are over, in their order.
    pub records: Vec<Record>,
    /// What they found.
    pub findings: Findings,
}

/// How a measurement ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name in the table.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What it cost.
    pub cost: Cost,
}

/// How a measurement ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It found what it looked for.
    Done,
    /// It did not, and why.
    Failed(String),
    /// It was left out, and why.
    Skipped(String),
}

impl Checkpoint {
    /// A run that has measured nothing yet.
    pub fn new(drive: &str, identity: Identity, options: Options) -> Self {
        Self {
            version: VERSION,
            drive: drive.to_owned(),
            identity,
            specification: None,
            options,
            records: Vec::new(),
            findings: Findings::default(),
        }
    }

    /// The same run, on a drive that is simulated from this specification. Runs on drives of other
    /// specifications, such as a file that was edited since, do not continue it.
    #[must_use]
    pub fn simulating(self, spec: &Spec) -> Self {
        let text = diskarm_drives::text::specification(spec, &|_| None);
        let digest = Sha256::digest(text.as_bytes());
        let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            specification: Some(hex),
            ..self
        }
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("all keys are texts, all numbers finite") + "\n"
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no checkpoint, or one of another version of the program.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("no checkpoint: {error}"))?;
        match found.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(other) => {
                return Err(format!("found version {other}, expected version {VERSION}"));
            }
            None => return Err("no checkpoint: it has no version".to_owned()),
        }
        serde_json::from_str(text).map_err(|error| format!("no checkpoint: {error}"))
    }

    /// Whether a run of `other` may continue from here.
    ///
    /// # Errors
    /// How they differ.
    pub fn check(&self, other: &Self) -> Result<(), String> {
        if self.drive != other.drive || self.identity != other.identity {
            let name = |of: &Self| match of.identity.serial.as_str() {
                "" => format!("{}, {}", of.drive, of.identity.name()),
                serial => format!("{}, {}, serial {serial}", of.drive, of.identity.name()),
            };
            return Err(format!(
                "found measurements of another drive ({}, {} blocks), expected those of {} ({} \
                 blocks)",
                name(self),
                self.identity.sectors.0,
                name(other),
                other.identity.sectors.0
            ));
        }
        if self.specification != other.specification {
            return Err(format!(
                "found measurements of {} as it was specified before, expected those of its \
                 present specification",
                self.drive
            ));
        }
        if self.options != other.options {
            let described = |of: &Options| {
                let writes = if of.writes { "with" } else { "without" };
                format!("{} effort, {writes} writes, seed {}", of.effort, of.seed)
            };
            return Err(format!(
                "found measurements with other options ({}), expected those with {}",
                described(&self.options),
                described(&other.options)
            ));
        }
        Ok(())
    }

    /// How a measurement ended, if it is over.
    pub fn record(&self, name: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.name == name)
    }

    /// What all measurements together have cost.
    pub fn cost(&self) -> Cost {
        self.records.iter().map(|record| record.cost).sum()
    }

    /// What keeps a measurement from being made.
    pub(super) fn obstacle(&self, measurement: &Measurement) -> Option<Outcome> {
        let missing = measurement
            .needs
            .iter()
            .find_map(|name| match &self.record(name)?.outcome {
                Outcome::Done => None,
                Outcome::Failed(_) => Some(format!("needs {name}, which failed")),
                Outcome::Skipped(why) => Some(why.clone()),
            });
        if let Some(why) = missing {
            return Some(Outcome::Skipped(why));
        }
        let forbidden = measurement.writes && !self.options.writes;
        forbidden.then(|| Outcome::Skipped("needs writes".to_owned()))
    }

    /// How far the run is when a measurement begins.
    pub(super) fn progress(&self, measurement: &'static Measurement) -> Progress {
        let effort = self.options.effort;
        let to_come = MEASUREMENTS.iter().filter(|other| {
            self.record(other.name).is_none() && (self.options.writes || !other.writes)
        });
        let add = |sum: Span, other: &Measurement| sum + other.usual(effort);
        Progress {
            measurement,
            effort,
            done: self.records.len(),
            cost: self.cost(),
            left: to_come.fold(Span::ZERO, add),
        }
    }
}
