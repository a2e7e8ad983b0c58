//! The behaviours that a fit tries.

use std::cell::Cell;
use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{
    DeliveredBlocks, Key, KeyKind, ReadAhead, Spec, Value, Variation, WatermarkOf, WriteStart,
};
use diskarm_core::units::SectorCount;

use crate::calibrate::candidate::{Candidate, VARIED};

/// A behaviour that a drive may have instead of the given one.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// The keys that it sets, and their values.
    pub description: String,
    /// True if it only restores given values.
    pub is_given: bool,
    spec: Spec,
}

/// Sizes, in sectors, at which drives are known to begin a transfer.
const MARKS: [u64; 12] = [1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48];

/// The smallest requests that drives are known to treat as large, in sectors.
const LARGE_FROM: [u64; 6] = [16, 24, 32, 40, 48, 64];

impl Behaviour {
    /// Returns all behaviours that differ from `spec` in one respect, or restore given values.
    pub fn all(spec: &Spec, given: &Spec) -> Vec<Self> {
        let mut all = Vec::new();
        let is_given = Cell::new(true);
        let mut add = |description: String, change: &dyn Fn(&mut Spec)| {
            let mut changed = spec.clone();
            change(&mut changed);
            if changed != *spec && changed.buffer.contradiction().is_none() {
                all.push(Self {
                    description,
                    is_given: is_given.get(),
                    spec: changed,
                });
            }
        };
        as_given(given, &mut add);
        is_given.set(false);
        switches(spec, &mut add);
        marks(spec, &mut add);
        reading(spec, &mut add);
        segments(spec, &mut add);
        all
    }

    /// Returns the candidate with this behaviour.
    pub fn apply(&self, candidate: &Candidate) -> Candidate {
        let mut changed = candidate.clone();
        if self.spec.geometry != candidate.spec.geometry {
            // A geometry that was valid with one value of a flag may be invalid with the other.
            match Layout::new(&self.spec.geometry) {
                Ok(layout) => changed.layout = Arc::new(layout),
                Err(_) => return changed,
            }
        }
        changed.spec = self.spec.clone();
        changed
    }
}

type Add<'a> = dyn FnMut(String, &dyn Fn(&mut Spec)) + 'a;

/// Adds the given values that no other behaviour restores.
fn as_given(given: &Spec, add: &mut Add<'_>) {
    add("overheads.write_start as given".to_owned(), &|s| {
        s.overheads.write_start = given.overheads.write_start;
    });
    add("buffer.read_watermark as given".to_owned(), &|s| {
        s.buffer.read_watermark = given.buffer.read_watermark;
        s.buffer.watermark_of = given.buffer.watermark_of;
    });
    add("buffer segments as given".to_owned(), &|s| {
        s.buffer.segments = given.buffer.segments;
        s.buffer.segment = given.buffer.segment;
        s.buffer.read_ahead_max = given.buffer.read_ahead_max;
    });
}

/// Adds changes of single keys.
fn switches(spec: &Spec, add: &mut Add<'_>) {
    for key in VARIED.iter().filter(|key| key.vary == Variation::Switch) {
        let others: Vec<Value> = match (key.kind, key.get(spec)) {
            (KeyKind::Word(words), _) => words.iter().copied().map(Value::Word).collect(),
            (_, Some(Value::Flag(flag))) => vec![Value::Flag(!flag)],
            _ => Vec::new(),
        };
        for value in others {
            let description = format!("{} = {}", key.path, key.toml(&value));
            add(description, &|spec| key.set(spec, value.clone()));
        }
    }
}

fn marks(spec: &Spec, add: &mut Add<'_>) {
    let segment = spec.buffer.segment.0;
    let mut watermark = |fraction: f64, of: WatermarkOf| {
        let description = format!("buffer.read_watermark = {fraction} of {of:?}");
        add(description, &|s| {
            s.buffer.read_watermark = fraction;
            s.buffer.watermark_of = of;
        });
    };
    for fraction in [0.0, 0.25, 0.5, 0.75, 1.0] {
        watermark(fraction, WatermarkOf::Request);
    }
    for &sectors in MARKS.iter().filter(|&&sectors| sectors < segment) {
        watermark(mark(sectors as f64, segment), WatermarkOf::Segment);
    }
    let mut start = |key: &str, sectors: u64, set: fn(&mut WriteStart, SectorCount)| {
        let description = format!("overheads.write_start.{key} = {sectors} sectors");
        add(description, &|s| {
            set(&mut s.overheads.write_start, SectorCount(sectors))
        });
    };
    for sectors in MARKS.into_iter().filter(|&s| s < segment).chain([segment]) {
        start("sequential", sectors, |start, n| start.sequential = Some(n));
        start("small", sectors, |start, n| start.small = n);
        start("large", sectors, |start, n| start.large = n);
        start("all", sectors, |start, n| {
            (start.small, start.large) = (n, n)
        });
    }
    for sectors in LARGE_FROM {
        start("large_from", sectors, |start, n| start.large_from = n);
    }
}

/// Returns the smallest fraction of a segment that rounds down to `sectors`. As a percentage, it
/// has at most four decimals, like those in specifications.
fn mark(sectors: f64, segment: u64) -> f64 {
    let segment = segment as f64;
    let steps = ((sectors / segment).min(1.0) * 1e6).ceil();
    let fraction = |steps: f64| steps / 1e4 / 100.0;
    // Rounding may make the product slightly less than a whole number of sectors.
    if fraction(steps) * segment < sectors && steps < 1e6 {
        return fraction(steps + 1.0);
    }
    fraction(steps)
}

/// Adds larger or smaller segments, and fewer or more segments in the same memory.
fn segments(spec: &Spec, add: &mut Add<'_>) {
    let (segments, segment) = (spec.buffer.segments, spec.buffer.segment.0);
    let physical = spec.geometry.physical_sector.0;
    let mut set = |count: u32, sectors: u64| {
        // A segment consists of whole sectors of the media.
        let sectors = (sectors / physical * physical).max(physical);
        let description = format!("buffer of {count} segments of {sectors} sectors");
        add(description, &|s| {
            let b = &mut s.buffer;
            let all = b.read_ahead_max == b.segment;
            if b.watermark_of == WatermarkOf::Segment {
                b.read_watermark = mark(b.read_watermark * b.segment.0 as f64, sectors);
            }
            (b.segments, b.segment) = (count, SectorCount(sectors));
            if all || b.read_ahead_max > b.segment {
                b.read_ahead_max = b.segment;
            }
        });
    };
    // The given segments may be smaller than the read-ahead of the drive.
    for (times, divisor) in [(2, 1), (4, 1), (3, 2), (1, 2), (3, 4)] {
        set(segments, (segment * times / divisor).max(1));
    }
    for times in [2, 4] {
        if segments >= times {
            set(segments / times, segment * u64::from(times));
        }
        if segment > 16 * u64::from(times) {
            set(segments * times, segment / u64::from(times));
        }
    }
}

/// Adds all combinations of read-ahead behaviours: a single change may not improve the score.
fn reading(spec: &Spec, add: &mut Add<'_>) {
    let read_ahead = Key::find("buffer.read_ahead").expect("a specification key");
    for &ahead in ReadAhead::WORDS {
        for bits in 0..16 {
            let [is_kept, on_hit, arriving, at_once] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let description = format!(
                "read-ahead {ahead}, kept {is_kept}, on hits {on_hit}, arriving hits {arriving}, \
                 partial hits at once {at_once}"
            );
            let caching = spec.buffer.caching;
            add(description, &|s| {
                if caching {
                    read_ahead.set(s, Value::Word(ahead));
                }
                let b = &mut s.buffer;
                use DeliveredBlocks::{Dropped, Kept};
                b.delivered = if is_kept { Kept } else { Dropped };
                b.read_ahead_on_hit = on_hit;
                b.arriving_hits = arriving;
                b.partial_hits_at_once = at_once;
            });
        }
    }
}

#[cfg(test)]
mod tests;
