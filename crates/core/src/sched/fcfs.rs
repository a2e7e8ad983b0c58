//! First come, first served.
//!
//! # What it does
//! Serves requests in the order of their arrival.
//!
//! # Origin
//! The baseline of every scheduling study: worthington94 section 3, jacobson91 section 2.
//!
//! # Cost
//! Constant time a decision; one entry a pending request.
//!
//! # When it is bad
//! Under any load that queues: it saturates first of all policies (worthington94 figure 3),
//! because no seek is ever saved. Its variance is the lowest at light load.
//!
//! # Example
//! ```
//! use diskarm_core::sched;
//! use diskarm_core::drive::Drive;
//! assert!(sched::policy::<Drive>("fcfs").is_some());
//! ```

use std::collections::VecDeque;

use super::{Estimate, Info, Pending, Policy};
use crate::units::Instant;

/// How the table describes it.
pub const INFO: Info = Info {
    name: "fcfs",
    summary: "first come, first served",
    origin: "worthington94 section 3",
};

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Fcfs {
    queue: VecDeque<Pending>,
}

impl<E: Estimate + ?Sized> Policy<E> for Fcfs {
    fn add(&mut self, pending: Pending, _: &E) {
        self.queue.push_back(pending);
    }

    fn next(&mut self, _: Instant, _: &E) -> Option<Pending> {
        self.queue.pop_front()
    }
}
