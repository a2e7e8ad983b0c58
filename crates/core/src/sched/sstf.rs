//! Shortest seek time first.
//!
//! # What it does
//! Serves the pending request that is nearest to the arm along the line. When ordering by cylinder,
//! it serves all requests for the current cylinder, as C-LOOK does, and then moves to the nearest
//! cylinder with requests, where it begins with the lowest block. If two are equally near, it moves
//! to the one whose next request arrived first.
//!
//! # Origin
//! worthington94 sections 3.1, 5.1 and 5.2; jacobson91 section 2. Seek time is assumed to grow with
//! distance, which both papers call usual. The position is just beyond the last block of the
//! previous request (worthington94 section 6.2); `from=first` is the variant tried there, which
//! serves overlapping and repeated requests as well as the scanning policies do. When ordering by
//! cylinder, the policy takes the arm to be at the last block, even if the next block is in the
//! next cylinder, a case that the paper does not cover.
//!
//! # Cost
//! One binary search per arrival and up to three per decision. Each arrival and each decision also
//! moves 16 bytes (24 when ordering by cylinder) for every request pending at a higher block.
//!
//! # When it is bad
//! Requests far from the arm starve as long as others keep arriving near it. When ordering by block
//! number, it serves a sequential stream backwards when the last of its requests is nearest
//! (worthington94 section 6.1).

use super::line::{Line, Metric, Origin, TurnRule, two_way};
use super::policy::{Estimate, Knowledge, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sstf {
    metric: Metric,
}

impl Rule for Sstf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sstf",
        summary: "shortest seek time first, by distance",
        parameters: &[Line::PARAMETER, Origin::LAST],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1",
        example: "sstf(by=map, from=first)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let metric = Metric::read(args, Origin::Last)?;
        Ok(Self { metric })
    }

    fn knowledge(&self) -> Knowledge {
        self.metric.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let (count, penalty) = (1, Some(0.0));
        two_way(self.metric, TurnRule { count, penalty }, drive)
    }
}
