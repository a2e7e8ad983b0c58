//! The results of a run, and the file from which an interrupted run continues.

use std::borrow::Cow;

use diskarm_core::spec::Spec;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::cache::Facts;
use crate::hits::{ReadHits, WriteHits};
use crate::idle::Idle;
use crate::mtbrc::{Mtbrc, Pair};
use crate::overheads::{Reads, Writes};
use crate::rotation::Rotation;
use crate::seek::Seeks;
use crate::seek_command::Curves;
use crate::timing::{Timing, WriteMeasurements};
use crate::{Cost, Effort, Identity, layout};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    pub effort: Effort,
    /// Allows writes, which destroy data at random locations.
    pub writes: bool,
    /// Seed of all random decisions of the measurements.
    pub seed: u64,
}

/// The results of all measurements. A result is `None` until its measurement has succeeded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    pub rotation: Option<Rotation>,
    pub layout: Option<layout::LayoutFinding>,
    pub idle: Option<Idle>,
    pub reads: Option<Reads>,
    pub seeks: Option<Seeks>,
    pub read_hits: Option<ReadHits>,
    pub writes: Option<Writes>,
    /// Hits that are measured with writes.
    pub write_hits: Option<WriteHits>,
    pub write_seeks: Option<WriteSeeks>,
    pub mtbrcs: Vec<MtbrcFinding>,
    pub seek_commands: Option<Curves>,
    pub buffer: Option<Facts>,
}

/// The minimum time between the completions of two requests (MTBRC).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MtbrcFinding {
    /// The kinds of the two requests, in words.
    pub name: String,
    pub mtbrc: Mtbrc,
    /// The pairs from which it was derived.
    pub pairs: Vec<Pair>,
}

/// The difference between seeks before writes and before reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteSeeks {
    /// Their times differ by a constant.
    Parallel,
    Own(Seeks),
}

impl Findings {
    /// Returns a specification without the buffer, if enough is known for a model.
    pub fn mechanism(&self) -> Option<Spec> {
        let mut spec = Spec {
            geometry: self.layout.as_ref()?.found.geometry.clone(),
            ..Spec::default()
        };
        self.timing()?.describe(&mut spec);
        Some(spec)
    }

    /// Returns the seeks before reads or, if they are unknown, those measured with SEEK commands.
    pub(super) fn any_seeks(&self) -> Option<Cow<'_, Seeks>> {
        let by_command = || Some(Cow::Owned(self.seek_commands.as_ref()?.mean()));
        self.seeks.as_ref().map(Cow::Borrowed).or_else(by_command)
    }

    /// Returns all timing parameters, if enough is known for a model: the rotation, the seeks, and
    /// the time until the arm is free. Unknown overheads are zero.
    pub fn timing(&self) -> Option<Timing> {
        Some(Timing {
            rotation: self.rotation?,
            idle: self.idle?,
            seeks: self.any_seeks()?.into_owned(),
            reads: self.reads.unwrap_or_default(),
            read_hits: self.read_hits.unwrap_or_default(),
            written: self.writes.map(|writes| WriteMeasurements {
                writes,
                hits: self.write_hits.unwrap_or_default(),
                seeks: match &self.write_seeks {
                    Some(WriteSeeks::Own(seeks)) => Some(seeks.clone()),
                    _ => None,
                },
            }),
        })
    }
}

/// Changes whenever the format of findings changes.
const VERSION: u32 = 2;

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    version: u32,
    /// The drive, as named by the user who started the run.
    pub drive: String,
    /// The identity that the drive reports.
    pub identity: Identity,
    /// SHA-256 of the specification if the drive is simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    specification: Option<String>,
    pub options: Options,
    /// The finished measurements, in order.
    pub records: Vec<Record>,
    pub findings: Findings,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub name: String,
    pub outcome: Outcome,
    pub cost: Cost,
}

/// The outcome of a measurement, with the reason if it failed or was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Done,
    Failed(String),
    Skipped(String),
}

impl Checkpoint {
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

    /// Records that the drive is simulated from `spec`. A run continues from this checkpoint only
    /// if its specification is the same, because the specification's file may have been edited.
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

    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("all keys are strings and all numbers are finite") + "\n"
    }

    /// Parses a checkpoint file, which must have the current format.
    pub fn parse(text: &str) -> Result<Self, String> {
        let malformed = |error| format!("not a checkpoint: {error}");
        let found: serde_json::Value = serde_json::from_str(text).map_err(malformed)?;
        match found.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {
                serde_json::from_str(text).map_err(malformed)
            }
            Some(other) => Err(format!("found version {other}, expected version {VERSION}")),
            None => Err("not a checkpoint: it has no version".to_owned()),
        }
    }

    /// Checks that a run with the drive and options of `other` may continue from this checkpoint.
    pub fn check(&self, other: &Self) -> Result<(), String> {
        if self.drive != other.drive || self.identity != other.identity {
            let name = |of: &Self| {
                let name = format!("{}, {}", of.drive, of.identity.name());
                match of.identity.serial.as_str() {
                    "" => name,
                    serial => format!("{name}, serial {serial}"),
                }
            };
            return Err(format!(
                "found measurements of another drive ({}, {} blocks), expected measurements of {} \
                 ({} blocks)",
                name(self),
                self.identity.sectors.0,
                name(other),
                other.identity.sectors.0
            ));
        }
        if self.specification != other.specification {
            return Err(format!(
                "found measurements of {} with an earlier specification, expected those with its \
                 current one",
                self.drive
            ));
        }
        if self.options != other.options {
            let describe = |of: &Options| {
                let writes = if of.writes { "with" } else { "without" };
                format!("{} effort, {writes} writes, seed {}", of.effort, of.seed)
            };
            return Err(format!(
                "found measurements with other options ({}), expected those with {}",
                describe(&self.options),
                describe(&other.options)
            ));
        }
        Ok(())
    }

    pub fn record(&self, name: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.name == name)
    }

    pub fn cost(&self) -> Cost {
        self.records.iter().map(|record| record.cost).sum()
    }
}
