//! A mirrored pair: two devices with the same data (RAID 1).
//!
//! # What it does
//! A write goes to both members. It completes when both copies are written or, optionally, when the
//! first is. A read goes to one member. Either a [`Routing`] chooses the member, and the read waits
//! in that member's queue ([`ReadDispatch::Routed`]), or the first member that becomes free and
//! chooses the read takes it ([`ReadDispatch::Shared`]). Each member orders its queue by its own
//! policy. A flush goes to both members and completes when both have completed it.
//!
//! With a shared queue, each member sees all waiting reads and its own copies of the writes. A read
//! that one member has taken disappears from the queue of the other; the copies of a write are not
//! synchronised. If both members are free when a read arrives, the one that would complete it
//! sooner takes it, or the first member if they report no positions. A shared queue can be divided
//! by address ([`ReadDispatch::Divided`]): each member takes reads of its own half, and reads of
//! the other half only if it would be idle.
//!
//! A read that fails on one member is repeated in full on the other. If both attempts fail, the
//! read reports the later of the two bad blocks. If the second attempt succeeds, the read counts as
//! recovered, with one more retry. The breakdown includes the time of the first attempt. A write
//! fails if either copy fails; if it completes with the first copy, it fails only if both do. An
//! error does not take a member out of service.
//!
//! If a write completed with its first copy, requests that overlap it wait for the second copy,
//! because the other member has old data until then.
//!
//! With a [`DestageConfig`], writes wait until the members have time, because a non-volatile cache
//! already holds their data (see [`NvCache`](crate::nvcache::NvCache)). Flushes do not wait for
//! these writes. While a member is missing or being rebuilt, members do not take turns, writes that
//! block a step of the rebuild do not wait for a full batch, and rebuild commands are treated like
//! reads.
//!
//! # Failures
//! When a member fails, all its commands are lost immediately, including those in service. Its
//! reads join the end of the other member's queue, and its copies of writes no longer count. If the
//! second member fails before the first has been rebuilt, all blocks that have not been rebuilt are
//! lost. The rebuild copies runs of blocks from the other member to the spare, in order from the
//! first block ([`MirrorConfig::rebuild`]). The spare serves reads of the blocks that it has, and
//! writes that begin in those blocks.
//!
//! # Layout
//! The second member can hold the data in the opposite order ([`MirrorConfig::transposed`]). Units
//! of several blocks are reversed, so that access remains sequential within a unit. A request
//! across units becomes a command for each unit.
//!
//! # Cost
//! A request costs one command on each member that serves it. With a shared queue, each waiting
//! read is in the queues of both members. For each read, a routing that rehearses requests serves
//! all waiting commands on a copy of each member.
//!
//! # When it is bad
//! A policy that relies on its next planned command loses reads to the other member.
//!
//! # Origin
//! liu05 chapter 7: sections 7.1 (queues and layout), 7.2 (routing), 7.3 and 7.4.

mod config;
mod destage;
mod layout;
mod reads;
mod routing;
#[cfg(test)]
mod tests;

pub use config::{MirrorConfig, ReadDispatch, RebuildConfig, WriteCompletion};
pub use destage::{BatchOrder, DestageConfig, DestageScheme};
pub use routing::Routing;

use std::ops::Range;

use config::check_knowledge;
use destage::{Choice, PairState, WriteQueue};
use layout::Layout;
use rand_core::Rng;
use routing::Router;

use crate::array::{
    Array, Commands, Failures, Member, Part, Placement, Plan, blocks_of, child_id, more_severe,
};
use crate::device::{Completion, DataLoss, Device, Failure, Status, SubmitError};
use crate::queue::CommandQueue;
use crate::random::{Purpose, generator};
use crate::request::{Op, Request};
use crate::sched::Pending;
use crate::stack::{self, BoxedDevice, InsufficientKnowledge};
use crate::units::{Angle, Instant, Lbn, SectorCount};

/// Two devices that act as one; see the [module](self).
pub type Mirror = Array<Pair>;

/// The placement of a mirrored pair.
pub struct Pair {
    sides: [MemberSide; 2],
    /// The state of the spare, until the spare takes a slot.
    spare_side: Option<MemberSide>,
    layout: Layout,
    /// `None` for a shared queue.
    router: Option<Router>,
    divided: Option<Division>,
    writes: WriteCompletion,
    destaging: Option<DestageConfig>,
    /// The member that processes the next batch of writes, if both have one.
    turn: usize,
    /// True if writes do not wait for a full batch.
    is_hurrying: bool,
    /// The slot of a failed member, until a spare has all its blocks.
    missing: Option<usize>,
    /// The number of blocks on a member.
    sectors: u64,
    /// The number of blocks that the spare has, counted from the first block.
    rebuilt: u64,
    /// The number of blocks in a step of the rebuild.
    unit: u64,
}

/// The state of a member, apart from its queue.
#[derive(Default)]
struct MemberSide {
    /// Reads of the other member that this member may take when it has no commands of its own.
    reserve: Option<CommandQueue<BoxedDevice>>,
    /// Number of copies that wait or are in service, including reads that the other member may
    /// take.
    load: usize,
    /// Writes that a destage scheme holds back.
    writes: WriteQueue,
}

/// The division of a shared queue between the members.
#[derive(Clone, Copy)]
struct Division {
    pivot: Lbn,
    relaxed: Option<u64>,
}

/// The copies of a request.
#[derive(Default)]
pub struct Copies {
    /// The part for each member, while it waits or is in service.
    parts: [Option<u64>; 2],
    ended: [Status; 2],
}

impl Mirror {
    /// Creates a pair of `members`, both idle, without a spare.
    ///
    /// # Errors
    /// If the policy or the routing needs more knowledge than the members have.
    ///
    /// # Panics
    /// If the members differ in capacity, the policy is not the one that the routing rehearses
    /// ([`Routing::rehearsed`]), reads are routed or writes complete with the first copy although
    /// writes are destaged, a member that is to fail is not 0 or 1 or fails twice, or there is a
    /// rebuild.
    pub fn new(
        members: [BoxedDevice; 2],
        config: &MirrorConfig,
    ) -> Result<Self, InsufficientKnowledge> {
        Self::with_spare(members, None, config)
    }

    /// Creates a pair of `members`, with a spare if there is a rebuild.
    ///
    /// # Errors
    /// As [`Self::new`].
    ///
    /// # Panics
    /// As [`Self::new`], except that a rebuild is allowed. Also if there is a spare without a
    /// rebuild, or a rebuild has no spare or failure, empty steps or an invalid share.
    pub fn with_spare(
        members: [BoxedDevice; 2],
        spare: Option<BoxedDevice>,
        config: &MirrorConfig,
    ) -> Result<Self, InsufficientKnowledge> {
        let sectors = members[0].capacity();
        for device in members.iter().chain(&spare) {
            assert_eq!(sectors, device.capacity(), "the members differ in capacity");
        }
        check_knowledge(&members, config)?;
        let has_rebuild = config.rebuild.is_some();
        assert_eq!(
            spare.is_some(),
            has_rebuild,
            "a spare needs a rebuild, and a rebuild a spare"
        );
        assert!(config.failures.iter().all(|failure| failure.member < 2));
        let share = config.rebuild.map(|rebuild| rebuild.share_fraction);
        let unit = config.rebuild.map_or(1, |rebuild| rebuild.unit.0);
        assert!(unit > 0, "a rebuild step must have blocks");
        let (router, divided) = match config.reads {
            ReadDispatch::Shared => (None, None),
            ReadDispatch::Divided { pivot, relaxed } => (None, Some(Division { pivot, relaxed })),
            ReadDispatch::Routed(routing) => (Some(Router::new(routing, config.seed)), None),
        };
        let [first, second] = members.map(|device| new_member(device, config));
        let ((first, first_side), (second, second_side)) = (first?, second?);
        let spare = spare.map(|device| new_member(device, config)).transpose()?;
        let (spare, spare_side) = spare.unzip();
        let pair = Pair {
            sides: [first_side, second_side],
            spare_side,
            layout: Layout::new(config.transposed, sectors),
            router,
            divided,
            writes: config.writes,
            destaging: config.destaging,
            turn: 0,
            is_hurrying: false,
            missing: None,
            sectors: sectors.0,
            rebuilt: 0,
            unit,
        };
        let failures = Failures::new(&config.failures, share);
        Ok(Self::assemble(pair, vec![first, second], spare, failures))
    }

    /// Sets whether writes skip the wait for a full batch, from `now` on.
    pub fn hurry(&mut self, now: Instant, is_hurrying: bool) {
        self.placement.is_hurrying = is_hurrying;
        self.feed_pair(now);
    }

    /// Returns true if the member in `slot` serves `request`. A spare serves only rebuilt blocks.
    fn serves(&self, slot: usize, request: &Request) -> bool {
        if self.placement.missing != Some(slot) {
            return true;
        }
        self.slots.has_spare(slot)
            && match request.op {
                Op::Read => request.end().0 <= self.placement.rebuilt,
                Op::Write => request.start.0 < self.placement.rebuilt,
                Op::Flush => true,
            }
    }

    fn is_free(&self, member: usize, command: &Request) -> bool {
        let own = &self.members[member];
        let is_idle = || own.in_service == 0 && !self.placement.sides[member].writes.is_in_batch();
        own.is_free(command) && (self.placement.destaging.is_none() || is_idle())
    }

    fn copy_commands(&self, member: usize, request: &Request) -> Commands {
        let layout = &self.placement.layout;
        layout.commands(member, request.op, blocks_of(request))
    }

    /// Adds the copy of a request for a member, and returns its part.
    #[inline(always)]
    fn add_copy(&mut self, request: u64, member: usize) -> u64 {
        let parent = &mut self.parents[request];
        let blocks = blocks_of(&parent.request);
        let layout = &self.placement.layout;
        let commands = layout.commands(member, parent.request.op, blocks.clone());
        let plan = Plan::new(blocks, commands);
        let part = Part::new(Some(request), parent.arrived, plan);
        let id = self.parts.insert(part);
        parent.total += 1;
        parent.left += 1;
        parent.state.parts[member] = Some(id);
        id
    }

    /// Adds the copy of a request for a member, and passes it to the member.
    fn give(&mut self, request: u64, member: usize, now: Instant) {
        let part = self.add_copy(request, member);
        self.start_copy(part, now);
    }

    /// Submits a copy to its member, or queues it if the member is busy.
    fn start_copy(&mut self, id: u64, now: Instant) {
        let (member, is_single) = (self.parts[id].member(), self.parts[id].commands.len() == 1);
        if is_single
            && self.members[member].queue.is_empty()
            && let (_, Pending { request, .. }) = self.command(id, 0)
            && request.is_simple_transfer()
            && self.is_free(member, &request)
            && (self.placement.destaging.is_none() || request.op.is_read())
        {
            let Member { device, queue, .. } = &mut self.members[member];
            queue.note_bypass(&request, device);
            self.placement.sides[member].load += 1;
            self.send(member, now, &request);
            return self.note_event(member);
        }
        self.enqueue(id, now);
        self.feed_pair(now);
    }

    #[inline(always)]
    fn enqueue(&mut self, id: u64, now: Instant) {
        let part = &self.parts[id];
        let (member, count) = (part.member(), part.commands.len());
        let is_destaged = self.placement.destaging.is_some() && part.parent.is_some();
        for index in 0..count {
            let (_, pending) = self.command(id, index);
            let own = &mut self.members[member];
            let request = &pending.request;
            if is_destaged && request.op == Op::Write && request.is_simple_transfer() {
                own.writes_waiting += 1;
                self.placement.sides[member].writes.add(pending);
            } else {
                own.add(pending);
            }
        }
        self.placement.sides[member].load += 1;
        self.count_waiting(member, now);
    }

    #[inline(always)]
    fn count_waiting(&mut self, member: usize, now: Instant) {
        let own = &mut self.members[member];
        let waiting = own.queue.len() + self.placement.sides[member].writes.len();
        own.meter.wait(now, waiting, own.writes_waiting);
    }

    /// Submits waiting commands until the members are full. Returns true for each member that took
    /// any.
    #[inline(always)]
    fn feed_pair(&mut self, now: Instant) -> [bool; 2] {
        if self.members.iter().any(|own| own.device.has_room()) {
            self.feed_free(now)
        } else {
            [false; 2]
        }
    }

    /// Like [`Self::feed_pair`], for a pair in which a member has room.
    #[inline(never)]
    fn feed_free(&mut self, now: Instant) -> [bool; 2] {
        let mut have_taken = [false; 2];
        loop {
            let mut has_taken = false;
            for member in [0, 1] {
                if self.members[member].device.has_room() && self.feed_side(member, now) {
                    (has_taken, have_taken[member]) = (true, true);
                }
            }
            // When one member takes a read, the read leaves the queue of the other. This may
            // unblock another request. A batch may pass the turn to the other member.
            let has_withheld = |own: &Member| !own.queue.is_empty() && own.device.has_room();
            let may_continue =
                || self.placement.destaging.is_some() || self.members.iter().any(has_withheld);
            if !has_taken || !may_continue() {
                return have_taken;
            }
        }
    }

    /// Submits the commands that wait for one member. Returns true if it accepted any.
    fn feed_side(&mut self, member: usize, now: Instant) -> bool {
        let mut has_taken = false;
        while let Some(request) = self.next_command(member, now) {
            self.send(member, now, &request);
            self.members[member].writes_waiting -= usize::from(request.op == Op::Write);
            self.count_waiting(member, now);
            has_taken = true;
        }
        if has_taken {
            self.note_event(member);
        }
        has_taken
    }

    /// Removes and returns the command that a member serves next, if the member is free.
    fn next_command(&mut self, member: usize, now: Instant) -> Option<Request> {
        if let Some(destaging) = self.placement.destaging {
            return self.next_destaged(destaging, member, now);
        }
        let own = self.members[member].next(now);
        own.or_else(|| self.next_of_other(member, now))
    }

    /// Removes and returns the command that a member serves next when writes are destaged.
    #[inline(never)]
    fn next_destaged(
        &mut self,
        destaging: DestageConfig,
        member: usize,
        now: Instant,
    ) -> Option<Request> {
        let Pair {
            sides,
            turn,
            is_hurrying,
            missing,
            ..
        } = &self.placement;
        let state = PairState {
            reads: self.members[member].queue.len(),
            sides: [0, 1].map(|member: usize| sides[member].writes.state()),
            turn: *turn,
            is_hurrying: *is_hurrying || self.is_step_waiting(),
            is_degraded: missing.is_some(),
        };
        let own = &mut self.members[member];
        if own.in_service > 0 || !own.device.has_room() {
            return None;
        }
        let writes = &mut self.placement.sides[member].writes;
        let write = match destaging.choose(&state, member) {
            Choice::Read => return own.next(now),
            Choice::Write => writes.take_oldest(),
            Choice::BeginBatch => {
                self.placement.turn = 1 - member;
                writes.begin_batch(now, destaging.batch, destaging.order, &own.device);
                own.meter.begin_batch(now);
                writes.next_of_batch(now, &own.device)
            }
            Choice::ContinueBatch => writes.next_of_batch(now, &own.device),
            Choice::Wait => None,
        };
        let write = write?;
        if own.device.accepts(&write.request) {
            return Some(write.request);
        }
        own.queue.put_back(write);
        None
    }

    #[inline(always)]
    fn withdraw_copy(&mut self, id: u64, now: Instant) {
        let part = &self.parts[id];
        let (member, waiting) = (part.member(), part.waiting);
        if let Some(id) = part.parent {
            let parent = &mut self.parents[id];
            parent.state.parts[member] = None;
            parent.left -= 1;
        }
        self.parts.discard(id);
        for index in 0..waiting {
            let is_taken = self.take_waiting(member, child_id(id, index));
            assert!(is_taken, "copy {id} lost a command");
        }
        self.placement.sides[member].load -= 1;
        self.count_waiting(member, now);
    }

    /// Removes the command `id` from the queues of a member. Returns true if it was waiting there.
    fn take_waiting(&mut self, member: usize, id: u64) -> bool {
        let own = &mut self.members[member];
        if own.take(id).is_some() {
            return true;
        }
        let MemberSide {
            reserve, writes, ..
        } = &mut self.placement.sides[member];
        if writes.take(id).is_some() {
            own.writes_waiting -= 1;
            return true;
        }
        let reserve = reserve.as_mut();
        reserve.is_some_and(|reserve| reserve.take(id, &own.device).is_some())
    }

    fn end_copy(&mut self, request: u64, id: u64, done: &Completion) {
        let part = &self.parts[id];
        let member = part.member();
        let parent = &mut self.parents[request];
        parent.left -= 1;
        parent.state.parts[member] = None;
        parent.state.ended[member] = part.status;
        let is_last = parent.state.parts[1 - member].is_none();
        let may_suffice =
            self.placement.writes == WriteCompletion::First && parent.request.op == Op::Write;
        let is_sufficient = may_suffice && part.status.is_success();
        let mut status = part.status;
        if is_last && !is_sufficient {
            let [one, other] = parent.state.ended;
            status = more_severe(one, other);
        }
        let is_due = !parent.is_reported && (is_last || is_sufficient);
        parent.is_reported |= is_due;
        let completion = Completion {
            request: parent.request,
            arrived: parent.arrived,
            at: part.since,
            breakdown: part.spent,
            outcome: done.outcome,
            status,
        };
        self.parts.discard(id);
        if is_last {
            self.finish(request, is_due.then_some(completion));
        } else if is_due {
            self.reported += 1;
            self.due.push_back(completion);
        }
    }

    /// Handles the loss of a request's copy on a member that has just failed.
    fn lose_copy(&mut self, request: u64, slot: usize, now: Instant) {
        let parent = &mut self.parents[request];
        // The status of a copy that has ended is lost with the member.
        parent.state.ended[slot] = Status::Good;
        let Some(id) = parent.state.parts[slot].take() else {
            return;
        };
        let read = parent.request;
        if let Some(other) = parent.state.parts[1 - slot] {
            parent.left -= 1;
            self.parts.discard(id);
            return self.prefer(1 - slot, other);
        }
        let commands = self.copy_commands(1 - slot, &read);
        let part = &mut self.parts[id];
        if read.op.is_read() && part.failed.is_none() && !part.is_aborted {
            part.restart(commands);
            self.move_copy(request, id, slot);
            return self.start_copy(id, now);
        }
        let status = match part.failed {
            _ if part.is_aborted => Some(Status::Aborted),
            failed => failed.filter(|_| read.op.is_read()),
        };
        self.parts.discard(id);
        // The other member has written its copy, or has failed to write it.
        let other = self.parents[request].state.ended[1 - slot];
        self.finish_unserved(request, status.unwrap_or(other), now);
    }
}

impl Placement for Pair {
    type State = Copies;

    fn capacity(array: &Mirror) -> SectorCount {
        array.members[0].device.capacity()
    }

    fn check(array: &Mirror, request: &Request) -> Result<(), SubmitError> {
        array.members[0].device.check(request)
    }

    fn block_at(array: &Mirror, member: usize, start: Lbn) -> Option<Lbn> {
        let layout = &array.placement.layout;
        Some(Lbn(layout.position(member, start.0)))
    }

    fn serve(array: &mut Mirror, id: u64, now: Instant) {
        let request = array.parents[id].request;
        let serves = [0, 1].map(|slot| !array.may_fail || array.serves(slot, &request));
        if !request.op.is_read() || serves != [true; 2] {
            for member in (0..2).filter(|member| serves[*member]) {
                array.give(id, member, now);
            }
        } else if let Some(member) = array.route(&request, now) {
            array.give(id, member, now);
        } else {
            array.share(id, &request, now);
        }
    }

    fn start(array: &mut Mirror, part: u64, now: Instant) {
        array.start_copy(part, now);
    }

    #[inline(always)]
    fn sent(array: &mut Mirror, member: usize, id: u64, index: usize, now: Instant) {
        let part = &mut array.parts[id];
        part.commands.take(index);
        let parent = part.parent.map(|id| &array.parents[id]);
        if let Some(parent) = parent.filter(|parent| parent.request.op.is_read())
            && let Some(other) = parent.state.parts[1 - member]
        {
            array.withdraw_copy(other, now);
        }
    }

    fn feed(array: &mut Mirror, member: usize, now: Instant) {
        if !array.feed_pair(now)[member] {
            array.note_event(member);
        }
    }

    fn feed_all(array: &mut Mirror, now: Instant) {
        array.feed_pair(now);
    }

    #[inline(always)]
    fn complete(array: &mut Mirror, member: usize, done: &Completion) {
        let own = &mut array.members[member];
        if own.in_service == 0 && array.placement.sides[member].writes.end_batch() {
            own.meter.end_batch(done.at);
        }
        array.settle(member, done);
    }

    #[inline(always)]
    fn end_step(array: &mut Mirror, id: u64, done: &Completion) {
        let part = &array.parts[id];
        array.placement.sides[part.member()].load -= 1;
        let is_read = part.commands[0].op.is_read();
        match part.parent {
            None => array.end_step(id, done.at),
            Some(parent) if is_read => array.end_read(parent, id, done),
            Some(parent) => array.end_copy(parent, id, done),
        }
    }

    fn withdraw(array: &mut Mirror, request: u64, now: Instant) {
        for part in array.parents[request].state.parts.into_iter().flatten() {
            array.withdraw_copy(part, now);
        }
    }

    /// Only a read on its first member can be aborted.
    fn abortable(array: &Mirror, request: u64) -> Option<u64> {
        let parent = &array.parents[request];
        let id = match parent.state.parts {
            [Some(id), None] | [None, Some(id)] if parent.request.op.is_read() => id,
            _ => return None,
        };
        let part = &array.parts[id];
        let is_single = part.waiting == 0 && part.in_service() == 1;
        (is_single && part.failed.is_none()).then_some(id)
    }

    fn fail(array: &mut Mirror, Failure { member: slot, at }: Failure) {
        let pair = &mut array.placement;
        if pair.missing.is_some() {
            let lost = DataLoss {
                at,
                first: Lbn(pair.rebuilt),
                blocks: SectorCount(pair.sectors - pair.rebuilt),
            };
            if array.parts.find(|part| part.parent.is_none()).is_some() {
                // The interrupted step of the rebuild counts as the completion of a request.
                array.failures.count_completion();
            }
            array.failures.lose(lost);
            return array.end_all(at);
        }
        (pair.missing, pair.rebuilt) = (Some(slot), 0);
        let steps = pair.sectors.div_ceil(pair.unit);
        if array.remove_member(slot, at) {
            array.failures.begin_rebuild(at, steps);
        }
        array.placement.sides[slot] = array.placement.spare_side.take().unwrap_or_default();
        for id in array.in_order() {
            array.lose_copy(id, slot, at);
        }
        array.release(at);
        array.feed_pair(at);
    }

    fn rebuild_blocks(array: &Mirror) -> Range<u64> {
        let pair = &array.placement;
        pair.rebuilt..pair.sectors.min(pair.rebuilt + pair.unit)
    }

    fn rebuild(array: &mut Mirror, now: Instant) {
        let Some(slot) = array.placement.missing else {
            return;
        };
        let blocks = Self::rebuild_blocks(array);
        let layout = &array.placement.layout;
        let plan = Plan {
            follow: layout.commands(slot, Op::Write, blocks.clone()),
            ..Plan::new(blocks.clone(), layout.commands(1 - slot, Op::Read, blocks))
        };
        array.add_part(Part::new(None, now, plan), now);
    }

    fn record_rebuilt(array: &mut Mirror, blocks: Range<u64>) {
        let pair = &mut array.placement;
        pair.rebuilt = blocks.end;
        if pair.rebuilt == pair.sectors {
            pair.missing = None;
        }
    }
}

fn new_member(
    device: BoxedDevice,
    config: &MirrorConfig,
) -> Result<(Member, MemberSide), InsufficientKnowledge> {
    let policy = || stack::policy(&config.policy, &device);
    let has_reserve = matches!(
        config.reads,
        ReadDispatch::Divided {
            relaxed: Some(_),
            ..
        }
    );
    let reserve = has_reserve.then(policy).transpose()?;
    let policy = policy()?;
    let side = MemberSide {
        reserve: reserve.map(CommandQueue::new),
        ..MemberSide::default()
    };
    Ok((Member::new(device, policy), side))
}

/// Returns a starting angle of the platter that depends only on `seed`, because the spindles of two
/// members are not synchronised.
pub fn starting_angle(seed: u64) -> Angle {
    Angle::from_raw(generator(seed, 0, Purpose::Spindle).next_u64())
}
