//! Disk arrays: several devices as one, in stripes (RAID 0, RAID 5; RAID 1+0 over mirrored pairs).
//!
//! # What it does
//! The blocks of the array are divided into stripe units. Consecutive units are at consecutive
//! members, and the units at the same place of all members are a row. A request makes one command
//! for each run of consecutive blocks at a member and completes with the last of them. Each member
//! chooses among the commands that wait for it by a policy of its own. A flush goes to all members.
//!
//! With [`Level::Five`] each row has a unit of parity, left-symmetric: in row 0 at the last member,
//! in each next row one member further left, and the data begin at the member behind it.
//! * A write of full rows writes all their units and reads nothing. Full rows that follow one
//!   another are written with one command for each member.
//! * A write of a part of a row first reads what it needs to know the new parity: the old data and
//!   the old parity (read-modify-write), or the rest of the row (reconstruction), whichever takes
//!   fewer accesses, and the old data and parity if both take as many. It then writes the data and
//!   the parity. The parity is one access: from the first to the last offset that any unit is
//!   written at.
//! * Writes to one row go one after the other, in order of arrival, from the first read to the end
//!   of the last write. A write across rows has a part for each, and the parts do not wait for each
//!   other. Reads do not wait for writes.
//! * If a member has failed, its blocks are read from the same place of all other members; such a
//!   read of a row waits for writes to it and they for it. A write keeps the parity such that this
//!   works, or writes the data alone where the failed member had the parity.
//!
//! Members may fail while the array works ([`Striping::failures`]). What waits for such a member is
//! lost to it at once, and what it serves at that moment when it would have ended. A read is then
//! begun again from the others, and so is a write that has lost what it must know; what has to be
//! written to the failed member follows from the rest of the row. If a second member fails before
//! the first has been rebuilt, data are lost: what both had in the rows that are not rebuilt. The
//! array serves nothing from then on, and says what is lost ([`Device::parts`]).
//!
//! With [`Striping::rebuild_share`] a spare takes the place of the first member that fails. From
//! the failure or the first request on its rows are rebuilt one by one, in order: all others of the
//! row are read, and the missing unit is written to the spare. Writes to the row wait meanwhile,
//! and so does the rebuild for writes that came before. From then on the row is whole again. After
//! each row the rebuild pauses in proportion to the time that the row took. Its commands have the
//! lowest priority, for policies that distinguish priorities; for all others they are like any. A
//! rebuild that cannot read a block stops there, and the rows behind stay as they are.
//!
//! The parts of a response are those of the command that ended last, and of the read that ended
//! last before it; what it waited for a row or a member is queueing.
//!
//! A request fails if one of its commands fails, with the status that is gravest; with RAID 5, a
//! write that could not read what it needs writes nothing. What a member of a whole RAID 5 cannot
//! read follows from all others, and the read is begun again without it. An ordered request waits
//! here until all others have completed, and those that arrive meanwhile wait for it. A request can
//! be taken back until a member has taken a command of it, or if its only command still waits in
//! the member.
//!
//! # Cost
//! One command for each run of blocks at a member. The member with the next event is found in a
//! tournament: time grows with the logarithm of the number of members.
//!
//! # When it is bad
//! Small stripe units divide requests among members, all of which seek. RAID 5 makes four accesses
//! of a small write.
//!
//! # Origin
//! D. A. Patterson, G. Gibson and R. H. Katz, "A case for redundant arrays of inexpensive disks
//! (RAID)", SIGMOD 1988. The left-symmetric placement is described by E. K. Lee and R. H. Katz,
//! "Performance consequences of parity placement in disk arrays", ASPLOS 1991.

mod events;
mod failing;
mod layout;
mod parent;
mod plan;
mod rows;
#[cfg(test)]
mod shadow;

use std::collections::VecDeque;

pub(crate) use events::Events;
use layout::{Layout, Redundancy};
pub(crate) use parent::both;
use parent::{Parent, Part, child_id, part_of};
use plan::Health;
use rows::Rows;

use crate::device::{Children, Completion, Device, Part as DevicePart, Refused, Status};
use crate::mirror::Member;
use crate::queue::Gate;
use crate::redundancy::{Failure, Failures, Progress};
use crate::request::{Op, Ordering, Priority, Request};
use crate::sched::{Pending, PolicyConfig};
use crate::tower::{self, BoxedDevice, Unknown};
use crate::units::{Bytes, Instant, Lbn, SectorCount};

/// The parameters of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Striping {
    /// What a row holds.
    pub level: Level,
    /// The blocks of a stripe unit; at least one. The units of the last row are shorter if the
    /// members are no whole number of units long.
    pub unit: SectorCount,
    /// The order in which each member serves what waits for it.
    pub policy: PolicyConfig,
    /// The members that fail, each at most once; none without parity.
    pub failures: Vec<Failure>,
    /// What the first failed member had is rebuilt on a spare, the last of the devices. This is the
    /// share of the time in which the rebuild is under way, above 0 and at most 1.
    pub rebuild_share: Option<f64>,
}

/// What the rows of an array hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Data alone, at one member or more. Over mirrored pairs this is RAID 1+0.
    Zero,
    /// A unit of parity, left-symmetric; three members or more.
    Five,
}

impl Level {
    /// The fewest members.
    pub const fn least_members(self) -> usize {
        match self {
            Self::Zero => 1,
            Self::Five => 3,
        }
    }

    /// How many of `members` hold data, as a number of whole members.
    pub const fn data_members(self, members: usize) -> usize {
        match self {
            Self::Zero => members,
            Self::Five => members - 1,
        }
    }
}

/// What commands of a rebuild are like.
const REBUILDING: Request = Request {
    priority: Priority::Low,
    ..Request::new(u64::MAX, Op::Write, Lbn(0), SectorCount(0))
};

/// Several devices as one; see the module's documentation.
pub struct Raid {
    members: Vec<Member>,
    /// The next event of each member.
    events: Events,
    layout: Layout,
    health: Health,
    /// Members fail, or have failed.
    may_fail: bool,
    failures: Failures,
    /// The member in whose place the spare is for good.
    replaced: Option<usize>,
    parents: Children<Parent>,
    /// The requests that have begun so far.
    begun: u64,
    parts: Children<Part>,
    rows: Rows,
    gate: Gate,
    /// Completions that are due, in their order.
    due: VecDeque<Completion>,
}

impl Raid {
    /// The array of `members` and a spare, if there is a rebuild, each with nothing to do.
    ///
    /// # Errors
    /// When the policy needs to know more than the members do.
    ///
    /// # Panics
    /// When the members are too few or of unequal capacity, when a unit is empty, when a member
    /// that is said to fail is not there or fails twice, or with a rebuild where none fails or with
    /// no share of the time.
    pub fn new(members: Vec<BoxedDevice>, striping: &Striping) -> Result<Self, Unknown> {
        let sectors = members[0].capacity();
        for member in &members {
            assert_eq!(sectors, member.capacity(), "members of unequal capacity");
        }
        let redundancy = match striping.level {
            Level::Zero => Redundancy::None,
            Level::Five => Redundancy::Parity,
        };
        let count = members.len() - usize::from(striping.rebuild_share.is_some());
        let failures = &striping.failures;
        assert!(failures.iter().all(|failure| failure.member < count));
        assert!(failures.is_empty() || striping.level == Level::Five);
        let layout = Layout::new(redundancy, count, striping.unit, sectors);
        let members = members.into_iter().map(|device| {
            let policy = tower::policy(&striping.policy, &device)?;
            Ok(Member::new(device, policy))
        });
        let mut array = Self {
            members: members.collect::<Result<_, _>>()?,
            events: Events::new(count + 1),
            layout,
            health: Health::default(),
            may_fail: !failures.is_empty(),
            failures: Failures::new(failures, striping.rebuild_share),
            replaced: None,
            parents: Children::default(),
            begun: 0,
            parts: Children::default(),
            rows: Rows::default(),
            gate: Gate::default(),
            due: VecDeque::new(),
        };
        for member in 0..array.members.len() {
            array.note_event(member);
        }
        while let Some(failure) = array.failures.fail_by(Instant::START) {
            array.fail(failure);
        }
        Ok(array)
    }

    /// How far the rebuild is, if any.
    pub fn rebuilt(&self) -> Option<Progress> {
        self.failures.progress()
    }

    fn begin(&mut self, now: Instant, pending: Pending) {
        let (request, arrived) = (pending.request, pending.arrived);
        if self.may_fail && self.failures.lost.is_some() {
            let unserved = Completion::unserved(request, arrived, now, Status::NotReady);
            return self.due.push_back(unserved);
        }
        let parent = self.parents.insert(Parent::new(pending, self.begun));
        self.begun += 1;
        if request.ordering == Ordering::Ordered {
            self.gate.enter(parent);
        }
        let layout = self.layout;
        plan::plan(&layout, self.health, &request, &mut |plan| {
            let part = Part::new(Some(parent), arrived, plan);
            if let Some(parent) = self.parents.get_mut(parent) {
                parent.parts += 1;
            }
            self.enter(part, now);
        });
    }

    /// Begins what no ordered request holds back any more.
    fn release(&mut self, now: Instant) {
        while let Some(next) = self.gate.release(self.parents.is_empty()) {
            self.begin(now, next);
        }
    }

    /// Takes in a part, and starts it if its rows are free.
    fn enter(&mut self, part: Part, now: Instant) {
        let rows = part.rows.clone();
        let id = self.parts.insert(part);
        if !rows.is_empty() {
            let blocked = self.rows.claim(id, rows);
            if let Some(part) = self.parts.get_mut(id)
                && blocked > 0
            {
                part.blocked = blocked;
                return;
            }
        }
        self.start(id, now);
    }

    /// Gives the commands of the present step of a part to the members.
    fn start(&mut self, id: u64, now: Instant) {
        if self.may_fail && !self.leave_out_missing(id, now) {
            return;
        }
        let count = self.parts.get(id).map_or(0, |part| part.commands.len());
        for index in 0..count {
            self.hand_over(id, index, now);
        }
    }

    /// The command number `index` of a part, its member, and since when it waits.
    fn command(&self, id: u64, index: usize) -> Option<(usize, Pending)> {
        let part = self.parts.get(id)?;
        let request = match part.parent {
            Some(parent) => self.parents.get(parent)?.request,
            None => REBUILDING,
        };
        let (place, request) = part.command(id, index, &request);
        let member = self.in_place(place);
        let arrived = part.since;
        Some((member, Pending { request, arrived }))
    }

    /// Gives a command to its member: at once if that is free.
    fn hand_over(&mut self, id: u64, index: usize, now: Instant) {
        let Some((member, pending)) = self.command(id, index) else {
            return;
        };
        let own = &mut self.members[member];
        if pending.request.is_simple_transfer() && own.is_free(&pending.request) {
            own.queue.note_bypass(&pending.request, &own.device);
            self.send(member, now, &pending.request);
            self.note_event(member);
        } else {
            own.add(pending);
            own.count_waiting(now);
            self.feed(member, now);
        }
    }

    /// Lets a member take what waits for it.
    fn feed(&mut self, member: usize, now: Instant) {
        while let Some(request) = self.members[member].next(now) {
            self.members[member].count_taken(now, &request);
            self.send(member, now, &request);
        }
        self.note_event(member);
    }

    fn note_event(&mut self, member: usize) {
        let event = self.members[member].device.next_event();
        self.events.set(member, event);
    }

    /// Submits a command to a member.
    fn send(&mut self, member: usize, now: Instant, command: &Request) {
        let taken = self.members[member].device.submit(now, *command);
        assert_eq!(taken, Ok(()), "a device that accepts refused {command:?}");
        self.members[member].begin(now, command);
        let Some(part) = self.parts.get(part_of(command.id).0) else {
            panic!("{command:?} is of no part");
        };
        if let Some(parent) = part.parent.and_then(|id| self.parents.get_mut(id)) {
            parent.has_begun = true;
        }
    }

    /// Notes that a member has completed a command.
    fn note(&mut self, member: usize, done: &Completion) {
        self.members[member].end(done);
        self.settle(member, done);
    }

    /// Notes how a command of a member has ended, whether or not that had taken it.
    fn settle(&mut self, member: usize, done: &Completion) {
        let (id, _) = part_of(done.request.id);
        let mut status = done.status;
        if self.may_fail || !status.is_success() {
            status = self.status_for_part(id, member, done);
        }
        let Some(part) = self.parts.get_mut(id) else {
            panic!("{done:?} is of no part");
        };
        if !part.note(done, status) {
            return;
        }
        if let Some(member) = part.lost.take().filter(|_| part.status.is_success()) {
            return self.do_without(id, member, done.at);
        }
        if part.goes_on() {
            return self.start(id, done.at);
        }
        self.end_part(id);
    }

    /// Forgets a part that has ended, and starts those that waited for its rows.
    fn end_part(&mut self, id: u64) {
        let part = self.parts.remove(id);
        let at = part.since;
        match part.parent {
            None => self.end_rebuilding(&part),
            Some(parent) => self.end_part_of(parent, &part),
        }
        self.leave_rows(id, &part, at);
    }

    /// Notes that a part of a request has ended.
    fn end_part_of(&mut self, id: u64, part: &Part) {
        let Some(parent) = self.parents.get_mut(id) else {
            return;
        };
        parent.note(part);
        if parent.parts == 0 {
            let completion = parent.completion(part.since, part.spent);
            self.finish(id, completion);
        }
    }

    /// Begins to rebuild the next row.
    fn begin_rebuilding(&mut self, now: Instant) {
        if let Some(rebuild) = &mut self.failures.rebuild {
            rebuild.begin(now);
            let plan = plan::rebuild(&self.layout, self.health);
            self.enter(Part::new(None, now, plan), now);
        }
    }

    /// Notes that a row has been rebuilt, or could not be.
    fn end_rebuilding(&mut self, part: &Part) {
        let Some(rebuild) = &mut self.failures.rebuild else {
            return;
        };
        if rebuild.end_step(part.since) {
            self.health.rebuilt += 1;
        }
    }

    /// Plans a part again that has waited: its rows may have been rebuilt meanwhile.
    fn plan_again(&mut self, id: u64) {
        let Some(part) = self.parts.get_mut(id) else {
            return;
        };
        let Some(parent) = part.parent.and_then(|id| self.parents.get(id)) else {
            return;
        };
        part.clear();
        let served = part.served(&parent.request);
        let health = match part.without {
            Some(member) if self.health.failed.is_none() => Health::without(member),
            _ => self.health,
        };
        plan::plan(&self.layout, health, &served, &mut |plan| part.add(plan));
    }

    /// Releases the rows of a part, and starts the parts that waited for them.
    fn leave_rows(&mut self, id: u64, part: &Part, now: Instant) {
        if part.rows.is_empty() {
            return;
        }
        for next in self.rows.release(id, part.rows.clone()) {
            let Some(waits) = self.parts.get_mut(next) else {
                continue;
            };
            waits.blocked -= 1;
            if waits.blocked == 0 {
                if !self.failures.been.is_empty() {
                    self.plan_again(next);
                }
                self.start(next, now);
            }
        }
    }

    /// Forgets a request of which nothing is left.
    fn finish(&mut self, id: u64, completion: Completion) {
        self.parents.remove(id);
        if self.may_fail {
            self.failures.served();
        }
        self.gate.leave(id);
        self.due.push_back(completion);
    }

    /// Takes back the request `id`, of which no command has begun.
    fn take_back(&mut self, now: Instant, id: u64) {
        let Some(parent) = self.parents.get(id) else {
            return;
        };
        let aborted = Completion::unserved(parent.request, parent.arrived, now, Status::Aborted);
        while let Some(part) = self.parts.find(|part| part.parent == Some(id)) {
            self.withdraw(part, now);
        }
        self.finish(id, aborted);
        self.release(now);
    }

    /// Takes out a part whose commands all wait.
    fn withdraw(&mut self, id: u64, now: Instant) {
        let part = self.parts.remove(id);
        let commands = match part.blocked {
            0 => &part.commands[..],
            _ => &[],
        };
        for (index, command) in commands.iter().enumerate() {
            let member = self.in_place(command.member);
            let own = &mut self.members[member];
            let taken = own.take(child_id(id, index));
            own.count_waiting(now);
            assert!(taken.is_some(), "a command for {:?} is lost", part.rows);
            // It may have kept others from being served.
            self.feed(member, now);
        }
        self.leave_rows(id, &part, now);
    }
}

impl Device for Raid {
    /// That of the members without their parity.
    fn capacity(&self) -> SectorCount {
        self.layout.capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.members[0].device.sector_size()
    }

    fn has_room(&self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
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
        match self.due.front() {
            Some(completion) => Some(completion.at),
            None => {
                let event = self.events.earliest().map(|(at, _)| at);
                if !self.may_fail {
                    return event;
                }
                event.into_iter().chain(self.failures.next_event()).min()
            }
        }
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.due.pop_front() {
                return Some(completion);
            }
            let event = self.events.earliest();
            if self.may_fail && self.advance_itself(now, event.map(|(at, _)| at)) {
                continue;
            }
            let (at, member) = event.filter(|(at, _)| *at <= now)?;
            if let Some(done) = self.members[member].device.advance(at) {
                self.note(member, &done);
                self.release(at);
            }
            self.feed(member, at);
        }
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        if let Some(Pending { request, arrived }) = self.gate.take(id) {
            let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
            self.due.push_back(aborted);
            self.release(now);
            return true;
        }
        let Some(id) = self.parents.find(|parent| parent.request.id == id) else {
            return false;
        };
        let parent = self.parents.get(id);
        let (has_begun, is_single) = parent.map_or((true, false), |parent| {
            (parent.has_begun, parent.is_single())
        });
        if !has_begun {
            self.take_back(now, id);
            return true;
        }
        let part = self
            .parts
            .find(|part| part.parent == Some(id) && part.is_single());
        let Some(id) = part.filter(|_| is_single) else {
            return false;
        };
        let member = self.parts.get(id).map_or(0, |part| part.commands[0].member);
        let member = self.in_place(member);
        let is_aborted = self.members[member].device.abort(now, child_id(id, 0));
        self.note_event(member);
        is_aborted
    }

    /// The members, counted from 0; a spare is the last.
    fn parts(&self, now: Instant) -> Vec<DevicePart> {
        let members = self.members.iter().enumerate();
        let members = members.flat_map(|(index, member)| {
            let until = self.failures.at(index).unwrap_or(now);
            DevicePart::within(index, member.parts(until))
        });
        members.chain(self.failures.part()).collect()
    }
}
