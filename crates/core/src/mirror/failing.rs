//! Members of a pair that fail, and the rebuilding of the data on a spare.

use std::ops::Range;

use super::parent::{Copied, Parent};
use super::{Member, Mirror};
use crate::device::{Completion, Device, Lost, Part, Refused, Status};
use crate::redundancy::{Due, Failure, Failures, Progress};
use crate::request::{Op, Priority, Request};
use crate::sched::{Fcfs, Rule};
use crate::tower::BoxedDevice;
use crate::units::{Bytes, Instant, Lbn, SectorCount};

/// What a pair whose members fail remembers.
pub(super) struct Failing {
    failures: Failures,
    /// The spare, before it takes a place.
    spare: Option<Member>,
    /// The members that have failed, with their numbers.
    gone: Vec<(usize, Member)>,
    /// The numbers of those in the two places: that of the spare is 2.
    numbers: [usize; 2],
    /// The place of a member that has failed, until a spare has all that it had.
    missing: Option<usize>,
    /// The blocks of a member.
    sectors: u64,
    /// The blocks that the spare has, from the first on.
    rebuilt: u64,
    /// The blocks of a step.
    unit: u64,
    /// The step of the rebuild that is under way.
    step: Option<Step>,
}

#[derive(Clone, Copy)]
enum Step {
    /// It waits for writes to its blocks that have begun.
    Waits,
    /// Its blocks are read or written.
    Begun,
}

impl Failing {
    /// Of members of so many `sectors` that are both there, and a spare that is rebuilt in steps of
    /// `unit` blocks.
    pub fn new(
        failures: Failures,
        spare: Option<Member>,
        sectors: SectorCount,
        unit: SectorCount,
    ) -> Self {
        Self {
            failures,
            sectors: sectors.0,
            spare,
            gone: Vec::new(),
            numbers: [0, 1],
            missing: None,
            rebuilt: 0,
            unit: unit.0,
            step: None,
        }
    }

    /// Whether the member at `place` serves `request`: a spare only what it has.
    fn serves(&self, place: usize, request: &Request) -> bool {
        if self.missing != Some(place) {
            return true;
        }
        let is_in_place = self.numbers[place] == SPARE;
        is_in_place
            && match request.op {
                Op::Read => request.end().0 <= self.rebuilt,
                Op::Write => request.start.0 < self.rebuilt,
                Op::Flush => true,
            }
    }

    /// The blocks of the step that is under way.
    fn under_way(&self) -> Option<Range<u64>> {
        let end = self.sectors.min(self.rebuilt + self.unit);
        self.step.map(|_| self.rebuilt..end)
    }
}

/// The number of a spare.
const SPARE: usize = 2;

impl Mirror {
    /// Whether the member at `place` serves `request`.
    pub(super) fn serves(&self, place: usize, request: &Request) -> bool {
        let failing = self.failing.as_ref();
        failing.is_none_or(|failing| failing.serves(place, request))
    }

    /// Whether nothing is served any more.
    pub(super) fn has_lost_data(&self) -> bool {
        let failing = self.failing.as_ref();
        failing.is_some_and(|failing| failing.failures.lost.is_some())
    }

    /// How far the rebuild is, if there is one.
    pub fn rebuilt(&self) -> Option<Progress> {
        self.failing.as_ref()?.failures.progress()
    }

    /// Whether no request is inside. The rebuild is none.
    pub(super) fn is_quiet(&self) -> bool {
        let step = self.failing.as_ref().and_then(|failing| failing.step);
        let own = usize::from(matches!(step, Some(Step::Begun)));
        self.parents.len() == own
    }

    /// When a member fails or the rebuild goes on.
    pub(super) fn own_event(&self) -> Option<Instant> {
        self.failing.as_ref()?.failures.next_event()
    }

    /// Lets a member fail or the rebuild go on, if that is due by `now` and before the members'
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
                failing.step = Some(Step::Waits);
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
    fn fail(&mut self, Failure { member: place, at }: Failure) {
        let Some(failing) = &mut self.failing else {
            return;
        };
        failing.failures.been.push(Failure { member: place, at });
        if failing.failures.lost.is_some() {
            return;
        }
        match failing.missing {
            None => (failing.missing, failing.rebuilt) = (Some(place), 0),
            Some(_) => {
                failing.failures.lose(Lost {
                    at,
                    first: Lbn(failing.rebuilt),
                    blocks: SectorCount(failing.sectors - failing.rebuilt),
                });
            }
        }
        let is_over = failing.failures.lost.is_some();
        self.take_out(place, at);
        if is_over {
            return self.end_all(at);
        }
        let parents: Vec<u64> = self.parents.iter().map(|(id, _)| id).collect();
        for id in parents {
            self.lose_copy(id, place, at);
        }
        self.release(at);
        self.feed(at);
    }

    /// Takes the member out of its place, and puts the spare there if there is one.
    fn take_out(&mut self, place: usize, now: Instant) {
        let device = &self.members[place].device;
        let nothing = BoxedDevice::opaque(Nothing {
            sectors: device.capacity(),
            sector: device.sector_size(),
        });
        let policy = Fcfs.policy(&nothing);
        let nothing = Member::new(nothing, policy);
        let Some(failing) = &mut self.failing else {
            return;
        };
        let steps = failing.sectors.div_ceil(failing.unit);
        let number = failing.numbers[place];
        let successor = match failing.spare.take() {
            Some(spare) if failing.failures.lost.is_none() => {
                failing.numbers[place] = SPARE;
                failing.failures.begin_rebuild(now, steps);
                spare
            }
            _ => nothing,
        };
        let mut gone = std::mem::replace(&mut self.members[place], successor);
        for (_, parent) in self.parents.iter() {
            for _ in 0..parent.copies[place].inside {
                gone.drop_command(now, parent.request.op);
            }
        }
        gone.meter.wait(now, 0, 0);
        failing.gone.push((number, gone));
    }

    /// A request loses its copy at a member that has just failed.
    fn lose_copy(&mut self, id: u64, place: usize, now: Instant) {
        let Some(parent) = self.parents.get_mut(id) else {
            return;
        };
        let copy = std::mem::take(&mut parent.copies[place]);
        if copy.is_over() || parent.is_held {
            // What it has done is gone with the member, but no reason to fail.
            return;
        }
        parent.taken_early.clear();
        let other = parent.copies[1 - place];
        if !other.is_over() {
            return;
        }
        let (is_read, failed) = (parent.request.op.is_read(), parent.failed);
        if is_read && failed.is_none() && !parent.is_aborted {
            return self.hand_over(1 - place, id, now);
        }
        let status = match (is_read, failed) {
            _ if parent.is_aborted => Status::Aborted,
            (true, Some(failed)) => failed,
            // The other member has written it, or could not.
            _ => other.status,
        };
        self.finish_unserved(id, status, now);
    }

    /// Ends a request without a member.
    fn finish_unserved(&mut self, id: u64, status: Status, now: Instant) {
        let Some(parent) = self.parents.get(id) else {
            return;
        };
        let ended = Completion::unserved(parent.request, parent.arrived, now, status);
        let is_due = !parent.is_reported && !parent.rebuilds;
        self.finish(id, is_due.then_some(ended));
    }

    /// Ends all requests after data have been lost.
    fn end_all(&mut self, now: Instant) {
        self.take_out_all(now);
        if let Some(failing) = &mut self.failing {
            failing.step = None;
        }
        self.held.clear();
        let parents: Vec<u64> = self.parents.iter().map(|(id, _)| id).collect();
        for id in parents {
            self.finish_unserved(id, Status::NotReady, now);
        }
        self.release(now);
    }

    /// Takes out what is left after some data are lost: it is of no use alone.
    fn take_out_all(&mut self, now: Instant) {
        let numbers = self.failing.as_ref().map(|failing| failing.numbers);
        let gone = self.failing.iter().flat_map(|failing| &failing.gone);
        let gone: Vec<usize> = gone.map(|(number, _)| *number).collect();
        for place in 0..2 {
            let number = numbers.map_or(place, |numbers| numbers[place]);
            if !gone.contains(&number) {
                self.take_out(place, now);
            }
        }
    }

    /// Whether a request has to wait before it begins: a write for the step of the rebuild that has
    /// its blocks, and anything for an earlier write that has completed with its first copy.
    pub(super) fn must_wait(&self, request: &Request) -> bool {
        let blocks = request.start.0..request.end().0;
        let meets = |other: &Range<u64>| blocks.start < other.end && other.start < blocks.end;
        let failing = self.failing.as_ref();
        let step = failing.and_then(|failing| failing.under_way());
        if request.op == Op::Write && step.is_some_and(|step| meets(&step)) {
            return true;
        }
        self.reported > 0
            && request.op != Op::Flush
            && self.parents.iter().any(|(_, parent)| {
                let other = &parent.request;
                parent.is_reported && meets(&(other.start.0..other.end().0))
            })
    }

    /// Begins the requests that have waited, and the step of the rebuild, if nothing keeps them.
    pub(super) fn release_held(&mut self, now: Instant) {
        self.begin_step(now);
        let mut index = 0;
        while let Some(&id) = self.held.get(index) {
            let request = self.parents.get(id).map(|parent| parent.request);
            if request.is_some_and(|request| self.must_wait(&request)) {
                index += 1;
                continue;
            }
            self.held.remove(index);
            if let Some(parent) = self.parents.get_mut(id) {
                parent.is_held = false;
            }
            self.serve(id, now);
        }
    }

    /// Begins the step of the rebuild that waits, if no write to its blocks is under way.
    fn begin_step(&mut self, now: Instant) {
        let Some(failing) = &mut self.failing else {
            return;
        };
        let (Some(Step::Waits), Some(place)) = (failing.step, failing.missing) else {
            return;
        };
        let blocks = failing.under_way().unwrap_or_default();
        let writes = |parent: &Parent| {
            let request = &parent.request;
            let meets = request.start.0 < blocks.end && blocks.start < request.end().0;
            request.op == Op::Write && meets && !parent.is_held
        };
        if self.parents.find(writes).is_some() {
            return;
        }
        let count = SectorCount(blocks.end - blocks.start);
        let request = Request {
            priority: Priority::Low,
            ..Request::new(u64::MAX, Op::Read, Lbn(blocks.start), count)
        };
        let id = self.parents.insert(Parent::rebuilding(request, now));
        failing.step = Some(Step::Begun);
        self.hand_over(1 - place, id, now);
    }

    /// The rebuild has read the blocks of a step, or written them.
    pub(super) fn go_on_rebuilding(&mut self, id: u64, copy: &Completion) {
        let Some(parent) = self.parents.get_mut(id) else {
            return;
        };
        let Some(failing) = &mut self.failing else {
            return;
        };
        let Some(place) = failing.missing else {
            return;
        };
        let succeeds = copy.status.is_success();
        if succeeds && parent.request.op.is_read() {
            parent.request.op = Op::Write;
            parent.copies = [Copied::default(); 2];
            parent.taken_early.clear();
            parent.since = copy.at;
            return self.hand_over(place, id, copy.at);
        }
        self.parents.remove(id);
        failing.step = None;
        let Some(rebuild) = &mut failing.failures.rebuild else {
            return;
        };
        if !succeeds {
            rebuild.fail(copy.bad_block().unwrap_or(copy.request.start));
        }
        if rebuild.end_step(copy.at) {
            failing.rebuilt += copy.request.sectors.0;
            if failing.rebuilt == failing.sectors {
                failing.missing = None;
            }
        }
    }

    /// The numbers of the members in the two places.
    #[cfg(test)]
    pub(super) fn numbers(&self) -> [usize; 2] {
        self.failing
            .as_ref()
            .map_or([0, 1], |failing| failing.numbers)
    }

    /// The members by number, and what failures did.
    pub(super) fn parts_by_number(&self) -> Vec<Part> {
        let Some(failing) = &self.failing else {
            let members = self.members.iter().enumerate();
            let parts = members.map(|(number, member)| Part::within(number, member.parts()));
            return parts.flatten().collect();
        };
        let gone = failing
            .gone
            .iter()
            .map(|(number, member)| (*number, member));
        let is_gone = |number: &usize| failing.gone.iter().any(|(gone, _)| gone == number);
        let left = failing.numbers.into_iter().zip(&self.members);
        let spare = failing.spare.iter().map(|spare| (SPARE, spare));
        let left = left.filter(|(number, _)| !is_gone(number));
        let mut members: Vec<(usize, &Member)> = gone.chain(left).chain(spare).collect();
        members.sort_unstable_by_key(|(number, _)| *number);
        let parts = members.into_iter();
        let parts = parts.flat_map(|(number, member)| Part::within(number, member.parts()));
        parts.chain(failing.failures.part()).collect()
    }
}

/// What is in the place of a member that has failed.
struct Nothing {
    sectors: SectorCount,
    sector: Bytes,
}

impl Device for Nothing {
    fn capacity(&self) -> SectorCount {
        self.sectors
    }

    fn sector_size(&self) -> Bytes {
        self.sector
    }

    fn has_room(&self) -> bool {
        false
    }

    fn submit(&mut self, _: Instant, _: Request) -> Result<(), Refused> {
        Err(Refused::Full)
    }

    fn next_event(&self) -> Option<Instant> {
        None
    }

    fn advance(&mut self, _: Instant) -> Option<Completion> {
        None
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}
