//! Which member of a pair reads, and what follows if it cannot.

use super::parent::{self, Parent, parent_of};
use super::rehearsed::Prospect;
use super::{Divided, Mirror};
use crate::device::Completion;
use crate::request::Request;
use crate::sched::Pending;
use crate::units::Instant;

impl Mirror {
    /// The member for a read; `None` under a shared queue.
    pub(super) fn route(&mut self, parent: u64, now: Instant) -> Option<usize> {
        let request = self.parents.get(parent)?.request;
        let router = self.router.as_mut()?;
        if !router.tries() {
            return Some(router.route(&self.members, &request));
        }
        let prospects = [0, 1].map(|member| self.prospect(member, parent));
        let router = self.router.as_ref()?;
        Some(router.try_out(now, &prospects))
    }

    /// What a read would meet at a member.
    fn prospect(&self, member: usize, parent: u64) -> Prospect<'_> {
        let pieces = |id| (0..).map_while(move |index| self.piece(member, id, index));
        let mut parents: Vec<(u64, &Parent)> = self.parents.iter().collect();
        parents.retain(|(_, parent)| parent.copies[member].queued > 0);
        parents.sort_unstable_by_key(|(_, parent)| (parent.since, parent.number));
        let waiting = parents.into_iter().flat_map(|(id, parent)| {
            let arrived = parent.since;
            // Only the second member has several commands of a request, in any order.
            let has_taken = move |command: &Request| {
                member == 1 && parent.taken_early.contains(&parent_of(command.id).1)
            };
            let left = pieces(id).filter(move |command| !has_taken(command));
            left.map(move |request| Pending { request, arrived })
        });
        Prospect {
            member: &self.members[member],
            waiting: waiting.collect(),
            read: pieces(parent).collect(),
        }
    }

    /// Gives a read to the members: to one that is free, or to the queues of both.
    pub(super) fn share(&mut self, parent: u64, now: Instant) {
        if let Some(divided) = self.divided {
            return self.share_divided(divided, parent, now);
        }
        match self.free(parent, now) {
            Some(member) => self.hand_over(member, parent, now),
            None => {
                self.add(0, parent, now);
                self.add(1, parent, now);
                self.feed(now);
            }
        }
    }

    /// The same by address: to the member in whose part it is.
    fn share_divided(&mut self, divided: Divided, parent: u64, now: Instant) {
        let Some(request) = self.parents.get(parent).map(|parent| parent.request) else {
            return;
        };
        let own = usize::from(request.start >= divided.pivot);
        let first = self.piece(own, parent, 0);
        if first.is_some_and(|first| self.is_free(own, &first)) {
            return self.hand_over(own, parent, now);
        }
        self.add(own, parent, now);
        if divided.relaxed.is_some() {
            self.reserve(1 - own, parent);
        }
        self.feed(now);
    }

    /// Lets a member have a read that waits for the other, if nothing waits for it.
    fn reserve(&mut self, member: usize, parent: u64) {
        let Some(arrived) = self.parents.get(parent).map(|parent| parent.since) else {
            return;
        };
        let mut count = 0;
        while let Some(request) = self.piece(member, parent, count) {
            let own = &mut self.members[member];
            if let Some(reserve) = &mut own.reserve {
                reserve.add(Pending { request, arrived }, &own.device);
            }
            count += 1;
        }
        self.members[member].load += 1;
        if let Some(parent) = self.parents.get_mut(parent) {
            parent.copies[member].queued = count;
        }
    }

    /// Takes out the read that a member serves for the other, if nothing waits for it and enough
    /// for that.
    pub(super) fn next_of_other(&mut self, member: usize, now: Instant) -> Option<Request> {
        let threshold = self.divided?.relaxed?;
        let others = self.members[1 - member].queue.len() as u64;
        if !self.members[member].queue.is_empty() || others <= threshold {
            return None;
        }
        let taken = self.members[member].next_of_reserve(now)?;
        // What is left of it is its own from now on.
        self.prefer(member, parent_of(taken.id).0);
        Some(taken)
    }

    /// Makes a read that a member has in reserve one of those that wait for it.
    pub(super) fn prefer(&mut self, member: usize, parent: u64) {
        let mut index = 0;
        while let Some(piece) = self.piece(member, parent, index) {
            let own = &mut self.members[member];
            let reserve = own.reserve.as_mut();
            if let Some(pending) = reserve.and_then(|reserve| reserve.take(piece.id, &own.device)) {
                own.add(pending);
            }
            index += 1;
        }
    }

    /// The member that is free for a read: of two the one that ends it sooner, the first if they
    /// are equal.
    fn free(&self, parent: u64, now: Instant) -> Option<usize> {
        let is_free = |&member: &usize| {
            let first = self.piece(member, parent, 0);
            first.is_some_and(|first| self.is_free(member, &first))
        };
        let mut free = [0, 1].into_iter().filter(is_free);
        let (first, second) = (free.next()?, free.next());
        second.map_or(Some(first), |second| {
            let takes = |member: usize| {
                let request = self.piece(member, parent, 0)?;
                self.members[member].access(now, &request)
            };
            let is_sooner = takes(second) < takes(first);
            Some(if is_sooner { second } else { first })
        })
    }

    /// A member has read, or failed to: the other is tried then.
    pub(super) fn end_read(&mut self, id: u64, member: usize, mut copy: Completion) {
        let has_other = copy.status.is_success() || self.serves(1 - member, &copy.request);
        let Some(parent) = self.parents.get_mut(id) else {
            return;
        };
        match parent.failed {
            None if !copy.status.is_success() && !parent.is_aborted && has_other => {
                parent.try_again(&copy);
                return self.hand_over(1 - member, id, copy.at);
            }
            None => {}
            Some(before) => copy.status = parent::tried_again(before, copy.status),
        }
        self.finish(id, Some(copy));
    }
}
