//! BSATF and LBSATF: batched shortest access time first, and its leaky form.
//!
//! # What it does
//! BSATF makes a batch of all pending requests and serves them by shortest access time. Requests
//! that arrive in the meantime wait for the next batch. LBSATF makes the end of a new batch's
//! greedy schedule the deadline of the batch. A request that arrives later joins the batch if the
//! greedy schedule of the remaining requests and the new one still ends by the deadline.
//!
//! # Origin
//! jacobson91 section 5.2, with the greedy order within a batch. BSATF is also in liu05 section
//! 6.1, where two queues hold the two batches. LBSATF tries new arrivals in order when the drive is
//! next free, because nothing is decided before then. We read "if a schedule can be found" as "if
//! the greedy schedule fits", because the batch itself is scheduled that way.
//!
//! # Cost
//! Per decision, the access time of every request left in the batch. For each new arrival, LBSATF
//! copies the drive and rehearses the rest of the batch, computing a number of access times that is
//! quadratic in the batch length. It is meant for short queues and studies of policies.
//!
//! # When it is bad
//! Towards the end of a batch, few requests are left to choose from, so the policy serves fewer
//! requests per second than SATF (liu05 section 6.1). Few new arrivals fit into a batch of LBSATF,
//! because most lengthen its schedule. A request is overtaken only by those that were pending when
//! its batch was made and, under LBSATF, by later arrivals that are served before the deadline.

use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rehearse, Rule};
use super::waiting::Waiting;
use crate::text::{Args, InputError};
use crate::units::Instant;

pub type Bsatf = Batched<false>;
pub type Lbsatf = Batched<true>;

/// LBSATF if `IS_LEAKY`, otherwise BSATF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batched<const IS_LEAKY: bool>;

const BSATF: PolicyInfo = PolicyInfo {
    name: "bsatf",
    summary: "shortest access time first, in batches",
    parameters: &[],
    knowledge: Knowledge::Times,
    origin: "jacobson91 section 5.2",
    example: "bsatf",
};

const LBSATF: PolicyInfo = PolicyInfo {
    name: "lbsatf",
    summary: "BSATF; new requests may join a batch if they do not delay its end",
    knowledge: Knowledge::TimesAndBuffer,
    example: "lbsatf",
    ..BSATF
};

impl<const IS_LEAKY: bool> Rule for Batched<IS_LEAKY> {
    const INFO: PolicyInfo = if IS_LEAKY { LBSATF } else { BSATF };

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Batches::<IS_LEAKY>::default())
    }
}

#[derive(Default)]
struct Batches<const IS_LEAKY: bool> {
    batch: Waiting,
    /// Used only by leaky batches.
    deadline: Instant,
    /// Requests that did not fit into a leaky batch.
    later: Waiting,
    /// Requests that arrived since the last decision, or since the batch was made.
    fresh: Waiting,
}

impl<const IS_LEAKY: bool> Batches<IS_LEAKY> {
    /// Tries to admit the requests that arrived since the last decision.
    fn admit<E: Estimate>(&mut self, now: Instant, drive: &E) {
        for &newcomer in std::mem::take(&mut self.fresh).all() {
            let mut extended = self.batch.clone();
            extended.push(newcomer);
            if schedule_end(extended.clone(), now, drive) <= self.deadline {
                self.batch = extended;
            } else {
                self.later.push(newcomer);
            }
        }
    }
}

/// Returns the end of the greedy schedule of `waiting` that begins at `now`.
fn schedule_end<E: Estimate>(mut waiting: Waiting, mut now: Instant, drive: &E) -> Instant {
    let mut rehearsal = drive.rehearse();
    while let Some(index) = nearest(&waiting, now, &rehearsal) {
        now = rehearsal.serve(now, &waiting.remove(index).request);
    }
    now
}

fn nearest<E: Estimate>(waiting: &Waiting, now: Instant, drive: &E) -> Option<usize> {
    let outlook = drive.outlook(now);
    waiting.min(|c| c.access(&outlook))
}

impl<E: Estimate, const IS_LEAKY: bool> Policy<E> for Batches<IS_LEAKY> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.fresh.add(pending, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.batch.is_empty() {
            self.batch.append(&mut self.later);
            self.batch.append(&mut self.fresh);
            if IS_LEAKY {
                self.deadline = schedule_end(self.batch.clone(), now, drive);
            }
        } else if IS_LEAKY {
            self.admit(now, drive);
        }
        let index = nearest(&self.batch, now, drive)?;
        Some(self.batch.remove(index))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let found = self.batch.take(id).or_else(|| self.later.take(id));
        found.or_else(|| self.fresh.take(id))
    }
}
