//! A mirrored pair: two devices with the same data (RAID 1).
//!
//! # What it does
//! A write goes to both members, and completes with the later copy or, as an option, with the
//! first. A read goes to one member: to the one that a [`Routing`] names on its arrival, where it
//! waits in that member's queue ([`Reads::Routed`]), or to the one that is free first and chooses
//! it ([`Reads::Shared`]). Each member chooses among what waits for it by a policy of its own.
//! A flush goes to both members and completes with the later.
//!
//! Under a shared queue each member sees all waiting reads and its own copies of the writes. Once
//! one member has taken a read, the other sees it no more; the copies of a write are not
//! synchronised. If both members are free when a read arrives, the one that would end it sooner
//! takes it, or the first if they do not tell positions. A shared queue can be divided by address
//! ([`Reads::Divided`]): each member takes reads of its own part, and of the other's at most if it
//! would be idle.
//!
//! A read that fails at one member is read at the other as a whole, and fails only if that fails
//! too: then with the later of the two blocks that could not be read. If the other succeeds, the
//! read is recovered by one more retry. The time of the first attempt is part of the breakdown,
//! under the same names. A write fails if a copy fails (with completion by the first copy, if both
//! do): an error does not put a member out of use.
//!
//! What overlaps a write that has completed with its first copy waits until the second is written:
//! the other member has old data until then.
//!
//! An ordered request waits here until all others have completed, with both copies of their writes,
//! and those that arrive meanwhile wait for it. A request can be taken back while all its copies
//! wait, a read also if the member in which it waits allows it.
//!
//! With a [`Destaging`] scheme writes wait until the members have time for them, for a non-volatile
//! cache that has them already: see [`NvCache`](crate::nvcache::NvCache). Flushes do not wait for
//! them. While a member is missing or being rebuilt, members do not take turns; writes for which a
//! step of the rebuild waits do not wait for a full batch; and the commands of the rebuild are
//! taken as reads are.
//!
//! # Failures
//! Members may fail for good ([`Mirroring::failures`]). All that such a member had to do, and what
//! it serves at that moment, is lost to it at once: reads go to the other member, behind what waits
//! there, and the copies of writes count no more. If the second member fails before the first has
//! been rebuilt, data are lost: all blocks that are not rebuilt. Nothing is served from then on,
//! and the parts of the pair say what is lost ([`Device::parts`]).
//!
//! With [`Mirroring::rebuild`] a spare takes the place of the first member that fails. From the
//! failure or the first request on its blocks are rebuilt in steps, from the first block of the
//! pair on: they are read at the other member and then written to the spare. A step waits for the
//! writes to its blocks that have begun, and other writes to them wait for the step. The spare
//! reads what it has, and gets writes that begin there. After each step the rebuild pauses in
//! proportion to the time that the step took. Its commands have the lowest priority, for policies
//! that distinguish priorities. A rebuild that cannot read a block stops there.
//!
//! # Layout
//! The second member can hold the data in the opposite order ([`Mirroring::transposed`]): in units
//! of some blocks, so that sequential access remains sequential within a unit. A request across
//! units becomes a command for each.
//!
//! # Cost
//! A request costs one command at each member that serves it. Under a shared queue each waiting
//! read is in the queues of both members. A routing that tries requests serves, for each read, all
//! that waits on a copy of each member.
//!
//! # When it is bad
//! A policy that counts on what it has chosen next sees reads go that the other member took.
//!
//! # Origin
//! liu05 chapter 7: sections 7.1 (queues and layout), 7.2 (routing), 7.3 and 7.4.

mod destaging;
mod failing;
mod layout;
mod member;
mod parameters;
mod parent;
mod places;
mod reads;
mod rehearsed;
mod routing;
mod served;
#[cfg(test)]
mod shadow;
mod writes;

pub use destaging::{BatchOrder, Destaging, Scheme};
pub(crate) use member::Member;
pub use parameters::{Mirroring, Reads, Rebuilding, Writes};
pub(crate) use parent::{graver, tried_again};
pub(crate) use places::Places;
pub use routing::Routing;

use std::collections::VecDeque;

use destaging::{State, Step};
use failing::Failing;
use layout::Layout;
use parent::{Parent, child_id, parent_of};
use routing::Router;

use crate::device::{Children, Completion, Device, Status};
use crate::queue::{CommandQueue, Gate};
use crate::random::{Purpose, generator};
use crate::redundancy::Failures;
use crate::request::{Op, Ordering, Request};
use crate::sched::{Knowledge, Pending};
use crate::tower::{self, BoxedDevice, Unknown};
use crate::units::{Angle, Instant, Lbn, SectorCount};
use rand_core::Rng;

/// Two devices as one; see the module's documentation.
pub struct Mirror {
    members: [Member; 2],
    layout: Layout,
    /// `None` for a shared queue.
    router: Option<Router>,
    /// How a shared queue is divided, if it is.
    divided: Option<Divided>,
    writes: Writes,
    destaging: Option<Destaging>,
    /// The member that processes the next batch of writes, if both have one.
    turn: usize,
    /// Writes do not wait for a full batch.
    hurries: bool,
    /// The requests with copies that wait or are in the members.
    parents: Children<Parent>,
    /// How many requests have been given to the members.
    begun: u64,
    /// `None` if no member fails.
    failing: Option<Box<Failing>>,
    /// The requests that have not begun, since they have to wait for another one.
    held: Vec<u64>,
    /// The writes that have completed, of which the second copy is still to be written.
    reported: usize,
    gate: Gate,
    /// Completions that are due, in their order.
    due: VecDeque<Completion>,
}

/// Which reads of a shared queue are whose.
#[derive(Clone, Copy)]
struct Divided {
    pivot: Lbn,
    relaxed: Option<u64>,
}

impl Mirror {
    /// The pair of `members`, each with nothing to do, without a spare.
    ///
    /// # Errors
    /// When the policy or the routing needs to know more than the members do.
    ///
    /// # Panics
    /// When the members are of unequal capacity, the policy is not the one that the routing tries
    /// ([`Routing::tried`]), reads are routed or writes complete with the first copy although they
    /// are destaged, a member that fails is neither 0 nor 1 or fails twice, or there is a rebuild.
    pub fn new(members: [BoxedDevice; 2], mirroring: &Mirroring) -> Result<Self, Unknown> {
        Self::with_spare(members, None, mirroring)
    }

    /// The same with a spare if there is a rebuild.
    ///
    /// # Errors
    /// As [`Self::new`].
    ///
    /// # Panics
    /// As [`Self::new`], and if there is a spare without a rebuild or the other way round, or a
    /// rebuild without failures, in steps of no blocks or with no share of the time.
    pub fn with_spare(
        members: [BoxedDevice; 2],
        spare: Option<BoxedDevice>,
        mirroring: &Mirroring,
    ) -> Result<Self, Unknown> {
        let [first, second] = &members;
        let sectors = first.capacity();
        assert_eq!(sectors, second.capacity(), "members of unequal capacity");
        if let Reads::Routed(routing) = mirroring.reads
            && let Some((needed, name)) = routing.tried()
        {
            assert_eq!(mirroring.policy.to_string(), needed, "behind {name}");
            first.check_knowledge(name, Knowledge::Times)?;
            second.check_knowledge(name, Knowledge::Times)?;
        }
        if let Some(destaging) = mirroring.destaging {
            assert_eq!(mirroring.reads, Reads::Shared, "with destaging");
            assert_eq!(mirroring.writes, Writes::Both, "with destaging");
            let (needed, name) = destaging.order.needed();
            first.check_knowledge(name, needed)?;
            second.check_knowledge(name, needed)?;
        }
        let router = match mirroring.reads {
            Reads::Shared | Reads::Divided { .. } => None,
            Reads::Routed(routing) => Some(Router::new(routing, mirroring.seed)),
        };
        let divided = match mirroring.reads {
            Reads::Divided { pivot, relaxed } => Some(Divided { pivot, relaxed }),
            Reads::Shared | Reads::Routed(_) => None,
        };
        let [first, second] = members.map(|device| member(device, mirroring));
        let failing = failing(spare, sectors, mirroring)?;
        let mut pair = Self {
            members: [first?, second?],
            layout: Layout::new(mirroring.transposed, sectors),
            router,
            divided,
            writes: mirroring.writes,
            destaging: mirroring.destaging,
            turn: 0,
            hurries: false,
            parents: Children::default(),
            begun: 0,
            failing: failing.map(Box::new),
            held: Vec::new(),
            reported: 0,
            gate: Gate::default(),
            due: VecDeque::new(),
        };
        pair.fail_at_start();
        Ok(pair)
    }

    /// Whether writes go to the members without waiting for a full batch, from `now` on.
    pub fn hurry(&mut self, now: Instant, hurries: bool) {
        self.hurries = hurries;
        self.feed(now);
    }

    /// Begins what no ordered request holds back any more.
    fn release(&mut self, now: Instant) {
        if self.failing.is_some() || !self.held.is_empty() {
            self.release_held(now);
        }
        while let Some(pending) = self.gate.release(self.is_quiet()) {
            self.begin(now, pending);
        }
    }

    /// Begins a request, unless it has to wait for another one.
    fn begin(&mut self, now: Instant, pending: Pending) {
        let (request, arrived) = (pending.request, pending.arrived);
        if self.failing.is_some() && self.has_lost_data() {
            let unserved = Completion::unserved(request, arrived, now, Status::NotReady);
            return self.due.push_back(unserved);
        }
        self.begun += 1;
        let parent = self.parents.insert(Parent::new(pending, self.begun));
        if request.ordering == Ordering::Ordered {
            self.gate.enter(parent);
        }
        let may_wait = self.reported > 0 || self.failing.is_some();
        if may_wait && self.must_wait(&request) {
            if let Some(parent) = self.parents.get_mut(parent) {
                parent.is_held = true;
            }
            return self.held.push(parent);
        }
        self.serve(parent, &request, now);
    }

    /// Gives a request to the members.
    fn serve(&mut self, parent: u64, request: &Request, now: Instant) {
        let is_whole = self.failing.is_none();
        let serves = [0, 1].map(|member| is_whole || self.serves(member, request));
        if !request.op.is_read() || serves != [true; 2] {
            for member in (0..2).filter(|member| serves[*member]) {
                self.hand_over(member, parent, now);
            }
        } else if let Some(member) = self.route(parent, now) {
            self.hand_over(member, parent, now);
        } else {
            self.share(parent, now);
        }
    }

    /// Whether a member takes `command` at once.
    fn is_free(&self, member: usize, command: &Request) -> bool {
        let own = &self.members[member];
        let is_idle = || own.inside == 0 && !own.writes.side().in_batch;
        own.is_free(command) && (self.destaging.is_none() || is_idle())
    }

    /// The command number `index` for a copy of a request at a member, if it has that many.
    fn piece(&self, member: usize, parent: u64, index: u32) -> Option<Request> {
        let request = &self.parents.get(parent)?.request;
        let mut piece = self.layout.piece(request, member, index)?.1;
        piece.id = child_id(parent, index);
        if piece.ordering == Ordering::Ordered {
            // It is alone: the order is kept here.
            piece.ordering = Ordering::default();
        }
        Some(piece)
    }

    /// Lets a copy of a request wait for a member.
    fn add(&mut self, member: usize, parent: u64, now: Instant) {
        let own = self.parents.get(parent);
        let (arrived, rebuilds) = own.map_or((now, false), |own| (own.since, own.rebuilds));
        let mut count = 0;
        while let Some(piece) = self.piece(member, parent, count) {
            let pending = Pending {
                request: piece,
                arrived,
            };
            match self.destaging {
                Some(_) if !rebuilds => self.members[member].add_destaged(pending),
                _ => self.members[member].add(pending),
            }
            count += 1;
        }
        self.members[member].load += 1;
        self.members[member].count_waiting(now);
        if let Some(parent) = self.parents.get_mut(parent) {
            parent.copies[member].queued = count;
        }
    }

    /// Gives a copy of a request to a member: at once if it is free.
    fn hand_over(&mut self, member: usize, parent: u64, now: Instant) {
        let single = self.piece(member, parent, 0);
        let single = single.filter(|_| self.piece(member, parent, 1).is_none());
        if let Some(piece) = single
            && piece.is_simple_transfer()
            && self.is_free(member, &piece)
            && (self.destaging.is_none() || piece.op.is_read())
        {
            let Member { device, queue, .. } = &mut self.members[member];
            queue.note_bypass(&piece, device);
            self.members[member].load += 1;
            if let Some(parent) = self.parents.get_mut(parent) {
                parent.copies[member].queued = 1;
            }
            return self.send(member, now, &piece);
        }
        self.add(member, parent, now);
        self.feed(now);
    }

    /// Lets the members take what waits for them.
    fn feed(&mut self, now: Instant) {
        loop {
            let has_taken = self.feed_member(0, now) | self.feed_member(1, now);
            // What one takes the other loses, which may make way for another request; and by a
            // batch it may take its turn.
            let withholds = |own: &Member| !own.queue.is_empty() && own.device.has_room();
            let again = || self.destaging.is_some() || self.members.iter().any(withholds);
            if !has_taken || !again() {
                return;
            }
        }
    }

    /// The same of one member. Whether it took anything.
    fn feed_member(&mut self, member: usize, now: Instant) -> bool {
        let mut has_taken = false;
        while self.members[member].device.has_room()
            && let Some(request) = self.next(member, now)
        {
            self.send(member, now, &request);
            self.members[member].count_taken(now, &request);
            has_taken = true;
        }
        has_taken
    }

    /// Takes out the command that a member serves next, if it is free for one.
    fn next(&mut self, member: usize, now: Instant) -> Option<Request> {
        let Some(destaging) = self.destaging else {
            let own = self.members[member].next(now);
            return own.or_else(|| self.next_of_other(member, now));
        };
        let state = State {
            reads: self.members[member].queue.len(),
            sides: [0, 1].map(|member: usize| self.members[member].writes.side()),
            turn: self.turn,
            hurries: self.hurries || self.is_step_waiting(),
            is_degraded: self.is_degraded(),
        };
        let own = &mut self.members[member];
        if own.inside > 0 || !own.device.has_room() {
            return None;
        }
        let write = match destaging.step(&state, member) {
            Step::Read => return own.next(now),
            Step::Write => own.writes.oldest(),
            Step::BeginBatch => {
                self.turn = 1 - member;
                own.begin_batch(now, &destaging)
            }
            Step::OfBatch => own.writes.of_batch(now, &own.device),
            Step::Nothing => None,
        };
        own.accepted(write?)
    }

    /// Submits a command to a member.
    fn send(&mut self, member: usize, now: Instant, command: &Request) {
        let taken = self.members[member].device.submit(now, *command);
        assert_eq!(taken, Ok(()), "a device that accepts refused {command:?}");
        let (id, index) = parent_of(command.id);
        let Some(parent) = self.parents.get_mut(id) else {
            panic!("{command:?} has no parent");
        };
        self.members[member].begin(now, command);
        parent.has_begun = true;
        let own = &mut parent.copies[member];
        if own.queued > 1 {
            parent.taken_early.insert(index);
        }
        own.queued -= 1;
        own.inside += 1;
        if parent.request.op.is_read() && parent.copies[1 - member].queued > 0 {
            self.withdraw(1 - member, id, now);
        }
    }

    /// Takes a copy that waits out of a member's queue.
    fn withdraw(&mut self, member: usize, parent: u64, now: Instant) {
        let Some(copies) = self
            .parents
            .get_mut(parent)
            .map(|parent| &mut parent.copies)
        else {
            return;
        };
        let count = std::mem::take(&mut copies[member].queued);
        let member = &mut self.members[member];
        for index in 0..count {
            let taken = member.take(child_id(parent, index));
            assert!(taken.is_some(), "a copy of {parent} is lost");
        }
        member.load -= 1;
        member.count_waiting(now);
    }

    /// Notes that a member has completed a command.
    fn note(&mut self, member: usize, mut done: Completion) {
        self.members[member].end(&done);
        let (id, index) = parent_of(done.request.id);
        let Some(parent) = self.parents.get_mut(id) else {
            panic!("{done:?} has no parent");
        };
        let piece = self.layout.piece(&parent.request, member, index);
        let before = piece.map_or(0, |(before, _)| before.0);
        if let Status::MediumError { offset } = &mut done.status {
            *offset += before as u16;
        }
        if !parent.copies[member].note(done.status) {
            return;
        }
        self.members[member].load -= 1;
        let copy = parent.lifted(member, done);
        if parent.rebuilds {
            self.go_on_rebuilding(id, &copy);
        } else if parent.request.op.is_read() {
            self.end_read(id, member, copy);
        } else {
            self.end_copy(id, member, copy);
        }
    }

    /// A copy of a write or flush has ended.
    fn end_copy(&mut self, id: u64, member: usize, mut copy: Completion) {
        let Some(parent) = self.parents.get_mut(id) else {
            return;
        };
        let is_last = parent.copies[1 - member].is_over();
        let is_enough = self.writes == Writes::First && parent.request.op == Op::Write;
        let succeeds = copy.status.is_success();
        if is_last && !(is_enough && succeeds) {
            let [one, other] = parent.copies.map(|copy| copy.status);
            copy.status = parent::graver(one, other);
        }
        let is_due = !parent.is_reported && (is_last || (is_enough && succeeds));
        parent.is_reported |= is_due;
        if is_last {
            self.finish(id, is_due.then_some(copy));
        } else if is_due {
            self.reported += 1;
            self.due.push_back(copy);
        }
    }

    /// Forgets a request of which no copy is left.
    fn finish(&mut self, id: u64, completion: Option<Completion>) {
        let parent = self.parents.remove(id);
        if completion.is_none() && parent.is_reported {
            self.reported -= 1;
        }
        if self.failing.is_some() {
            self.count_served();
        }
        self.due.extend(completion);
        self.gate.leave(id);
    }

    /// The earliest event and its member; the first member if both have one at the same instant.
    #[inline]
    fn earliest(&self) -> Option<(Instant, usize)> {
        let events = self.members.iter().zip(0..);
        let events =
            events.filter_map(|(member, index)| Some((member.device.next_event()?, index)));
        events.min()
    }
}

/// A member with nothing to do.
fn member(device: BoxedDevice, mirroring: &Mirroring) -> Result<Member, Unknown> {
    let policy = || tower::policy(&mirroring.policy, &device);
    let has_reserve = matches!(
        mirroring.reads,
        Reads::Divided {
            relaxed: Some(_),
            ..
        }
    );
    let reserve = has_reserve.then(policy).transpose()?;
    let policy = policy()?;
    Ok(Member {
        reserve: reserve.map(CommandQueue::new),
        ..Member::new(device, policy)
    })
}

/// What a pair remembers if its members fail.
fn failing(
    spare: Option<BoxedDevice>,
    sectors: SectorCount,
    mirroring: &Mirroring,
) -> Result<Option<Failing>, Unknown> {
    let Mirroring {
        failures, rebuild, ..
    } = mirroring;
    assert_eq!(
        spare.is_some(),
        rebuild.is_some(),
        "a spare is for a rebuild"
    );
    assert!(failures.iter().all(|failure| failure.member < 2));
    if failures.is_empty() {
        assert!(rebuild.is_none(), "a rebuild");
        return Ok(None);
    }
    let spare = spare.map(|device| {
        assert_eq!(sectors, device.capacity(), "members of unequal capacity");
        member(device, mirroring)
    });
    let share = rebuild.map(|rebuild| rebuild.share_fraction);
    let unit = rebuild.map_or(SectorCount(1), |rebuild| rebuild.unit);
    assert!(unit.0 > 0, "steps of no blocks");
    let failures = Failures::new(failures, share);
    let spare = spare.transpose()?;
    Ok(Some(Failing::new(failures, spare, sectors, unit)))
}

/// A starting angle of the platter that depends on `seed` alone: the spindles of two members are
/// not synchronised.
pub fn starting_angle(seed: u64) -> Angle {
    Angle::from_raw(generator(seed, 0, Purpose::Spindle).next_u64())
}
