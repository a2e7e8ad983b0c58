//! Policies of host queues, and a counter of their choices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use diskarm_core::drive::Drive;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, Pending, Policy, PolicyConfig};
use diskarm_core::stack::{self, BoxedDevice, InsufficientKnowledge};
use diskarm_core::units::Instant;

use crate::error::Error;

/// Makes the policies of host queues; each drive has its own queue.
pub trait MakePolicy: Sync {
    /// Makes a policy for `drive`, with nothing pending.
    fn policy(&self, drive: &Drive) -> Box<dyn Policy<Drive>>;

    /// Makes a policy for a stack of devices. Fails if `device` provides too little knowledge.
    fn boxed(
        &self,
        device: &BoxedDevice,
    ) -> Result<Box<dyn Policy<BoxedDevice>>, InsufficientKnowledge>;
}

impl MakePolicy for PolicyConfig {
    fn policy(&self, drive: &Drive) -> Box<dyn Policy<Drive>> {
        self.policy(drive)
    }

    fn boxed(
        &self,
        device: &BoxedDevice,
    ) -> Result<Box<dyn Policy<BoxedDevice>>, InsufficientKnowledge> {
        stack::policy(self, device)
    }
}

/// Parses `text`, the policy in `argument`. Fails if the policy is invalid.
pub fn policy(argument: &'static str, text: &str) -> Result<PolicyConfig, Error> {
    PolicyConfig::parse(text, argument).map_err(|error| error.in_argument(argument).into())
}

/// Makes policies, and counts how often they choose among several requests. A policy that never
/// chooses serves in order of arrival, whatever its name.
pub struct ChoiceCounter<'a> {
    inner: &'a dyn MakePolicy,
    count: Arc<AtomicU64>,
}

impl<'a> ChoiceCounter<'a> {
    /// Counts the choices of the policies that `inner` makes.
    pub fn new(inner: &'a dyn MakePolicy) -> Self {
        let count = Arc::default();
        Self { inner, count }
    }

    /// Returns the number of choices so far, of all policies together.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn counted<E: Estimate>(&self, policy: Box<dyn Policy<E>>) -> Box<dyn Policy<E>> {
        Box::new(CountingPolicy {
            policy,
            pending: 0,
            choices: self.count.clone(),
        })
    }
}

impl MakePolicy for ChoiceCounter<'_> {
    fn policy(&self, drive: &Drive) -> Box<dyn Policy<Drive>> {
        self.counted(self.inner.policy(drive))
    }

    fn boxed(
        &self,
        device: &BoxedDevice,
    ) -> Result<Box<dyn Policy<BoxedDevice>>, InsufficientKnowledge> {
        Ok(self.counted(self.inner.boxed(device)?))
    }
}

struct CountingPolicy<E: Estimate> {
    policy: Box<dyn Policy<E>>,
    pending: usize,
    choices: Arc<AtomicU64>,
}

impl<E: Estimate> Policy<E> for CountingPolicy<E> {
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
