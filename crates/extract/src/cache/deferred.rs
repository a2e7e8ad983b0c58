//! Whether a write cache holds several ranges of blocks that are not on the media.
//!
//! # Hypothesis
//! A cache that absorbs every write puts what it holds on the media before it takes the next write
//! elsewhere; or it takes that at once, and puts both on the media later, in the order that suits
//! the drive.
//!
//! # Test vector
//! Writes of one block near one end of the disk, the other, and the first one again, without a
//! rest in between.
//!
//! # Decision
//! Before the second and the third write an arm that puts each on the media first has more than
//! half the stroke to go. If both are absorbed within an eighth of a revolution of a write that
//! waits for nothing, in each vector, the cache holds several ranges.
//!
//! # Confidence
//! Three vectors, of which all must say so.
//!
//! # Cost
//! Twelve commands.

use super::bench::{Bench, LONG};
use super::vector::Vector;
use crate::Error;

/// Vectors that must agree.
const VECTORS: u32 = 3;

/// Whether the cache of a drive that absorbs writes holds several ranges. Data are lost at random
/// places.
pub(super) fn is_deferred(bench: &mut Bench<'_, '_>) -> Result<bool, Error> {
    let mut sent = 0;
    for _ in 0..8 {
        let [outer, inner] = [bench.area(0, false), bench.area(2, false)];
        let vector = Vector::new(outer.first)
            .rest(LONG)
            .write(inner.tracks[0], 1)
            .write(outer.tracks[0], 1)
            .write(inner.tracks[1], 1);
        let Some(trial) = bench.run(&vector)? else {
            continue;
        };
        let o = &bench.believed.overheads;
        let hit = o.write_hit_after_write + bench.believed.bus.write_sector + o.write_completion;
        let max = hit.as_ns() as f64 + bench.period() / 8.0;
        if trial.seen[1..]
            .iter()
            .any(|seen| seen.ended - seen.sent > max)
        {
            return Ok(false);
        }
        sent += 1;
        if sent == VECTORS {
            break;
        }
    }
    // What it holds does not delay what comes next.
    bench.pairs.rest(LONG);
    Ok(sent == VECTORS)
}
