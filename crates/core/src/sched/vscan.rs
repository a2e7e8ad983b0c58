//! VSCAN(R), which is between SSTF and LOOK, and CVSCAN(N, R), which considers several requests.
//!
//! # What it does
//! VSCAN serves the nearest request, but adds `r` times the length of the line to the distance of
//! one for which the arm must reverse. CVSCAN chooses between up and down by the mean distance of
//! the nearest `n` requests on each side (of all if there are fewer), and then serves the nearest
//! on that side. When ordering by cylinder, both first serve all requests for the current cylinder,
//! as C-LOOK does. If both sides cost the same, they move to the side whose next request arrived
//! first.
//!
//! # Origin
//! VSCAN: jacobson91 section 2 (V(R): a penalty of R times the number of cylinders for reversing);
//! worthington94 sections 3.1, 5.1, 5.2. When ordering by block number, the length of the line is
//! the number of blocks. The position is the first block of the previous request (section 6.2
//! there); VSCAN(0) is SSTF with the same `from`, and VSCAN(1) is LOOK. A request that found the
//! drive idle also sets the direction, if it moved the arm.
//!
//! CVSCAN: worthington94 section 3.1, which cites Geist, Reynolds and Pittard (1987). CVSCAN(1, R)
//! is VSCAN(R), and CVSCAN(N, 1) is LOOK. Our choices where the paper is silent: if a side has
//! fewer than `n` requests, their mean counts; requests for the arm's cylinder or block are on
//! neither side and are served first; the default of `n` is the smallest for which CVSCAN differs
//! from VSCAN.
//!
//! # Cost
//! One binary search per arrival; up to three, and the distances of 2 `n` requests, per decision.
//! Each arrival and each decision also moves 16 bytes (24 when ordering by cylinder) for every
//! request pending at a higher block.
//!
//! # When it is bad
//! With `r` below 1, a request can starve: others that keep arriving on both sides of the arm,
//! nearer than the penalty, keep it reversing. Under CVSCAN, a near request also waits if others on
//! its side are far away.

use super::line::{Line, Metric, Origin, TurnRule, two_way};
use super::policy::{Estimate, Knowledge, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};

const R: (&str, &str) = (
    "r=0.2",
    "the cost of reversing, from 0 to 1 times the length of the line",
);

const VSCAN: PolicyInfo = PolicyInfo {
    name: "vscan",
    summary: "nearest first, with a penalty for reversing: between sstf and look",
    parameters: &[R, Line::PARAMETER, Origin::FIRST],
    knowledge: Knowledge::Blocks,
    origin: "jacobson91 section 2, worthington94 section 3.1",
    example: "vscan(r=0.2, by=map)",
};

const CVSCAN: PolicyInfo = PolicyInfo {
    name: "cvscan",
    summary: "vscan by the mean distance of the nearest few requests on each side",
    parameters: &[
        ("n=2", "the number of requests on each side, from 1 to 1000"),
        R,
        Line::PARAMETER,
        Origin::FIRST,
    ],
    knowledge: Knowledge::Blocks,
    origin: "worthington94 section 3.1",
    example: "cvscan(n=4, r=0.2)",
};

pub type VScan = PenaltyScan<false>;
pub type CvScan = PenaltyScan<true>;

/// CVSCAN if `HAS_MEAN`, otherwise VSCAN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PenaltyScan<const HAS_MEAN: bool> {
    n: u64,
    r: f64,
    metric: Metric,
}

impl<const HAS_MEAN: bool> Rule for PenaltyScan<HAS_MEAN> {
    const INFO: PolicyInfo = if HAS_MEAN { CVSCAN } else { VSCAN };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let n = if HAS_MEAN {
            args.maybe_count("n", 1..=1000)?.unwrap_or(2)
        } else {
            1
        };
        Ok(Self {
            n,
            r: args.maybe_number("r", 0.0..=1.0)?.unwrap_or(0.2),
            metric: Metric::read(args, Origin::First)?,
        })
    }

    fn knowledge(&self) -> Knowledge {
        self.metric.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let rule = TurnRule {
            count: self.n as usize,
            penalty: Some(self.metric.line.share(self.r, drive)),
        };
        two_way(self.metric, rule, drive)
    }
}
