//! Number and size of segments (worthington96 sections 5.7.2 and 5.7.3): a first look.
//!
//! # Hypothesis
//! Each read that is not served by the buffer takes the segment that was used least recently, and
//! a segment holds a given number of blocks.
//!
//! # Test vector
//! A read, reads of one block at other places, and a read of what the first one has left: its
//! block, or on drives that drop delivered blocks the one after it. The number of reads in between
//! is searched for. For the size, a read of many blocks, and a read of the first of them; where
//! drives drop what they delivered, a write of many blocks, if vectors may write.
//!
//! # Decision
//! As for read-ahead ([`super::ahead`]).
//!
//! # Confidence
//! Two vectors that agree, or two of three.
//!
//! # Cost
//! Some 16 vectors with up to 64 reads, and 26 vectors with reads that grow to 8192 blocks.

use diskarm_core::spec::{DeliveredBlocks, ReadAhead, WriteCache};
use diskarm_core::units::{SectorCount, Span};

use super::ahead::{FAR, load};
use super::bench::{Bench, LONG};
use super::vector::{Area, Vector};
use crate::Error;
use crate::pairs::Access;

/// No drive is thought to have more segments.
const MAX: u64 = 128;

/// Looks at the segments, and sets what is believed.
pub(super) fn look(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    if !bench.believed.buffer.caching {
        return Ok(());
    }
    let others = bench.largest(MAX, 2, reads_between)?;
    let kept = bench.believed.buffer.delivered == DeliveredBlocks::Kept;
    let mut size = 0;
    if kept {
        size = bench.largest(FAR, 64, |bench, size| {
            let Area { first, tracks } = bench.area(0, false);
            Vector::new(first)
                .read(tracks[0], size)
                .probe(tracks[0], Span::ZERO)
        })?;
    }
    let buffer = &mut bench.believed.buffer;
    buffer.segments = others as u32 + 1;
    set_size(bench, size);
    Ok(())
}

/// Looks at what a write leaves, and sets what is believed.
pub(super) fn look_at_writes(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let hits = bench.agreed(|bench| written(bench, 1))?.0;
    let absorbs = bench.absorbs;
    let buffer = &mut bench.believed.buffer;
    buffer.hits_on_written = hits;
    buffer.caching |= hits || absorbs;
    if absorbs {
        buffer.write_cache = WriteCache::Always;
    }
    let is_known = buffer.delivered == DeliveredBlocks::Kept && buffer.segment > SectorCount(2);
    if hits && !is_known {
        let size = bench.largest(FAR, 64, written)?;
        set_size(bench, size);
    }
    Ok(())
}

fn set_size(bench: &mut Bench<'_, '_>, size: u64) {
    let buffer = &mut bench.believed.buffer;
    let ahead = match buffer.read_ahead {
        ReadAhead::None => 0,
        _ => buffer.read_ahead_max.0,
    };
    buffer.segment = SectorCount(size.max(ahead).max(1));
    if ahead + 1 >= size || ahead == 0 {
        buffer.read_ahead_max = buffer.segment;
    }
}

fn reads_between(bench: &mut Bench<'_, '_>, count: u64) -> Vector {
    let Area { first, tracks } = bench.area(0, false);
    let at = tracks[0] + SectorCount(1);
    let mut vector = load(bench, Vector::new(first), at, 1);
    let mut wanted = at;
    if bench.believed.buffer.delivered == DeliveredBlocks::Dropped {
        vector = vector.rest(bench.reading(at, 8));
        wanted = at + SectorCount(1);
    }
    for _ in 0..count {
        vector = vector.anywhere(Access::Read, bench.elsewhere());
    }
    vector.probe(wanted, Span::ZERO)
}

fn written(bench: &mut Bench<'_, '_>, size: u64) -> Vector {
    let Area { first, tracks } = bench.area(0, false);
    Vector::new(first)
        .write(tracks[0], size)
        .probe(tracks[0], LONG)
}
