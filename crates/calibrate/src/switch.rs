//! The behaviours of a specification that a trace can choose among.

use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{
    Buffer, Delivered, Invalidation, ReadAhead, Spec, WatermarkOf, WriteCache, WriteLeaves,
    WriteStart,
};
use diskarm_core::units::SectorCount;

use crate::candidate::Candidate;

/// A behaviour that a drive may have instead of the given one.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The keys that it sets.
    pub what: String,
    spec: Spec,
}

/// Sizes, in sectors, at which drives are known to begin a transfer.
const MARKS: [u64; 6] = [1, 2, 4, 8, 16, 32];

impl Choice {
    /// What a drive may do that differs from `spec` in one respect.
    pub fn all(spec: &Spec) -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |what: String, change: &dyn Fn(&mut Spec)| {
            let mut changed = spec.clone();
            change(&mut changed);
            if changed != *spec {
                all.push(Self {
                    what,
                    spec: changed,
                });
            }
        };
        flags(spec, &mut add);
        words(&mut add);
        marks(spec, &mut add);
        all
    }

    /// Lets `candidate` have it.
    pub fn apply(&self, candidate: &Candidate) -> Candidate {
        let mut changed = candidate.clone();
        if self.spec.geometry != candidate.spec.geometry {
            // A geometry that has been laid out with a flag the other way can be laid out again.
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

/// A flag's name and where it stands.
type Flag = (&'static str, fn(&mut Spec) -> &mut bool);

/// Flags, each of which can be the other way.
pub const FLAGS: &[Flag] = &[
    ("geometry.slips_turn_tracks", |s| {
        &mut s.geometry.slips_turn_tracks
    }),
    ("buffer.read_ahead_on_hit", |s| {
        &mut s.buffer.read_ahead_on_hit
    }),
    ("buffer.write_stops_read_ahead", |s| {
        &mut s.buffer.write_stops_read_ahead
    }),
    ("buffer.read_before_requested", |s| {
        &mut s.buffer.read_before_requested
    }),
    ("buffer.arriving_hits", |s| &mut s.buffer.arriving_hits),
    ("buffer.partial_hits_at_once", |s| {
        &mut s.buffer.partial_hits_at_once
    }),
    ("buffer.hits_on_written", |s| &mut s.buffer.hits_on_written),
    ("buffer.read_on_arrival", |s| &mut s.buffer.read_on_arrival),
    ("buffer.write_on_arrival", |s| {
        &mut s.buffer.write_on_arrival
    }),
    ("buffer.combine_writes", |s| &mut s.buffer.combine_writes),
    ("buffer.dedicated_write_segment", |s| {
        &mut s.buffer.dedicated_write_segment
    }),
    ("bus.hold_read", |s| &mut s.bus.hold_read),
    ("bus.hold_write", |s| &mut s.bus.hold_write),
    ("bus.never_disconnect", |s| &mut s.bus.never_disconnect),
];

fn flags(spec: &Spec, add: &mut Add<'_>) {
    for (key, flag) in FLAGS {
        let mut changed = spec.clone();
        let value = !*flag(&mut changed);
        add(format!("{key} = {value}"), &|s| *flag(s) = value);
    }
}

fn words(add: &mut Add<'_>) {
    for scheme in [
        ReadAhead::None,
        ReadAhead::TrackEnd,
        ReadAhead::CylinderEnd,
        ReadAhead::UntilFull,
        ReadAhead::OneTrack,
    ] {
        add(format!("buffer.read_ahead = {scheme:?}"), &|s| {
            s.buffer.read_ahead = scheme
        });
    }
    for delivered in [Delivered::Kept, Delivered::Dropped] {
        add(format!("buffer.delivered = {delivered:?}"), &|s| {
            s.buffer.delivered = delivered
        });
    }
    for rule in [
        Invalidation::Overlap,
        Invalidation::Segment,
        Invalidation::All,
    ] {
        add(format!("buffer.write_invalidates = {rule:?}"), &|s| {
            s.buffer.write_invalidates = rule
        });
    }
    for cache in [WriteCache::Off, WriteCache::Streams, WriteCache::Always] {
        add(format!("buffer.write_cache = {cache:?}"), &|s| {
            s.buffer.write_cache = cache
        });
    }
    for leaves in [WriteLeaves::AfterData, WriteLeaves::IfSeeking] {
        add(format!("bus.write_leaves = {leaves:?}"), &|s| {
            s.bus.write_leaves = leaves
        });
    }
}

fn marks(spec: &Spec, add: &mut Add<'_>) {
    let segment = spec.buffer.segment.0;
    let mut watermark = |fraction: f64, of: WatermarkOf| {
        add(
            format!("buffer.read_watermark = {fraction} of {of:?}"),
            &|s| {
                let Buffer {
                    read_watermark,
                    watermark_of,
                    ..
                } = &mut s.buffer;
                (*read_watermark, *watermark_of) = (fraction, of);
            },
        );
    };
    for fraction in [0.0, 0.25, 0.5, 0.75, 1.0] {
        watermark(fraction, WatermarkOf::Request);
    }
    for sectors in MARKS.iter().filter(|&&sectors| sectors < segment) {
        // The mark is rounded down: a quarter of a percent more makes sure of it.
        watermark(
            (*sectors as f64 + 0.0025) / segment as f64,
            WatermarkOf::Segment,
        );
    }
    for sectors in MARKS.iter().filter(|&&sectors| sectors <= segment) {
        let mark = SectorCount(*sectors);
        let start = WriteStart {
            small: mark,
            large: mark,
            large_from: SectorCount(1),
        };
        add(format!("overheads.write_start = {sectors} sectors"), &|s| {
            s.overheads.write_start = start
        });
    }
}
