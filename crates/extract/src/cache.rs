//! The on-board buffer (worthington96 sections 5.7 and 5.8; tables 7, 11, 16 and 21).
//!
//! As in the paper, a test vector loads the buffer in some way, and a read then inspects what it
//! holds. A first look finds sizes and numbers one by one ([`ahead`], [`segments`]), and whether
//! the write cache is of a kind that models cannot follow ([`deferred`]). All else is decided
//! between hypotheses ([`judge`]): what is known of a drive's layout and timing is enough to
//! compute how a drive with any buffer would answer a vector, so vectors are looked for at which
//! the answers differ, sent, and that hypothesis is believed which predicts what the drive
//! answered.
//! Facts that no vector tells are reported as such, with the reason.
//!
//! The table [`FACTS`] lists what is looked for.

mod ahead;
mod bench;
mod choose;
mod deferred;
mod division;
mod escape;
mod explore;
mod failures;
mod fit;
mod judge;
mod left;
mod linked;
mod moves;
mod segments;
mod vector;

use diskarm_core::spec::{Buffer, DeliveredBlocks, Key, ReadAhead, Spec, Value, WriteCache};
use serde::{Deserialize, Serialize};

use crate::hits::WriteHits;
use crate::{Disk, Effort, Error, Setup};
use bench::Bench;
use judge::Verdict;

/// A fact that is looked for.
struct Row {
    /// Its key in a specification.
    path: &'static str,
    /// Whether it takes writes to find it.
    writes: bool,
    /// Why it means nothing on a drive with such a buffer, if it does not.
    moot: fn(&Buffer) -> Option<&'static str>,
    /// Why nothing tells it.
    untold: &'static str,
}

impl Row {
    fn key(&self) -> &'static Key {
        Key::find(self.path).expect("a key of the table")
    }

    /// Its value in a specification, if it is a count.
    fn count(&self, spec: &Spec) -> u64 {
        match self.key().get(spec) {
            Some(Value::Count(count)) => count,
            _ => 0,
        }
    }

    /// Whether two drives differ in it, by more than can be told of a number.
    fn differs(&self, a: &Spec, b: &Spec) -> bool {
        match (self.key().get(a), self.key().get(b)) {
            (Some(Value::Time(a)), Some(Value::Time(b))) => (a - b).as_ms().abs() > 0.025,
            (Some(Value::Number(a)), Some(Value::Number(b))) => (a - b).abs() > 0.035,
            (a, b) => a != b,
        }
    }
}

const fn read(path: &'static str, moot: fn(&Buffer) -> Option<&'static str>) -> Row {
    Row {
        path,
        writes: false,
        moot,
        untold: UNTOLD,
    }
}

const fn write(path: &'static str, moot: fn(&Buffer) -> Option<&'static str>) -> Row {
    Row {
        path,
        writes: true,
        moot,
        untold: UNTOLD,
    }
}

/// Where no reason is known.
const UNTOLD: &str = "no test sequence that was tried distinguishes it from other values";

/// Where the write cache is one that no model here has.
const DEFERRED: &str = "the drive takes in writes at both ends of the disk one right after the \
                        other: its cache is a deferred one, which vectors do not tell more of; \
                        what is given is that of the most similar cache, always";

/// Why the number of segments is not known of such a drive.
const SEGMENTS: &str = "one more may be for writes alone, which vectors do not tell of a drive \
                        with a deferred write cache";

/// Where too many vectors speak for another value.
const DISPUTED: &str = "what the drive answered to several vectors speaks for one value, and to \
                        others for another";

/// Where a write is larger than its segment.
const HOLDS: &str = "a drive that keeps the bus while its segment is full and one that comes back \
                     as soon as there is room answer alike";

fn never(_: &Buffer) -> Option<&'static str> {
    None
}

fn uncached(buffer: &Buffer) -> Option<&'static str> {
    (!buffer.caching).then_some("no request is served from the buffer")
}

fn no_read_ahead(buffer: &Buffer) -> Option<&'static str> {
    (buffer.read_ahead == ReadAhead::None).then_some("the drive does not read ahead")
}

fn dropped(buffer: &Buffer) -> Option<&'static str> {
    let is_dropped = buffer.delivered == DeliveredBlocks::Dropped;
    uncached(buffer).or(is_dropped.then_some("blocks before those delivered never stay"))
}

fn no_whole_tracks(buffer: &Buffer) -> Option<&'static str> {
    no_read_ahead(buffer).or(dropped(buffer))
}

fn no_mark(buffer: &Buffer) -> Option<&'static str> {
    let none = buffer.read_watermark == 0.0 && buffer.write_watermark == 0.0;
    none.then_some("the bus begins with the first block in the buffer")
}

fn no_partial_wait(buffer: &Buffer) -> Option<&'static str> {
    let at_once = buffer.read_watermark == 0.0 && !buffer.arriving_hits;
    uncached(buffer).or(at_once.then_some("the bus begins with the first block in the buffer"))
}

fn no_absorbed_writes(buffer: &Buffer) -> Option<&'static str> {
    let none = buffer.write_cache == WriteCache::Off;
    no_read_ahead(buffer).or(none.then_some("no write ends before it is on the media"))
}

/// The fact that is counted and not decided.
const FAILURES: &str = "buffer.read_ahead_failures";

const FACTS: [Row; 29] = [
    read("buffer.caching", never),
    read("buffer.delivered", uncached),
    read("buffer.read_ahead", uncached),
    read("buffer.read_ahead_on_run", no_read_ahead),
    read("buffer.read_ahead_max", no_read_ahead),
    read("buffer.read_ahead_min", no_read_ahead),
    read("buffer.segments", uncached),
    read("buffer.segment", never),
    read(FAILURES, no_read_ahead),
    read("buffer.read_ahead_on_hit", no_read_ahead),
    read("buffer.read_ahead_stops_mid_sector", no_read_ahead),
    read("buffer.read_before_requested", dropped),
    read("buffer.read_whole_track", no_whole_tracks),
    read("buffer.arriving_hits", no_read_ahead),
    read("buffer.partial_hits_at_once", no_partial_wait),
    read("buffer.read_on_arrival", never),
    read("buffer.read_watermark", never),
    read("buffer.watermark_of", no_mark),
    read("bus.hold_read", never),
    read("bus.read_restart", never),
    write("buffer.hits_on_written", uncached),
    write("buffer.dedicated_write_segment", uncached),
    write("buffer.write_invalidates", uncached),
    write("buffer.write_on_arrival", never),
    write("buffer.write_cache", uncached),
    write("buffer.combine_writes", uncached),
    write("buffer.write_stops_read_ahead", no_absorbed_writes),
    Row {
        untold: HOLDS,
        ..write("buffer.write_watermark", never)
    },
    Row {
        untold: HOLDS,
        ..write("bus.hold_write", never)
    },
];

/// What was found of a fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// Its value.
    Found {
        /// The value.
        #[serde(with = "crate::serial::value")]
        value: Value,
        /// Trials that spoke for it.
        agreed: u32,
        /// Of so many that spoke for it or for another value.
        trials: u32,
    },
    /// No command tells it.
    NotDeterminable {
        /// A value with which a model behaves as the drive does.
        #[serde(with = "crate::serial::maybe_value")]
        value: Option<Value>,
        /// Why, in plain words.
        reason: String,
    },
}

/// The path of a key. By this name: serde takes a reference for one into the text that it reads.
type Path = &'static str;

/// A fact of a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Its key in a specification.
    #[serde(with = "crate::serial::path")]
    pub key: Path,
    /// What was found.
    pub finding: Finding,
}

/// What was found of a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Every fact.
    pub facts: Vec<Fact>,
}

impl Facts {
    /// Sets the buffer of a specification to what was found.
    pub fn describe(&self, spec: &mut Spec) {
        for fact in &self.facts {
            let value = match &fact.finding {
                Finding::Found { value, .. } => Some(value),
                Finding::NotDeterminable { value, .. } => value.as_ref(),
            };
            if let (Some(key), Some(value)) = (Key::find(fact.key), value) {
                key.set(spec, value.clone());
            }
        }
    }
}

/// Finds what reads tell of the buffer of a drive that is `known` except for that. Reads only.
///
/// # Errors
/// A command failed; or nothing but the buffer serves reads.
pub fn measure(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    known: &Spec,
    effort: Effort,
    seed: u64,
) -> Result<Facts, Error> {
    find(Bench::new(disk, setup, known, (false, seed))?, effort)
}

/// Finds all of a buffer, of which it is known what `hits` it served when nothing but times were
/// measured. Data are lost at random places.
///
/// # Errors
/// As [`measure`].
pub fn measure_writes(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    known: &Spec,
    hits: &WriteHits,
    effort: Effort,
    seed: u64,
) -> Result<Facts, Error> {
    let mut bench = Bench::new(disk, setup, known, (true, seed))?;
    // Their overhead does not tell: it may be that of misses, as both may be zero.
    bench.absorbs = hits.after_read.is_some();
    find(bench, effort)
}

fn find(mut bench: Bench<'_, '_>, effort: Effort) -> Result<Facts, Error> {
    // Without effect where the bus waits for one block only.
    bench.believed.buffer.partial_hits_at_once = true;
    ahead::look(&mut bench)?;
    segments::look(&mut bench)?;
    if bench.writes {
        segments::look_at_writes(&mut bench)?;
        let absorbs = bench.believed.buffer.write_cache == WriteCache::Always;
        bench.is_deferred = absorbs && deferred::is_deferred(&mut bench)?;
        // Models of such a drive do not answer as it does once it has been written to.
        bench.writes = !bench.is_deferred;
    }
    bench.learn_hits();
    let mut verdicts = judge::learn(&mut bench, effort)?;
    let [failed, tried] = failures::measure(&mut bench, effort)?;
    for (row, verdict) in FACTS.iter().zip(&mut verdicts) {
        if row.path == FAILURES {
            *verdict = Verdict {
                agreed: tried - failed,
                trials: tried,
                open: tried == 0,
                disputed: false,
            };
        }
    }
    Ok(facts(&bench, &verdicts))
}

fn facts(bench: &Bench<'_, '_>, verdicts: &[Verdict]) -> Facts {
    let fact = |(row, verdict): (&Row, &Verdict)| {
        let value = row.key().get(&bench.believed);
        let moot = (row.moot)(&bench.believed.buffer);
        let disputed = row.path != FAILURES && verdict.disputed;
        let hides = bench.is_deferred && row.path == "buffer.segments";
        let untold = match row.writes && !bench.writes {
            true if bench.is_deferred => DEFERRED,
            true => "takes writes to find",
            false if hides => SEGMENTS,
            false if disputed => DISPUTED,
            false => row.untold,
        };
        let finding = match value {
            Some(value) if moot.is_none() && !verdict.open && !disputed && !hides => {
                Finding::Found {
                    value,
                    agreed: verdict.agreed,
                    trials: verdict.trials,
                }
            }
            value => Finding::NotDeterminable {
                value,
                reason: moot.unwrap_or(untold).to_owned(),
            },
        };
        Fact {
            key: row.path,
            finding,
        }
    };
    Facts {
        facts: FACTS.iter().zip(verdicts).map(fact).collect(),
    }
}
