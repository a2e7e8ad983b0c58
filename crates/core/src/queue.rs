//! A command queue around a policy.
//!
//! Simple reads and writes go through the policy. Flushes, head-of-queue requests and ordered
//! requests follow the rules of SAM-5 (section 8.6), whatever the policy prefers.

use std::collections::VecDeque;

use crate::request::{Op, Ordering, Request};
use crate::sched::{Estimate, Pending, Policy, take};
use crate::units::Instant;

/// Requests that wait for a device, and the order in which they are served.
///
/// Behaviour: head-of-queue requests go first, newest first, then flushes in order of arrival. A
/// flush promises nothing about writes that have not completed, so it does not wait for earlier
/// writes. All others go to the policy, up to the first ordered request. The ordered request, and
/// all requests that arrive after it, wait until the policy is empty.
pub struct CommandQueue<E: Estimate> {
    policy: Box<dyn Policy<E>>,
    /// Number of waiting requests, including those in the policy.
    waiting: usize,
    /// Absent if only simple transfers wait, so that they cost only one check.
    special: Option<Box<SpecialRequests>>,
}

#[derive(Default)]
struct SpecialRequests {
    first: VecDeque<Pending>,
    /// An ordered request, and all requests that arrived after it.
    fenced: VecDeque<Pending>,
}

impl SpecialRequests {
    fn len(&self) -> usize {
        self.first.len() + self.fenced.len()
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        take(&mut self.first, id).or_else(|| take(&mut self.fenced, id))
    }
}

impl<E: Estimate> CommandQueue<E> {
    /// Creates an empty queue ordered by `policy`, which must be empty.
    pub fn new(policy: Box<dyn Policy<E>>) -> Self {
        Self {
            policy,
            waiting: 0,
            special: None,
        }
    }

    /// Returns true if some requests wait outside the policy.
    #[inline]
    pub fn is_special(&self) -> bool {
        self.special.is_some()
    }

    /// Returns true if an ordered request waits, so that new arrivals wait after it.
    pub fn is_fenced(&self) -> bool {
        let special = self.special.as_ref();
        special.is_some_and(|special| !special.fenced.is_empty())
    }

    /// Returns true if no request waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Returns the number of waiting requests.
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Returns the policy, for callers that take requests out of turn; see [`Self::deduct`].
    #[inline]
    pub fn policy(&mut self) -> &mut dyn Policy<E> {
        &mut *self.policy
    }

    /// Accounts for `count` simple requests that were taken out of the policy directly.
    #[inline]
    pub fn deduct(&mut self, count: usize) {
        self.waiting -= count;
    }

    /// Adds a simple transfer.
    #[inline]
    pub fn add(&mut self, pending: Pending, drive: &E) {
        if self.special.is_some() {
            return self.add_special(pending, drive);
        }
        self.waiting += 1;
        self.policy.add(pending, drive);
    }

    /// Adds a simple transfer that arrived before all waiting ordered requests.
    #[cold]
    pub fn add_in_front(&mut self, pending: Pending, drive: &E) {
        self.waiting += 1;
        self.policy.add(pending, drive);
    }

    /// Adds a request of any kind, including flushes and ordered requests.
    #[cold]
    #[inline(never)]
    pub fn add_special(&mut self, pending: Pending, drive: &E) {
        self.waiting += 1;
        let special = self.special.get_or_insert_default();
        let Request { op, ordering, .. } = pending.request;
        if ordering == Ordering::HeadOfQueue {
            special.first.push_front(pending);
        } else if ordering == Ordering::Ordered || !special.fenced.is_empty() {
            special.fenced.push_back(pending);
        } else if op == Op::Flush {
            special.first.push_back(pending);
        } else {
            self.policy.add(pending, drive);
        }
    }

    /// Returns true if the next request is ordered, and so begins only when the device is idle.
    #[inline]
    pub fn next_is_ordered(&self) -> bool {
        let special = self.special.as_ref();
        special.is_some_and(|special| match special.first.front() {
            // An ordered request can only be first if it was put back.
            Some(next) => next.request.ordering == Ordering::Ordered,
            None => self.waiting == special.fenced.len(),
        })
    }

    /// Returns true if the next request is a flush that need not wait.
    pub fn next_is_flush(&self) -> bool {
        let special = self.special.as_ref();
        let first = special.and_then(|special| special.first.front());
        first.is_some_and(|next| next.request.op == Op::Flush)
    }

    /// Removes and returns the request to serve next.
    #[inline(always)]
    pub fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.waiting == 0 {
            return None;
        }
        let next = if self.special.is_some() {
            self.next_special(now, drive)
        } else {
            self.policy.next(now, drive)
        };
        assert!(next.is_some(), "the policy lost {} requests", self.waiting);
        self.waiting -= 1;
        next
    }

    #[cold]
    #[inline(never)]
    fn next_special(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let special = self.special.as_mut()?;
        let next = if let Some(first) = special.first.pop_front() {
            first
        } else if self.waiting > special.fenced.len() {
            return self.policy.next(now, drive);
        } else {
            special.fenced.pop_front()?
        };
        self.release(drive);
        Some(next)
    }

    /// Puts back a request from [`Self::next`] that the device does not accept yet; it stays first.
    #[cold]
    pub fn put_back(&mut self, pending: Pending) {
        self.waiting += 1;
        let special = self.special.get_or_insert_default();
        special.first.push_front(pending);
    }

    fn release(&mut self, drive: &E) {
        let Some(special) = &mut self.special else {
            return;
        };
        let is_held = |next: &Pending| next.request.ordering == Ordering::Ordered;
        while let Some(pending) = special.fenced.pop_front_if(|next| !is_held(next)) {
            if pending.request.op == Op::Flush {
                special.first.push_back(pending);
            } else {
                self.policy.add(pending, drive);
            }
        }
        if special.len() == 0 {
            self.special = None;
        }
    }

    /// Removes and returns the request `id`.
    pub fn take(&mut self, id: u64, drive: &E) -> Option<Pending> {
        if let Some(special) = &mut self.special
            && let Some(pending) = special.take(id)
        {
            self.waiting -= 1;
            self.release(drive);
            return Some(pending);
        }
        let taken = self.policy.take(id);
        self.waiting -= usize::from(taken.is_some());
        taken
    }

    /// Informs the policy about a request from [`Self::next`] that the policy did not choose.
    #[cold]
    pub fn note_served(&mut self, request: &Request, drive: &E) {
        if request.op != Op::Flush && !matches!(request.ordering, Ordering::Simple(_)) {
            self.policy.note_bypass(request, drive);
        }
    }

    /// Informs the policy about a simple transfer that is served without waiting here.
    #[inline]
    pub fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.policy.note_bypass(request, drive);
    }
}

/// A gate that admits an ordered request only when the device is idle, and then nothing but
/// head-of-queue requests until the ordered request completes.
#[derive(Default)]
pub(crate) struct Gate {
    /// An ordered request, and all requests that arrived after it.
    held: VecDeque<Pending>,
    exclusive: Option<u64>,
}

impl Gate {
    /// Returns an arriving request if it may enter, and otherwise holds it.
    pub fn admit(&mut self, pending: Pending, is_idle: bool) -> Option<Pending> {
        let ordering = pending.request.ordering;
        let waits = self.exclusive.is_some()
            || !self.held.is_empty()
            || (ordering == Ordering::Ordered && !is_idle);
        if waits && ordering != Ordering::HeadOfQueue {
            self.held.push_back(pending);
            return None;
        }
        Some(pending)
    }

    /// Removes and returns the next request that may enter now.
    pub fn release(&mut self, is_idle: bool) -> Option<Pending> {
        let next = self.held.front().filter(|_| self.exclusive.is_none())?;
        if next.request.ordering == Ordering::Ordered && !is_idle {
            return None;
        }
        self.held.pop_front()
    }

    /// Records that the ordered request `id` has entered.
    pub fn enter(&mut self, id: u64) {
        self.exclusive = Some(id);
    }

    /// Records that the request `id` has left.
    pub fn leave(&mut self, id: u64) {
        if self.exclusive == Some(id) {
            self.exclusive = None;
        }
    }

    /// Removes and returns a held request, by the id that the host gave it.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        take(&mut self.held, id)
    }
}
