//! Members of a pair that fail, and the rebuilding of the data on a spare.

use std::ops::Range;

use super::parent::{Copied, Parent};
use super::places::Places;
use super::{Member, Mirror};
use crate::device::{Completion, ComponentReport, DataLoss, Status};
use crate::redundancy::{Due, Failure, Failures, Progress};
use crate::request::{Op, Priority, Request};
use crate::units::{Instant, Lbn, SectorCount};

/// What a pair whose members fail remembers.
pub(super) struct Failing {
    failures: Failures,
    places: Places,
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
    /// Of members of `sectors` blocks that are both there, and a spare that is rebuilt in steps of
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
            places: Places::new(2, spare),
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
        self.places.has_spare_at(place)
            && match request.op {
                Op::Read => request.end().0 <= self.rebuilt,
                Op::Write => request.start.0 < self.rebuilt,
                Op::Flush => true,
            }
    }

    /// The number of the member in a place.
    #[cfg(test)]
    pub(super) fn number(&self, place: usize) -> usize {
        self.places.number(place)
    }

    /// The blocks of the step that is under way.
    fn under_way(&self) -> Option<Range<u64>> {
        let end = self.sectors.min(self.rebuilt + self.unit);
        self.step.map(|_| self.rebuilt..end)
    }
}

impl Mirror {
    /// Whether the member at `place` serves `request`.
    pub(super) fn serves(&self, place: usize, request: &Request) -> bool {
        let failing = self.failing.as_ref();
        failing.is_none_or(|failing| failing.serves(place, request))
    }

    /// Whether a member is missing, or is a spare that does not have everything.
    pub(super) fn is_degraded(&self) -> bool {
        let failing = self.failing.as_ref();
        failing.is_some_and(|failing| failing.missing.is_some())
    }

    /// Whether a step of the rebuild waits for writes to its blocks.
    pub(super) fn is_step_waiting(&self) -> bool {
        let failing = self.failing.as_ref();
        failing.is_some_and(|failing| matches!(failing.step, Some(Step::Waits)))
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

    /// Whether no request is inside. The rebuild is none.
    pub(super) fn is_quiet(&self) -> bool {
        if self.failing.is_none() {
            return self.parents.is_empty();
        }
        let step = self.failing.as_ref().and_then(|failing| failing.step);
        let own = usize::from(matches!(step, Some(Step::Begun)));
        self.parents.len() == own
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
                failing.step = Some(Step::Waits);
                self.release(at);
                if self.is_step_waiting() {
                    // Writes that waited for a full batch do so no more.
                    self.feed(at);
                }
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
        if failing.missing.is_some() {
            failing.failures.lose(DataLoss {
                at,
                first: Lbn(failing.rebuilt),
                blocks: SectorCount(failing.sectors - failing.rebuilt),
            });
            return self.end_all(at);
        }
        (failing.missing, failing.rebuilt) = (Some(place), 0);
        self.take_out(place, at);
        for id in self.in_order() {
            self.lose_copy(id, place, at);
        }
        self.release(at);
        self.feed(at);
    }

    /// The requests inside, in the order in which the members got them.
    fn in_order(&self) -> Vec<u64> {
        let parents = self.parents.iter();
        let numbers = parents.map(|(id, parent)| (parent.number, id));
        let mut numbers: Vec<(u64, u64)> = numbers.collect();
        numbers.sort_unstable();
        numbers.into_iter().map(|(_, id)| id).collect()
    }

    /// Takes the member out of its place, and puts the spare there if there is one.
    fn take_out(&mut self, place: usize, now: Instant) {
        let Some(failing) = &mut self.failing else {
            return;
        };
        for (_, parent) in self.parents.iter() {
            for _ in 0..parent.copies[place].inside {
                self.members[place].drop_command(now, parent.request.op);
            }
        }
        let serves = failing.failures.lost.is_none();
        let places = &mut failing.places;
        if places.take_out(&mut self.members, place, now, serves) {
            let steps = failing.sectors.div_ceil(failing.unit);
            failing.failures.begin_rebuild(now, steps);
        }
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
        if place == 1 {
            parent.taken_early.clear();
        }
        let other = parent.copies[1 - place];
        if !other.is_over() {
            return self.prefer(1 - place, id);
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
        // One member alone is of no use.
        self.take_out(0, now);
        self.take_out(1, now);
        if let Some(failing) = &mut self.failing {
            failing.step = None;
        }
        self.held.clear();
        for id in self.in_order() {
            self.finish_unserved(id, Status::NotReady, now);
        }
        self.release(now);
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
            let Some(parent) = self.parents.get_mut(id) else {
                return;
            };
            let request = parent.request;
            if self.must_wait(&request) {
                index += 1;
                continue;
            }
            self.held.remove(index);
            if let Some(parent) = self.parents.get_mut(id) {
                parent.is_held = false;
            }
            self.serve(id, &request, now);
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

    /// The members by number, and what failures did.
    pub(super) fn parts_by_number(&self, now: Instant) -> Vec<ComponentReport> {
        let Some(failing) = &self.failing else {
            let members = self.members.iter().enumerate();
            let parts = members
                .map(|(number, member)| ComponentReport::within(number, member.components(now)));
            return parts.flatten().collect();
        };
        let mut parts = failing.places.parts(&self.members, now);
        parts.extend(failing.failures.part());
        parts
    }
}
