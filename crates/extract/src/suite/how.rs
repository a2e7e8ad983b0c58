//! How the value of a key was found, and how certain it is.

use std::collections::BTreeSet;

use diskarm_core::text::InputError;
use diskarm_core::units::Span;
use serde::Serialize;

use super::{Checkpoint, Findings, Outcome, WriteSeeks};
use crate::Estimate;
use crate::cache::Finding;
use crate::layout::{self, timing};
use crate::overheads::Unsure;
use crate::seek::Seeks;

/// How a value was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// It was measured.
    Measured {
        /// By what: a phrase.
        method: String,
        /// Half the width of its interval, with its unit; `None` where it is exact, or one of
        /// several values.
        spread: Option<String>,
        /// Number of samples, if it rests on some.
        samples: Option<u64>,
    },
    /// Measurements do not tell, and this is taken for it: a sentence.
    Assumed(String),
    /// It could not be learnt: why.
    Unknown(String),
}

/// How the remark on a value begins that was not determined.
const NOT_DETERMINED: &str = "Not determined: ";

/// The keys of a specification that a remark calls not determined.
///
/// # Errors
/// If `text` is not TOML.
pub fn undetermined_keys(text: &str) -> Result<BTreeSet<&'static str>, InputError> {
    let remarks = diskarm_drives::text::remarks(text)?.into_iter();
    let open = remarks.filter(|(_, remark)| remark.starts_with(NOT_DETERMINED));
    Ok(open.map(|(key, _)| key).collect())
}

impl std::fmt::Display for Provenance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Measured {
                method,
                spread,
                samples,
            } => {
                let mut chars = method.chars();
                let first = chars.next().map(|first| first.to_ascii_uppercase());
                first.map_or(Ok(()), |first| write!(f, "{first}{}", chars.as_str()))?;
                if let Some(spread) = spread {
                    write!(f, "; ± {spread}")?;
                }
                match samples {
                    Some(samples) => write!(f, "; {samples} samples."),
                    None => f.write_str("."),
                }
            }
            Self::Assumed(what) => write!(f, "Assumed. {what}"),
            Self::Unknown(why) => write!(f, "{NOT_DETERMINED}{why}."),
        }
    }
}

/// A time that was measured.
fn by(method: &str, estimate: &Estimate) -> Provenance {
    Provenance::Measured {
        method: method.to_owned(),
        spread: Some(ms(estimate.uncertainty)),
        samples: Some(estimate.samples),
    }
}

fn exact(method: &str) -> Provenance {
    Provenance::Measured {
        method: method.to_owned(),
        spread: None,
        samples: None,
    }
}

/// A spread with its unit.
fn ms(span: Span) -> String {
    match span.as_ns() {
        ns @ ..1000 => format!("{ns} ns"),
        _ => format!("{:.4} ms", span.as_ms()),
    }
}

const OF_TWO_COMPLETIONS: &str = "Of the overheads after reads and after writes the smaller is \
     zero: measurements show only their sums with the overheads of commands.";

/// Why the depth of the drive's own queue is not found.
const ONE_COMMAND: &str = "commands are sent one at a time, which does not show how many the drive \
     takes into a queue of its own";

/// How the value of a key was found; `None` for keys that no measurement is about.
pub(super) fn of(key: &str, checkpoint: &Checkpoint) -> Option<Provenance> {
    let findings = &checkpoint.findings;
    if let Some(how) = buffer(key, findings) {
        return Some(how);
    }
    if let Some(name) = key.strip_prefix("geometry.") {
        return geometry(name, findings);
    }
    if let Some(name) = key.strip_prefix("mechanics.") {
        return mechanics(name, checkpoint);
    }
    if let Some(name) = key.strip_prefix("overheads.") {
        return match name.contains("write") {
            false => reads(name, checkpoint),
            true => writes(name, checkpoint),
        };
    }
    match key {
        "queue.depth" => Some(Provenance::Unknown(ONE_COMMAND.to_owned())),
        "bus.read_sector" => Some(bus_of_reads(checkpoint)),
        "bus.write_sector" => Some(bus_of_writes(checkpoint)),
        _ => None,
    }
}

fn geometry(name: &str, findings: &Findings) -> Option<Provenance> {
    let chosen = findings.layout.as_ref()?;
    match name {
        "sectors" | "sector_bytes" => Some(exact("READ CAPACITY")),
        "order" if chosen.method == layout::Method::Timing => {
            Some(Provenance::Assumed(timing::ASCENDING.to_owned()))
        }
        "surfaces" | "cylinders" | "sparing" | "order" => Some(exact(&chosen.method.to_string())),
        "zones" => {
            let zones = &chosen.found.geometry.zones;
            let slips: usize = zones.iter().map(|zone| zone.slips.len()).sum();
            let defects: usize = zones.iter().map(|zone| zone.defects.len()).sum();
            let assumed = &chosen.found.assumed;
            let unplaced = match assumed.iter().any(|assumed| assumed == timing::UNPLACED) {
                true => " whose tracks are known but not their sectors",
                false => "",
            };
            Some(exact(&format!(
                "{}: {} zones, {slips} slips{unplaced}, {defects} reallocations",
                chosen.method,
                zones.len()
            )))
        }
        _ => None,
    }
}

fn mechanics(name: &str, checkpoint: &Checkpoint) -> Option<Provenance> {
    let findings = &checkpoint.findings;
    match name {
        "rotation" => findings.rotation.map(|rotation| Provenance::Measured {
            method: "the line through the ends of reads of one block over their revolutions"
                .to_owned(),
            spread: Some(format!("{:.3} ns", rotation.uncertainty_ns)),
            samples: Some(rotation.samples),
        }),
        "seek" => Some(match &findings.seeks {
            Some(seeks) => curve("pairs of reads", seeks),
            None => {
                let why = why_not("seeks", checkpoint, "");
                curve(
                    &format!("the SEEK command, as {why},"),
                    &*findings.any_seeks()?,
                )
            }
        }),
        "inward_seek" => Some(match &findings.seeks {
            Some(seeks) => by("pairs of reads inward and outward", &seeks.inward),
            None => by("SEEK inward and outward", &findings.any_seeks()?.inward),
        }),
        "head_switch" => Some(match &findings.reads {
            Some(_) if is_switch_bounded(findings) => Provenance::Assumed(
                "Transfers go on to the next track without a lost revolution, which a head switch \
                 that took longer would not allow; it may take less."
                    .to_owned(),
            ),
            Some(reads) => by(
                "pairs of reads on one track and on two of a cylinder",
                &reads.head_switch,
            ),
            None => Provenance::Unknown(why_not("reads", checkpoint, "")),
        }),
        "cylinder_settle" => cylinder_settle(findings),
        "track_settle" => Some(match findings.timing()?.settle_of_hits() {
            Some(lands) => by(
                "writes that the drive takes in, whose arm settles although no miss is processed; \
                 at most, as what misses take to come back to the bus is part of it",
                &lands,
            ),
            None => Provenance::Assumed(
                "The time to settle on the current track cannot be separated from the overhead \
                 of commands, and is part of it unless another time were negative."
                    .to_owned(),
            ),
        }),
        "write_settle" => Some(match &findings.writes {
            Some(writes) => by(
                "pairs with writes on other cylinders, less those with reads",
                &writes.seeking[0],
            ),
            None => Provenance::Unknown(why_not("writes", checkpoint, "")),
        }),
        "write_seek" => match &findings.write_seeks {
            Some(WriteSeeks::Own(seeks)) => Some(curve("pairs of writes", seeks)),
            // They follow those of reads.
            _ => None,
        },
        _ => None,
    }
}

/// The time to settle before a request on another track of the cylinder, if any.
fn cylinder_settle(findings: &Findings) -> Option<Provenance> {
    let what = match is_switch_bounded(findings) {
        true => {
            "What pairs on two tracks of a cylinder take beyond the longest head switch with which \
             transfers go on to the next track; at least that."
        }
        false => {
            "What a request settles on another track of the cylinder cannot be separated from the \
             head switch; it is taken to be as on the current track."
        }
    };
    let settle = findings.mechanism()?.mechanics.cylinder_settle;
    (settle > Span::ZERO).then(|| Provenance::Assumed(what.to_owned()))
}

/// Whether the head switch is the longest with which transfers continue to the next track, which is
/// shorter than what pairs need.
fn is_switch_bounded(findings: &Findings) -> bool {
    let found = findings.timing().zip(findings.mechanism());
    found.is_some_and(|(timing, found)| {
        let mechanics = found.mechanics;
        let longest = timing.longest_switch(mechanics.write_settle);
        mechanics.cylinder_settle > Span::ZERO
            && longest.is_some_and(|longest| longest <= mechanics.head_switch)
    })
}

fn curve(by: &str, seeks: &Seeks) -> Provenance {
    let mut spreads: Vec<Span> = seeks
        .points
        .iter()
        .map(|point| point.mean.uncertainty)
        .collect();
    spreads.sort_unstable();
    let spread = spreads.last().map(|max| {
        let usual = spreads[spreads.len() / 2];
        format!(
            "{:.4} ms in the median, {:.4} ms at most",
            usual.as_ms(),
            max.as_ms()
        )
    });
    let mut method = format!(
        "{by} over {} distances, inward and outward",
        seeks.points.len()
    );
    if let Some(remark) = &seeks.remark {
        method += "; ";
        method += remark;
    }
    Provenance::Measured {
        method,
        spread,
        samples: Some(seeks.points.iter().map(|point| point.mean.samples).sum()),
    }
}

/// Overheads that reads alone show.
fn reads(name: &str, checkpoint: &Checkpoint) -> Option<Provenance> {
    let findings = &checkpoint.findings;
    Some(match name {
        "read_completion" => Provenance::Assumed(OF_TWO_COMPLETIONS.to_owned()),
        "read_miss_after_read" => match &findings.reads {
            Some(reads) => by("pairs of reads on one track", &reads.after_read),
            None => Provenance::Unknown(why_not("reads", checkpoint, "")),
        },
        "read_hit_after_read" => match findings.read_hits.and_then(|hits| hits.after_read) {
            Some(hit) => by("reads from the buffer after a read", &hit),
            None => Provenance::Unknown(why_not(
                "read-hits",
                checkpoint,
                "no read was served by the buffer",
            )),
        },
        _ => return None,
    })
}

/// Overheads that need writes to be seen.
fn writes(name: &str, checkpoint: &Checkpoint) -> Option<Provenance> {
    let findings = &checkpoint.findings;
    let unknown =
        |measurement, otherwise| Provenance::Unknown(why_not(measurement, checkpoint, otherwise));
    let Some(written) = &findings.writes else {
        let as_reads = matches!(name, "read_miss_after_write" | "read_hit_after_write");
        let why = why_not("writes", checkpoint, "");
        return match name {
            _ if as_reads => Some(Provenance::Unknown(format!(
                "{why}; taken to be as after a read"
            ))),
            "write_miss_after_read"
            | "write_miss_after_write"
            | "write_hit_after_read"
            | "write_hit_after_write"
            | "write_completion" => Some(Provenance::Unknown(why)),
            _ => None,
        };
    };
    let absorbed = "the drive took no write in before it was on the media";
    let hits = findings.write_hits.unwrap_or_default();
    let of_hits = |found: Option<Estimate>, method: &str, otherwise| match found {
        Some(found) => by(method, &found),
        None => unknown("write-hits", otherwise),
    };
    Some(match name {
        "read_miss_after_write" => by(
            "pairs of a write and a read on one track",
            &written.read_after_write,
        ),
        "read_hit_after_write" => of_hits(
            hits.read_after_write,
            "reads from the buffer after a write",
            "no read after a write was served by the buffer",
        ),
        "write_miss_after_read" => by(
            "pairs of a read and a write on one track",
            &written.leads[0],
        ),
        "write_miss_after_write" => by("pairs of writes on one track", &written.leads[1]),
        "write_hit_after_read" => of_hits(hits.after_read, "writes after a read", absorbed),
        "write_hit_after_write" => of_hits(hits.after_write, "writes after a write", absorbed),
        "write_completion" => Provenance::Assumed(OF_TWO_COMPLETIONS.to_owned()),
        "write_start.small" => match written.wait.unsure {
            None => exact("pairs of writes of growing size"),
            Some(Unsure::SlowBus) => Provenance::Unknown(SLOW_BUS.to_owned()),
            Some(Unsure::More) => Provenance::Unknown(
                "the media waited for all sectors of the largest write that was tried; they may \
                 wait for more"
                    .to_owned(),
            ),
            Some(Unsure::Missed) => Provenance::Unknown(
                "writes of several sectors lose revolutions on the media, as on a drive with room \
                 for few sectors, and do not tell for how many the media wait"
                    .to_owned(),
            ),
        },
        _ => return None,
    })
}

/// A fact that was found by test vectors.
fn buffer(key: &str, findings: &Findings) -> Option<Provenance> {
    let facts = &findings.buffer.as_ref()?.facts;
    let fact = facts.iter().find(|fact| fact.key == key)?;
    Some(match &fact.finding {
        Finding::Found { agreed, trials, .. } => Provenance::Measured {
            method: format!("test vectors, of which {agreed} of {trials} speak for it"),
            spread: None,
            samples: Some(u64::from(*trials)),
        },
        Finding::NotDeterminable { reason, .. } => Provenance::Unknown(reason.clone()),
    })
}

/// Why a wait for data does not tell the bus rate of writes.
const SLOW_BUS: &str = "media that wait for more sectors and a bus that is slower than the media \
     delay writes alike, and no pause between tracks tells them apart";

fn bus_of_reads(checkpoint: &Checkpoint) -> Provenance {
    let hits = checkpoint.findings.read_hits.unwrap_or_default();
    match (hits.sector, hits.slow_bus) {
        (Some(sector), _) => by("reads from the buffer, of one sector and of more", &sector),
        (None, Some(sector)) => by(
            "reads from the media, which are faster than the bus, of one sector and of more",
            &sector,
        ),
        (None, None) => Provenance::Unknown(why_not(
            "read-hits",
            checkpoint,
            "no read was served by the buffer",
        )),
    }
}

fn bus_of_writes(checkpoint: &Checkpoint) -> Provenance {
    let findings = &checkpoint.findings;
    if let Some(sector) = findings.write_hits.and_then(|hits| hits.sector) {
        return by(
            "writes that the drive took in, of one sector and of more",
            &sector,
        );
    }
    let wait = findings.writes.map(|writes| writes.wait);
    if let Some((sector, unsure)) = wait.and_then(|wait| Some((wait.sector?, wait.unsure))) {
        return match unsure {
            Some(Unsure::SlowBus) => Provenance::Unknown(SLOW_BUS.to_owned()),
            _ => by(
                "pairs of writes of growing size, whose media wait for data",
                &sector,
            ),
        };
    }
    let why = why_not("writes", checkpoint, "no write shows it");
    Provenance::Unknown(format!("{why}; taken to be that of reads"))
}

/// Why a measurement has not found something; `otherwise` if it was made.
pub(super) fn why_not(measurement: &str, checkpoint: &Checkpoint, otherwise: &str) -> String {
    match checkpoint.record(measurement).map(|record| &record.outcome) {
        Some(Outcome::Failed(error)) => format!("measuring {measurement} failed: {error}"),
        Some(Outcome::Skipped(why)) => why.clone(),
        Some(Outcome::Done) => otherwise.to_owned(),
        None => format!("{measurement} was not measured"),
    }
}
