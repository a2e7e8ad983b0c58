//! What a read would take at a member, tried on a copy of it.

use std::collections::BTreeMap;

use super::member::Member;
use super::parent::parent_of;
use crate::device::Device;
use crate::request::Request;
use crate::sched::{Estimate, Pending, Rehearse, Rule, Satf};
use crate::tower::BoxedRehearsal;
use crate::units::{Instant, Span};

/// What waits for a member, in order of arrival, and the commands that a read would add.
pub(super) struct Prospect<'a> {
    pub member: &'a Member,
    pub waiting: Vec<Pending>,
    pub read: Vec<Request>,
}

/// The totals of requests served by shortest access time first.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    /// From now to the completion of each request, with the last of its commands.
    pub responses: Span,
    /// From the choice of each command to its completion.
    pub services: Span,
}

impl Prospect<'_> {
    /// A copy of the member, and when it takes its next command if it has one.
    fn trial(&self, now: Instant) -> (BoxedRehearsal, Instant) {
        let device = &self.member.device;
        let busy_until = device.next_event().filter(|_| !device.has_room());
        let begins = busy_until.map_or(now, |until| until.max(now));
        (device.rehearse(), begins)
    }

    /// When the read would begin and end in order of arrival, if nothing more comes.
    pub fn in_order(&self, now: Instant) -> (Instant, Instant) {
        let (mut trial, mut at) = self.trial(now);
        for waiting in &self.waiting {
            at = trial.serve(at, &waiting.request);
        }
        let begins = at;
        for command in &self.read {
            at = trial.serve(at, command);
        }
        (begins, trial.completed_at())
    }

    /// What all that waits would take by shortest access time first, `with` the read or without.
    pub fn by_access(&self, now: Instant, with: bool) -> Totals {
        let (mut trial, mut at) = self.trial(now);
        let mut policy = Satf::default().policy(&trial);
        let read = self.read.iter().filter(|_| with);
        let read = read.map(|&request| Pending {
            request,
            arrived: now,
        });
        // The commands that are left of each request.
        let mut left: BTreeMap<u64, u32> = BTreeMap::new();
        for pending in self.waiting.iter().copied().chain(read) {
            policy.add(pending, &trial);
            *left.entry(parent_of(pending.request.id).0).or_default() += 1;
        }
        let mut totals = Totals::default();
        while let Some(next) = policy.next(at, &trial) {
            let begins = at;
            at = trial.serve(at, &next.request);
            let left = left.entry(parent_of(next.request.id).0).or_default();
            *left -= 1;
            if *left == 0 {
                totals.responses += trial.completed_at() - now;
            }
            totals.services += trial.completed_at() - begins;
        }
        totals
    }
}
