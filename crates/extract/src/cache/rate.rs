//! The rate of the path to the host on a drive whose buffer serves no read (worthington96 section
//! 5.8 takes reads that it serves).
//!
//! # Hypothesis
//! The path takes longer for a block than the media do.
//!
//! # Test vector
//! Reads of one block and of nine from the media, on one track.
//!
//! # Decision
//! By as much as the reads of nine end later after the pass of their last block than those of one
//! do, the path takes longer for eight blocks. Where that is nothing, the path is faster than the
//! media, and its time is part of the overheads.
//!
//! # Confidence
//! The median of five reads.
//!
//! # Cost
//! Ten reads.

use super::bench::Bench;
use super::vector::Vector;
use crate::Error;
use crate::threshold::span;

/// Blocks of the larger read.
const BLOCKS: u64 = 9;
/// Reads of either size.
const READS: usize = 5;

/// Measures the rate, and sets what is believed.
pub(super) fn look(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let (one, _) = late(bench, 1)?;
    let (nine, sector) = late(bench, BLOCKS)?;
    let longer = (nine - one) / (BLOCKS - 1) as f64;
    if longer > 2_000.0 {
        bench.believed.bus.read_sector = span(sector + longer);
        // It was taken for a part of the completion.
        let completion = bench.believed.overheads.read_completion;
        bench.believed.overheads.read_completion = (completion - span(sector + longer)).or_zero();
    }
    Ok(())
}

/// How long after the pass of its last block a read ends, and the time of a block on the media, in
/// nanoseconds.
fn late(bench: &mut Bench<'_, '_>, blocks: u64) -> Result<(f64, f64), Error> {
    let mut all = Vec::new();
    let mut sector = 0.0;
    for _ in 0..4 * READS {
        let area = bench.area(0, false);
        let vector = Vector::new(area.first).read(area.tracks[0], blocks);
        let Some(trial) = bench.run(&vector)? else {
            continue;
        };
        let extent = bench.pairs.layout.extent(area.tracks[0]);
        let turns = (extent.start + extent.sector_angle).as_revolutions();
        let period = bench.period();
        sector = extent.sector_angle.as_revolutions() * period;
        let transfer = (blocks - 1) as f64 * sector;
        let end = trial.seen[0].ended - transfer;
        // From a quarter of a revolution before the pass to three quarters after it.
        let pass = bench.pairs.clock.pass(turns, end - 0.75 * period);
        all.push(end - pass);
        if all.len() == READS {
            break;
        }
    }
    if all.is_empty() {
        let reason = "cache: reads of random blocks are not served by the media";
        return Err(Error::Undecided(reason.to_owned()));
    }
    all.sort_by(f64::total_cmp);
    Ok((all[all.len() / 2], sector))
}
