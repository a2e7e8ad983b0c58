//! How often read-ahead fails: the share of reads that the buffer would serve and does not.
//!
//! # Hypothesis
//! Of the blocks that were read ahead some are not there when they are wanted, at random.
//!
//! # Test vector
//! A read, a rest that is long enough for read-ahead, and reads of the blocks after it, one by
//! one.
//!
//! # Decision
//! A model without failures predicts when each of these reads ends. One that ends later by more
//! than the scatter of ends has failed; what follows it in the same vector does not count.
//!
//! # Confidence
//! Of `n` reads of which `k` failed, the share is `k/n`, give or take twice the root of `k/n²`; if
//! none did, it is less than `3/n`.
//!
//! # Cost
//! Some 1200 reads, of which few take longer than a hit.

use diskarm_core::spec::ReadAhead;
use diskarm_core::units::SectorCount;

use super::ahead::load;
use super::bench::{Bench, Replay};
use super::vector::{Area, Vector};
use crate::{Effort, Error};

/// Reads that failed, of how many.
pub(super) type Share = [u32; 2];

/// Measures the share, and sets what is believed.
pub(super) fn measure(bench: &mut Bench<'_, '_>, effort: Effort) -> Result<Share, Error> {
    if bench.believed.buffer.read_ahead == ReadAhead::None {
        return Ok([0, 0]);
    }
    let reads = match effort {
        Effort::Quick => 300,
        Effort::Normal => 1200,
        Effort::Thorough => 5000,
    };
    let model = bench.model(&bench.believed);
    let [mut failed, mut tried] = [0, 0];
    for _ in 0..reads / 8 {
        let vector = in_a_row(bench);
        let loads = 1 + usize::from(bench.believed.buffer.read_ahead_on_run);
        let Some(trial) = bench.run(&vector)? else {
            continue;
        };
        let late = (16.0 * bench.scatter()).max(400_000.0);
        let mut replay = Replay::new(&model, trial.first, trial.began);
        for (k, seen) in trial.seen.iter().enumerate() {
            let end = replay.serve(&seen.step, seen.sent);
            if k < loads {
                continue;
            }
            // The model would take it from the media too.
            if end - seen.sent > bench.period() / 4.0 {
                break;
            }
            tried += 1;
            if seen.ended - end > late {
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
        bench.believed.buffer.read_ahead_failures = share;
    }
    Ok([failed, tried])
}

/// Reads of one block after the other after a read, as many as are read ahead, at most 40.
fn in_a_row(bench: &mut Bench<'_, '_>) -> Vector {
    let Area { first, tracks } = bench.area(0, false);
    let ahead = bench.believed.buffer.read_ahead_max.0.min(40);
    let at = tracks[0] + SectorCount(1);
    let rest = bench.reading(at, ahead + 8);
    let mut vector = load(bench, Vector::new(first), at, 1).rest(rest);
    for k in 1..=ahead {
        vector = vector.read(at + SectorCount(k), 1);
    }
    vector
}
