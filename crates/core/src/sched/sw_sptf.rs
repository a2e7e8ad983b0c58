//! SPTF in a sliding window of requests.
//!
//! # What it does
//! Among the n oldest requests, serves the one with the shortest positioning time.
//!
//! # Origin
//! liu05 section 6.1 (SW-SPTF). n = 10 was best on one of liu05's bursts (table 6.2). SW-SPTF(1) is
//! FCFS; if n is at least the queue length, it is SPTF.
//!
//! # Cost
//! Per decision, the positioning time of n requests.
//!
//! # When it is bad
//! Requests outside the window are passed over however near they are, so throughput hardly grows
//! with load. Waits are unbounded except for n = 1: the oldest stays in the window, but newer ones
//! that enter can always be nearer.

use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use super::waiting::{Select, Selector, Waiting};
use crate::text::{Args, InputError};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwSptf {
    window: usize,
}

impl Rule for SwSptf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sw-sptf",
        summary: "shortest positioning time first among the n oldest",
        parameters: &[(
            "n=10",
            "the number of requests in the window, from 1 to 1000000000",
        )],
        knowledge: Knowledge::Times,
        origin: "liu05 section 6.1",
        example: "sw-sptf(n=10)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let window = args.maybe_count("n", 1..=1_000_000_000)?.unwrap_or(10) as usize;
        Ok(Self { window })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::new(*self))
    }
}

impl Select for SwSptf {
    fn select<O: Outlook>(&mut self, _: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        queue.min_of_oldest(self.window, |c| c.positioning(outlook))
    }
}
