//! Reports on the extraction of a drive, and on the comparison of two specifications.

mod report;

use std::collections::BTreeSet;
use std::fmt::Write;

use diskarm_core::spec::{self, KeyKind, milliseconds};
use diskarm_core::units::Span;
use diskarm_extract::suite::{
    Checkpoint, MEASUREMENTS, MeasuredDrive, MeasuredValue, Measurement, Outcome, Provenance,
    Record,
};
use diskarm_extract::{Comparison, Cost, Difference, SeekDifference};
use serde::Serialize;
use serde_json::{Value, json};

use crate::prose;

#[derive(Clone, Copy, Debug)]
pub struct ExtractionReport<'a> {
    pub checkpoint: &'a Checkpoint,
    /// The drive derived from the checkpoint, or the reason why none can be derived.
    pub described: &'a Result<MeasuredDrive, String>,
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

    pub fn failed(&self) -> Vec<&'static str> {
        self.failures().map(|(name, _)| name).collect()
    }

    fn failures(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let all = self.measurements();
        all.filter_map(|(measurement, record)| match &record.outcome {
            Outcome::Failed(why) => Some((measurement.name, why.as_str())),
            _ => None,
        })
    }

    fn values(&self) -> &'a [MeasuredValue] {
        self.described.as_ref().map_or(&[], |drive| &drive.values)
    }

    fn assumed(&self) -> &'a [String] {
        self.described.as_ref().map_or(&[], |drive| &drive.assumed)
    }

    pub fn json(&self) -> Value {
        let (identity, options) = (&self.checkpoint.identity, &self.checkpoint.options);
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
            "drive": self.checkpoint.drive,
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

    pub fn html(&self) -> String {
        report::html(self)
    }

    pub fn text(&self) -> String {
        let checkpoint = self.checkpoint;
        let (drive, name, serial) = (&checkpoint.drive, checkpoint.identity.name(), self.serial());
        let effort = checkpoint.options.effort.to_string();
        let writes = if checkpoint.options.writes {
            "with"
        } else {
            "without"
        };
        let mut text = format!("{drive}: {name}{serial}\n{effort} effort, {writes} writes\n\n");
        self.costs(&mut text);
        self.measured_values(&mut text);
        list(&mut text, "not determined", unknown(self.values()));
        let heading = "assumed, because they cannot be measured";
        list(&mut text, heading, assumed(self.values()));
        for sentence in self.assumed() {
            text += &prose::wrapped(sentence, 2);
        }
        if let Err(why) = self.described {
            // The reasons for failures are listed above.
            let reasons = self.failures().map(|(_, why)| format!(": {why}"));
            let why = reasons.fold(why.clone(), |why, reason| why.replace(&reason, ""));
            let _ = write!(text, "\n{}", prose::wrapped(&why, 0));
        }
        if !self.written.is_empty() {
            let _ = writeln!(text, "\nwrote {}", self.written.join(" and "));
        }
        text
    }

    fn serial(&self) -> String {
        match self.checkpoint.identity.serial.as_str() {
            "" => String::new(),
            serial => format!(", serial number {serial}"),
        }
    }

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
            // A reason may begin with the name of the measurement.
            let why = why
                .strip_prefix(name)
                .and_then(|why| why.strip_prefix(": "))
                .unwrap_or(why);
            let failed = format!("{name} failed: {why}");
            let _ = write!(text, "\n{}", prose::wrapped(&failed, 0));
        }
    }

    fn measured_values(&self, text: &mut String) {
        let mut is_first = true;
        for found in self.values() {
            let Some(value) = &found.value else { continue };
            let Provenance::Measured {
                spread, samples, ..
            } = &found.provenance
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

fn unknown(values: &[MeasuredValue]) -> Vec<Group<'_>> {
    grouped(values, |provenance| match provenance {
        Provenance::Unknown(why) => Some(why),
        _ => None,
    })
}

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

/// Times are close if they differ by at most this, or by at most the fraction [`NEAR_SHARE`].
const NEAR_TIME: Span = Span::from_ns(20_000);
const NEAR_SHARE: f64 = 0.01;
/// Rotation periods with a smaller relative difference count as equal.
const NEAR_PERIOD: f64 = 1e-6;

#[derive(Debug, Serialize)]
pub struct ComparisonReport {
    first: String,
    second: String,
    /// True if everything is equal within measurement accuracy.
    pub is_equal: bool,
    values: Vec<ValueRow>,
    layout: LayoutRow,
    read_seeks: SeekRow,
    write_seeks: SeekRow,
    /// Sums of the overheads of one-sector requests.
    sums: Vec<SumRow>,
}

#[derive(Debug, Serialize)]
struct ValueRow {
    key: &'static str,
    first: Option<String>,
    second: Option<String>,
    is_equal: bool,
    /// False if a measured specification marks the value as not determined.
    is_determined: bool,
    /// True if the value is a time that can only be observed as part of the sums.
    #[serde(skip)]
    is_part: bool,
}

#[derive(Debug, Serialize)]
struct SumRow {
    name: &'static str,
    first_ms: f64,
    second_ms: f64,
    is_equal: bool,
}

#[derive(Debug, Serialize)]
struct LayoutRow {
    blocks: u64,
    blocks_on_other_tracks: u64,
    largest_turn_revolutions: f64,
    first_block_elsewhere: Option<u64>,
    /// The offset of the second specification's cylinder numbers, if everything else is equal.
    cylinders_higher: Option<i64>,
}

impl LayoutRow {
    fn text(&self) -> String {
        let blocks = self.blocks;
        let all = format!("layout: all {blocks} blocks at the same locations");
        match (self.first_block_elsewhere, self.cylinders_higher) {
            (None, _) => all + "\n",
            (Some(_), Some(by)) => {
                let than = if by > 0 { "higher" } else { "lower" };
                let by = by.abs();
                format!("{all}; the second drive numbers cylinders {by} {than}\n")
            }
            (Some(at), None) => format!(
                "layout: {} of {blocks} blocks are on other tracks; the first difference is at \
                 block {at}\n",
                self.blocks_on_other_tracks
            ),
        }
    }
}

#[derive(Debug, Serialize)]
struct SeekRow {
    mean_difference_ms: f64,
    largest: Distance,
    largest_relative: Distance,
    is_equal: bool,
}

#[derive(Debug, Serialize)]
struct Distance {
    cylinders: u32,
    first_ms: f64,
    second_ms: f64,
}

impl ComparisonReport {
    /// Reports the comparison of `first` and `second`. Differences in the values of undetermined
    /// keys are listed but do not count.
    pub fn new(
        first: &str,
        second: &str,
        comparison: &Comparison,
        undetermined: &BTreeSet<&str>,
    ) -> Self {
        let layout = &comparison.layout;
        // Different geometries may describe the same locations.
        let has_same_locations = layout.is_equal_up_to_numbering();
        let all = comparison.sums.iter();
        let rows = all.map(|(name, [first, second])| SumRow {
            name,
            first_ms: first.as_ms(),
            second_ms: second.as_ms(),
            is_equal: is_near(*first, *second),
        });
        let sums: Vec<SumRow> = rows.collect();
        // Different parts may have equal sums.
        let same_sums = sums.iter().all(|sum| sum.is_equal);
        let [read_seeks, write_seeks] = [&comparison.reads, &comparison.writes].map(SeekRow::new);
        let values = comparison.values.iter().map(|difference| {
            let mut row = ValueRow::new(difference);
            row.is_determined = !undetermined.contains(row.key);
            if row.key.starts_with("geometry.") {
                row.is_equal = has_same_locations;
            } else if row.key == "mechanics.write_settle" {
                // This is part of the seek times of writes.
                row.is_equal = write_seeks.is_equal;
            }
            row.is_equal |= row.is_part && same_sums;
            row
        });
        let values: Vec<ValueRow> = values.collect();
        Self {
            first: first.to_owned(),
            second: second.to_owned(),
            is_equal: values.iter().all(|row| row.is_equal || !row.is_determined)
                && has_same_locations
                && read_seeks.is_equal
                && write_seeks.is_equal,
            values,
            layout: LayoutRow {
                blocks: layout.blocks.0,
                blocks_on_other_tracks: layout.other_track.0,
                largest_turn_revolutions: layout.largest_turn,
                first_block_elsewhere: layout.first_elsewhere.map(|at| at.0),
                cylinders_higher: layout.cylinders_higher,
            },
            read_seeks,
            write_seeks,
            sums,
        }
    }
}

impl ValueRow {
    fn new(difference: &Difference) -> Self {
        let Difference { key, first, second } = difference;
        let shown = |value: &Option<spec::Value>| {
            value.as_ref().map(|value| match value {
                spec::Value::Time(time) => format!("{} ms", milliseconds(*time)),
                value => key.toml(value).trim_matches('"').to_owned(),
            })
        };
        Self {
            key: key.path,
            first: shown(first),
            second: shown(second),
            is_equal: match (first, second) {
                (Some(spec::Value::Time(first)), Some(spec::Value::Time(second))) => {
                    is_near(*first, *second)
                }
                (Some(spec::Value::Number(first)), Some(spec::Value::Number(second))) => {
                    (first - second).abs() <= NEAR_PERIOD * first.abs()
                }
                _ => false,
            },
            is_determined: true,
            is_part: (key.path.starts_with("overheads.") || key.path == "mechanics.track_settle")
                && matches!(key.kind, KeyKind::Time { .. }),
        }
    }
}

fn is_near(first: Span, second: Span) -> bool {
    let difference = (second - first).as_ns().abs();
    difference <= NEAR_TIME.as_ns() || difference as f64 <= NEAR_SHARE * first.as_ns().abs() as f64
}

impl SeekRow {
    fn new(difference: &SeekDifference) -> Self {
        let distance = |(cylinders, [first, second]): (u32, [Span; 2])| Distance {
            cylinders,
            first_ms: first.as_ms(),
            second_ms: second.as_ms(),
        };
        let (_, [first, second]) = difference.largest;
        Self {
            mean_difference_ms: difference.mean.as_ms(),
            largest: distance(difference.largest),
            largest_relative: distance(difference.largest_relative),
            is_equal: is_near(first, second),
        }
    }

    fn text(&self, ops: &str) -> String {
        let mut text = format!(
            "seeks before {ops} differ by {:.4} ms on average\n",
            self.mean_difference_ms
        );
        let (most, relative) = (&self.largest, &self.largest_relative);
        for (what, distance) in [("most", most), ("most in relative terms", relative)] {
            if distance.cylinders > 0 {
                let (first, second) = (distance.first_ms, distance.second_ms);
                let cylinders = format!("over {} cylinders", distance.cylinders);
                let _ = writeln!(text, "  {what}: {cylinders}, {first:.4} and {second:.4} ms");
            }
        }
        text
    }
}

impl ComparisonReport {
    /// Lists the differing values that are determined, or those that are not, if there are any.
    fn values_text(&self, heading: &str, are_determined: bool) -> String {
        let rows = self
            .values
            .iter()
            .filter(|row| row.is_determined == are_determined);
        let mut text = String::new();
        for row in rows {
            if text.is_empty() {
                let _ = writeln!(text, "{heading:<42} {:>16} {:>16}", "first", "second");
            }
            let [first, second] =
                [&row.first, &row.second].map(|value| value.as_deref().unwrap_or("-"));
            let is_near = row.is_equal && row.is_determined;
            let near = if is_near { "  near" } else { "" };
            let _ = writeln!(text, "{:<42} {first:>16} {second:>16}{near}", row.key);
        }
        text
    }

    fn sums_text(&self) -> String {
        let other: Vec<&SumRow> = self.sums.iter().filter(|sum| !sum.is_equal).collect();
        if other.is_empty() {
            return "observable sums of overheads: near\n".to_owned();
        }
        let mut text = "observable sums of overheads that differ:\n".to_owned();
        for sum in other {
            let (name, first, second) = (sum.name, sum.first_ms, sum.second_ms);
            let _ = writeln!(text, "  {name}: {first:.4} and {second:.4} ms");
        }
        text
    }

    /// Returns the report as text, at most 80 columns wide unless values are long.
    pub fn text(&self) -> String {
        let (first, second) = (&self.first, &self.second);
        let mut text = format!("{first} and {second}\n\n");
        if self.values.iter().all(|row| !row.is_determined) {
            text += "values: equal\n";
        }
        text += &self.values_text("values that differ", true);
        text += &self.values_text("values that were not determined", false);
        text += "\n";
        text += &self.layout.text();
        text += &self.read_seeks.text("reads");
        text += &self.write_seeks.text("writes");
        text += &self.sums_text();
        text += if self.is_equal {
            "\nequal within measurement accuracy\n"
        } else {
            "\ndifferent\n"
        };
        text
    }
}
