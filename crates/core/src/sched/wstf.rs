//! Weighted shortest time first.
//!
//! # What it does
//! Serves the pending request with the least access time times max(0, 1 - w / M): w is how long
//! it has waited, M the longest wait allowed.
//!
//! # Origin
//! liu05 section 6.1, after Seltzer and others 1990. What is weighted is called the positioning
//! time there, but WSTF is said to become SATF with a large M, so the transfer is in it, as in
//! SATF's access time. M of 3 s served liu05's real workload best
//! (section 6.2.2). Requests that have waited M or longer have no weight left and are served in
//! the order of their arrival, not in a random one as liu05 has it: then the bound holds. The
//! product with M is compared, in integers. With M above T dw / 1 ns, T being the longest access
//! time and dw the longest difference of two waits, it is SATF to the bit: with 10^9 s for access
//! times up to 100 ms and waits up to 10 s.
//!
//! # Cost
//! The access time of every waiting request at each decision.
//!
//! # When it is bad
//! Once waits reach M it is FCFS, and saturates as that does. A request that has waited M is
//! overtaken by none; until then by any.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("wstf(m=3 s)", "policy").is_ok());
//! ```

use super::select::{Select, Selector};
use super::waiting::Waiting;
use super::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError, quantity};
use crate::units::{Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wstf {
    /// M: a request that has waited so long has the least time of all.
    pub most_wait: Span,
}

const DEFAULT_MS: f64 = 3000.0;

impl Rule for Wstf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "wstf",
        summary: "shortest access time first, each weighted by the wait that is left to it",
        parameters: &[("m=3 s", "the longest wait allowed, from 1 ms to 10^9 s")],
        knowledge: Knowledge::Times,
        origin: "liu05 section 6.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let expected = "a time from 1 ms to 1000000000 s with its unit, such as \"3 s\"";
        // Longer than other times may be: it is the limit that makes this SATF.
        let read = |text: &str| quantity::nanoseconds(text).filter(|ns| (1e6..=1e18).contains(ns));
        let ns = args.maybe("m", expected, read)?;
        let given = ns.map(|ns| Span::from_ns(ns.round() as i64));
        Ok(Self {
            most_wait: given.unwrap_or_else(|| Span::from_ms(DEFAULT_MS)),
        })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::by(*self))
    }
}

impl Select for Wstf {
    fn select<O: Outlook>(&self, now: Instant, outlook: &O, waiting: &Waiting) -> Option<usize> {
        waiting.least(|c| {
            let access = c.access(outlook);
            let left = (self.most_wait - now.since_or_zero(c.pending.arrived)).or_zero();
            i128::from(access.as_ns()) * i128::from(left.as_ns())
        })
    }
}
