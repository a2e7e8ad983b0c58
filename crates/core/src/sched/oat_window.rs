//! Optimal access time in a sliding window.
//!
//! # What it does
//! Considers the n oldest requests and serves the first of the order in which all n would complete
//! earliest; then the next request enters the window and it decides again.
//!
//! # Origin
//! jacobson91 section 4.1, "sliding window OAT" with windows of 6; SW-OAT in liu05 section 6.1.
//! The order is found as in `oat`, with its departures.
//!
//! # Cost
//! Per decision, up to e times n! requests tried on copies of the drive (1,957 for 6), each at the
//! cost of one simulated request.
//!
//! # When it is bad
//! Under load: 1.75 times as slow as SATF over the whole queue on the HP 97560, and no better than
//! SATF over the same window (jacobson91 section 4.1, liu05 section 6.1). A request may stay in the
//! window indefinitely while better ones pass through it.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("oat-window(n=6)", "policy").is_ok());
//! ```

use super::oat::optimal_order;
use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule};
use super::waiting::Waiting;
use crate::text::{Args, InputError};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OatWindow {
    /// Maximum number of requests in the window.
    n: usize,
}

impl Rule for OatWindow {
    const INFO: PolicyInfo = PolicyInfo {
        name: "oat-window",
        summary: "sliding-window OAT: the first of the optimal order of the oldest",
        parameters: &[(
            "n=6",
            "the maximum number of requests in the window, from 1 to 10",
        )],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 4.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let n = args.maybe_count("n", 1..=10)?.unwrap_or(6) as usize;
        Ok(Self { n })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Window {
            n: self.n,
            waiting: Waiting::default(),
        })
    }
}

#[derive(Debug)]
struct Window {
    n: usize,
    waiting: Waiting,
}

impl<E: Estimate> Policy<E> for Window {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.waiting.add(pending, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let order = optimal_order(&drive.rehearse(), now, self.waiting.oldest(self.n));
        let first = order.first()?;
        Some(self.waiting.remove(first.index))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.waiting.take(id)
    }
}
