//! CVSCAN(N, R): VSCAN by the distance of several requests.
//!
//! # What it does
//! Chooses between up and down as VSCAN does, but by the mean distance of the nearest `n` requests
//! on each side (of all if there are fewer), and then serves the nearest on that side. By cylinders
//! it serves all requests for the current cylinder, as C-LOOK does, before it moves on.
//!
//! # Origin
//! worthington94 section 3.1, which cites Geist, Reynolds and Pittard (1987). CVSCAN(1, R) is
//! VSCAN(R), and CVSCAN(N, 1) is LOOK. Our choices where the paper is silent: fewer than `n`
//! requests count by their own mean; requests for the arm's cylinder (by block number, its block),
//! which are on neither side, go first; the default of `n` is the smallest that is not VSCAN.
//!
//! # Cost
//! A binary search per arrival; up to three, and the distances of 2 `n` requests, per decision; and
//! for each, 16 bytes (24 by cylinders) moved for every request pending at a higher block.
//!
//! # When it is bad
//! As VSCAN: with `r` below 1 a request can starve. A near request also waits if others on its side
//! are far away.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("cvscan(n=4, r=0.2)", "policy").is_ok());
//! ```

use std::ops::Range;

use super::line::{Direction, Line, LineQueue, Metric, Origin, Position, TurnRule, two_way};
use super::policy::{Estimate, Knowledge, Policy, PolicyInfo, Rule};
use super::vscan::{R, read_r};
use crate::text::{Args, InputError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CvScan {
    /// Number of requests considered on each side; at least 1.
    n: u64,
    /// The cost of reversing, as a share of the line.
    r: f64,
    metric: Metric,
}

impl Rule for CvScan {
    const INFO: PolicyInfo = PolicyInfo {
        name: "cvscan",
        summary: "vscan by the mean distance of the nearest few on each side",
        parameters: &[
            ("n=2", "the number of requests on each side, from 1 to 1000"),
            R,
            Line::PARAMETER,
            Origin::FIRST,
        ],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            n: args.maybe_count("n", 1..=1000)?.unwrap_or(2),
            r: read_r(args)?,
            metric: Metric::read(args, Origin::First)?,
        })
    }

    fn knowledge(&self) -> Knowledge {
        self.metric.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let rule = NearerMean {
            n: self.n as usize,
            penalty: self.metric.line.share(self.r, drive),
        };
        two_way(self.metric, rule, drive)
    }
}

#[derive(Debug)]
struct NearerMean {
    n: usize,
    /// The distance that a reversal costs.
    penalty: f64,
}

impl TurnRule for NearerMean {
    fn direction<P: Position>(
        &self,
        queue: &LineQueue<P>,
        last: Direction,
        above: usize,
        below: usize,
    ) -> Direction {
        let cost = |to, indices, index| {
            let mean = mean_distance(queue, indices);
            (mean + self.penalty * last.reversals(to), index)
        };
        // No request is left at the arm's coordinate: all are above or below.
        let upper = above..queue.len().min(above + self.n);
        let lower = above.saturating_sub(self.n)..above;
        let up = cost(Direction::Up, upper, above);
        queue.cheaper(up, cost(Direction::Down, lower, below))
    }
}

/// Returns the mean distance of at least one request. Below 2^53 both sides of the division are
/// exact, so the mean of one is its distance.
fn mean_distance<P: Position>(queue: &LineQueue<P>, indices: Range<usize>) -> f64 {
    let count = indices.len() as f64;
    let total: u64 = indices.map(|index| queue.distance(index)).sum();
    total as f64 / count
}
