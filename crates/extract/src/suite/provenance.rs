//! Turns the findings of a run into a specification, and states for each value where it comes from.

use std::collections::BTreeSet;

use diskarm_core::spec::{Key, Source, Spec, Value, milliseconds};
use diskarm_core::text::InputError;
use diskarm_core::units::Span;
use serde::Serialize;

use super::checkpoint::{Checkpoint, Findings, Options, Outcome, WriteSeeks};
use crate::Estimate;
use crate::cache::Finding;
use crate::layout::{self, timing};
use crate::overheads::Unsure;
use crate::seek::Seeks;

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    Measured {
        /// The method, as a phrase.
        method: String,
        /// Half the width of its interval, with its unit; `None` if the value is exact or one of
        /// several.
        spread: Option<String>,
        /// Number of samples.
        samples: Option<u64>,
    },
    /// Not measurable; assumed, with the reason as a sentence.
    Assumed(String),
    /// Unknown, for this reason.
    Unknown(String),
}

/// Start of the remark on a value that was not determined.
const NOT_DETERMINED: &str = "Not determined: ";

/// Returns the keys of a specification whose remarks call them not determined.
///
/// # Errors
/// `text` is not TOML.
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

/// Provenance of a measured time.
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

/// Formats a spread with its unit.
fn ms(span: Span) -> String {
    match span.as_ns() {
        ns @ ..1000 => format!("{ns} ns"),
        _ => format!("{:.4} ms", span.as_ms()),
    }
}

const OF_TWO_COMPLETIONS: &str = "The smaller of the overheads after reads and after writes is set \
     to zero: measurements show only their sums with command overheads.";

/// The reason for which the depth of the drive's own queue is unknown.
const ONE_COMMAND: &str =
    "commands are sent one at a time, which does not show how many the drive queues";

/// Returns the provenance of the value of a key; `None` for keys that no measurement is about.
fn provenance(key: &str, checkpoint: &Checkpoint) -> Option<Provenance> {
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
        return if name.contains("write") {
            writes(name, checkpoint)
        } else {
            reads(name, checkpoint)
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
            let is_unplaced = assumed.iter().any(|assumed| assumed == timing::UNPLACED);
            let unplaced = if is_unplaced {
                " whose tracks are known but not their sectors"
            } else {
                ""
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
            method: "linear fit of the completion times of repeated reads of one block"
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
                "Transfers continue to the next track without a lost revolution, which rules out a \
                 longer head switch; it may be shorter."
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
                "writes into the buffer, after which the arm settles without any miss overhead; an \
                 upper bound, as it includes the time that misses take to reconnect to the bus",
                &lands,
            ),
            None => Provenance::Assumed(
                "The time to settle on the current track cannot be separated from the command \
                 overhead, and is part of it unless another time would be negative."
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
            // They follow from the seeks before reads.
            _ => None,
        },
        _ => None,
    }
}

/// Returns the provenance of the time to settle on another track of the cylinder, if it is not
/// zero.
fn cylinder_settle(findings: &Findings) -> Option<Provenance> {
    let what = if is_switch_bounded(findings) {
        "The time by which pairs on two tracks of a cylinder exceed the longest head switch with \
         which transfers continue to the next track; a lower bound."
    } else {
        "The time to settle on another track of the cylinder cannot be separated from the head \
         switch; it is assumed to equal the time on the current track."
    };
    let settle = findings.mechanism()?.mechanics.cylinder_settle;
    (settle > Span::ZERO).then(|| Provenance::Assumed(what.to_owned()))
}

/// Returns true if the head switch is the longest with which transfers continue to the next track,
/// which is shorter than pairs of requests need.
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

/// Provenance of overheads that reads alone show.
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

/// Provenance of overheads that only writes show.
fn writes(name: &str, checkpoint: &Checkpoint) -> Option<Provenance> {
    let findings = &checkpoint.findings;
    let unknown =
        |measurement, otherwise| Provenance::Unknown(why_not(measurement, checkpoint, otherwise));
    let Some(written) = &findings.writes else {
        let as_reads = matches!(name, "read_miss_after_write" | "read_hit_after_write");
        let why = why_not("writes", checkpoint, "");
        return match name {
            _ if as_reads => Some(Provenance::Unknown(format!(
                "{why}; assumed to be as after a read"
            ))),
            "write_miss_after_read"
            | "write_miss_after_write"
            | "write_hit_after_read"
            | "write_hit_after_write"
            | "write_completion" => Some(Provenance::Unknown(why)),
            _ => None,
        };
    };
    let absorbed = "the drive completed no write before it was on the media";
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
                "the media waited for all sectors of the largest write tried; they may wait for \
                 more"
                    .to_owned(),
            ),
            Some(Unsure::Missed) => Provenance::Unknown(
                "writes of several sectors lose revolutions on the media, as on a drive with a \
                 very small buffer, so the number of sectors that the media wait for does not show"
                    .to_owned(),
            ),
        },
        _ => return None,
    })
}

/// Provenance of a fact found by test vectors.
fn buffer(key: &str, findings: &Findings) -> Option<Provenance> {
    let facts = &findings.buffer.as_ref()?.facts;
    let fact = facts.iter().find(|fact| fact.key == key)?;
    Some(match &fact.finding {
        Finding::Found { agreed, trials, .. } => Provenance::Measured {
            method: format!("test vectors, {agreed} of {trials} in its favour"),
            spread: None,
            samples: Some(u64::from(*trials)),
        },
        Finding::NotDeterminable { reason, .. } => Provenance::Unknown(reason.clone()),
    })
}

/// The reason for which a wait for data does not show the bus rate of writes.
const SLOW_BUS: &str = "media that wait for more sectors delay writes just like a bus that is \
     slower than the media, and no pause between tracks distinguishes them";

fn bus_of_reads(checkpoint: &Checkpoint) -> Provenance {
    let hits = checkpoint.findings.read_hits.unwrap_or_default();
    match (hits.sector, hits.slow_bus) {
        (Some(sector), _) => by(
            "reads from the buffer of one and of several sectors",
            &sector,
        ),
        (None, Some(sector)) => by(
            "reads from the media, which are faster than the bus, of one and of several sectors",
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
            "writes into the buffer of one and of several sectors",
            &sector,
        );
    }
    let wait = findings.writes.map(|writes| writes.wait);
    if let Some((sector, unsure)) = wait.and_then(|wait| Some((wait.sector?, wait.unsure))) {
        return match unsure {
            Some(Unsure::SlowBus) => Provenance::Unknown(SLOW_BUS.to_owned()),
            _ => by(
                "pairs of writes of growing size, where the media wait for data",
                &sector,
            ),
        };
    }
    let why = why_not("writes", checkpoint, "no write shows it");
    Provenance::Unknown(format!("{why}; assumed to equal the bus rate of reads"))
}

/// Returns the reason for which a measurement did not find something; `otherwise` if it was made.
fn why_not(measurement: &str, checkpoint: &Checkpoint, otherwise: &str) -> String {
    match checkpoint.record(measurement).map(|record| &record.outcome) {
        Some(Outcome::Failed(error)) => format!("measuring {measurement} failed: {error}"),
        Some(Outcome::Skipped(why)) => why.clone(),
        Some(Outcome::Done) => otherwise.to_owned(),
        None => format!("{measurement} was not measured"),
    }
}
/// A measured drive.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDrive {
    pub spec: Spec,
    /// The provenance of its values, in the order of the manual.
    pub values: Vec<MeasuredValue>,
    /// The assumptions in the layout, a sentence each.
    pub assumed: Vec<String>,
}

/// A value and its provenance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredValue {
    /// The path of the key.
    pub key: &'static str,
    /// The value as in a specification; `None` for curves, zones and texts.
    pub value: Option<String>,
    #[serde(rename = "how")]
    pub provenance: Provenance,
}

impl MeasuredDrive {
    /// Describes the drive that was measured in the run of `checkpoint`.
    ///
    /// # Errors
    /// The rotation, layout or seeks are missing, or the findings are not consistent.
    pub fn new(checkpoint: &Checkpoint, name: &str) -> Result<Self, String> {
        let findings = &checkpoint.findings;
        let needed = ["rotation", "layout", "idle", "seeks"];
        let (Some(chosen), Some(mechanism)) = (&findings.layout, findings.mechanism()) else {
            let why = needed.into_iter().find_map(|name| {
                let why = why_not(name, checkpoint, "");
                (!why.is_empty()).then_some(why)
            });
            return Err(format!(
                "too little was found for a specification: {}",
                why.unwrap_or_default()
            ));
        };
        let mut spec = Spec {
            name: name.to_owned(),
            summary: format!("{}, measured over SCSI", checkpoint.identity.name()),
            source: source(checkpoint, &chosen.found.assumed),
            ..mechanism
        };
        if let Some(facts) = &findings.buffer {
            facts.describe(&mut spec);
        }
        let refused = make_consistent(&mut spec)?;
        let mut values: Vec<MeasuredValue> = Vec::new();
        for key in Key::all() {
            let clash = refused.iter().find(|(path, _)| *path == key.path);
            let provenance = match clash {
                Some((_, why)) => Some(Provenance::Unknown(why.clone())),
                None => provenance(key.path, checkpoint),
            };
            if let Some(provenance) = provenance {
                values.push(MeasuredValue {
                    key: key.path,
                    value: key.get(&spec).and_then(|value| format_value(key, &value)),
                    provenance,
                });
            }
        }
        Ok(Self {
            spec,
            values,
            assumed: chosen.found.assumed.clone(),
        })
    }

    /// Returns the specification with a remark above each value.
    pub fn text(&self) -> String {
        diskarm_drives::text::specification(&self.spec, &|path| {
            let found = self.values.iter().find(|found| found.key == path)?;
            Some(found.provenance.to_string())
        })
    }
}

fn source(checkpoint: &Checkpoint, assumed: &[String]) -> Source {
    let identity = &checkpoint.identity;
    let serial = match identity.serial.as_str() {
        "" => String::new(),
        serial => format!(", serial number {serial}"),
    };
    let Options { effort, writes, .. } = checkpoint.options;
    let writes = if writes { "with" } else { "without" };
    Source {
        origin: format!(
            "Measured by diskarm extract through SCSI commands to {}{serial}, {effort} effort, \
             {writes} writes.",
            identity.name()
        ),
        choices: assumed.join(" "),
        ..Source::default()
    }
}

/// Resets values that others forbid to their defaults. Returns their keys with what was measured.
fn make_consistent(spec: &mut Spec) -> Result<Vec<(String, String)>, String> {
    let mut refused = Vec::new();
    while let Some((path, expected)) = spec.contradiction() {
        let key = Key::find(&path).filter(|key| {
            let default = key.get(&Spec::default());
            !key.required && default.is_some() && key.get(spec) != default
        });
        let (Some(key), true) = (key, refused.len() < 100) else {
            return Err(format!(
                "the findings are not consistent: {path}, expected {expected}"
            ));
        };
        let found = key
            .get(spec)
            .and_then(|value| format_value(key, &value))
            .unwrap_or_default();
        if let Some(default) = key.get(&Spec::default()) {
            key.set(spec, default);
        }
        refused.push((
            path,
            format!("measured {found}, but other values require {expected}"),
        ));
    }
    Ok(refused)
}

/// Formats a value as in a specification.
fn format_value(key: &'static Key, value: &Value) -> Option<String> {
    match value {
        Value::SeekCurve(_) | Value::Zones(_) | Value::Text(_) => None,
        Value::Time(time) => Some(format!("{} ms", milliseconds(*time))),
        value => Some(key.toml(value).trim_matches('"').to_owned()),
    }
}
