//! The shortest seek among the nearly shortest positioning times.
//!
//! # What it does
//! Serves the request with the shortest seek among those whose positioning time is at most n
//! percent above the shortest, so that more of the time is rotational latency, in which background
//! work can be done.
//!
//! # Origin
//! lumb01, which compares it with other foreground schedulers under the name SPTF-SWn%. The seek is
//! the arm's part of positioning, with head switch and settle. Ties go to the earliest arrival.
//! SPTF-SW(0%) is SPTF except for equal positioning times, where SPTF serves the earliest arrival
//! and SPTF-SW the request with the shorter seek. The default of n is ours.
//!
//! # Cost
//! Per decision, two scans of the pending requests.
//!
//! # When it is bad
//! Foreground requests wait up to n percent of a positioning time longer than with SPTF. It
//! starves requests as SPTF does.

use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use super::waiting::{Candidate, Select, Selector, Waiting};
use crate::text::{Args, InputError, quantity};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SptfSw {
    slack_share: f64,
}

impl Rule for SptfSw {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sptf-sw",
        summary: "the shortest seek among the nearly shortest positioning times",
        parameters: &[(
            "n=60%",
            "the allowed excess over the shortest positioning time, from 0 % to 1000 %",
        )],
        knowledge: Knowledge::Times,
        origin: "lumb01, SPTF-SWn%",
        example: "sptf-sw(n=40%)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let expected = "a percentage from 0 % to 1000 %, such as \"60 %\"";
        let read = |text: &str| quantity::fraction(text).filter(|n| (0.0..=10.0).contains(n));
        let slack_share = args.maybe("n", expected, read)?.unwrap_or(0.6);
        Ok(Self { slack_share })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::new(*self))
    }
}

impl Select for SptfSw {
    fn select<O: Outlook>(&mut self, _: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        // Exact in a double: positioning times are far below 2^53 ns.
        let positioning = |c: &Candidate| c.positioning(outlook).as_ns() as f64;
        let all = queue.all();
        let shortest = all.iter().map(positioning).fold(f64::INFINITY, f64::min);
        let limit = shortest + self.slack_share * shortest.max(0.0);
        let seek = |c: &Candidate| outlook.seek(&c.pending.request, &c.location);
        queue.min(|c| (positioning(c) > limit, seek(c)))
    }
}
