//! What a read leaves in the buffer, and how far the drive reads on (worthington96 sections 5.7.1
//! and 5.7.6): a first look.
//!
//! # Hypothesis
//! The blocks that a read delivered stay in the buffer, or are dropped when it has ended. The drive
//! reads on after them, at most by a given number of blocks, until the segment is full, or until
//! the track or the cylinder ends. It may do so only after a read that continues the one before,
//! and may enter another track only if the one before that is in the buffer too.
//!
//! # Test vector
//! A read of one block at the beginning of a cylinder, and a read of the same block; the same with
//! a read of a block that follows, after a rest that is long enough to have read it ahead. Then
//! reads of the last block of a track, and of the last one of a cylinder, followed by a read of the
//! first block of the next one. Then the same after reads of two tracks.
//!
//! # Decision
//! The last read of each vector is sent when a read from the buffer would end half a revolution
//! from where one from the media ends. It is a hit if it ends nearer to the former.
//!
//! # Confidence
//! Two vectors that agree, or two of three. What is found here is where [`super::judge`] begins.
//!
//! # Cost
//! Some 60 vectors of three or four commands.

use diskarm_core::spec::{DeliveredBlocks, ReadAhead};
use diskarm_core::units::{Lbn, SectorCount, Span};

use super::bench::Bench;
use super::vector::{Area, Vector};
use crate::Error;

/// No drive is thought to read further ahead, in blocks.
pub(super) const FAR: u64 = 8192;

/// Looks at what reads leave, and sets what is believed.
pub(super) fn look(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let kept = bench.agreed(|bench| {
        let Area { first, tracks } = bench.area(0, false);
        Vector::new(first)
            .read(tracks[0] + SectorCount(2), 1)
            .probe(tracks[0] + SectorCount(2), Span::ZERO)
    })?;
    let plain = bench.agreed(|bench| behind_read(bench, false))?.0;
    let on_run = !plain && bench.agreed(|bench| behind_read(bench, true))?.0;
    let buffer = &mut bench.believed.buffer;
    buffer.caching = kept.0 || plain || on_run;
    buffer.delivered = match kept.0 || !buffer.caching {
        true => DeliveredBlocks::Kept,
        false => DeliveredBlocks::Dropped,
    };
    buffer.read_ahead = ReadAhead::None;
    buffer.read_ahead_on_run = on_run;
    if !(plain || on_run) {
        return Ok(());
    }
    let scheme = scheme(bench)?;
    bench.believed.buffer.read_ahead = scheme;
    let ahead = distance(bench, scheme)?;
    let buffer = &mut bench.believed.buffer;
    buffer.read_ahead_max = SectorCount(ahead);
    buffer.segment = SectorCount(ahead + 1);
    Ok(())
}

/// A read behind which the drive reads ahead whatever it demands, of `sectors` blocks.
pub(super) fn load(bench: &Bench<'_, '_>, vector: Vector, at: Lbn, sectors: u64) -> Vector {
    if bench.believed.buffer.read_ahead_on_run {
        return vector.read(Lbn(at.0 - 1), 1).read(at, sectors);
    }
    vector.read(at, sectors)
}

fn behind_read(bench: &mut Bench<'_, '_>, in_run: bool) -> Vector {
    let Area { first, tracks } = bench.area(0, false);
    let at = tracks[0] + SectorCount(2);
    let mut vector = Vector::new(first);
    if in_run {
        vector = vector.read(Lbn(at.0 - 1), 1);
    }
    let rest = bench.reading(at, 8);
    vector.read(at, 1).probe(at + SectorCount(1), rest)
}

fn scheme(bench: &mut Bench<'_, '_>) -> Result<ReadAhead, Error> {
    let over = |bench: &mut Bench<'_, '_>, last: bool| {
        let Area { first, tracks } = bench.area(0, last);
        let next = tracks[if last { 2 } else { 1 }];
        let rest = bench.reading(next, 8);
        load(bench, Vector::new(first), Lbn(next.0 - 1), 1).probe(next, rest)
    };
    if bench.agreed(|bench| over(bench, false))?.0 {
        return Ok(match bench.agreed(|bench| over(bench, true))?.0 {
            true => ReadAhead::UntilFull,
            false => ReadAhead::CylinderEnd,
        });
    }
    for spans in [false, true] {
        let follows = bench.agreed(|bench| {
            let (vector, next) = onto_second(bench, spans, 0);
            let rest = bench.reading(next, 8);
            vector.probe(next, rest)
        })?;
        if follows.0 {
            return Ok(ReadAhead::OneTrack);
        }
    }
    Ok(ReadAhead::TrackEnd)
}

/// Reads up to `before` blocks before the end of a second track when the first is in the buffer,
/// or in one read that `spans` both; and the first block of the third one.
fn onto_second(bench: &mut Bench<'_, '_>, spans: bool, before: u64) -> (Vector, Lbn) {
    let Area { first, tracks } = bench.area(0, false);
    let [_, second, third, _] = tracks.map(|track| track.0);
    let vector = Vector::new(first);
    let vector = if spans {
        load(bench, vector, Lbn(second - 1), third - second + 1 - before)
    } else {
        let rest = bench.reading(tracks[1], 8);
        let vector = load(bench, vector, Lbn(second - 2), 1).rest(rest);
        load(bench, vector, Lbn(third - 1 - before), 1)
    };
    (vector, tracks[2])
}

/// How far it reads ahead at most.
fn distance(bench: &mut Bench<'_, '_>, scheme: ReadAhead) -> Result<u64, Error> {
    // Areas of the first zone are far from the end of the disk.
    let max = FAR.min(bench.pairs.layout.sectors().0 / 2);
    let plain = bench.largest(max, 32, |bench, far| {
        let Area { first, tracks } = bench.area(0, false);
        // The second block of a track: one before it must be read in a run.
        let rest = bench.reading(tracks[0], far + 8);
        let at = tracks[0] + SectorCount(1);
        load(bench, Vector::new(first), at, 1).probe(at + SectorCount(far), rest)
    })?;
    if scheme != ReadAhead::OneTrack {
        return Ok(plain);
    }
    let further = bench.largest(max, plain + 1, |bench, far| {
        let Area { first, tracks } = bench.area(0, false);
        let rest = bench.reading(tracks[0], far + 8);
        let vector = load(bench, Vector::new(first), Lbn(tracks[1].0 - 2), 1).rest(rest);
        let at = tracks[1] + SectorCount(1);
        load(bench, vector, at, 1).probe(at + SectorCount(far), rest)
    })?;
    Ok(plain.max(further))
}
