//! Which member of a pair reads, and what follows if it cannot.

use super::Mirror;
use super::parent::{self, Parent, parent_of};
use super::rehearsed::Prospect;
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
        match self.free(parent, now) {
            Some(member) => self.hand_over(member, parent, now),
            None => {
                self.add(0, parent, now);
                self.add(1, parent, now);
                self.feed(now);
            }
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
