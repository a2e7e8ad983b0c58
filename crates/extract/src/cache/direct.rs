//! Direct measurements of the buffer, from which inference starts (worthington96 sections 5.7.1 to
//! 5.7.3 and 5.7.6).
//!
//! # Read-ahead
//! A test vector reads a block at the start of a cylinder, and then either the same block or, after
//! enough time for read-ahead, one of the following blocks. Other vectors read the last block of a
//! track or cylinder and then the first block of the next one; some read two tracks first. The last
//! read of each vector is sent at a time for which a hit and a miss would end half a revolution
//! apart. It counts as a hit if it ends closer to the expected end of a hit. Two of up to three
//! vectors must agree. Cost: about 60 vectors of three or four commands.
//!
//! # Segments
//! Each read that misses is assumed to use the least recently used segment, and all segments are
//! assumed to have the same size. To find their number, a test vector reads a block, then other
//! blocks, then the first one again. On drives that drop delivered blocks, it ends with the block
//! after the first one instead. A search finds the largest number of other blocks for which the
//! last read is still a hit. To find the size, a vector reads many blocks and then the first of
//! them. On drives that drop delivered blocks, it writes these blocks instead, if writes are
//! allowed. Cost: about 16 vectors with up to 64 reads, and 26 with up to 8192 blocks.
//!
//! # Deferred write cache
//! Before it accepts a write elsewhere on the disk, a cache that absorbs every write may have to
//! flush its content. A deferred cache instead accepts the new write immediately, and flushes both
//! ranges later, in any order. The test vector writes one block near one end of the disk, one near
//! the other end, and one near the first end again, without delay. The cache is deferred if, in
//! each of three vectors, both later writes take at most an eighth of a revolution longer than an
//! absorbed write that does not wait. Cost: 12 commands.
//!
//! # Failures of read-ahead
//! Some blocks that should have been read ahead are assumed to be missing at random. A test vector
//! reads a block, waits for read-ahead, and reads the following blocks one by one. If a read ends
//! later than a model without failures predicts, by more than the noise, read-ahead has failed, and
//! the other reads of the vector are ignored. If it failed for `k` of `n` reads, the failure rate
//! is `k/n`, plus or minus twice the square root of `k/n²`, or less than `3/n` if `k` is 0. Cost:
//! about 1200 reads, most of them hits.

use diskarm_core::spec::{DeliveredBlocks, ReadAhead, WriteCache};
use diskarm_core::units::{Lbn, SectorCount, Span};

use super::context::{Context, Replay};
use super::vector::{Area, TestVector};
use crate::clock::Access;
use crate::pairs::LONG;
use crate::{Effort, Error};

/// Maximum read-ahead distance and maximum segment size, in blocks.
const MAX_BLOCKS: u64 = 8192;

const MAX_SEGMENTS: u64 = 128;

/// Number of test vectors that must all show a deferred cache.
const DEFERRED_VECTORS: u32 = 3;

/// Determines what a read leaves in the buffer, and how far the drive reads ahead.
pub(super) fn measure_read_ahead(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let is_kept = context.majority(|context| {
        let Area { first, tracks } = context.area(0, false);
        TestVector::new(first)
            .read(tracks[0] + SectorCount(2), 1)
            .probe(tracks[0] + SectorCount(2), Span::ZERO)
    })?;
    let reads_ahead = context.majority(|context| read_after_read(context, false))?;
    let needs_run = !reads_ahead && context.majority(|context| read_after_read(context, true))?;
    let buffer = &mut context.best.buffer;
    buffer.caching = is_kept || reads_ahead || needs_run;
    buffer.delivered = if is_kept || !buffer.caching {
        DeliveredBlocks::Kept
    } else {
        DeliveredBlocks::Dropped
    };
    buffer.read_ahead = ReadAhead::None;
    buffer.read_ahead_on_run = needs_run;
    if !(reads_ahead || needs_run) {
        return Ok(());
    }
    let scheme = read_ahead_scheme(context)?;
    context.best.buffer.read_ahead = scheme;
    let ahead = read_ahead_distance(context, scheme)?;
    let buffer = &mut context.best.buffer;
    buffer.read_ahead_max = SectorCount(ahead);
    buffer.segment = SectorCount(ahead + 1);
    Ok(())
}

/// Appends a read that starts read-ahead, or two reads if only sequential ones start it.
fn load(context: &Context<'_, '_>, vector: TestVector, at: Lbn, sectors: u64) -> TestVector {
    if context.best.buffer.read_ahead_on_run {
        return vector.read(Lbn(at.0 - 1), 1).read(at, sectors);
    }
    vector.read(at, sectors)
}

/// Reads a block, waits for read-ahead, and then reads the next one.
fn read_after_read(context: &mut Context<'_, '_>, in_run: bool) -> TestVector {
    let Area { first, tracks } = context.area(0, false);
    let at = tracks[0] + SectorCount(2);
    let mut vector = TestVector::new(first);
    if in_run {
        vector = vector.read(Lbn(at.0 - 1), 1);
    }
    let pause = context.read_ahead_time(at, 8);
    vector.read(at, 1).probe(at + SectorCount(1), pause)
}

fn read_ahead_scheme(context: &mut Context<'_, '_>) -> Result<ReadAhead, Error> {
    let cross = |context: &mut Context<'_, '_>, last: bool| {
        let Area { first, tracks } = context.area(0, last);
        let next = tracks[if last { 2 } else { 1 }];
        let pause = context.read_ahead_time(next, 8);
        load(context, TestVector::new(first), Lbn(next.0 - 1), 1).probe(next, pause)
    };
    if context.majority(|context| cross(context, false))? {
        let crosses_cylinders = context.majority(|context| cross(context, true))?;
        let schemes = [ReadAhead::CylinderEnd, ReadAhead::UntilFull];
        return Ok(schemes[usize::from(crosses_cylinders)]);
    }
    for spans in [false, true] {
        let follows = context.majority(|context| {
            let (vector, next) = read_second_track(context, spans);
            let pause = context.read_ahead_time(next, 8);
            vector.probe(next, pause)
        })?;
        if follows {
            return Ok(ReadAhead::OneTrack);
        }
    }
    Ok(ReadAhead::TrackEnd)
}

/// Reads from the end of a track to the end of the next if `spans`. Otherwise, reads one block near
/// each of these ends. Also returns the first block of the third track.
fn read_second_track(context: &mut Context<'_, '_>, spans: bool) -> (TestVector, Lbn) {
    let Area { first, tracks } = context.area(0, false);
    let [_, second, third, _] = tracks.map(|track| track.0);
    let vector = TestVector::new(first);
    let vector = if spans {
        load(context, vector, Lbn(second - 1), third - second + 1)
    } else {
        let pause = context.read_ahead_time(tracks[1], 8);
        let vector = load(context, vector, Lbn(second - 2), 1).pause(pause);
        load(context, vector, Lbn(third - 1), 1)
    };
    (vector, tracks[2])
}

fn read_ahead_distance(context: &mut Context<'_, '_>, scheme: ReadAhead) -> Result<u64, Error> {
    // Areas in zone 0 are followed by at least this many blocks.
    let max = MAX_BLOCKS.min(context.pairs.layout.sectors().0 / 2);
    let plain = context.largest_passing(max, 32, |context, far| {
        let Area { first, tracks } = context.area(0, false);
        // `at` is the second block of a track, because a sequential run starts one block earlier.
        let pause = context.read_ahead_time(tracks[0], far + 8);
        let at = tracks[0] + SectorCount(1);
        load(context, TestVector::new(first), at, 1).probe(at + SectorCount(far), pause)
    })?;
    if scheme != ReadAhead::OneTrack {
        return Ok(plain);
    }
    let further = context.largest_passing(max, plain + 1, |context, far| {
        let Area { first, tracks } = context.area(0, false);
        let pause = context.read_ahead_time(tracks[0], far + 8);
        let vector = load(context, TestVector::new(first), Lbn(tracks[1].0 - 2), 1).pause(pause);
        let at = tracks[1] + SectorCount(1);
        load(context, vector, at, 1).probe(at + SectorCount(far), pause)
    })?;
    Ok(plain.max(further))
}

pub(super) fn measure_segments(context: &mut Context<'_, '_>) -> Result<(), Error> {
    if !context.best.buffer.caching {
        return Ok(());
    }
    let others = context.largest_passing(MAX_SEGMENTS, 2, reads_between)?;
    let keeps_delivered = context.best.buffer.delivered == DeliveredBlocks::Kept;
    let mut size = 0;
    if keeps_delivered {
        size = context.largest_passing(MAX_BLOCKS, 64, |context, size| {
            let Area { first, tracks } = context.area(0, false);
            let vector = TestVector::new(first).read(tracks[0], size);
            vector.probe(tracks[0], Span::ZERO)
        })?;
    }
    let buffer = &mut context.best.buffer;
    buffer.segments = others as u32 + 1;
    set_segment_size(context, size);
    Ok(())
}

/// Determines what a write leaves in the buffer.
pub(super) fn measure_hits_on_written(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let hits = context.majority(|context| write_and_probe(context, 1))?;
    let absorbs = context.absorbs_writes;
    let buffer = &mut context.best.buffer;
    buffer.hits_on_written = hits;
    buffer.caching |= hits || absorbs;
    if absorbs {
        buffer.write_cache = WriteCache::Always;
    }
    let is_known = buffer.delivered == DeliveredBlocks::Kept && buffer.segment > SectorCount(2);
    if hits && !is_known {
        let size = context.largest_passing(MAX_BLOCKS, 64, write_and_probe)?;
        set_segment_size(context, size);
    }
    Ok(())
}

/// Sets the segment size to `size` or, if that is larger, the number of blocks read ahead.
fn set_segment_size(context: &mut Context<'_, '_>, size: u64) {
    let buffer = &mut context.best.buffer;
    let ahead = match buffer.read_ahead {
        ReadAhead::None => 0,
        _ => buffer.read_ahead_max.0,
    };
    buffer.segment = SectorCount(size.max(ahead).max(1));
    if ahead + 1 >= size || ahead == 0 {
        buffer.read_ahead_max = buffer.segment;
    }
}

/// Reads a block, then `count` other blocks, then the first block again.
fn reads_between(context: &mut Context<'_, '_>, count: u64) -> TestVector {
    let Area { first, tracks } = context.area(0, false);
    let at = tracks[0] + SectorCount(1);
    let mut vector = load(context, TestVector::new(first), at, 1);
    let mut wanted = at;
    if context.best.buffer.delivered == DeliveredBlocks::Dropped {
        vector = vector.pause(context.read_ahead_time(at, 8));
        wanted = at + SectorCount(1);
    }
    for _ in 0..count {
        vector = vector.movable(Access::Read, context.random_block());
    }
    vector.probe(wanted, Span::ZERO)
}

/// Writes `size` blocks and reads the first one.
fn write_and_probe(context: &mut Context<'_, '_>, size: u64) -> TestVector {
    let Area { first, tracks } = context.area(0, false);
    let vector = TestVector::new(first).write(tracks[0], size);
    vector.probe(tracks[0], LONG)
}

/// Returns true if the write cache holds several ranges. Destroys data in random blocks.
pub(super) fn has_deferred_cache(context: &mut Context<'_, '_>) -> Result<bool, Error> {
    let mut absorbed = 0;
    for _ in 0..8 {
        let [outer, inner] = [context.area(0, false), context.area(2, false)];
        let vector = TestVector::new(outer.first)
            .pause(LONG)
            .write(inner.tracks[0], 1)
            .write(outer.tracks[0], 1)
            .write(inner.tracks[1], 1);
        let Some(trial) = context.run(&vector)? else {
            continue;
        };
        let o = &context.best.overheads;
        let hit = o.write_hit_after_write + context.best.bus.write_sector + o.write_completion;
        let max = hit.as_ns() as f64 + context.period() / 8.0;
        let mut later = trial.commands[1..].iter();
        if later.any(|command| command.ended - command.sent > max) {
            return Ok(false);
        }
        absorbed += 1;
        if absorbed == DEFERRED_VECTORS {
            break;
        }
    }
    // Flush the cache, so that it does not delay later commands.
    context.pairs.sleep(LONG);
    Ok(absorbed == DEFERRED_VECTORS)
}

#[derive(Default)]
pub(super) struct FailureCount {
    pub failed: u32,
    pub tried: u32,
}

pub(super) fn measure_failures(
    context: &mut Context<'_, '_>,
    effort: Effort,
) -> Result<FailureCount, Error> {
    if context.best.buffer.read_ahead == ReadAhead::None {
        return Ok(FailureCount::default());
    }
    let reads = effort.choose([300, 1200, 5000]);
    let model = context.model(&context.best);
    let (mut failed, mut tried) = (0, 0);
    for _ in 0..reads / 8 {
        let vector = sequential_reads(context);
        let loads = 1 + usize::from(context.best.buffer.read_ahead_on_run);
        let Some(trial) = context.run(&vector)? else {
            continue;
        };
        let late = (16.0 * context.deviation()).max(400_000.0);
        let mut replay = Replay::new(&model, trial.first, trial.began);
        for (k, command) in trial.commands.iter().enumerate() {
            let end = replay.serve(&command.command, command.sent);
            if k < loads {
                continue;
            }
            // The model predicts a miss.
            if end - command.sent > context.period() / 4.0 {
                break;
            }
            tried += 1;
            if command.ended - end > late {
                failed += 1;
                break;
            }
        }
        if tried >= reads {
            break;
        }
    }
    if tried > 0 {
        let share = f64::from(failed) / f64::from(tried);
        context.best.buffer.read_ahead_failures = share;
    }
    Ok(FailureCount { failed, tried })
}

/// Reads a block and then, one by one, up to 40 of the blocks that were read ahead.
fn sequential_reads(context: &mut Context<'_, '_>) -> TestVector {
    let Area { first, tracks } = context.area(0, false);
    let ahead = context.best.buffer.read_ahead_max.0.min(40);
    let at = tracks[0] + SectorCount(1);
    let pause = context.read_ahead_time(at, ahead + 8);
    let mut vector = load(context, TestVector::new(first), at, 1).pause(pause);
    for k in 1..=ahead {
        vector = vector.read(at + SectorCount(k), 1);
    }
    vector
}
