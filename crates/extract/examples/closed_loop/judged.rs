//! What was found in a run, held against what was given.

use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_extract::ObservableTimes;
use diskarm_extract::seek_command::Curves;
use diskarm_extract::suite::{Checkpoint, MeasuredDrive, Outcome, WriteSeeks};
use serde::Serialize;

use crate::facts::{self, Fact, Verdict};
use crate::layouts::{self, Compared};
use crate::seeks::{self, Seek};
use crate::sequence::{self, Sequence};
use crate::way::Way;

/// A run of the suite, and how near it came.
#[derive(Debug, Serialize)]
pub struct Run {
    drive: String,
    way: &'static str,
    /// Measurements that failed or were skipped, and why.
    failed: Vec<(String, String)>,
    commands: u64,
    /// How long they took the drive, with all pauses.
    minutes: f64,
    /// `None` if too little was found for a specification; `why_none` says why.
    found: Option<Judged>,
    why_none: Option<String>,
    /// What is not within the bounds.
    misses: Vec<&'static str>,
}

/// What was found, held against what was given.
#[derive(Debug, Serialize)]
struct Judged {
    layout: Compared,
    /// What the suite could not learn of the layout and assumed.
    assumed: Vec<String>,
    /// The rotation period, given and found.
    period_ns: [f64; 2],
    read_seeks: Seek,
    write_seeks: Seek,
    /// Sums of overheads: names, and given and found in milliseconds.
    sums: Vec<(&'static str, [f64; 2])>,
    facts: Vec<Fact>,
    /// Sequential requests on both drives.
    sequences: Vec<Sequence>,
}

/// What the issue allows.
const OVERHEAD_MS: f64 = 0.02;
const MINUTES: f64 = 30.0;

impl Run {
    pub fn of(
        given: &Spec,
        way: &Way,
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
            Ok(described) => (Some(Judged::of(given, way, &described, checkpoint)), None),
            Err(why) => (None, Some(why)),
        };
        let failed: Vec<_> = failed.collect();
        let minutes = cost.time.as_s() / 60.0;
        let mut misses = match &found {
            Some(found) => found.misses(way),
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
            way: way.name,
            commands: cost.commands,
            minutes,
            misses,
            failed,
            found,
            why_none,
        }
    }
}

impl Judged {
    fn of(given: &Spec, way: &Way, described: &MeasuredDrive, checkpoint: &Checkpoint) -> Self {
        let found = &described.spec;
        let findings = &checkpoint.findings;
        let commanded = findings.seek_commands.as_ref().map(Curves::mean);
        let reads = findings.seeks.as_ref().or(commanded.as_ref());
        let reads = reads.expect("a specification has seeks");
        let writes = match &findings.write_seeks {
            Some(WriteSeeks::Own(seeks)) => seeks,
            _ => reads,
        };
        let seeks = match way.is_by_timing() {
            true => seeks::compared_between_blocks,
            false => seeks::compared,
        };
        let [was, is] = [given, found].map(|spec| ObservableTimes::new(spec).sums());
        // A seek is judged with the curves; here it would count with one per cent of its time.
        let is_overhead = |name: &str| !name.starts_with("seek and ");
        let sums = was.into_iter().filter_map(|(name, was)| {
            let (_, is) = is.iter().find(|(other, _)| *other == name)?;
            is_overhead(name).then_some((name, [was.as_ms(), is.as_ms()]))
        });
        Self {
            layout: layouts::compared(&given.geometry, &found.geometry),
            assumed: described.assumed.clone(),
            period_ns: [given, found].map(|spec| spec.mechanics.period_ns),
            read_seeks: seeks(given, found, reads, Op::Read),
            write_seeks: seeks(given, found, writes, Op::Write),
            sums: sums.collect(),
            facts: facts::compared(given, described),
            sequences: sequence::compared(given, found),
        }
    }

    /// What is not within the bounds.
    fn misses(&self, way: &Way) -> Vec<&'static str> {
        let wider = way.wider();
        let layout = &self.layout;
        // No command tells on which of several equal tracks a block is, nor what holds no blocks.
        let placed = match way.is_by_timing() {
            true => layout.tracks.is_exact() && layout.zones.is_exact(),
            false => layout.is_exact,
        };
        let sums = self.sums.iter();
        let overheads = sums
            .map(|(_, [was, is])| (is - was).abs())
            .fold(0.0, f64::max);
        let facts = self.facts.iter();
        let multiples = self.sequences.iter().map(Sequence::multiple);
        let checks = [
            ("layout", placed),
            ("defects", way.is_by_timing() || layout.defects.is_exact()),
            ("read seeks", self.read_seeks.multiple <= wider),
            ("write seeks", self.write_seeks.multiple <= wider),
            ("overheads", overheads <= wider * OVERHEAD_MS),
            (
                "cache",
                facts.clone().all(|fact| fact.verdict != Verdict::Wrong),
            ),
            ("sequential", multiples.fold(0.0, f64::max) <= wider),
        ];
        let missed = checks.into_iter().filter(|(_, holds)| !holds);
        missed.map(|(name, _)| name).collect()
    }
}
