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
//! A binary search for an arrival, and for an arrival and a decision 16 bytes moved for each
//! request that waits with a higher block.
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

use super::sorted::Sorted;
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
    /// By first block.
    pending: Sorted<Lbn, Pending>,
    /// First block of the request served last.
    sweep: Lbn,
    /// Index of the first request at or beyond it.
    ahead: usize,
}

impl<E: Estimate + ?Sized> Policy<E> for CLook {
    fn add(&mut self, pending: Pending, _: &E) {
        self.ahead += usize::from(pending.request.start < self.sweep);
        self.pending.insert(pending.request.start, pending);
    }

    fn passed(&mut self, request: &Request) {
        self.sweep = request.start;
    }

    fn next(&mut self, _: Instant, _: &E) -> Option<Pending> {
        if self.pending.len() == 0 {
            return None;
        }
        if self.ahead == self.pending.len() {
            self.ahead = 0;
        }
        self.sweep = self.pending.key(self.ahead);
        Some(self.pending.remove(self.ahead))
    }
}
