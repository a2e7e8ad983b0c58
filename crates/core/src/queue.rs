//! A command queue: a policy, and what no policy decides.
//!
//! Simple reads and writes go through the policy. Flushes, requests at the head of the queue and
//! ordered ones follow the rules of SAM-5 (section 8.6) whatever the policy prefers.

use std::collections::VecDeque;

use crate::request::{Op, Ordering, Request};
use crate::sched::{Estimate, Pending, Policy};
use crate::units::Instant;

/// Requests that wait for a device, and the order in which they are served.
///
/// What it does: requests at the head of the queue are next, the newest first, then flushes in
/// order of arrival: a flush promises nothing about writes that have not completed, so it need not
/// wait for those in front of it. All others are the policy's, up to the first ordered request.
/// That one, and everything that arrives after it, waits until the policy has nothing left.
pub struct CommandQueue<E: Estimate> {
    policy: Box<dyn Policy<E>>,
    /// Requests in the policy.
    simple: usize,
    /// Mostly absent: a queue of simple transfers alone pays one look.
    special: Option<Box<Special>>,
}

/// What waits outside the policy.
#[derive(Default)]
struct Special {
    /// Served next, in this order.
    first: VecDeque<Pending>,
    /// How many of `first` are at the head of the queue; flushes follow them.
    heads: usize,
    /// An ordered request, and all that arrived after it.
    fenced: VecDeque<Pending>,
}

impl Special {
    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.fenced.is_empty()
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        if let Some(index) = self.first.iter().position(|p| p.request.id == id) {
            self.heads -= usize::from(index < self.heads);
            return self.first.remove(index);
        }
        let index = self.fenced.iter().position(|p| p.request.id == id)?;
        self.fenced.remove(index)
    }
}

impl<E: Estimate> CommandQueue<E> {
    /// An empty queue in the order of `policy`, which holds nothing yet.
    pub fn new(policy: Box<dyn Policy<E>>) -> Self {
        Self {
            policy,
            simple: 0,
            special: None,
        }
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.simple == 0 && self.special.is_none()
    }

    /// The policy, for one that takes requests out of turn; see [`Self::taken`].
    #[inline]
    pub fn policy(&mut self) -> &mut dyn Policy<E> {
        &mut *self.policy
    }

    /// Accounts for `count` simple requests that were taken out of the policy directly.
    #[inline]
    pub fn taken(&mut self, count: usize) {
        self.simple -= count;
    }

    /// Adds a request.
    #[inline]
    pub fn add(&mut self, pending: Pending, drive: &E) {
        if self.special.is_none() && pending.request.is_simple_transfer() {
            self.simple += 1;
            self.policy.add(pending, drive);
        } else {
            self.add_special(pending, drive);
        }
    }

    #[cold]
    fn add_special(&mut self, pending: Pending, drive: &E) {
        let special = self.special.get_or_insert_default();
        let Request { op, ordering, .. } = pending.request;
        if ordering == Ordering::HeadOfQueue {
            special.first.push_front(pending);
            special.heads += 1;
        } else if ordering == Ordering::Ordered || !special.fenced.is_empty() {
            special.fenced.push_back(pending);
        } else if op == Op::Flush {
            special.first.push_back(pending);
        } else {
            self.simple += 1;
            self.policy.add(pending, drive);
        }
    }

    /// Whether the next request is an ordered one, for which the device must be idle.
    #[inline]
    pub fn next_is_ordered(&self) -> bool {
        self.simple == 0
            && self
                .special
                .as_ref()
                .is_some_and(|special| special.first.is_empty())
    }

    /// Takes out the request to serve next, if any waits.
    #[inline]
    pub fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.special.is_some() {
            return self.next_special(now, drive);
        }
        self.next_simple(now, drive)
    }

    #[inline]
    fn next_simple(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.simple == 0 {
            return None;
        }
        let next = self.policy.next(now, drive);
        assert!(next.is_some(), "the policy lost {} requests", self.simple);
        self.simple -= 1;
        next
    }

    #[cold]
    fn next_special(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let special = self.special.as_mut()?;
        let next = if let Some(first) = special.first.pop_front() {
            special.heads = special.heads.saturating_sub(1);
            Some(first)
        } else if self.simple > 0 {
            return self.next_simple(now, drive);
        } else {
            special.fenced.pop_front()
        };
        self.release(drive);
        if let Some(Pending { request, .. }) = &next
            && request.op != Op::Flush
        {
            self.policy.passed(request, drive);
        }
        next
    }

    /// Lets in what no ordered request holds back any more.
    fn release(&mut self, drive: &E) {
        let Some(special) = &mut self.special else {
            return;
        };
        while let Some(next) = special.fenced.front()
            && next.request.ordering != Ordering::Ordered
        {
            let Some(pending) = special.fenced.pop_front() else {
                break;
            };
            if pending.request.op == Op::Flush {
                special.first.push_back(pending);
            } else {
                self.simple += 1;
                self.policy.add(pending, drive);
            }
        }
        if special.is_empty() {
            self.special = None;
        }
    }

    /// Takes out the request `id`, if it waits here.
    pub fn take(&mut self, id: u64, drive: &E) -> Option<Pending> {
        if let Some(special) = &mut self.special
            && let Some(pending) = special.take(id)
        {
            self.release(drive);
            return Some(pending);
        }
        let taken = self.policy.take(id);
        self.simple -= usize::from(taken.is_some());
        taken
    }

    /// Notes a simple transfer that is served without waiting here.
    #[inline]
    pub fn passed(&mut self, request: &Request, drive: &E) {
        self.policy.passed(request, drive);
    }
}
