//! Compares the results of a run with the given drive.

use diskarm_core::request::Op;
use diskarm_core::spec::{Key, Spec, Value};
use diskarm_extract::ObservableTimes;
use diskarm_extract::seek_command::Curves;
use diskarm_extract::suite::{
    Checkpoint, MeasuredDrive, MeasuredValue, Outcome, Provenance, WriteSeeks,
};
use serde::Serialize;

use crate::layouts::{self, LayoutComparison};
use crate::scenario::Scenario;
use crate::times::{self, SeekDifference, Sequence};

/// A run of the suite and its accuracy.
#[derive(Debug, Serialize)]
pub struct Run {
    drive: String,
    #[serde(rename = "way")]
    scenario: &'static str,
    /// Measurements that failed or were skipped, with the reason.
    failed: Vec<(String, String)>,
    commands: u64,
    /// Time on the drive, including all pauses.
    minutes: f64,
    /// `None` if too little was found for a specification; the reason is in `why_none`.
    found: Option<Comparison>,
    why_none: Option<String>,
    /// Results outside the bounds.
    misses: Vec<&'static str>,
}

/// The measured drive compared with the given one.
#[derive(Debug, Serialize)]
struct Comparison {
    layout: LayoutComparison,
    /// Assumptions in the layout.
    assumed: Vec<String>,
    /// The rotation period, given and measured.
    period_ns: [f64; 2],
    read_seeks: SeekDifference,
    write_seeks: SeekDifference,
    /// Sums of overheads: names, with given and measured values in milliseconds.
    sums: Vec<(&'static str, [f64; 2])>,
    facts: Vec<Fact>,
    /// Sequential requests on both drives.
    sequences: Vec<Sequence>,
}

// The maximum error of an overhead, and the maximum duration of a run.
const OVERHEAD_MS: f64 = 0.02;
const MINUTES: f64 = 30.0;

impl Run {
    pub fn new(
        given: &Spec,
        scenario: &Scenario,
        checkpoint: &Checkpoint,
        described: Result<MeasuredDrive, String>,
    ) -> Self {
        let cost = checkpoint.cost();
        let failed = checkpoint.records.iter().filter_map(|record| {
            let (Outcome::Failed(why) | Outcome::Skipped(why)) = &record.outcome else {
                return None;
            };
            Some((record.name.clone(), why.clone()))
        });
        let (found, why_none) = match described {
            Ok(described) => (
                Some(Comparison::new(given, scenario, &described, checkpoint)),
                None,
            ),
            Err(why) => (None, Some(why)),
        };
        let failed: Vec<_> = failed.collect();
        let minutes = cost.time.as_s() / 60.0;
        let mut misses = match &found {
            Some(found) => found.misses(scenario),
            None => vec!["no specification"],
        };
        if !failed.is_empty() {
            misses.push("failed");
        }
        if minutes >= MINUTES {
            misses.push("time");
        }
        Self {
            drive: given.name.clone(),
            scenario: scenario.name,
            commands: cost.commands,
            minutes,
            misses,
            failed,
            found,
            why_none,
        }
    }
}

impl Comparison {
    fn new(
        given: &Spec,
        scenario: &Scenario,
        described: &MeasuredDrive,
        checkpoint: &Checkpoint,
    ) -> Self {
        let found = &described.spec;
        let findings = &checkpoint.findings;
        let by_command = findings.seek_commands.as_ref().map(Curves::mean);
        let any_seeks = findings.seeks.as_ref().or(by_command.as_ref());
        let reads = any_seeks.expect("a specification has seeks");
        let writes = match &findings.write_seeks {
            Some(WriteSeeks::Own(seeks)) => seeks,
            _ => reads,
        };
        let seeks = if scenario.is_by_timing() {
            times::compare_seeks_between_blocks
        } else {
            times::compare_seeks
        };
        let [was, is] = [given, found].map(|spec| ObservableTimes::new(spec).sums());
        // Seeks are compared as curves; as sums, their allowed error would be 1 % of their time.
        let is_overhead = |name: &str| !name.starts_with("seek and ");
        let sums = was.into_iter().filter_map(|(name, was)| {
            let (_, is) = is.iter().find(|(other, _)| *other == name)?;
            is_overhead(name).then_some((name, [was.as_ms(), is.as_ms()]))
        });
        Self {
            layout: layouts::compare(&given.geometry, &found.geometry),
            assumed: described.assumed.clone(),
            period_ns: [given, found].map(|spec| spec.mechanics.period_ns),
            read_seeks: seeks(given, found, reads, Op::Read),
            write_seeks: seeks(given, found, writes, Op::Write),
            sums: sums.collect(),
            facts: compare_facts(given, described),
            sequences: times::compare_sequences(given, found),
        }
    }

    /// Returns the results outside the bounds.
    fn misses(&self, scenario: &Scenario) -> Vec<&'static str> {
        let tolerance_factor = scenario.tolerance_factor();
        let layout = &self.layout;
        // No command shows which of several equal tracks a block is on, or which ones are empty.
        let is_placed = if scenario.is_by_timing() {
            layout.tracks.is_exact() && layout.zones.is_exact()
        } else {
            layout.is_exact
        };
        let sums = self.sums.iter();
        let overheads = sums
            .map(|(_, [was, is])| (is - was).abs())
            .fold(0.0, f64::max);
        let facts = self.facts.iter();
        let multiples = self.sequences.iter().map(Sequence::multiple);
        let checks = [
            ("layout", is_placed),
            (
                "defects",
                scenario.is_by_timing() || layout.defects.is_exact(),
            ),
            ("read seeks", self.read_seeks.multiple <= tolerance_factor),
            ("write seeks", self.write_seeks.multiple <= tolerance_factor),
            ("overheads", overheads <= tolerance_factor * OVERHEAD_MS),
            (
                "cache",
                facts.clone().all(|fact| fact.verdict != Verdict::Wrong),
            ),
            (
                "sequential",
                multiples.fold(0.0, f64::max) <= tolerance_factor,
            ),
        ];
        let missed = checks.into_iter().filter(|(_, holds)| !holds);
        missed.map(|(name, _)| name).collect()
    }
}

/// A fact of a buffer.
#[derive(Debug, Serialize)]
struct Fact {
    key: &'static str,
    given: String,
    found: String,
    verdict: Verdict,
    /// The reason why it cannot be determined.
    reason: Option<String>,
}

/// The verdict on a measured fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Right,
    NotDeterminable,
    Wrong,
}

/// Compares all facts of the buffer, and the rules of the bus.
fn compare_facts(given: &Spec, described: &MeasuredDrive) -> Vec<Fact> {
    let is_fact = |key: &str| {
        let times = ["bus.read_sector", "bus.write_sector"];
        (key.starts_with("buffer.") || key.starts_with("bus.")) && !times.contains(&key)
    };
    let finding = described
        .values
        .iter()
        .filter(|finding| is_fact(finding.key));
    let fact = |finding: &MeasuredValue| {
        let key = Key::find(finding.key).expect("the key is in the table");
        let [was, is] = [given, &described.spec].map(|spec| key.get(spec));
        let (verdict, reason) = match &finding.provenance {
            Provenance::Measured { .. } if agree(was.as_ref(), is.as_ref()) => {
                (Verdict::Right, None)
            }
            Provenance::Measured { .. } => (Verdict::Wrong, None),
            Provenance::Assumed(why) | Provenance::Unknown(why) => {
                (Verdict::NotDeterminable, Some(why.clone()))
            }
        };
        let format =
            |value: Option<Value>| value.map_or("none".to_owned(), |value| key.toml(&value));
        Fact {
            key: finding.key,
            given: format(was),
            found: format(is),
            verdict,
            reason,
        }
    };
    finding.map(fact).collect()
}

/// Compares values. Times within 0.05 ms and fractions within 5 % count as equal.
fn agree(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => (a - b).abs() <= 0.05,
        (Some(Value::Time(a)), Some(Value::Time(b))) => (*a - *b).as_ms().abs() <= 0.05,
        (a, b) => a == b,
    }
}
