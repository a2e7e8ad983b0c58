//! Arrays: several devices that serve requests as one.
//!
//! An [`Array`] owns what all arrays have in common: members, each a device with a queue; the
//! outstanding requests and their commands; failures of members, the spare and the rebuild; and the
//! order of events. A [`Placement`] determines where blocks are and which commands a request needs:
//! a [mirrored pair](crate::mirror), [stripes](crate::raid) with or without parity, or [declustered
//! copies](crate::declustered).
//!
//! An ordered request waits until all others have completed, and requests that arrive meanwhile
//! wait for it. A request can be aborted until a member has taken one of its commands. If it has
//! only one command, it can also be aborted as long as the member can abort that command.
//!
//! Members may fail permanently. If a second failure loses data, the array serves nothing from then
//! on, and its component reports include the loss ([`Device::components`]). A spare can take the
//! slot of the first member that fails. The spare is then rebuilt in steps, starting at the
//! failure, or at the first request if the member failed before it. A step waits for earlier writes
//! to its blocks, and later writes to these blocks wait for the step. After each step the rebuild
//! pauses in proportion to the time that the step took. The commands of the rebuild have the lowest
//! priority, which only some policies consider. The rebuild stops at a block that it cannot read.
//!
//! [`IndependentDisks`] is simpler: each request names its device.

mod failure;
mod independent;
mod member;
mod part;
#[cfg(test)]
pub(crate) mod shadow;

pub use failure::Progress;
pub use independent::IndependentDisks;

pub(crate) use failure::Failures;
pub(crate) use member::{Member, next_of};
pub(crate) use part::{
    Access, Commands, Parent, Part, Plan, REBUILD, blocks_of, child_id, member_command,
    more_severe, overlaps, part_of,
};

use std::collections::VecDeque;
use std::ops::Range;

use crate::device::{
    Children, Completion, ComponentReport, Device, Failure, Status, SubmitError, check,
};
use crate::queue::Gate;
use crate::request::{Op, Ordering, Request};
use crate::sched::Pending;
use crate::units::{Bytes, Instant, Lbn, SectorCount};
use failure::DueAction;
use member::{Events, Slots};
use part::Rows;

/// Several devices that act as one; see the [module](self). Functions that run for every command
/// are always inlined: a mirrored pair then executes 2 % fewer instructions (`cargo xtask counts`).
pub struct Array<P: Placement> {
    pub(crate) placement: P,
    pub(crate) members: Vec<Member>,
    events: Events,
    pub(crate) slots: Slots,
    pub(crate) parents: Children<Parent<P::State>>,
    begun: u64,
    pub(crate) parts: Children<Part>,
    rows: Rows,
    /// The requests that have not begun because they wait for another request or for the rebuild.
    pub(crate) held: Vec<u64>,
    /// The number of completed requests that still have outstanding commands.
    pub(crate) reported: usize,
    gate: Gate,
    pub(crate) due: VecDeque<Completion>,
    /// True if members have failed or will fail.
    pub(crate) may_fail: bool,
    pub(crate) failures: Failures,
    step: Option<RebuildStep>,
}

/// A step of a rebuild. Writes to its blocks have to wait for it.
struct RebuildStep {
    blocks: Range<u64>,
    /// True once the step no longer waits for writes to its blocks.
    has_begun: bool,
}

/// The part of an array that maps blocks to members.
///
/// Its functions take the whole array, and identify requests and their parts by ids.
pub trait Placement: Send + Sized {
    /// State that the placement keeps for a request.
    type State: Default + Send;

    /// Returns the number of blocks in the array.
    fn capacity(array: &Array<Self>) -> SectorCount;

    /// Checks that the array can serve `request`.
    ///
    /// # Errors
    /// Returns the reason why the array cannot serve it.
    fn check(array: &Array<Self>, request: &Request) -> Result<(), SubmitError> {
        check(request, Self::capacity(array))
    }

    /// Returns the block of the array that a member holds at `start`, if it holds data there.
    fn block_at(array: &Array<Self>, member: usize, start: Lbn) -> Option<Lbn>;

    /// Returns the index of the device that serves commands for `member`.
    fn device_of(_array: &Array<Self>, member: usize) -> usize {
        member
    }

    /// Passes a request to the members.
    fn serve(array: &mut Array<Self>, request: u64, now: Instant);

    /// Passes the commands of the current step of a part to the members.
    fn start(array: &mut Array<Self>, part: u64, now: Instant) {
        array.start_each(part, now);
    }

    /// Records that a member has taken command number `index` of a part.
    fn sent(_array: &mut Array<Self>, _member: usize, _part: u64, _index: usize, _now: Instant) {}

    /// Submits the commands that wait for a member, after an event in the member's device.
    fn feed(array: &mut Array<Self>, member: usize, now: Instant) {
        array.feed_member(member, now);
    }

    /// Submits commands that wait for any member, in case progress on one has unblocked another.
    fn feed_all(_array: &mut Array<Self>, _now: Instant) {}

    /// Records that a member has completed a command.
    fn complete(array: &mut Array<Self>, member: usize, done: &Completion) {
        array.settle(member, done);
    }

    /// Returns the status that a completed command gives to its part.
    fn status(array: &mut Array<Self>, part: u64, member: usize, done: &Completion) -> Status {
        array.translate_status(part, member, done)
    }

    /// Continues a part after the last command of a step.
    fn end_step(array: &mut Array<Self>, part: u64, done: &Completion) {
        array.end_step(part, done.at);
    }

    /// Replans a part that waited for rows while members failed or were rebuilt.
    fn replan(_array: &mut Array<Self>, _part: u64) {}

    /// Removes the commands of a request, none of which has begun, from the queues.
    fn withdraw(array: &mut Array<Self>, request: u64, now: Instant) {
        array.withdraw_parts(request, now);
    }

    /// Returns the only part of a request that has begun, if its command may still be aborted.
    fn abortable(array: &Array<Self>, request: u64) -> Option<u64>;

    /// Handles the failure of a member. No data have been lost before this failure.
    fn fail(array: &mut Array<Self>, failure: Failure);

    /// Starts the next step of the rebuild.
    fn begin_rebuild_step(array: &mut Array<Self>, now: Instant) {
        array.wait_for_step(now);
    }

    /// Returns the blocks of the next step of the rebuild.
    fn rebuild_blocks(array: &Array<Self>) -> Range<u64>;

    /// Passes the commands of the next step of the rebuild to the members.
    fn rebuild(array: &mut Array<Self>, now: Instant);

    /// Records that the spare now has the blocks of a step of the rebuild.
    fn record_rebuilt(array: &mut Array<Self>, blocks: Range<u64>);
}

impl<P: Placement> Array<P> {
    /// Assembles an array of idle members, and applies the failures that happen at the start.
    pub(crate) fn assemble(
        placement: P,
        members: Vec<Member>,
        spare: Option<Member>,
        failures: Failures,
    ) -> Self {
        let mut array = Self {
            placement,
            events: Events::new(members.len()),
            slots: Slots::new(members.len(), spare),
            members,
            parents: Children::default(),
            begun: 0,
            parts: Children::default(),
            rows: Rows::default(),
            held: Vec::new(),
            reported: 0,
            gate: Gate::default(),
            due: VecDeque::new(),
            may_fail: failures.has_any(),
            failures,
            step: None,
        };
        for member in 0..array.members.len() {
            array.note_event(member);
        }
        while let Some(failure) = array.failures.fail_by(Instant::START) {
            array.fail(failure);
        }
        array
    }

    /// Returns the progress of the rebuild.
    pub fn rebuild_progress(&self) -> Option<Progress> {
        self.failures.progress()
    }

    /// Returns true if data have been lost; nothing is served after that.
    pub(crate) fn has_lost_data(&self) -> bool {
        self.failures.lost.is_some()
    }

    /// Starts the requests that are no longer held back by an ordered request.
    pub(crate) fn release(&mut self, now: Instant) {
        if self.may_fail || !self.held.is_empty() {
            self.release_held(now);
        }
        while let Some(pending) = self.gate.release(self.parents.is_empty()) {
            self.begin(now, pending);
        }
    }

    #[inline(always)]
    fn begin(&mut self, now: Instant, pending: Pending) {
        let Pending { request, arrived } = pending;
        if self.may_fail && self.has_lost_data() {
            let unserved = Completion::unserved(request, arrived, now, Status::NotReady);
            return self.due.push_back(unserved);
        }
        let id = self.parents.insert(Parent::new(pending, self.begun));
        self.begun += 1;
        if request.ordering == Ordering::Ordered {
            self.gate.enter(id);
        }
        if (self.may_fail || self.reported > 0) && self.must_wait(&request) {
            self.parents[id].is_held = true;
            return self.held.push(id);
        }
        P::serve(self, id, now);
    }

    /// Returns true if a request has to wait before it begins. A write waits for an overlapping
    /// step of the rebuild. Reads and writes wait for an overlapping write that has only one copy
    /// so far.
    fn must_wait(&self, request: &Request) -> bool {
        let blocks = blocks_of(request);
        let step = self.step.as_ref();
        if request.op == Op::Write && step.is_some_and(|step| overlaps(&blocks, &step.blocks)) {
            return true;
        }
        self.reported > 0
            && request.op != Op::Flush
            && self.parents.iter().any(|(_, parent)| {
                parent.is_reported && overlaps(&blocks, &blocks_of(&parent.request))
            })
    }

    /// Starts whatever no longer has to wait: held requests, and the step of the rebuild.
    fn release_held(&mut self, now: Instant) {
        self.begin_step(now);
        let mut index = 0;
        while let Some(&id) = self.held.get(index) {
            if self.must_wait(&self.parents[id].request) {
                index += 1;
                continue;
            }
            self.held.remove(index);
            self.parents[id].is_held = false;
            P::serve(self, id, now);
        }
    }

    /// Starts the waiting step of the rebuild, if no write to its blocks is in progress.
    fn begin_step(&mut self, now: Instant) {
        let Some(step) = self.step.as_mut().filter(|step| !step.has_begun) else {
            return;
        };
        let writes = |parent: &Parent<P::State>| {
            let request = &parent.request;
            request.op == Op::Write
                && !parent.is_held
                && overlaps(&blocks_of(request), &step.blocks)
        };
        if self.parents.find(writes).is_none() {
            step.has_begun = true;
            P::rebuild(self, now);
        }
    }

    /// Prepares the next step of the rebuild, which begins after the writes to its blocks.
    pub(crate) fn wait_for_step(&mut self, now: Instant) {
        self.step = Some(RebuildStep {
            blocks: P::rebuild_blocks(self),
            has_begun: false,
        });
        self.release(now);
        if self.is_step_waiting() {
            // While the step waits, writes do not wait for a full batch.
            P::feed_all(self, now);
        }
    }

    pub(crate) fn is_step_waiting(&self) -> bool {
        self.step.as_ref().is_some_and(|step| !step.has_begun)
    }

    fn end_rebuild_step(&mut self, part: &Part) {
        self.step = None;
        let Some(rebuild) = &mut self.failures.rebuild else {
            return;
        };
        if !part.status.is_success() && rebuild.progress.stopped.is_none() {
            let offset = match part.status {
                Status::MediumError { offset } => offset.into(),
                _ => 0,
            };
            rebuild.fail(Lbn(part.blocks.start + offset));
        }
        if rebuild.end_step(part.since) {
            P::record_rebuilt(self, part.blocks.clone());
        }
    }

    /// Adds the part of a request that `plan` describes, and starts it if its rows are free.
    pub(crate) fn add_plan(&mut self, request: u64, plan: Plan, now: Instant) {
        let parent = &mut self.parents[request];
        parent.total += 1;
        parent.left += 1;
        let part = Part::new(Some(request), parent.arrived, plan);
        self.add_part(part, now);
    }

    #[inline(always)]
    pub(crate) fn add_part(&mut self, part: Part, now: Instant) {
        let rows = part.rows.clone();
        let id = self.parts.insert(part);
        if !rows.is_empty() {
            let blocked = self.rows.claim(id, rows);
            self.parts[id].blocked = blocked;
            if blocked > 0 {
                return;
            }
        }
        P::start(self, id, now);
    }

    /// Passes the commands of the current step of a part to the members, one after the other.
    pub(crate) fn start_each(&mut self, id: u64, now: Instant) {
        for index in 0..self.parts[id].commands.len() {
            self.hand_over(id, index, now);
        }
    }

    /// Builds command number `index` of a part, and returns it with its device.
    #[inline(always)]
    pub(crate) fn command(&self, id: u64, index: usize) -> (usize, Pending) {
        let part = &self.parts[id];
        let parent = self.request_of(part).unwrap_or(&REBUILD);
        let request = part.command(id, index, parent);
        let member = P::device_of(self, part.commands[index].member);
        let arrived = part.since;
        (member, Pending { request, arrived })
    }

    /// Returns the request of a part; `None` for a step of the rebuild.
    pub(crate) fn request_of(&self, part: &Part) -> Option<&Request> {
        Some(&self.parents[part.parent?].request)
    }

    /// Submits a command to its member, or queues it if the member is busy.
    fn hand_over(&mut self, id: u64, index: usize, now: Instant) {
        let (member, pending) = self.command(id, index);
        let target = &mut self.members[member];
        if pending.request.is_simple_transfer() && target.is_free(&pending.request) {
            target.queue.note_bypass(&pending.request, &target.device);
            self.send(member, now, &pending.request);
            self.note_event(member);
        } else {
            target.add(pending);
            target.count_waiting(now);
            self.feed_member(member, now);
        }
    }

    /// Submits the commands that wait for a member until it accepts no more.
    pub(crate) fn feed_member(&mut self, member: usize, now: Instant) {
        while let Some(request) = self.members[member].next(now) {
            self.members[member].count_removed(now, &request);
            self.send(member, now, &request);
        }
        self.note_event(member);
    }

    /// Updates the next event of a member after a change in its device.
    pub(crate) fn note_event(&mut self, member: usize) {
        let event = self.members[member].device.next_event();
        self.events.set(member, event);
    }

    #[inline(always)]
    pub(crate) fn send(&mut self, member: usize, now: Instant, command: &Request) {
        let result = self.members[member].device.submit(now, *command);
        assert_eq!(result, Ok(()), "rejected despite `accepts`: {command:?}");
        self.members[member].begin(now, command);
        let (id, index) = part_of(command.id);
        let part = &mut self.parts[id];
        part.waiting -= 1;
        if let Some(parent) = part.parent {
            self.parents[parent].has_begun = true;
        }
        P::sent(self, member, id, index, now);
    }

    /// Records how a command of a member ended, whether or not its device had taken it.
    #[inline(always)]
    pub(crate) fn settle(&mut self, member: usize, done: &Completion) {
        let (id, _) = part_of(done.request.id);
        let mut status = done.status;
        if self.may_fail || !status.is_success() {
            status = P::status(self, id, member, done);
        }
        if self.parts[id].end_command(done, status) {
            P::end_step(self, id, done);
        }
    }

    /// Translates the status of a command for its request, or for the step of the rebuild.
    pub(crate) fn translate_status(&self, id: u64, member: usize, done: &Completion) -> Status {
        let bad = done
            .bad_block()
            .and_then(|bad| P::block_at(self, member, bad));
        let part = &self.parts[id];
        part.translate_status(done.status, bad, self.request_of(part))
    }

    /// Continues with the next step of a part, or ends the part.
    pub(crate) fn end_step(&mut self, id: u64, now: Instant) {
        if self.parts[id].advance() {
            P::start(self, id, now);
        } else {
            self.end_part(id);
        }
    }

    pub(crate) fn end_part(&mut self, id: u64) {
        let part = &self.parts[id];
        let (rows, at) = (part.rows.clone(), part.since);
        if let Some(request) = part.parent {
            let completion = self.parents[request].end_part(part);
            self.parts.discard(id);
            if completion.is_some() {
                self.finish(request, completion);
            }
        } else {
            let part = self.parts.remove(id);
            self.end_rebuild_step(&part);
        }
        self.release_rows(id, rows, at);
    }

    /// Releases the rows of a part, and starts the parts that waited for them.
    pub(crate) fn release_rows(&mut self, id: u64, rows: Range<u64>, now: Instant) {
        if rows.is_empty() {
            return;
        }
        for next in self.rows.release(id, rows) {
            let waiter = &mut self.parts[next];
            waiter.blocked -= 1;
            if waiter.blocked == 0 {
                if !self.failures.past.is_empty() {
                    P::replan(self, next);
                }
                P::start(self, next, now);
            }
        }
    }

    /// Removes a request that has no parts left, and completes it unless it has completed already.
    #[inline(always)]
    pub(crate) fn finish(&mut self, id: u64, completion: Option<Completion>) {
        if completion.is_none() && self.parents[id].is_reported {
            self.reported -= 1;
        }
        self.parents.discard(id);
        if self.may_fail {
            self.failures.count_completion();
        }
        self.gate.leave(id);
        if let Some(completion) = completion {
            self.due.push_back(completion);
        }
    }

    pub(crate) fn finish_unserved(&mut self, id: u64, status: Status, now: Instant) {
        let parent = &self.parents[id];
        let ended = Completion::unserved(parent.request, parent.arrived, now, status);
        let is_due = !parent.is_reported;
        self.finish(id, is_due.then_some(ended));
    }

    /// Returns the outstanding requests in the order in which they began.
    pub(crate) fn in_order(&self) -> Vec<u64> {
        let parents = self.parents.iter();
        let mut ids: Vec<_> = parents.map(|(id, parent)| (parent.number, id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the number of a part's request. The steps of a rebuild sort last.
    pub(crate) fn number(&self, part: &Part) -> u64 {
        part.parent.map_or(u64::MAX, |id| self.parents[id].number)
    }

    /// Removes the member in a slot and all its commands. Returns true if the spare takes the slot.
    pub(crate) fn remove_member(&mut self, slot: usize, now: Instant) -> bool {
        for (_, part) in self.parts.iter().filter(|(_, part)| part.member() == slot) {
            for _ in 0..part.in_service() {
                self.members[slot].drop_command(now, part.commands[0].op);
            }
        }
        let use_spare = !self.has_lost_data();
        let has_spare = self.slots.replace(&mut self.members, slot, now, use_spare);
        self.note_event(slot);
        has_spare
    }

    /// Ends all requests and removes all members after data have been lost.
    pub(crate) fn end_all(&mut self, now: Instant) {
        for slot in 0..self.members.len() {
            self.remove_member(slot, now);
        }
        self.step = None;
        self.held.clear();
        self.parts = Children::default();
        for id in self.in_order() {
            self.finish_unserved(id, Status::NotReady, now);
        }
        self.release(now);
    }

    /// Applies a failure or continues the rebuild, if one of them is due by `now` and before the
    /// next `event` of the members. Returns false if neither is due.
    fn apply_due(&mut self, now: Instant, event: Option<Instant>) -> bool {
        match self.failures.due(now, event) {
            Some(DueAction::Failure(failure)) => self.fail(failure),
            Some(DueAction::Rebuild(at)) => {
                if let Some(rebuild) = &mut self.failures.rebuild {
                    rebuild.begin(at);
                }
                P::begin_rebuild_step(self, at);
            }
            None => return false,
        }
        true
    }

    /// Applies the failure of a member. Once data are lost, further failures are only counted.
    fn fail(&mut self, failure: Failure) {
        self.failures.past.push(failure);
        if !self.has_lost_data() {
            P::fail(self, failure);
        }
    }

    /// Aborts a request none of whose commands has begun.
    fn take_back(&mut self, now: Instant, id: u64) {
        self.held.retain(|held| *held != id);
        P::withdraw(self, id, now);
        self.finish_unserved(id, Status::Aborted, now);
        self.release(now);
        P::feed_all(self, now);
    }

    /// Removes the parts of a request. All its commands are still waiting.
    pub(crate) fn withdraw_parts(&mut self, request: u64, now: Instant) {
        while let Some(id) = self.parts.find(|part| part.parent == Some(request)) {
            let part = self.parts.remove(id);
            let waiting = if part.blocked == 0 {
                &part.commands[..]
            } else {
                &[]
            };
            for (index, command) in waiting.iter().enumerate() {
                let member = P::device_of(self, command.member);
                let target = &mut self.members[member];
                let taken = target.take(child_id(id, index));
                target.count_waiting(now);
                assert!(taken.is_some(), "request {request} lost a command");
                // The command may have blocked others.
                self.feed_member(member, now);
            }
            self.release_rows(id, part.rows, now);
        }
    }
}

impl<P: Placement> Device for Array<P> {
    fn capacity(&self) -> SectorCount {
        P::capacity(self)
    }

    fn sector_size(&self) -> Bytes {
        self.members[0].device.sector_size()
    }

    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        P::check(self, request)
    }

    fn has_room(&self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.check(&request)?;
        let arrived = now;
        let pending = Pending { request, arrived };
        if let Some(pending) = self.gate.admit(pending, self.parents.is_empty()) {
            self.begin(now, pending);
        }
        if self.may_fail {
            self.failures.wake(now);
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        if let Some(completion) = self.due.front() {
            return Some(completion.at);
        }
        let event = self.events.earliest().map(|(at, _)| at);
        if !self.may_fail {
            return event;
        }
        event.into_iter().chain(self.failures.next_event()).min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.due.pop_front() {
                return Some(completion);
            }
            let event = self.events.earliest();
            if self.may_fail && self.apply_due(now, event.map(|(at, _)| at)) {
                continue;
            }
            let (at, member) = event.filter(|(at, _)| *at <= now)?;
            if let Some(done) = self.members[member].device.advance(at) {
                self.members[member].end(&done);
                P::complete(self, member, &done);
                self.release(at);
            }
            P::feed(self, member, at);
        }
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        if let Some(Pending { request, arrived }) = self.gate.take(id) {
            let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
            self.due.push_back(aborted);
            self.release(now);
            return true;
        }
        let is_wanted = |parent: &Parent<P::State>| parent.request.id == id && !parent.is_reported;
        let Some(id) = self.parents.find(is_wanted) else {
            return false;
        };
        if !self.parents[id].has_begun {
            self.take_back(now, id);
            return true;
        }
        let Some(id) = P::abortable(self, id) else {
            return false;
        };
        let member = P::device_of(self, self.parts[id].member());
        let is_aborted = self.members[member].device.abort(now, child_id(id, 0));
        self.note_event(member);
        self.parts[id].is_aborted = is_aborted;
        is_aborted
    }

    /// Reports on the members, numbered from 0. A spare has the last number.
    fn components(&self, now: Instant) -> Vec<ComponentReport> {
        let until = |number| self.failures.failed_at(number).unwrap_or(now);
        let mut reports = self.slots.reports(&self.members, until);
        reports.extend(self.failures.report());
        reports
    }
}
