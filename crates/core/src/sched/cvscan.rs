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
//! requests count by their own mean; requests for the arm's place, which are on neither side, go
//! first, also for the same block by block number; the default of `n` is the smallest that is not
//! VSCAN.
//!
//! # Cost
//! A binary search per arrival; up to three, and the distances of 2 `n` requests, per decision; and
//! for each, 16 bytes (24 by cylinders) moved for every request pending at a higher block.
//!
//! # When it is bad
//! As VSCAN: with `r` below 1 a request can starve. A near request also waits if others on its side
//! are far.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("cvscan(n=4, r=0.2)", "policy").is_ok());
//! ```

use super::along::{Along, Key, Way};
use super::line::{Line, Mark, Measure};
use super::two_way::{Turn, cheaper, turns, two_way};
use super::{Estimate, Knowledge, Policy, PolicyInfo, Rule, VScan};
use crate::text::{Args, InputError};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CvScan {
    /// Number of requests considered on each side; at least 1.
    n: u64,
    /// Cost of reversing, as a share of the line.
    r: f64,
    /// How distance is measured.
    pub measure: Measure,
}

impl Rule for CvScan {
    const INFO: PolicyInfo = PolicyInfo {
        name: "cvscan",
        summary: "vscan by the mean distance of the nearest few on each side",
        parameters: &[
            ("n=2", "the number of requests on each side, from 1 to 1000"),
            VScan::R,
            Line::PARAMETER,
            Mark::FIRST,
        ],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            n: args.maybe_count("n", 1..=1000)?.unwrap_or(2),
            r: VScan::read_r(args)?,
            measure: Measure::read(args, Mark::First)?,
        })
    }

    fn knowledge(&self) -> Knowledge {
        self.measure.by.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let turn = Swayed {
            n: self.n as usize,
            turning: self.measure.by.share(self.r, drive),
        };
        two_way(self.measure, turn, drive)
    }
}

#[derive(Debug)]
struct Swayed {
    n: usize,
    turning: f64,
}

impl Turn for Swayed {
    fn turn<K: Key>(&self, along: &Along<K>, way: Way, above: usize, below: usize) -> Way {
        // No request is left at the arm's place: all are above or below.
        let up = mean(along, above..along.len().min(above + self.n));
        let down = mean(along, above.saturating_sub(self.n)..above);
        let cost = |to, mean: f64| mean + self.turning * turns(way, to);
        let up = (cost(Way::Up, up), above);
        cheaper(along, up, (cost(Way::Down, down), below))
    }
}

/// The mean distance of these requests, at least one. Below 2^53 both sides of the division are
/// exact, so the mean of one is its distance.
fn mean<K: Key>(along: &Along<K>, indices: std::ops::Range<usize>) -> f64 {
    let count = indices.len() as f64;
    let total: u64 = indices.map(|index| along.distance(index)).sum();
    total as f64 / count
}
