//! Members that fail while the array works, and the rebuilding of what the first of them had on a
//! spare.

use super::parent::{Copied, Parent, Piece};
use super::{Declustered, DiskSet, lost};
use crate::device::{Completion, Lost, Part, Status};
use crate::mirror::{Member, Places};
use crate::redundancy::{Due, Failure, Failures, Progress};
use crate::request::{Op, Priority, Request};
use crate::sched::Pending;
use crate::units::{Instant, Lbn, SectorCount};

/// What an array whose members fail remembers.
pub(super) struct Failing {
    failures: Failures,
    places: Places,
    /// The places of members that have failed, until a spare has all that they had.
    missing: DiskSet,
    /// The place of the spare, until it has everything.
    rebuilding: Option<usize>,
    /// The units of the member that the spare has, from the first on.
    rebuilt: u64,
    /// The unit of the array that is being rebuilt.
    step: Option<Step>,
}

#[derive(Clone, Copy)]
struct Step {
    unit: u64,
    /// It does not wait any more for writes to the unit that have begun.
    has_begun: bool,
}

/// What commands of a rebuild are like.
static REBUILDING: Request = Request {
    priority: Priority::Low,
    ..Request::new(u64::MAX, Op::Read, Lbn(0), SectorCount(0))
};

impl Failing {
    /// Of members that are all there.
    pub fn new(members: usize, failures: Failures, spare: Option<Member>) -> Self {
        Self {
            failures,
            places: Places::new(members, spare),
            missing: DiskSet::NONE,
            rebuilding: None,
            rebuilt: 0,
            step: None,
        }
    }

    /// The number of the member in a place.
    #[cfg(test)]
    pub(super) fn number(&self, place: usize) -> usize {
        self.places.number(place)
    }

    /// The members that do not have the unit number `unit` of theirs.
    fn missing(&self, unit: u64) -> DiskSet {
        match self.rebuilding {
            Some(place) if unit < self.rebuilt => self.missing.without(place),
            _ => self.missing,
        }
    }
}

impl Declustered {
    /// Of the places of a block those that have it, the primary one first, and the members without
    /// what they have at such a place.
    #[inline]
    pub(super) fn left(&self, copies: [Copied; 2]) -> ([Option<Copied>; 2], DiskSet) {
        let Some(failing) = &self.failing else {
            return (copies.map(Some), DiskSet::NONE);
        };
        let unit = self.declustering.unit.0;
        let is_missing = |copy: &Copied| failing.missing(copy.place / unit).contains(copy.member);
        let left = copies.map(|copy| Some(copy).filter(|copy| !is_missing(copy)));
        let mut missing = failing.missing;
        for copy in left.iter().flatten() {
            missing = missing.without(copy.member);
        }
        (left, missing)
    }

    /// Whether a member serves anything.
    pub(super) fn is_there(&self, member: usize) -> bool {
        let failing = self.failing.as_ref();
        failing.is_none_or(|failing| {
            !failing.missing.contains(member) || failing.rebuilding == Some(member)
        })
    }

    /// Whether nothing is served any more.
    pub(super) fn has_lost_data(&self) -> bool {
        let failing = self.failing.as_ref();
        failing.is_some_and(|failing| failing.failures.lost.is_some())
    }

    /// How far the rebuild is, if any.
    pub fn rebuilt(&self) -> Option<Progress> {
        self.failing.as_ref()?.failures.progress()
    }

    /// When a member fails or the rebuild continues.
    pub(super) fn own_event(&self) -> Option<Instant> {
        self.failing.as_ref()?.failures.next_event()
    }

    /// Lets a member fail or the rebuild continue, if that is due by `now` and before the members'
    /// next `event`; whether it was.
    pub(super) fn advance_itself(&mut self, now: Instant, event: Option<Instant>) -> bool {
        let Some(failing) = &mut self.failing else {
            return false;
        };
        match failing.failures.due(now, event) {
            Some(Due::Failure(failure)) => self.fail(failure),
            Some(Due::Rebuild(at)) => {
                if let Some(rebuild) = &mut failing.failures.rebuild {
                    rebuild.begin(at);
                }
                self.choose_unit();
                self.release(at);
            }
            None => return false,
        }
        true
    }

    /// Lets those members fail that do before anything else.
    pub(super) fn fail_at_start(&mut self) {
        while let Some(failing) = &mut self.failing
            && let Some(failure) = failing.failures.fail_by(Instant::START)
        {
            self.fail(failure);
        }
    }

    /// A request has come: a rebuild that waits for the first begins.
    pub(super) fn wake(&mut self, now: Instant) {
        if let Some(failing) = &mut self.failing {
            failing.failures.wake(now);
        }
    }

    /// Notes that a request has completed.
    pub(super) fn count_served(&mut self) {
        if let Some(failing) = &mut self.failing {
            failing.failures.served();
        }
    }

    /// A member fails: all that it had to do, and what it serves at this moment, is lost to it.
    fn fail(&mut self, failure: Failure) {
        let Failure { member, at } = failure;
        let Some(failing) = &mut self.failing else {
            return;
        };
        failing.failures.been.push(failure);
        if failing.failures.lost.is_some() {
            return;
        }
        failing.missing = failing.missing.with(member);
        let lost = self.lost(at, member);
        if let (Some(lost), Some(failing)) = (lost, &mut self.failing) {
            failing.failures.lose(lost);
            return self.end_all(at);
        }
        let pieces = self.pieces_at(member);
        self.take_out(member, at);
        for id in pieces {
            self.lose_command(id, at);
        }
        self.forget_copies(member);
        self.release(at);
    }

    /// What the failure of `member` has lost, together with those before.
    fn lost(&self, at: Instant, member: usize) -> Option<Lost> {
        let layout = &self.declustering.layout;
        let missing = self.failing.as_ref().map(|failing| failing.missing);
        let is_shared = |missing: DiskSet| layout.sharing(member).intersects(missing);
        missing.filter(|missing| is_shared(*missing))?;
        let unit = self.declustering.unit.0;
        let is_lost = |number: u64| {
            let (left, _) = self.left(self.copies(number * unit));
            left.iter().flatten().count() == 0
        };
        let rebuilt = self.failing.as_ref().map_or(0, |failing| failing.rebuilt);
        let (first, units) = lost::count(layout, self.rows, rebuilt, is_lost)?;
        let (first, blocks) = (Lbn(first * unit), SectorCount(units * unit));
        Some(Lost { at, first, blocks })
    }

    /// The commands that wait for a member or are inside, in the order in which their requests
    /// arrived; ids are used again and say nothing of it.
    fn pieces_at(&self, member: usize) -> Vec<u64> {
        let pieces = self.pieces.iter();
        let own = pieces.filter(|(_, piece)| piece.at.member == member);
        let mut ids: Vec<u64> = own.map(|(id, _)| id).collect();
        let order = |id: &u64| {
            let piece = self.pieces.get(*id)?;
            let parent = self.parents.get(piece.parent);
            // One of the rebuild is the last.
            let number = parent.map_or(u64::MAX, |parent| parent.number);
            Some((number, piece.before))
        };
        ids.sort_by_key(order);
        ids
    }

    /// Takes the member out of its place, and puts the spare there if there is one.
    fn take_out(&mut self, place: usize, now: Instant) {
        for id in self.pieces_at(place) {
            let own = &mut self.members[place];
            if own.take(id).is_none()
                && let Some(piece) = self.pieces.get(id)
            {
                own.drop_command(now, piece.op);
            }
        }
        let steps = 2 * self.rows;
        let Some(failing) = &mut self.failing else {
            return;
        };
        let serves = failing.failures.lost.is_none();
        let places = &mut failing.places;
        if places.take_out(&mut self.members, place, now, serves) {
            failing.rebuilding = Some(place);
            failing.failures.begin_rebuild(now, steps);
        }
        self.note_event(place);
    }

    /// A piece loses its command at a member that has just failed.
    fn lose_command(&mut self, id: u64, now: Instant) {
        let Some(&piece) = self.pieces.get(id) else {
            return;
        };
        let Some(parent) = self.parents.get(piece.parent) else {
            return;
        };
        let status = match piece.failed {
            _ if piece.is_aborted => Some(Status::Aborted),
            // The other copy has it, or will.
            _ if piece.op != Op::Read => Some(Status::Good),
            failed => failed,
        };
        if let Some(status) = status {
            return self.end_piece(id, status, now);
        }
        let block = parent.request.start.0 + piece.before;
        let (left, _) = self.left(self.copies(block));
        let Some(at) = left.into_iter().flatten().next() else {
            return self.end_piece(id, Status::NotReady, now);
        };
        if let Some(piece) = self.pieces.get_mut(id) {
            (piece.at, piece.other) = (at, None);
        }
        self.hand_over(now, id);
    }

    /// No read tries a member that has failed.
    fn forget_copies(&mut self, member: usize) {
        let tries = |piece: &Piece| piece.other.is_some_and(|other| other.member == member);
        while let Some(id) = self.pieces.find(tries) {
            if let Some(piece) = self.pieces.get_mut(id) {
                piece.other = None;
            }
        }
    }

    /// Ends a piece whose command was lost.
    fn end_piece(&mut self, id: u64, status: Status, now: Instant) {
        let mut piece = self.pieces.remove(id);
        piece.end_unserved(status, now);
        if let Some(parent) = self.parents.get_mut(piece.parent)
            && let Some(completion) = parent.note(&piece)
        {
            self.finish(piece.parent, completion);
        }
    }

    /// Ends all requests after data have been lost.
    fn end_all(&mut self, now: Instant) {
        for place in 0..self.members.len() {
            self.take_out(place, now);
        }
        if let Some(failing) = &mut self.failing {
            failing.step = None;
        }
        self.held.clear();
        let pieces: Vec<u64> = self.pieces.iter().map(|(id, _)| id).collect();
        for id in pieces {
            self.pieces.remove(id);
        }
        let parents = self.parents.iter();
        let mut parents: Vec<_> = parents.map(|(id, parent)| (parent.number, id)).collect();
        parents.sort_unstable();
        for (_, id) in parents {
            if let Some(&Parent {
                request, arrived, ..
            }) = self.parents.get(id)
            {
                let status = Status::NotReady;
                self.finish(id, Completion::unserved(request, arrived, now, status));
            }
        }
        self.release(now);
    }

    /// The blocks of the unit that is being rebuilt.
    fn under_way(&self) -> Option<std::ops::Range<u64>> {
        let step = self.failing.as_ref()?.step?;
        let unit = self.declustering.unit.0;
        Some(step.unit * unit..(step.unit + 1) * unit)
    }

    /// Whether a request is a write to the unit that is being rebuilt.
    pub(super) fn must_wait(&self, request: &Request) -> bool {
        request.op == Op::Write
            && self
                .under_way()
                .is_some_and(|unit| request.start.0 < unit.end && unit.start < request.end().0)
    }

    /// Begins the requests that have waited, and the step of the rebuild, if nothing keeps them.
    pub(super) fn release_held(&mut self, now: Instant) {
        self.begin_step(now);
        let mut index = 0;
        while let Some(&id) = self.held.get(index) {
            let parent = self.parents.get(id);
            let pending = parent.map(|parent| Pending {
                request: parent.request,
                arrived: parent.arrived,
            });
            match pending.filter(|pending| !self.must_wait(&pending.request)) {
                None => index += 1,
                Some(pending) => {
                    self.held.remove(index);
                    self.serve(now, id, &pending);
                }
            }
        }
    }

    /// Chooses the unit that is rebuilt next.
    fn choose_unit(&mut self) {
        let layout = &self.declustering.layout;
        let (disks, rows) = (layout.disks() as u64, self.rows);
        let Some(failing) = &mut self.failing else {
            return;
        };
        let Some(place) = failing.rebuilding else {
            return;
        };
        let unit = if failing.rebuilt < rows {
            failing.rebuilt * disks + place as u64
        } else {
            // In each row there is one unit with its second copy there.
            let first = (failing.rebuilt - rows) * disks;
            let mut units = first..first + disks;
            let unit = units.find(|unit| layout.copy_disks(*unit).secondary == place);
            unit.unwrap_or(first)
        };
        failing.step = Some(Step {
            unit,
            has_begun: false,
        });
    }

    /// Begins the step of the rebuild that waits, if no write to its unit is under way.
    fn begin_step(&mut self, now: Instant) {
        let Some(step) = self.failing.as_ref().and_then(|failing| failing.step) else {
            return;
        };
        let writes = |(id, parent): (u64, &Parent)| {
            self.must_wait(&parent.request) && !self.held.contains(&id)
        };
        if step.has_begun || self.parents.iter().any(writes) {
            return;
        }
        let unit = self.declustering.unit;
        let (left, _) = self.left(self.copies(step.unit * unit.0));
        let source = left.into_iter().flatten().next();
        let Some(failing) = &mut self.failing else {
            return;
        };
        failing.step = Some(Step {
            has_begun: true,
            ..step
        });
        let request = Request {
            sectors: unit,
            ..REBUILDING
        };
        let arrived = now;
        let pending = Pending { request, arrived };
        if let Some(at) = source {
            let piece = Piece::new(u64::MAX, &pending, at);
            let id = self.pieces.insert(piece);
            self.hand_over(now, id);
        }
    }

    /// What the command of a piece is like.
    #[inline]
    pub(super) fn request_of(&self, piece: &Piece) -> Option<&Request> {
        match piece.rebuilds() {
            true => Some(&REBUILDING),
            false => Some(&self.parents.get(piece.parent)?.request),
        }
    }

    /// The rebuild has read a unit, or written it.
    pub(super) fn go_on_rebuilding(&mut self, id: u64, done: &Completion) {
        let Some(failing) = &mut self.failing else {
            return;
        };
        let (Some(piece), Some(place)) = (self.pieces.get_mut(id), failing.rebuilding) else {
            return;
        };
        let succeeds = done.status.is_success();
        if succeeds && piece.op == Op::Read {
            piece.op = Op::Write;
            piece.since = done.at;
            piece.at = Copied {
                member: place,
                place: failing.rebuilt * self.declustering.unit.0,
            };
            return self.hand_over(done.at, id);
        }
        self.pieces.remove(id);
        let step = failing.step.take();
        let Some(rebuild) = &mut failing.failures.rebuild else {
            return;
        };
        if !succeeds {
            let unit = self.declustering.unit.0;
            let first = step.map_or(0, |step| step.unit * unit);
            let bad = done.bad_block().map_or(0, |bad| bad.0 % unit);
            rebuild.fail(Lbn(first + bad));
        }
        if rebuild.end_step(done.at) {
            failing.rebuilt += 1;
            if failing.rebuilt == 2 * self.rows {
                failing.missing = failing.missing.without(place);
                failing.rebuilding = None;
            }
        }
    }

    /// The members by number, and what failures did.
    pub(super) fn parts_by_number(&self, now: Instant) -> Vec<Part> {
        let Some(failing) = &self.failing else {
            let members = self.members.iter().enumerate();
            let parts = members.map(|(number, member)| Part::within(number, member.parts(now)));
            return parts.flatten().collect();
        };
        let mut parts = failing.places.parts(&self.members, now);
        parts.extend(failing.failures.part());
        parts
    }
}
