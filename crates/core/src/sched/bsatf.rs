//! Batched shortest access time first.
//!
//! # What it does
//! Takes all pending requests as a batch and serves it by shortest access time; requests that
//! arrive meanwhile wait for the next batch.
//!
//! # Origin
//! jacobson91 section 5.2, with the greedy order within a batch; liu05 section 6.1, where the two
//! batches are two queues.
//!
//! # Cost
//! Per decision, the access time of every request left in the batch.
//!
//! # When it is bad
//! Towards the end of a batch it has little to choose from, so it serves fewer requests per second
//! than SATF (liu05 section 6.1). A request is overtaken only by those that were pending when its
//! batch was taken.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("bsatf", "policy").is_ok());
//! ```

use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule};
use super::waiting::Waiting;
use crate::text::{Args, InputError};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bsatf;

impl Rule for Bsatf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "bsatf",
        summary: "shortest access time first, in batches",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "jacobson91 section 5.2",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Batches::default())
    }
}

#[derive(Default)]
struct Batches {
    batch: Waiting,
    /// The requests for the next batch.
    later: Waiting,
}

impl<E: Estimate> Policy<E> for Batches {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.later.add(pending, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.batch.is_empty() {
            self.batch.append(&mut self.later);
        }
        let outlook = drive.outlook(now);
        let index = self.batch.min(|c| c.access(&outlook))?;
        Some(self.batch.remove(index))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.batch.take(id).or_else(|| self.later.take(id))
    }
}
