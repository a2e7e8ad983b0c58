//! A command queue: a policy, and what no policy decides.
//!
//! Simple reads and writes go through the policy. Flushes, requests at the head of the queue and
//! ordered ones follow the rules of SAM-5 (section 8.6) whatever the policy prefers.

mod gate;

pub(crate) use gate::Gate;

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
    /// Requests that wait, here and in the policy.
    waiting: usize,
    /// Mostly absent: a queue of simple transfers alone pays one look.
    special: Option<Box<Special>>,
}

/// What waits outside the policy.
#[derive(Default)]
struct Special {
    /// Served next, in this order.
    first: VecDeque<Pending>,
    /// An ordered request, and all that arrived after it.
    fenced: VecDeque<Pending>,
}

impl Special {
    fn len(&self) -> usize {
        self.first.len() + self.fenced.len()
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        if let Some(index) = self.first.iter().position(|p| p.request.id == id) {
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
            waiting: 0,
            special: None,
        }
    }

    /// Whether something waits that no policy decides on.
    #[inline]
    pub fn is_special(&self) -> bool {
        self.special.is_some()
    }

    /// Whether an ordered request waits, behind which all waits that arrives now.
    pub fn is_fenced(&self) -> bool {
        let special = self.special.as_ref();
        special.is_some_and(|special| !special.fenced.is_empty())
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// How many requests wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// The policy, for one that takes requests out of turn; see [`Self::deduct`].
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

    /// Adds a simple transfer that arrived before all ordered requests that wait.
    #[cold]
    pub fn add_in_front(&mut self, pending: Pending, drive: &E) {
        self.waiting += 1;
        self.policy.add(pending, drive);
    }

    /// Adds any request.
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

    /// Whether the next request is an ordered one, for which the device must be idle.
    #[inline]
    pub fn next_is_ordered(&self) -> bool {
        let special = self.special.as_ref();
        special.is_some_and(|special| match special.first.front() {
            // It was put back.
            Some(next) => next.request.ordering == Ordering::Ordered,
            None => self.waiting == special.fenced.len(),
        })
    }

    /// Whether the next request is a flush that waits for nothing.
    pub fn next_is_flush(&self) -> bool {
        let special = self.special.as_ref();
        let first = special.and_then(|special| special.first.front());
        first.is_some_and(|next| next.request.op == Op::Flush)
    }

    /// Takes out the request to serve next, if any waits.
    #[inline(always)]
    pub fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.waiting == 0 {
            return None;
        }
        let next = match self.special.is_some() {
            true => self.next_special(now, drive),
            false => self.policy.next(now, drive),
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

    /// Puts back a request that [`Self::next`] gave and the device does not take yet: it stays the
    /// next.
    #[cold]
    pub fn put_back(&mut self, pending: Pending) {
        self.waiting += 1;
        let special = self.special.get_or_insert_default();
        special.first.push_front(pending);
    }

    /// Lets in what no ordered request holds back any more.
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

    /// Takes out the request `id`, if it waits here.
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

    /// Notes that a request is served that [`Self::next`] gave, if the policy did not choose it.
    #[cold]
    pub fn note_served(&mut self, request: &Request, drive: &E) {
        if request.op != Op::Flush && !matches!(request.ordering, Ordering::Simple(_)) {
            self.policy.note_bypass(request, drive);
        }
    }

    /// Notes a simple transfer that is served without waiting here.
    #[inline]
    pub fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.policy.note_bypass(request, drive);
    }
}
