//! Turns the findings of a run into a specification, and states the provenance of each value.

use std::collections::BTreeSet;

use diskarm_core::spec::{Key, Source, Spec, Value, milliseconds};
use diskarm_core::text::InputError;
use diskarm_core::units::Span;
use serde::Serialize;

use super::checkpoint::{Checkpoint, Findings, Options, Outcome, WriteSeeks};
use crate::Estimate;
use crate::cache::Finding;
use crate::layout::{self, timing};
use crate::overheads::Undetermined;
use crate::seek::Seeks;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    Measured {
        method: String,
        /// Half the width of its interval, with the unit; `None` if the value is exact or a choice.
        spread: Option<String>,
        samples: Option<u64>,
    },
    /// Assumed because it cannot be measured. The reason is a sentence.
    Assumed(String),
    /// Unknown, for this reason.
    Unknown(String),
}

const NOT_DETERMINED: &str = "Not determined: ";

/// Returns the keys of a specification whose remarks say that they were not determined.
pub fn undetermined_keys(text: &str) -> Result<BTreeSet<&'static str>, InputError> {
    let remarks = diskarm_drives::text::remarks(text)?.into_iter();
    let undetermined = remarks.filter(|(_, remark)| remark.starts_with(NOT_DETERMINED));
    Ok(undetermined.map(|(key, _)| key).collect())
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

fn assumption(what: &str) -> Provenance {
    Provenance::Assumed(what.to_owned())
}

fn unknown(why: &str) -> Provenance {
    Provenance::Unknown(why.to_owned())
}

fn exact(method: &str) -> Provenance {
    Provenance::Measured {
        method: method.to_owned(),
        spread: None,
        samples: None,
    }
}

fn estimated(method: &str, estimate: Estimate) -> Provenance {
    let spread = match estimate.uncertainty.as_ns() {
        ns @ ..1000 => format!("{ns} ns"),
        _ => format!("{:.4} ms", estimate.uncertainty.as_ms()),
    };
    Provenance::Measured {
        method: method.to_owned(),
        spread: Some(spread),
        samples: Some(estimate.samples),
    }
}

fn curve(by: &str, seeks: &Seeks) -> Provenance {
    let points = seeks.points.iter().map(|point| point.mean);
    let mut spreads: Vec<Span> = points.clone().map(|mean| mean.uncertainty).collect();
    spreads.sort_unstable();
    let spread = spreads.last().map(|max| {
        let usual = spreads[spreads.len() / 2].as_ms();
        format!("{usual:.4} ms (median), {:.4} ms (maximum)", max.as_ms())
    });
    let mut method = format!("{by} over {} distances, inward and outward", spreads.len());
    if let Some(remark) = &seeks.remark {
        method += "; ";
        method += remark;
    }
    Provenance::Measured {
        method,
        spread,
        samples: Some(points.map(|mean| mean.samples).sum()),
    }
}

const OF_TWO_COMPLETIONS: &str = "The smaller of the overheads after reads and after writes is set \
     to zero: measurements show only their sums with command overheads.";

/// The reason why the depth of the drive's own queue is unknown.
const ONE_COMMAND: &str =
    "commands are sent one at a time, which does not show how many the drive queues";

/// The reason why a wait for data does not determine the bus rate of writes.
const SLOW_BUS: &str = "media that wait for more sectors delay writes just like a bus that is \
     slower than the media, and no pause between tracks distinguishes them";

const NO_READ_HIT: &str = "no read was served by the buffer";

impl Checkpoint {
    /// Returns the provenance of the value of a key; `None` for keys that are never measured.
    fn provenance(&self, key: &str) -> Option<Provenance> {
        if let Some(found) = self.buffer(key) {
            return Some(found);
        }
        match key.split_once('.')? {
            ("geometry", name) => self.geometry(name),
            ("mechanics", name) => self.mechanics(name),
            ("overheads", name) if name.contains("write") => self.writes(name),
            ("overheads", name) => self.reads(name),
            ("queue", "depth") => Some(unknown(ONE_COMMAND)),
            ("bus", "read_sector") => Some(self.bus_of_reads()),
            ("bus", "write_sector") => Some(self.bus_of_writes()),
            _ => None,
        }
    }

    /// Returns the reason why a measurement failed or was skipped, or `otherwise` if it succeeded.
    fn why_not(&self, measurement: &str, otherwise: &str) -> String {
        match self.record(measurement).map(|record| &record.outcome) {
            Some(Outcome::Failed(error)) => format!("measuring {measurement} failed: {error}"),
            Some(Outcome::Skipped(why)) => why.clone(),
            Some(Outcome::Done) => otherwise.to_owned(),
            None => format!("{measurement} was not measured"),
        }
    }

    /// Returns the provenance of a time. `otherwise` is the reason if the time does not occur.
    fn time(
        &self,
        measurement: &str,
        found: Option<Estimate>,
        method: &str,
        otherwise: &str,
    ) -> Provenance {
        match found {
            Some(found) => estimated(method, found),
            None => Provenance::Unknown(self.why_not(measurement, otherwise)),
        }
    }

    fn buffer(&self, key: &str) -> Option<Provenance> {
        let facts = &self.findings.buffer.as_ref()?.facts;
        let fact = facts.iter().find(|fact| fact.key == key)?;
        Some(match &fact.finding {
            Finding::Found { agreed, trials, .. } => Provenance::Measured {
                method: format!("test vectors, of which {agreed} of {trials} support the value"),
                spread: None,
                samples: Some(u64::from(*trials)),
            },
            Finding::NotDeterminable { reason, .. } => unknown(reason),
        })
    }

    fn geometry(&self, name: &str) -> Option<Provenance> {
        let chosen = self.findings.layout.as_ref()?;
        let method = chosen.method;
        match name {
            "sectors" | "sector_bytes" => Some(exact("READ CAPACITY")),
            "order" if method == layout::Method::Timing => {
                Some(assumption(timing::ASSUMED_ASCENDING))
            }
            "surfaces" | "cylinders" | "sparing" | "order" => Some(exact(&method.to_string())),
            "zones" => {
                let zones = &chosen.found.geometry.zones;
                let slips: usize = zones.iter().map(|zone| zone.slips.len()).sum();
                let defects: usize = zones.iter().map(|zone| zone.defects.len()).sum();
                let mut assumed = chosen.found.assumed.iter();
                let unplaced = if assumed.any(|assumed| assumed == timing::UNKNOWN_SLIPS) {
                    " whose tracks, but not sectors, are known"
                } else {
                    ""
                };
                let count = zones.len();
                Some(exact(&format!(
                    "{method}: {count} zones, {slips} slips{unplaced}, {defects} reallocations"
                )))
            }
            _ => None,
        }
    }

    fn mechanics(&self, name: &str) -> Option<Provenance> {
        let findings = &self.findings;
        Some(match name {
            "rotation" => findings.rotation.map(|rotation| Provenance::Measured {
                method: "linear fit of the completion times of repeated reads of one block"
                    .to_owned(),
                spread: Some(format!("{:.3} ns", rotation.uncertainty_ns)),
                samples: Some(rotation.samples),
            })?,
            "seek" => match &findings.seeks {
                Some(seeks) => curve("pairs of reads", seeks),
                None => {
                    let method = format!("the SEEK command, as {},", self.why_not("seeks", ""));
                    curve(&method, &*findings.any_seeks()?)
                }
            },
            "inward_seek" => match &findings.seeks {
                Some(seeks) => estimated("pairs of reads inward and outward", seeks.inward),
                None => estimated("SEEK inward and outward", findings.any_seeks()?.inward),
            },
            "head_switch" if findings.reads.is_some() && is_switch_bounded(findings) => assumption(
                "Transfers continue to the next track without a lost revolution, which rules out a \
                 longer head switch; it may be shorter.",
            ),
            "head_switch" => self.time(
                "reads",
                findings.reads.map(|reads| reads.head_switch),
                "pairs of reads on one track and on two tracks of a cylinder",
                "",
            ),
            "cylinder_settle" => {
                let settle = findings.mechanism()?.mechanics.cylinder_settle;
                if settle <= Span::ZERO {
                    return None;
                }
                assumption(if is_switch_bounded(findings) {
                    "A lower bound: pairs on two tracks of a cylinder take this much longer than \
                     the longest head switch with which transfers continue to the next track."
                } else {
                    "The time to settle on another track of the cylinder cannot be separated from \
                     the head switch; it is assumed to equal the time on the current track."
                })
            }
            "track_settle" => match findings.timing()?.settle_of_hits() {
                Some(settle) => estimated(
                    "writes into the buffer, after which the arm settles without any miss \
                     overhead; an upper bound, as it includes the time that misses take to \
                     reconnect to the bus",
                    settle,
                ),
                None => assumption(
                    "The time to settle on the current track cannot be separated from the command \
                     overhead, and is part of it unless another time would be negative.",
                ),
            },
            "write_settle" => self.time(
                "writes",
                findings.writes.map(|writes| writes.seeking[0]),
                "pairs with writes on other cylinders, minus pairs with reads",
                "",
            ),
            // Unless measured separately, seeks before writes follow from those before reads.
            "write_seek" => match findings.write_seeks.as_ref()? {
                WriteSeeks::Own(seeks) => curve("pairs of writes", seeks),
                WriteSeeks::Parallel => return None,
            },
            _ => return None,
        })
    }

    /// Returns the provenance of overheads that are measured with reads only.
    fn reads(&self, name: &str) -> Option<Provenance> {
        let findings = &self.findings;
        let hit = findings.read_hits.and_then(|hits| hits.after_read);
        Some(match name {
            "read_completion" => assumption(OF_TWO_COMPLETIONS),
            "read_miss_after_read" => self.time(
                "reads",
                findings.reads.map(|reads| reads.after_read),
                "pairs of reads on one track",
                "",
            ),
            "read_hit_after_read" => {
                let method = "reads from the buffer after a read";
                self.time("read-hits", hit, method, NO_READ_HIT)
            }
            _ => return None,
        })
    }

    /// Returns the provenance of overheads that are measured with writes.
    fn writes(&self, name: &str) -> Option<Provenance> {
        let Some(written) = &self.findings.writes else {
            let why = self.why_not("writes", "");
            return match name {
                "read_miss_after_write" | "read_hit_after_write" => {
                    Some(unknown(&format!("{why}; assumed to be as after a read")))
                }
                "write_miss_after_read"
                | "write_miss_after_write"
                | "write_hit_after_read"
                | "write_hit_after_write"
                | "write_completion" => Some(unknown(&why)),
                _ => None,
            };
        };
        let hits = self.findings.write_hits.unwrap_or_default();
        let absorbed = "the drive completed no write before it was on the media";
        let hit = |found, method, otherwise| self.time("write-hits", found, method, otherwise);
        Some(match name {
            "read_miss_after_write" => estimated(
                "pairs of a write and a read on one track",
                written.read_after_write,
            ),
            "read_hit_after_write" => hit(
                hits.read_after_write,
                "reads from the buffer after a write",
                "no read after a write was served by the buffer",
            ),
            "write_miss_after_read" => {
                estimated("pairs of a read and a write on one track", written.leads[0])
            }
            "write_miss_after_write" => estimated("pairs of writes on one track", written.leads[1]),
            "write_hit_after_read" => hit(hits.after_read, "writes after a read", absorbed),
            "write_hit_after_write" => hit(hits.after_write, "writes after a write", absorbed),
            "write_completion" => assumption(OF_TWO_COMPLETIONS),
            "write_start.small" => match written.wait.unsure {
                None => exact("pairs of writes of increasing size"),
                Some(Undetermined::SlowBus) => unknown(SLOW_BUS),
                Some(Undetermined::More) => unknown(
                    "the media waited for all sectors of the largest write tried; they may wait \
                     for more",
                ),
                Some(Undetermined::Missed) => unknown(
                    "writes of several sectors lose revolutions on the media, as on a drive with \
                     a very small buffer, so they do not show how many sectors the media wait \
                     for",
                ),
            },
            _ => return None,
        })
    }

    fn bus_of_reads(&self) -> Provenance {
        let hits = self.findings.read_hits.unwrap_or_default();
        let method = if hits.sector.is_some() {
            "reads of one and of several sectors from the buffer"
        } else {
            "reads of one and of several sectors from the media, which are faster than the bus"
        };
        let sector = hits.sector.or(hits.slow_bus);
        self.time("read-hits", sector, method, NO_READ_HIT)
    }

    fn bus_of_writes(&self) -> Provenance {
        let findings = &self.findings;
        if let Some(sector) = findings.write_hits.and_then(|hits| hits.sector) {
            let method = "writes of one and of several sectors into the buffer";
            return estimated(method, sector);
        }
        let wait = findings.writes.map(|writes| writes.wait);
        match wait.and_then(|wait| Some((wait.sector?, wait.unsure))) {
            Some((_, Some(Undetermined::SlowBus))) => unknown(SLOW_BUS),
            Some((sector, _)) => estimated(
                "pairs of writes of increasing size, where the media wait for data",
                sector,
            ),
            None => {
                let why = self.why_not("writes", "no write reveals it");
                unknown(&format!("{why}; assumed to equal the bus rate of reads"))
            }
        }
    }
}

/// Returns true if the head switch is bounded by transfers that continue to the next track.
fn is_switch_bounded(findings: &Findings) -> bool {
    let found = findings.timing().zip(findings.mechanism());
    found.is_some_and(|(timing, found)| {
        let mechanics = found.mechanics;
        let longest = timing.longest_switch(mechanics.write_settle);
        mechanics.cylinder_settle > Span::ZERO
            && longest.is_some_and(|longest| longest <= mechanics.head_switch)
    })
}

/// The specification of a measured drive, and the provenance of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDrive {
    pub spec: Spec,
    /// The provenance of the values, in the order of the manual.
    pub values: Vec<MeasuredValue>,
    /// The assumptions in the layout, each a full sentence.
    pub assumed: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredValue {
    pub key: &'static str,
    /// The value in the form of a specification; `None` for curves, zones and strings.
    pub value: Option<String>,
    #[serde(rename = "how")]
    pub provenance: Provenance,
}

impl MeasuredDrive {
    /// Describes the drive measured by the run of `checkpoint`. Fails if the rotation, the layout,
    /// the idle time or the seeks are missing, or if the findings contradict each other.
    pub fn new(checkpoint: &Checkpoint, name: &str) -> Result<Self, String> {
        let findings = &checkpoint.findings;
        let (Some(chosen), Some(mechanism)) = (&findings.layout, findings.mechanism()) else {
            let needed = ["rotation", "layout", "idle", "seeks"].into_iter();
            let mut reasons = needed.map(|name| checkpoint.why_not(name, ""));
            let why = reasons.find(|why| !why.is_empty()).unwrap_or_default();
            return Err(format!("too little was found for a specification: {why}"));
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
        let measured = |key: &'static Key| {
            let clash = refused.iter().find(|(path, _)| *path == key.path);
            Some(MeasuredValue {
                key: key.path,
                value: format_value(key, &spec),
                provenance: match clash {
                    Some((_, why)) => unknown(why),
                    None => checkpoint.provenance(key.path)?,
                },
            })
        };
        Ok(Self {
            values: Key::all().into_iter().filter_map(measured).collect(),
            spec,
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

/// Resets contradictory values to their defaults. Returns their keys, each with the reason.
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
        let found = format_value(key, spec).unwrap_or_default();
        if let Some(default) = key.get(&Spec::default()) {
            key.set(spec, default);
        }
        let why = format!("measured {found}, but other values require {expected}");
        refused.push((path, why));
    }
    Ok(refused)
}

fn format_value(key: &'static Key, spec: &Spec) -> Option<String> {
    match key.get(spec)? {
        Value::SeekCurve(_) | Value::Zones(_) | Value::Text(_) => None,
        Value::Time(time) => Some(format!("{} ms", milliseconds(time))),
        value => Some(key.toml(&value).trim_matches('"').to_owned()),
    }
}
