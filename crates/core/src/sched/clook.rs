//! Cyclical LOOK by logical block number.
//!
//! # What it does
//! Serves pending requests in ascending order of their first block; when none lies at or beyond
//! the block served last, it starts again from the lowest.
//!
//! # Origin
//! worthington94 sections 3.1 and 5.1. The sweep's position is the first block of the request
//! served last, not its end, so that requests to one place are not starved (section 6.2).
//! Requests for the same block are served in the order of their arrival.
//!
//! # Cost
//! Logarithmic time in the queue's length for an arrival and for a decision; one entry of a
//! sorted array a pending request.
//!
//! # When it is bad
//! On random workloads its mean response is 5 to 10 % above SSTF's (worthington94 section
//! 5.1), and it ignores rotation altogether.
//!
//! # Example
//! ```
//! use diskarm_core::sched;
//! use diskarm_core::drive::Drive;
//! assert!(sched::policy::<Drive>("clook").is_some());
//! ```

use std::collections::BTreeMap;

use super::{Estimate, Info, Pending, Policy};
use crate::request::Request;
use crate::units::{Instant, Lbn};

/// How the table describes it.
pub const INFO: Info = Info {
    name: "clook",
    summary: "cyclical LOOK by logical block number",
    origin: "worthington94 section 3.1",
};

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct CLook {
    /// By first block, then by order of arrival.
    pending: BTreeMap<(Lbn, u64), Pending>,
    arrivals: u64,
    /// First block of the request served last.
    sweep: Lbn,
}

impl<E: Estimate + ?Sized> Policy<E> for CLook {
    fn add(&mut self, pending: Pending, _: &E) {
        self.pending
            .insert((pending.request.start, self.arrivals), pending);
        self.arrivals += 1;
    }

    fn passed(&mut self, request: &Request) {
        self.sweep = request.start;
    }

    fn next(&mut self, _: Instant, _: &E) -> Option<Pending> {
        let ahead = self.pending.range((self.sweep, 0)..).next();
        let (&key, _) = ahead.or_else(|| self.pending.first_key_value())?;
        self.sweep = key.0;
        self.pending.remove(&key)
    }

    fn len(&self) -> usize {
        self.pending.len()
    }
}
