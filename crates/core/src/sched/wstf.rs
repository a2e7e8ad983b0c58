//! Weighted shortest time first.
//!
//! # What it does
//! Serves the pending request with the minimum access time multiplied by max(0, 1 - w / M), where w
//! is the time that the request has waited and M is the longest wait allowed.
//!
//! # Origin
//! liu05 section 6.1, after Seltzer and others 1990. liu05 calls the weighted time positioning
//! time, but says that WSTF becomes SATF with a large M, so the time includes the transfer here,
//! like SATF's access time. M = 3 s was best for liu05's real workload (section 6.2.2). Requests
//! that have waited M or longer have zero weight and are served in order of arrival, not in random
//! order as in liu05, so that the bound holds. Comparisons use the product with M, in integers. If
//! M exceeds T dw / 1 ns, where T is the longest access time and dw the largest difference of two
//! waits, it is exactly SATF: 10^9 s suffices for access times up to 100 ms and waits up to 10 s.
//!
//! # Cost
//! Per decision, the access time of every pending request.
//!
//! # When it is bad
//! Once waits reach M, it behaves like FCFS and saturates as early. A request that has waited M is
//! never overtaken; before that, any request may overtake it.

use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use super::waiting::{Select, Selector, Waiting};
use crate::text::{Args, InputError, quantity};
use crate::units::{Instant, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wstf {
    max_wait: Span,
}

impl Rule for Wstf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "wstf",
        summary: "shortest access time first, weighted by the remaining allowed wait",
        parameters: &[("m=3 s", "the longest wait allowed, from 1 ms to 10^9 s")],
        knowledge: Knowledge::Times,
        origin: "liu05 section 6.1",
        example: "wstf(m=3 s)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let expected = "a time from 1 ms to 1000000000 s with its unit, such as \"3 s\"";
        // M may be longer than other times: in the limit, WSTF is SATF.
        let read = |text: &str| quantity::nanoseconds(text).filter(|ns| (1e6..=1e18).contains(ns));
        let ns = args.maybe("m", expected, read)?.unwrap_or(3e9);
        let max_wait = Span::from_ns(ns.round() as i64);
        Ok(Self { max_wait })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::new(*self))
    }
}

impl Select for Wstf {
    fn select<O: Outlook>(&mut self, now: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        queue.min(|c| {
            let access = c.access(outlook);
            let left = (self.max_wait - now.since_or_zero(c.pending.arrived)).or_zero();
            i128::from(access.as_ns()) * i128::from(left.as_ns())
        })
    }
}
