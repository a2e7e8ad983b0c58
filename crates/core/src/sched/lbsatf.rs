//! Leaky batched shortest access time first.
//!
//! # What it does
//! As BSATF, but when a batch is taken, the end of its greedy schedule is remembered as its
//! deadline. A request that arrives later joins the batch if the greedy schedule of all that is
//! left with it still ends by the deadline; else it waits for the next batch.
//!
//! # Origin
//! jacobson91 section 5.2. Newcomers are tried one by one, in order of arrival, when the drive is
//! free again: nothing could have been decided in between. "If a schedule can be found" is read
//! as "if the greedy one does it", as the batch itself is scheduled so.
//!
//! # Cost
//! For each newcomer a rehearsal of the rest of the batch: the square of its length in access
//! times, and a copy of the drive. So it suits short queues and studies of policies, not speed.
//!
//! # When it is bad
//! As BSATF's: few newcomers fit, since most lengthen the schedule. A request is overtaken
//! only by those that waited when its batch was taken, and by what arrived later and was served
//! by the batch's deadline, which does not move.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("lbsatf", "policy").is_ok());
//! ```

use super::waiting::Waiting;
use super::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rehearse, Rule};
use crate::text::{Args, InputError};
use crate::units::Instant;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lbsatf;

impl Rule for Lbsatf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lbsatf",
        summary: "BSATF; what does not make a batch end later may join it",
        parameters: &[],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 5.2",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Leaky::default())
    }
}

/// The batch and what waits outside.
#[derive(Default)]
struct Leaky {
    batch: Waiting,
    /// When the batch should be done.
    deadline: Instant,
    /// Tried in vain.
    later: Waiting,
    /// Arrived since the last decision.
    fresh: Waiting,
}

impl Leaky {
    /// Takes in what may be decided on now.
    fn admit<E: Estimate>(&mut self, now: Instant, drive: &E) {
        if self.batch.is_empty() {
            self.batch.append(&mut self.later);
            self.batch.append(&mut self.fresh);
            self.deadline = end(self.batch.clone(), now, drive);
            return;
        }
        for &newcomer in std::mem::take(&mut self.fresh).all() {
            let mut with_it = self.batch.clone();
            with_it.push(newcomer);
            if end(with_it.clone(), now, drive) <= self.deadline {
                self.batch = with_it;
            } else {
                self.later.push(newcomer);
            }
        }
    }
}

/// When the greedy schedule of `rest` ends that begins at `now`.
fn end<E: Estimate>(mut rest: Waiting, mut now: Instant, drive: &E) -> Instant {
    let mut rehearsal = drive.rehearse();
    while let Some(index) = nearest(&rest, now, &rehearsal) {
        now = rehearsal.serve(now, &rest.remove(index).request);
    }
    now
}

fn nearest<E: Estimate>(waiting: &Waiting, now: Instant, drive: &E) -> Option<usize> {
    let outlook = drive.outlook(now);
    waiting.least(|c| c.access(&outlook))
}

impl<E: Estimate> Policy<E> for Leaky {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.fresh.add(pending, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        self.admit(now, drive);
        let index = nearest(&self.batch, now, drive)?;
        Some(self.batch.remove(index))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let taken = self.batch.take(id).or_else(|| self.later.take(id));
        taken.or_else(|| self.fresh.take(id))
    }
}
