//! Short-sighted optimal access time: the optimal order of one batch after another.
//!
//! # What it does
//! Takes the n oldest requests, or all if there are fewer, and serves them in the order whose last
//! completes earliest; only then does it consider new arrivals.
//!
//! # Origin
//! jacobson91 section 4.1, "short-sighted" OAT with batches of 6. The order is found as in `oat`,
//! with its departures. A batch is taken when a decision is due, so a short queue makes a small
//! batch.
//!
//! # Cost
//! Per batch, up to e times n! requests tried on copies of the drive (1,957 for 6), each at the
//! cost of one simulated request; constant time for the decisions in between.
//!
//! # When it is bad
//! Under load: 1.84 times as slow as SATF over the whole queue on the HP 97560 (jacobson91 section
//! 4.1), because it chooses among few. A request waits only for those ahead of it and n - 1 others.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("oat-batch(n=6)", "policy").is_ok());
//! ```

use std::collections::VecDeque;

use super::oat::optimal_order;
use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule};
use super::waiting::Waiting;
use crate::text::{Args, InputError};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OatBatch {
    /// Maximum number of requests in a batch.
    pub n: usize,
}

impl Rule for OatBatch {
    const INFO: PolicyInfo = PolicyInfo {
        name: "oat-batch",
        summary: "short-sighted OAT: the optimal order of one batch after another",
        parameters: &[(
            "n=6",
            "the maximum number of requests in a batch, from 1 to 10",
        )],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 4.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let n = args.maybe_count("n", 1..=10)?.unwrap_or(6) as usize;
        Ok(Self { n })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Batches {
            n: self.n,
            waiting: Waiting::default(),
            batch: VecDeque::new(),
        })
    }
}

#[derive(Debug)]
struct Batches {
    n: usize,
    waiting: Waiting,
    /// Ids of the remaining requests of the batch, in the order of service.
    batch: VecDeque<u64>,
}

impl<E: Estimate> Policy<E> for Batches {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.waiting.add(pending, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.batch.is_empty() {
            let oldest = self.waiting.oldest(self.n);
            let order = optimal_order(&drive.rehearse(), now, oldest);
            let ids = order.iter().map(|s| oldest[s.index].pending.request.id);
            self.batch = ids.collect();
        }
        let id = self.batch.pop_front()?;
        self.waiting.take(id)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.batch.retain(|&other| other != id);
        self.waiting.take(id)
    }
}
