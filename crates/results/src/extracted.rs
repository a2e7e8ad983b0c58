//! Reports on the extraction of a drive, and on the comparison of two specifications.

mod comparison;
mod report;

use std::fmt::Write;

use diskarm_extract::Cost;
use diskarm_extract::suite::{
    Checkpoint, MEASUREMENTS, MeasuredDrive, MeasuredValue, Measurement, Outcome, Provenance,
    Record,
};
use serde_json::{Value, json};

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

fn outcome(record: &Record) -> (&'static str, Option<&str>) {
    match &record.outcome {
        Outcome::Done => ("done", None),
        Outcome::Failed(why) => ("failed", Some(why)),
        Outcome::Skipped(why) => ("skipped", Some(why)),
    }
}

impl<'a> ExtractionReport<'a> {
    /// Returns the finished measurements, in the order of the table.
    fn measurements(&self) -> impl Iterator<Item = (&'static Measurement, &'a Record)> {
        let checkpoint = self.checkpoint;
        let all = MEASUREMENTS.iter();
        all.filter_map(|one| Some((one, checkpoint.record(one.name)?)))
    }

    /// Returns the names of the measurements that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        self.failures().map(|(name, _)| name).collect()
    }

    /// Returns names and reasons of the measurements that failed.
    fn failures(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let failure = |(measurement, record): (&'static Measurement, &'a Record)| {
            let Outcome::Failed(why) = &record.outcome else {
                return None;
            };
            Some((measurement.name, why.as_str()))
        };
        self.measurements().filter_map(failure)
    }

    fn values(&self) -> &'a [MeasuredValue] {
        self.described.as_ref().map_or(&[], |drive| &drive.values)
    }

    fn assumed(&self) -> &'a [String] {
        self.described.as_ref().map_or(&[], |drive| &drive.assumed)
    }

    /// Returns all results as JSON.
    pub fn json(&self) -> Value {
        let Checkpoint {
            drive,
            identity,
            options,
            ..
        } = self.checkpoint;
        let Cost { commands, time, .. } = self.checkpoint.cost();
        let measurements = self.measurements().map(|(measurement, record)| {
            let (outcome, reason) = outcome(record);
            json!({
                "name": measurement.name,
                "summary": measurement.summary,
                "outcome": outcome,
                "reason": reason,
                "commands": record.cost.commands,
                "time_s": record.cost.time.as_s(),
            })
        });
        json!({
            "drive": drive,
            "vendor": identity.vendor,
            "product": identity.product,
            "revision": identity.revision,
            "serial": identity.serial,
            "sectors": identity.sectors.0,
            "sector_bytes": identity.sector_size.0,
            "effort": options.effort.to_string(),
            "writes": options.writes,
            "seed": options.seed,
            "measurements": measurements.collect::<Value>(),
            "commands": commands,
            "time_s": time.as_s(),
            "no_specification": self.described.as_ref().err(),
            "values": self.values(),
            "assumed": self.assumed(),
            "written": self.written,
        })
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
        list(&mut text, "not determined", unknown(self.values()));
        let heading = "assumed, because it cannot be measured";
        list(&mut text, heading, assumed(self.values()));
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
            let spread = spread.as_deref().unwrap_or("exact");
            let samples = samples.map_or(String::new(), |samples| samples.to_string());
            let _ = writeln!(
                text,
                "{:<34} {value:>19} {spread:>11} {samples:>8}",
                found.key
            );
        }
    }
}

/// A sentence and the keys for which it holds.
type Group<'a> = (&'a str, Vec<&'static str>);

/// Groups the undetermined keys by their reasons.
fn unknown(values: &[MeasuredValue]) -> Vec<Group<'_>> {
    grouped(values, |provenance| match provenance {
        Provenance::Unknown(why) => Some(why),
        _ => None,
    })
}

/// Groups the keys with assumed values by the assumption.
fn assumed(values: &[MeasuredValue]) -> Vec<Group<'_>> {
    grouped(values, |provenance| match provenance {
        Provenance::Assumed(what) => Some(what),
        _ => None,
    })
}

fn grouped(
    values: &[MeasuredValue],
    sentence: impl Fn(&Provenance) -> Option<&String>,
) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for found in values {
        let Some(sentence) = sentence(&found.provenance) else {
            continue;
        };
        match groups.iter_mut().find(|(other, _)| other == sentence) {
            Some((_, keys)) => keys.push(found.key),
            None => groups.push((sentence, vec![found.key])),
        }
    }
    groups
}

fn list(text: &mut String, heading: &str, groups: Vec<Group<'_>>) {
    if !groups.is_empty() {
        let _ = writeln!(text, "\n{heading}");
    }
    for (why, keys) in groups {
        *text += &prose::wrapped(&format!("{}: {why}", keys.join(", ")), 2);
    }
}
