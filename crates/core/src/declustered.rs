//! Declustered mirroring: several devices as one that keeps two copies of all data.
//!
//! # What it does
//! The blocks of the array are divided into stripe units. Consecutive units have their primary
//! copies at consecutive members; the secondary copies are where the [`Layout`] puts them. Each
//! member has primary copies in its first half and secondary copies in its second. A request makes
//! a command for each unit, a write one for each copy, and completes with the last of them. Each
//! member chooses among the commands that wait for it by a policy of its own. A flush goes to all
//! members.
//!
//! A read of a unit goes to its primary copy with the probability that balances the load as well as
//! can be ([`Layout::primary_share`]), and otherwise to the secondary. (A chain without failures
//! reads primary copies only, so that its arms stay in one half.)
//!
//! Members may fail for good, before the run or during it ([`Declustering::failures`]). All that
//! such a member had to do, and what it serves at that moment, is lost to it at once: reads go to
//! the other copy, and writes to the failed member count no more. If two members fail that had both
//! copies of some data, these are lost. Nothing is served from then on, and the parts of the array
//! say what is lost ([`Device::parts`]).
//!
//! With [`Declustering::rebuild_share`] a spare takes the place of the first member that fails.
//! From the failure or the first request on its units are rebuilt one by one, in order: the other
//! copy is read and then written to the spare. A unit waits for the writes to it that have begun,
//! and other writes to it wait for the rebuild of the unit. What the spare has is read and written
//! as before the failure. After each unit the rebuild pauses in proportion to the time that the
//! unit took. Its commands have the lowest priority, for policies that distinguish priorities. A
//! rebuild that cannot read a block stops there.
//!
//! A read that fails is read at the other copy if there is one, and only if that fails too does it
//! fail; if it succeeds, the read is recovered. A write fails if a copy fails: an error does not
//! put a member out of use. The parts of a response are those of the command that ended last, and
//! of the failed attempt before it; what a command waited for its member is queueing.
//!
//! An ordered request waits here until all others have completed, and those that arrive meanwhile
//! wait for it. A request can be taken back until a member has taken a command of it, or if its
//! only command still waits in the member.
//!
//! # Cost
//! One command for each unit, two for writes.
//!
//! # When it is bad
//! A request over several rows makes several commands at a member, which could be one.
//!
//! # Origin
//! liu05 chapter 9: sections 9.1.2 (placement) and 9.2 (routing). The thesis does not say where on
//! a disk the copies are.

mod disks;
mod error;
mod failing;
mod layout;
mod lost;
mod parent;
#[cfg(test)]
mod shadow;

use std::collections::VecDeque;

pub use disks::Disks;
pub use error::LayoutError;
use failing::Failing;
pub use layout::{Kind, Layout, MAX_DISKS, Place};
use parent::{Copied, Parent, Piece};

use crate::device::{Children, Completion, Device, Part, Refused, Status};
use crate::mirror::Member;
use crate::queue::Gate;
use crate::raid::Events;
use crate::random::{Chance, Generator, Purpose, generator};
use crate::redundancy::{Failure, Failures};
use crate::request::{Op, Ordering, Request};
use crate::sched::{Pending, PolicyConfig};
use crate::tower::{self, BoxedDevice, Unknown};
use crate::units::{Bytes, Instant, SectorCount};

/// The parameters of a declustered array.
#[derive(Clone, Debug)]
pub struct Declustering {
    /// Where the copies are.
    pub layout: Layout,
    /// The members that fail, each at most once.
    pub failures: Vec<Failure>,
    /// What the first failed member had is rebuilt on a spare, the last of the devices. This is the
    /// share of the time in which the rebuild is under way, above 0 and at most 1.
    pub rebuild_share: Option<f64>,
    /// The blocks of a stripe unit; at least one, and at most half of a member. Blocks of a member
    /// that make no whole unit in both halves are not used.
    pub unit: SectorCount,
    /// The order in which each member serves what waits for it.
    pub policy: PolicyConfig,
    /// What the routing of reads depends on.
    pub seed: u64,
}

impl Declustering {
    /// The blocks of an array of members of this many: half of theirs, in whole units.
    pub fn capacity(&self, member: SectorCount) -> SectorCount {
        SectorCount(self.rows(member) * self.unit.0 * self.layout.disks() as u64)
    }

    /// The units that each half of a member has.
    fn rows(&self, member: SectorCount) -> u64 {
        member.0 / 2 / self.unit.0
    }
}

/// Several devices as one; see the module's documentation.
pub struct Declustered {
    members: Vec<Member>,
    /// The next event of each member.
    events: Events,
    declustering: Declustering,
    rows: u64,
    random: Generator,
    /// `None` if no member fails.
    failing: Option<Box<Failing>>,
    /// The requests that wait for a step of the rebuild.
    held: Vec<u64>,
    parents: Children<Parent>,
    /// The requests that have begun so far.
    begun: u64,
    /// Their ids are those of their commands.
    pieces: Children<Piece>,
    gate: Gate,
    /// Completions that are due, in their order.
    due: VecDeque<Completion>,
}

impl Declustered {
    /// The array of `members` and a spare, if there is a rebuild, each with nothing to do.
    ///
    /// # Errors
    /// When the policy needs to know more than the members do.
    ///
    /// # Panics
    /// When the members are not as many as the layout says or of unequal capacity, when they have
    /// no whole unit, when a member that is said to fail is not there or fails twice, or with a
    /// rebuild where none fails or with no share of the time.
    pub fn new(members: Vec<BoxedDevice>, declustering: Declustering) -> Result<Self, Unknown> {
        let sectors = members[0].capacity();
        for member in &members {
            assert_eq!(sectors, member.capacity(), "members of unequal capacity");
        }
        let Declustering {
            layout,
            failures,
            rebuild_share,
            ..
        } = &declustering;
        let disks = layout.disks();
        assert_eq!(disks + usize::from(rebuild_share.is_some()), members.len());
        assert!(failures.iter().all(|failure| failure.member < disks));
        let rows = declustering.rows(sectors);
        assert!(rows > 0, "members of no whole unit");
        let members = members.into_iter().map(|device| {
            let policy = tower::policy(&declustering.policy, &device)?;
            Ok(Member::new(device, policy))
        });
        let mut members = members.collect::<Result<Vec<Member>, _>>()?;
        let spare = members.split_off(disks).pop();
        let has_failures = !failures.is_empty();
        let failures = Failures::new(failures, *rebuild_share);
        let failing = has_failures.then(|| Box::new(Failing::new(disks, failures, spare)));
        let mut array = Self {
            members,
            events: Events::new(disks),
            failing,
            held: Vec::new(),
            rows,
            random: generator(declustering.seed, 0, Purpose::Routing),
            declustering,
            parents: Children::default(),
            begun: 0,
            pieces: Children::default(),
            gate: Gate::default(),
            due: VecDeque::new(),
        };
        for member in 0..disks {
            array.note_event(member);
        }
        array.fail_at_start();
        Ok(array)
    }

    /// Begins a request, unless it has to wait for a step of the rebuild.
    fn begin(&mut self, now: Instant, pending: Pending) {
        let (request, arrived) = (pending.request, pending.arrived);
        if self.failing.is_some() && self.has_lost_data() {
            let unserved = Completion::unserved(request, arrived, now, Status::NotReady);
            return self.due.push_back(unserved);
        }
        let parent = self.parents.insert(Parent::new(pending, self.begun));
        self.begun += 1;
        if request.ordering == Ordering::Ordered {
            self.gate.enter(parent);
        }
        if self.failing.is_some() && self.must_wait(&request) {
            return self.held.push(parent);
        }
        self.serve(now, parent, &pending);
    }

    /// Gives a request to the members.
    fn serve(&mut self, now: Instant, parent: u64, pending: &Pending) {
        let request = &pending.request;
        if request.op == Op::Flush {
            for member in 0..self.members.len() {
                if self.is_there(member) {
                    let at = Copied { member, place: 0 };
                    self.enter(now, Piece::new(parent, pending, at));
                }
            }
            return;
        }
        let (mut block, unit) = (request.start.0, self.declustering.unit.0);
        while block < request.end().0 {
            let end = request.end().0.min((block / unit + 1) * unit);
            let piece = Piece {
                before: block - request.start.0,
                sectors: SectorCount(end - block),
                ..Piece::new(parent, pending, Copied::default())
            };
            self.enter_copies(now, piece, block);
            block = end;
        }
    }

    /// The two places of a block, the primary one first.
    fn copies(&self, block: u64) -> [Copied; 2] {
        let Declustering { layout, unit, .. } = &self.declustering;
        self.copies_at(layout.place(block / unit.0), block)
    }

    /// The same of a block at this place.
    fn copies_at(&self, place: Place, block: u64) -> [Copied; 2] {
        let Declustering { layout, unit, .. } = &self.declustering;
        let (number, offset) = (block / unit.0, block % unit.0);
        let row = number / layout.disks() as u64;
        let copy = |member, row: u64| Copied {
            member,
            place: row * unit.0 + offset,
        };
        [
            copy(place.primary, row),
            copy(place.secondary, self.rows + row),
        ]
    }

    /// Begins the piece of a read at one of the copies of `block`, that of a write at all.
    fn enter_copies(&mut self, now: Instant, piece: Piece, block: u64) {
        let Declustering { layout, unit, .. } = &self.declustering;
        let place = layout.place(block / unit.0);
        let ([mut first, mut other], missing) = self.left(self.copies_at(place, block));
        if piece.op == Op::Read {
            let share = layout.primary_share(place, missing);
            let both = first.is_some() && other.is_some();
            if first.is_none() || both && !Chance::new(share).hits(&mut self.random) {
                (first, other) = (other, first);
            }
            if let Some(at) = first {
                self.enter(now, Piece { at, other, ..piece });
            }
            return;
        }
        for at in [first, other].into_iter().flatten() {
            self.enter(now, Piece { at, ..piece });
        }
    }

    /// Begins what no ordered request holds back any more.
    fn release(&mut self, now: Instant) {
        if self.failing.is_some() {
            self.release_held(now);
        }
        while let Some(next) = self.gate.release(self.parents.is_empty()) {
            self.begin(now, next);
        }
    }

    /// Takes in a piece.
    fn enter(&mut self, now: Instant, piece: Piece) {
        if let Some(parent) = self.parents.get_mut(piece.parent) {
            parent.pieces += 1;
            parent.left += 1;
        }
        let id = self.pieces.insert(piece);
        self.hand_over(now, id);
    }

    /// Gives the command of a piece to its member: at once if that is free.
    fn hand_over(&mut self, now: Instant, id: u64) {
        let Some(piece) = self.pieces.get(id) else {
            return;
        };
        let Some(request) = self.request_of(piece) else {
            return;
        };
        let (member, arrived) = (piece.at.member, piece.since);
        let request = piece.command(id, request);
        let own = &mut self.members[member];
        if request.is_simple_transfer() && own.is_free(&request) {
            own.queue.note_bypass(&request, &own.device);
            self.send(member, now, &request);
            self.note_event(member);
        } else {
            own.add(Pending { request, arrived });
            own.count_waiting(now);
            self.feed(member, now);
        }
    }

    /// Lets a member take what waits for it.
    fn feed(&mut self, member: usize, now: Instant) {
        while let Some(request) = self.members[member].next(now) {
            self.send(member, now, &request);
            self.members[member].count_taken(now, &request);
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
        let parent = self.pieces.get(command.id).map(|piece| piece.parent);
        if let Some(parent) = parent.and_then(|parent| self.parents.get_mut(parent)) {
            parent.has_begun = true;
        }
    }

    /// Notes that a member has completed a command.
    fn note(&mut self, done: &Completion) {
        let id = done.request.id;
        let Some(piece) = self.pieces.get_mut(id) else {
            panic!("{done:?} has no parent");
        };
        if piece.rebuilds() {
            return self.go_on_rebuilding(id, done);
        }
        if piece.ends(done) {
            let piece = self.pieces.remove(id);
            let Some(parent) = self.parents.get_mut(piece.parent) else {
                panic!("{done:?} has no parent");
            };
            if let Some(completion) = parent.note(&piece) {
                self.finish(piece.parent, completion);
            }
        } else {
            self.hand_over(done.at, id);
        }
    }

    /// Forgets a request of which nothing is left.
    fn finish(&mut self, id: u64, completion: Completion) {
        self.parents.remove(id);
        if self.failing.is_some() {
            self.count_served();
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
        self.held.retain(|held| *held != id);
        while let Some(piece) = self.pieces.find(|piece| piece.parent == id) {
            let member = self.pieces.remove(piece).at.member;
            let own = &mut self.members[member];
            assert!(own.take(piece).is_some(), "a command of {id} is lost");
            own.count_waiting(now);
            // It may have kept others from being served.
            self.feed(member, now);
        }
        self.finish(id, aborted);
        self.release(now);
    }
}

impl Device for Declustered {
    /// Half of that of the members, in whole units.
    fn capacity(&self) -> SectorCount {
        self.declustering
            .capacity(self.members[0].device.capacity())
    }

    fn sector_size(&self) -> Bytes {
        self.members[0].device.sector_size()
    }

    fn has_room(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        self.check(&request)?;
        let arrived = now;
        let pending = Pending { request, arrived };
        if let Some(pending) = self.gate.admit(pending, self.parents.is_empty()) {
            self.begin(now, pending);
        }
        if self.failing.is_some() {
            self.wake(now);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        match self.due.front() {
            Some(completion) => Some(completion.at),
            None => {
                let event = self.events.earliest().map(|(at, _)| at);
                if self.failing.is_none() {
                    return event;
                }
                event.into_iter().chain(self.own_event()).min()
            }
        }
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.due.pop_front() {
                return Some(completion);
            }
            let event = self.events.earliest();
            if self.failing.is_some() && self.advance_itself(now, event.map(|(at, _)| at)) {
                continue;
            }
            let (at, member) = event.filter(|(at, _)| *at <= now)?;
            if let Some(done) = self.members[member].device.advance(at) {
                self.members[member].end(&done);
                self.note(&done);
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
        let (has_begun, pieces) = parent.map_or((true, 0), |own| (own.has_begun, own.pieces));
        if !has_begun {
            self.take_back(now, id);
            return true;
        }
        let of = |piece: &Piece| piece.parent == id && piece.failed.is_none();
        let Some(piece) = self.pieces.find(of).filter(|_| pieces == 1) else {
            return false;
        };
        let Some(own) = self.pieces.get_mut(piece) else {
            return false;
        };
        let member = own.at.member;
        own.is_aborted = self.members[member].device.abort(now, piece);
        let is_aborted = own.is_aborted;
        self.note_event(member);
        is_aborted
    }

    /// The members, counted from 0; a spare is the last.
    fn parts(&self, now: Instant) -> Vec<Part> {
        self.parts_by_number(now)
    }
}
