//! The measured keys of the specification, and their results.

use diskarm_core::spec::{Buffer, DeliveredBlocks, Key, ReadAhead, Spec, Value, WriteCache};
use serde::{Deserialize, Serialize};

pub(super) struct BufferKey {
    pub path: &'static str,
    pub needs_writes: bool,
    /// Returns the reason why the key has no effect with this buffer; `None` if it has an effect.
    pub irrelevant: fn(&Buffer) -> Option<&'static str>,
    pub undetermined_reason: &'static str,
}

impl BufferKey {
    pub fn key(&self) -> &'static Key {
        Key::find(self.path).expect("every path names a specification key")
    }

    /// Returns the value in a specification, or 0 if it is not a count.
    pub fn count(&self, spec: &Spec) -> u64 {
        match self.key().get(spec) {
            Some(Value::Count(count)) => count,
            _ => 0,
        }
    }

    /// Returns true if two specifications differ in this key by more than the measurement error.
    pub fn differs(&self, a: &Spec, b: &Spec) -> bool {
        match (self.key().get(a), self.key().get(b)) {
            (Some(Value::Time(a)), Some(Value::Time(b))) => (a - b).as_ms().abs() > 0.025,
            (Some(Value::Number(a)), Some(Value::Number(b))) => (a - b).abs() > 0.035,
            (a, b) => a != b,
        }
    }
}

const fn read(path: &'static str, irrelevant: fn(&Buffer) -> Option<&'static str>) -> BufferKey {
    BufferKey {
        path,
        needs_writes: false,
        irrelevant,
        undetermined_reason: INDISTINGUISHABLE_REASON,
    }
}

const fn write(path: &'static str, irrelevant: fn(&Buffer) -> Option<&'static str>) -> BufferKey {
    BufferKey {
        needs_writes: true,
        ..read(path, irrelevant)
    }
}

const INDISTINGUISHABLE_REASON: &str =
    "no test sequence that was tried distinguishes it from other values";

/// The reason given for drives with a deferred write cache, whose behaviour no model predicts.
pub(super) const DEFERRED_REASON: &str = "the drive accepts writes at both ends of the disk in \
     immediate succession, so its write cache is deferred, which test sequences cannot \
     characterize further; the value \"always\" describes the most similar cache";

/// The reason given for the number of segments of drives with a deferred write cache.
pub(super) const SEGMENTS_REASON: &str = "there may be one more segment, used only for writes, \
     which test sequences cannot detect on a drive with a deferred write cache";

pub(super) const DISPUTED_REASON: &str = "various test sequences support different values";

/// The reason given for keys that affect only writes larger than a segment.
const HOLD_REASON: &str = "a drive that keeps the bus while its segment is full and one that \
                     reconnects as soon as there is room give the same results";

fn always_matters(_: &Buffer) -> Option<&'static str> {
    None
}

fn no_cache(buffer: &Buffer) -> Option<&'static str> {
    (!buffer.caching).then_some("no request is served from the buffer")
}

fn no_read_ahead(buffer: &Buffer) -> Option<&'static str> {
    (buffer.read_ahead == ReadAhead::None).then_some("the drive does not read ahead")
}

fn no_kept_blocks(buffer: &Buffer) -> Option<&'static str> {
    let is_dropped = buffer.delivered == DeliveredBlocks::Dropped;
    no_cache(buffer).or(is_dropped.then_some("blocks before those delivered are never kept"))
}

fn no_whole_tracks(buffer: &Buffer) -> Option<&'static str> {
    no_read_ahead(buffer).or(no_kept_blocks(buffer))
}

fn no_mark(buffer: &Buffer) -> Option<&'static str> {
    let none = buffer.read_watermark == 0.0 && buffer.write_watermark == 0.0;
    none.then_some("the bus transfer starts with the first block in the buffer")
}

fn no_partial_wait(buffer: &Buffer) -> Option<&'static str> {
    let at_once = buffer.read_watermark == 0.0 && !buffer.arriving_hits;
    no_cache(buffer)
        .or(at_once.then_some("the bus transfer starts with the first block in the buffer"))
}

fn no_absorbed_writes(buffer: &Buffer) -> Option<&'static str> {
    let none = buffer.write_cache == WriteCache::Off;
    no_read_ahead(buffer).or(none.then_some("no write ends before it is on the media"))
}

/// The key whose value is measured by counting failures.
pub(super) const FAILURES: &str = "buffer.read_ahead_failures";

pub(super) const KEYS: [BufferKey; 29] = [
    read("buffer.caching", always_matters),
    read("buffer.delivered", no_cache),
    read("buffer.read_ahead", no_cache),
    read("buffer.read_ahead_on_run", no_read_ahead),
    read("buffer.read_ahead_max", no_read_ahead),
    read("buffer.read_ahead_min", no_read_ahead),
    read("buffer.segments", no_cache),
    read("buffer.segment", always_matters),
    read(FAILURES, no_read_ahead),
    read("buffer.read_ahead_on_hit", no_read_ahead),
    read("buffer.read_ahead_stops_mid_sector", no_read_ahead),
    read("buffer.read_before_requested", no_kept_blocks),
    read("buffer.read_whole_track", no_whole_tracks),
    read("buffer.arriving_hits", no_read_ahead),
    read("buffer.partial_hits_at_once", no_partial_wait),
    read("buffer.read_on_arrival", always_matters),
    read("buffer.read_watermark", always_matters),
    read("buffer.watermark_of", no_mark),
    read("bus.hold_read", always_matters),
    read("bus.read_restart", always_matters),
    write("buffer.hits_on_written", no_cache),
    write("buffer.dedicated_write_segment", no_cache),
    write("buffer.write_invalidates", no_cache),
    write("buffer.write_on_arrival", always_matters),
    write("buffer.write_cache", no_cache),
    write("buffer.combine_writes", no_cache),
    write("buffer.write_stops_read_ahead", no_absorbed_writes),
    BufferKey {
        undetermined_reason: HOLD_REASON,
        ..write("buffer.write_watermark", always_matters)
    },
    BufferKey {
        undetermined_reason: HOLD_REASON,
        ..write("bus.hold_write", always_matters)
    },
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    Found {
        #[serde(with = "crate::serial::value")]
        value: Value,
        agreed: u32,
        /// Number of trials that support either this value or another one.
        trials: u32,
    },
    NotDeterminable {
        /// A value with which a model behaves like the drive, if there is one.
        #[serde(with = "crate::serial::maybe_value")]
        value: Option<Value>,
        reason: String,
    },
}

/// The path of a key. Without this alias, serde would borrow the `&str` from its input.
type Path = &'static str;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    #[serde(deserialize_with = "crate::serial::path")]
    pub key: Path,
    pub finding: Finding,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub facts: Vec<Fact>,
}

impl Facts {
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
