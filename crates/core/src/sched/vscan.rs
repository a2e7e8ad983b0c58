//! VSCAN(R): between SSTF and LOOK.
//!
//! # What it does
//! Serves the nearest request, where one that makes the arm reverse counts as farther away by `r`
//! times the length of the line. By cylinders it serves all requests for the current cylinder, as
//! C-LOOK does, before it moves on. If both sides cost the same it moves to the one whose next
//! request arrived first.
//!
//! # Origin
//! jacobson91 section 2 (V(R): a penalty of R times the number of cylinders for reversing);
//! worthington94 sections 3.1, 5.1, 5.2. By block number the length is the number of blocks. The
//! position is the first block of the previous request (section 6.2 there); VSCAN(0) is SSTF with
//! the same `from`, VSCAN(1) is LOOK. A request that found the drive idle also sets the direction,
//! if it moved the arm.
//!
//! # Cost
//! A binary search per arrival, up to three per decision, and for each, 16 bytes (24 by cylinders)
//! moved for every request pending at a higher block.
//!
//! # When it is bad
//! With `r` below 1 a request can starve: requests that keep arriving near the arm on both sides,
//! nearer than the penalty, keep it reversing.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("vscan(r=0.2, by=map)", "policy").is_ok());
//! ```

use super::line::{Direction, Line, LineQueue, Metric, Origin, Position, TurnRule, two_way};
use super::policy::{Estimate, Knowledge, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VScan {
    /// The cost of reversing, as a share of the line.
    r: f64,
    metric: Metric,
}

/// Documentation of the parameter `r`.
pub(super) const R: (&str, &str) = (
    "r=0.2",
    "the cost of reversing, from 0 to 1 times the length of the line",
);

pub(super) fn read_r(args: &mut Args<'_>) -> Result<f64, InputError> {
    Ok(args.maybe_number("r", 0.0..=1.0)?.unwrap_or(0.2))
}

impl Rule for VScan {
    const INFO: PolicyInfo = PolicyInfo {
        name: "vscan",
        summary: "nearest first, with a penalty for reversing: between sstf and look",
        parameters: &[R, Line::PARAMETER, Origin::FIRST],
        knowledge: Knowledge::Blocks,
        origin: "jacobson91 section 2, worthington94 section 3.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            r: read_r(args)?,
            metric: Metric::read(args, Origin::First)?,
        })
    }

    fn knowledge(&self) -> Knowledge {
        self.metric.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let penalty = self.metric.line.share(self.r, drive);
        two_way(self.metric, Reluctant { penalty }, drive)
    }
}

#[derive(Debug)]
struct Reluctant {
    /// The distance that a reversal costs.
    penalty: f64,
}

impl TurnRule for Reluctant {
    fn direction<P: Position>(
        &self,
        queue: &LineQueue<P>,
        last: Direction,
        above: usize,
        below: usize,
    ) -> Direction {
        let cost = |to, index| {
            let distance = queue.distance(index) as f64;
            (distance + self.penalty * last.reversals(to), index)
        };
        queue.cheaper(cost(Direction::Up, above), cost(Direction::Down, below))
    }
}
