//! Reports on the extraction of a drive, and on the comparison of two specifications.

mod comparison;
mod report;

use std::fmt::Write;

use diskarm_extract::Cost;
use diskarm_extract::suite::{
    Checkpoint, MEASUREMENTS, MeasuredDrive, MeasuredValue, Measurement, Outcome, Provenance,
    Record,
};
use serde::Serialize;

use crate::prose;

pub use comparison::ComparisonReport;

/// The report on an extraction.
#[derive(Clone, Copy, Debug)]
pub struct ExtractionReport<'a> {
    pub checkpoint: &'a Checkpoint,
    /// The drive derived from the checkpoint, or the reason for which too little is known.
    pub described: &'a Result<MeasuredDrive, String>,
    /// The written files.
    pub written: &'a [String],
}

#[derive(Serialize)]
struct JsonReport<'a> {
    drive: &'a str,
    vendor: &'a str,
    product: &'a str,
    revision: &'a str,
    serial: &'a str,
    sectors: u64,
    sector_bytes: u64,
    /// `quick`, `normal` or `thorough`.
    effort: String,
    writes: bool,
    seed: u64,
    measurements: Vec<MeasurementRow<'a>>,
    commands: u64,
    time_s: f64,
    /// The reason for a missing specification.
    no_specification: Option<&'a str>,
    values: &'a [MeasuredValue],
    assumed: &'a [String],
    written: &'a [String],
}

#[derive(Serialize)]
struct MeasurementRow<'a> {
    name: &'a str,
    summary: &'static str,
    /// `done`, `failed` or `skipped`.
    outcome: &'static str,
    /// The reason if it is not `done`.
    reason: Option<&'a str>,
    commands: u64,
    time_s: f64,
}

impl<'a> MeasurementRow<'a> {
    fn new(measurement: &'static Measurement, record: &'a Record) -> Self {
        let (outcome, reason) = outcome(record);
        Self {
            name: measurement.name,
            summary: measurement.summary,
            outcome,
            reason,
            commands: record.cost.commands,
            time_s: record.cost.time.as_s(),
        }
    }
}

fn outcome(record: &Record) -> (&'static str, Option<&str>) {
    match &record.outcome {
        Outcome::Done => ("done", None),
        Outcome::Failed(why) => ("failed", Some(why)),
        Outcome::Skipped(why) => ("skipped", Some(why)),
    }
}

impl<'a> ExtractionReport<'a> {
    /// The finished measurements, in the order of the table.
    fn measurements(&self) -> impl Iterator<Item = (&'static Measurement, &'a Record)> {
        let checkpoint = self.checkpoint;
        let all = MEASUREMENTS.iter();
        all.filter_map(|one| Some((one, checkpoint.record(one.name)?)))
    }

    /// Names of the measurements that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        self.failures().map(|(name, _)| name).collect()
    }

    /// Names and reasons of the measurements that failed.
    fn failures(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        self.measurements()
            .filter_map(|(measurement, record)| match &record.outcome {
                Outcome::Failed(why) => Some((measurement.name, why.as_str())),
                _ => None,
            })
    }

    fn values(&self) -> &'a [MeasuredValue] {
        self.described
            .as_ref()
            .map_or(&[], |described| &described.values)
    }

    fn assumed(&self) -> &'a [String] {
        self.described
            .as_ref()
            .map_or(&[], |described| &described.assumed)
    }

    /// Returns all results for JSON.
    pub fn json(&self) -> impl Serialize + 'a {
        let Checkpoint {
            drive,
            identity,
            options,
            ..
        } = self.checkpoint;
        let Cost { commands, time, .. } = self.checkpoint.cost();
        JsonReport {
            drive,
            vendor: &identity.vendor,
            product: &identity.product,
            revision: &identity.revision,
            serial: &identity.serial,
            sectors: identity.sectors.0,
            sector_bytes: identity.sector_size.0,
            effort: options.effort.to_string(),
            writes: options.writes,
            seed: options.seed,
            measurements: self
                .measurements()
                .map(|(measurement, record)| MeasurementRow::new(measurement, record))
                .collect(),
            commands,
            time_s: time.as_s(),
            no_specification: self.described.as_ref().err().map(String::as_str),
            values: self.values(),
            assumed: self.assumed(),
            written: self.written,
        }
    }

    /// Returns the results as a self-contained HTML page.
    pub fn html(&self) -> String {
        report::html(self)
    }

    /// Returns the results as text, at most 80 columns wide.
    pub fn text(&self) -> String {
        let Checkpoint {
            drive,
            identity,
            options,
            ..
        } = self.checkpoint;
        let effort = options.effort.to_string();
        let writes = if options.writes { "with" } else { "without" };
        let mut text = format!("{drive}: {}", identity.name());
        if !identity.serial.is_empty() {
            let _ = write!(text, ", serial number {}", identity.serial);
        }
        let _ = writeln!(text, "\n{effort} effort, {writes} writes\n");
        self.costs(&mut text);
        self.measured_values(&mut text);
        let why = |provenance: &Provenance| match provenance {
            Provenance::Unknown(why) => Some(why.clone()),
            _ => None,
        };
        list(&mut text, "not determined", grouped(self.values(), why));
        let assumed = |provenance: &Provenance| match provenance {
            Provenance::Assumed(what) => Some(what.clone()),
            _ => None,
        };
        list(
            &mut text,
            "assumed, because it cannot be measured",
            grouped(self.values(), assumed),
        );
        for sentence in self.assumed() {
            text += &prose::wrapped(sentence, 2);
        }
        if let Err(why) = self.described {
            // The reasons of failures are listed above.
            let reasons = self.failures().map(|(_, why)| format!(": {why}"));
            let why = reasons.fold(why.clone(), |why, reason| why.replace(&reason, ""));
            let _ = write!(text, "\n{}", prose::wrapped(&why, 0));
        }
        if !self.written.is_empty() {
            let _ = writeln!(text, "\nwrote {}", self.written.join(" and "));
        }
        text
    }

    /// Lists each measurement and its cost.
    fn costs(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "{:<14} {:<8} {:>9} {:>9}",
            "measurement", "", "commands", "time, s"
        );
        let mut line = |name: &str, outcome: &str, cost: Cost| {
            let (commands, seconds) = (cost.commands, cost.time.as_s());
            let _ = writeln!(text, "{name:<14} {outcome:<8} {commands:>9} {seconds:>9.1}");
        };
        for (measurement, record) in self.measurements() {
            line(measurement.name, outcome(record).0, record.cost);
        }
        line("all", "", self.checkpoint.cost());
        for (name, why) in self.failures() {
            // A reason may begin with what was measured.
            let why = why
                .strip_prefix(name)
                .and_then(|why| why.strip_prefix(": "))
                .unwrap_or(why);
            let failed = format!("{name} failed: {why}");
            let _ = write!(text, "\n{}", prose::wrapped(&failed, 0));
        }
    }

    /// Lists the measured values with their spreads.
    fn measured_values(&self, text: &mut String) {
        let mut is_first = true;
        for found in self.values() {
            let (
                Some(value),
                Provenance::Measured {
                    spread, samples, ..
                },
            ) = (&found.value, &found.provenance)
            else {
                continue;
            };
            if std::mem::take(&mut is_first) {
                let _ = writeln!(
                    text,
                    "\n{:<34} {:>19} {:>11} {:>8}",
                    "measured", "", "±", "samples"
                );
            }
            let _ = writeln!(
                text,
                "{:<34} {value:>19} {:>11} {:>8}",
                found.key,
                spread.as_deref().unwrap_or("exact"),
                samples.map_or(String::new(), |samples| samples.to_string())
            );
        }
    }
}

/// Groups the keys for which `why` returns the same sentence.
fn grouped(
    values: &[MeasuredValue],
    why: impl Fn(&Provenance) -> Option<String>,
) -> Vec<(String, Vec<&'static str>)> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for found in values {
        let Some(why) = why(&found.provenance) else {
            continue;
        };
        match groups.iter_mut().find(|(other, _)| *other == why) {
            Some((_, keys)) => keys.push(found.key),
            None => groups.push((why, vec![found.key])),
        }
    }
    groups
}

fn list(text: &mut String, heading: &str, groups: Vec<(String, Vec<&str>)>) {
    if !groups.is_empty() {
        let _ = writeln!(text, "\n{heading}");
    }
    for (why, keys) in groups {
        *text += &prose::wrapped(&format!("{}: {why}", keys.join(", ")), 2);
    }
}
