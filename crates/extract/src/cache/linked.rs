//! Changes of several facts that show little when only one of them is changed.

use diskarm_core::spec::{Buffer, ReadAhead, Spec, WatermarkOf, WriteCache};
use diskarm_core::units::SectorCount;

use super::moves::{Move, repair};

/// Fractions that watermarks are likely to be.
const MARKS: [f64; 6] = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0];

/// Takes a change of a buffer.
type Push<'a> = dyn FnMut(&dyn Fn(&mut Buffer)) + 'a;

/// All such changes, in facts that need no writes unless `writes`.
pub(super) fn all(believed: &Spec, writes: bool) -> Vec<Move> {
    let mut moves = Vec::new();
    let mut push = |change: &dyn Fn(&mut Buffer)| {
        let mut spec = believed.clone();
        change(&mut spec.buffer);
        repair(&mut spec.buffer);
        if spec.buffer != believed.buffer && spec.buffer.contradiction().is_none() {
            moves.push(Move {
                label: String::new(),
                fact: None,
                spec,
            });
        }
    };
    schemes(believed, &mut push);
    sizes(believed, &mut push);
    for of in [WatermarkOf::Request, WatermarkOf::Segment] {
        for mark in MARKS {
            push(&|buffer| (buffer.watermark_of, buffer.read_watermark) = (of, mark));
            if writes {
                push(&|buffer| (buffer.watermark_of, buffer.write_watermark) = (of, mark));
            }
        }
    }
    if writes {
        for cache in [WriteCache::Off, WriteCache::Streams, WriteCache::Always] {
            for combines in [false, true] {
                push(&|buffer| (buffer.write_cache, buffer.combine_writes) = (cache, combines));
            }
        }
        for more in [-1, 0, 1, 2] {
            push(&|buffer| {
                buffer.dedicated_write_segment ^= true;
                buffer.segments = buffer.segments.saturating_add_signed(more).max(1);
            });
        }
    }
    moves
}

/// Read-ahead, and when there is any.
fn schemes(believed: &Spec, push: &mut Push<'_>) {
    let schemes = [
        ReadAhead::TrackEnd,
        ReadAhead::CylinderEnd,
        ReadAhead::UntilFull,
        ReadAhead::OneTrack,
    ];
    let none = believed.buffer.read_ahead == ReadAhead::None;
    for scheme in schemes {
        for on_run in [false, true] {
            push(&|buffer| {
                (buffer.read_ahead, buffer.read_ahead_on_run) = (scheme, on_run);
                if none {
                    buffer.read_ahead_max = buffer.segment;
                }
            });
        }
    }
}

/// Sizes from small to large, of the segment, of what is read ahead, and of both.
fn sizes(believed: &Spec, push: &mut Push<'_>) {
    let buffer = &believed.buffer;
    let known = [buffer.segment, buffer.read_ahead_max, buffer.read_ahead_min];
    let powers = (0..14).flat_map(|power| [1 << power, 3 << power]);
    let around = known
        .iter()
        .flat_map(|size| [size.0.saturating_sub(1), size.0, size.0 + 1]);
    let mut sizes: Vec<u64> = powers.chain(around).filter(|size| *size > 0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes.into_iter().map(SectorCount) {
        push(&|buffer| buffer.read_ahead_min = size.min(buffer.read_ahead_max));
        push(&|buffer| {
            buffer.read_ahead_max = size;
            buffer.segment = buffer.segment.max(size);
        });
        push(&|buffer| {
            buffer.segment = size;
            buffer.read_ahead_max = buffer.read_ahead_max.min(size);
        });
        push(&|buffer| {
            let owed = buffer.read_ahead_min == buffer.read_ahead_max;
            (buffer.segment, buffer.read_ahead_max) = (size, size);
            if owed {
                buffer.read_ahead_min = size;
            }
        });
        push(&|buffer| {
            (buffer.segment, buffer.read_ahead_max) = (size, size);
            buffer.read_ahead_min = size;
        });
    }
}
