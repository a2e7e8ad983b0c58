//! The choice of the member for a read, and the retry on the other one.

use super::routing::Prospect;
use super::{Division, Mirror, Pair};
use crate::array::{Part, child_id, member_command, next_of, part_of};
use crate::device::Completion;
use crate::request::Request;
use crate::sched::{Estimate, Knowledge, Outlook};
use crate::stack::BoxedDevice;
use crate::units::{Instant, Span};

impl Mirror {
    fn first_command(&self, member: usize, request: &Request) -> Request {
        let commands = self.copy_commands(member, request);
        member_command(request, request.id, &commands[0])
    }

    /// Chooses the member for a read; `None` for a shared queue.
    pub(super) fn route(&mut self, request: &Request, now: Instant) -> Option<usize> {
        let Pair { router, sides, .. } = &mut self.placement;
        let router = router.as_mut()?;
        if !router.rehearses() {
            let loads = [0, 1].map(|member: usize| sides[member].load);
            return Some(router.route(loads, request));
        }
        let prospects = [0, 1].map(|member| self.prospect(member, request));
        let router = self.placement.router.as_ref()?;
        Some(router.compare(now, &prospects))
    }

    /// Returns the commands that are waiting for a member, and those that the read would add.
    pub(super) fn prospect(&self, member: usize, read: &Request) -> Prospect<'_> {
        let parts = self.parts.iter();
        let mut waiting: Vec<(u64, &Part)> = parts
            .filter(|(_, part)| part.member() == member && part.waiting > 0)
            .collect();
        waiting.sort_unstable_by_key(|(_, part)| (part.since, self.number(part)));
        let waiting = waiting.into_iter().flat_map(|(id, part)| {
            let left = (0..part.commands.len()).filter(|index| !part.commands[*index].is_taken);
            left.map(move |index| self.command(id, index).1)
        });
        // No part has this id.
        let id = |index| child_id(1 << 40, index);
        let commands = self.copy_commands(member, read);
        let added = commands
            .iter()
            .zip(0..)
            .map(|(access, index)| member_command(read, id(index), access));
        Prospect {
            device: &self.members[member].device,
            waiting: waiting.collect(),
            read: added.collect(),
        }
    }

    /// Submits a read to a member that is free, or queues it for both.
    pub(super) fn share(&mut self, id: u64, request: &Request, now: Instant) {
        if let Some(divided) = self.placement.divided {
            return self.share_divided(divided, id, request, now);
        }
        if let Some(member) = self.free_member(request, now) {
            return self.give(id, member, now);
        }
        for member in [0, 1] {
            let part = self.add_copy(id, member);
            self.enqueue(part, now);
        }
        self.feed_pair(now);
    }

    pub(super) fn share_divided(
        &mut self,
        divided: Division,
        id: u64,
        request: &Request,
        now: Instant,
    ) {
        let own = usize::from(request.start >= divided.pivot);
        let first = self.first_command(own, request);
        let is_free = self.is_free(own, &first);
        let part = self.add_copy(id, own);
        if is_free {
            return self.start_copy(part, now);
        }
        self.enqueue(part, now);
        if divided.relaxed.is_some() {
            let reserved = self.add_copy(id, 1 - own);
            self.reserve(1 - own, reserved);
        }
        self.feed_pair(now);
    }

    /// Adds to a member's reserve a read that waits for the other member.
    pub(super) fn reserve(&mut self, member: usize, id: u64) {
        for index in 0..self.parts[id].commands.len() {
            let (_, pending) = self.command(id, index);
            if let Some(reserve) = &mut self.placement.sides[member].reserve {
                reserve.add(pending, &self.members[member].device);
            }
        }
        self.placement.sides[member].load += 1;
    }

    /// Removes and returns a read from the reserve of a member, if the member has no commands of
    /// its own and enough commands wait for the other.
    pub(super) fn next_of_other(&mut self, member: usize, now: Instant) -> Option<Request> {
        let threshold = self.placement.divided?.relaxed?;
        let others = self.members[1 - member].queue.len() as u64;
        if !self.members[member].queue.is_empty() || others <= threshold {
            return None;
        }
        let reserve = self.placement.sides[member].reserve.as_mut()?;
        let taken = next_of(reserve, &self.members[member].device, now)?;
        // From now on, this member serves the remaining commands of the read.
        self.prefer(member, part_of(taken.id).0);
        Some(taken)
    }

    /// Moves a read from the reserve of a member to its queue.
    pub(super) fn prefer(&mut self, member: usize, id: u64) {
        let count = self.parts[id].commands.len();
        let own = &mut self.members[member];
        if let Some(reserve) = &mut self.placement.sides[member].reserve {
            for index in 0..count {
                if let Some(pending) = reserve.take(child_id(id, index), &own.device) {
                    own.add(pending);
                }
            }
        }
    }

    /// Returns a member that is free for a read. If both are free, returns the one that would
    /// complete the read sooner, or the first in a tie.
    pub(super) fn free_member(&self, request: &Request, now: Instant) -> Option<usize> {
        // Usually commands wait for both members, and nothing else needs to be checked.
        if self.members.iter().all(|own| !own.queue.is_empty()) {
            return None;
        }
        let free = [0, 1].map(|member: usize| {
            let command = self.first_command(member, request);
            self.is_free(member, &command).then_some(command)
        });
        let takes = |member: usize, command| access(&self.members[member].device, now, command);
        match &free {
            [None, None] => None,
            [Some(_), None] => Some(0),
            [None, Some(_)] => Some(1),
            [Some(first), Some(second)] => Some(usize::from(takes(1, second) < takes(0, first))),
        }
    }

    /// Ends the read `parent` on a member, or tries it on the other member if it failed.
    pub(super) fn end_read(&mut self, parent: u64, id: u64, done: &Completion) {
        let part = &self.parts[id];
        let member = part.member();
        let may_retry = !part.status.is_success() && part.failed.is_none() && !part.is_aborted;
        let request = self.parents[parent].request;
        if may_retry && self.serves(1 - member, &request) {
            let commands = self.copy_commands(1 - member, &request);
            self.parts[id].retry(commands);
            self.move_copy(parent, id, member);
            return self.start_copy(id, done.at);
        }
        let part = &mut self.parts[id];
        part.combine_attempts();
        part.outcome = Some(done.outcome);
        self.end_part(id);
    }

    /// Records that the copy of `member` has moved to the other member.
    pub(super) fn move_copy(&mut self, request: u64, id: u64, member: usize) {
        let parts = &mut self.parents[request].state.parts;
        (parts[member], parts[1 - member]) = (None, Some(id));
    }
}

/// Returns the time that a device needs to reach and transfer the blocks of `command`: zero if they
/// are in its buffer, and `None` if the device does not know.
fn access(device: &BoxedDevice, now: Instant, command: &Request) -> Option<Span> {
    if device.knowledge() < Knowledge::Times {
        return None;
    }
    let outlook = device.outlook(now);
    if outlook.is_buffered(command) {
        return Some(Span::ZERO);
    }
    Some(outlook.access(command, &device.locate(command)))
}
