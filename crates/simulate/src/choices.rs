//! How often a policy had a choice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use diskarm_core::drive::Drive;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, Pending, Policy};
use diskarm_core::tower::{BoxedDevice, Unknown};
use diskarm_core::units::Instant;

use crate::simulation::MakePolicy;

/// Makes policies, and counts how often they choose among several requests. A policy that never
/// does serves in order of arrival, whatever it is called.
pub struct Choices<'a> {
    of: &'a dyn MakePolicy,
    count: Arc<AtomicU64>,
}

impl<'a> Choices<'a> {
    /// Counts the choices of the policies that `of` makes.
    pub fn new(of: &'a dyn MakePolicy) -> Self {
        let count = Arc::default();
        Self { of, count }
    }

    /// The number so far, of all policies together.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn counted<E: Estimate>(&self, policy: Box<dyn Policy<E>>) -> Box<dyn Policy<E>> {
        Box::new(Counted {
            policy,
            pending: 0,
            choices: self.count.clone(),
        })
    }
}

impl MakePolicy for Choices<'_> {
    fn policy(&self, drive: &Drive) -> Box<dyn Policy<Drive>> {
        self.counted(self.of.policy(drive))
    }

    fn boxed(&self, device: &BoxedDevice) -> Result<Box<dyn Policy<BoxedDevice>>, Unknown> {
        Ok(self.counted(self.of.boxed(device)?))
    }
}

/// A policy whose choices are counted.
struct Counted<E: Estimate> {
    policy: Box<dyn Policy<E>>,
    /// Requests that wait in it.
    pending: usize,
    choices: Arc<AtomicU64>,
}

impl<E: Estimate> Policy<E> for Counted<E> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.pending += 1;
        self.policy.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.policy.note_bypass(request, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.pending > 1 {
            self.choices.fetch_add(1, Ordering::Relaxed);
        }
        let next = self.policy.next(now, drive);
        self.pending -= usize::from(next.is_some());
        next
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let taken = self.policy.take(id);
        self.pending -= usize::from(taken.is_some());
        taken
    }
}
