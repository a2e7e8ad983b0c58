//! Members that fail while the array works, and reads that fail.

use super::Raid;
use super::parent::{Part, child_id};
use super::plan::{self, Access, Health};
use crate::device::{Completion, DataLoss, Device, Status};
use crate::redundancy::{Due, Failure};
use crate::request::Op;
use crate::units::{Instant, Lbn, SectorCount};

impl Raid {
    /// A member fails: what it had to do is lost, and all others do without it.
    pub(super) fn fail(&mut self, failure: Failure) {
        let Failure { member, at } = failure;
        self.failures.been.push(failure);
        if self.failures.lost.is_some() {
            return;
        }
        // An idle one has its figures until now.
        self.members[member].count_waiting(at);
        match self.health.failed {
            None => {
                self.health = Health::without(member);
                self.failures.begin_rebuild(at, self.layout.rows());
            }
            Some(before) if self.health.rebuilt == self.layout.rows() => {
                self.replaced = Some(before);
                self.health = Health::without(member);
            }
            Some(before) => self.failures.lose(self.lost(at, &[before, member])),
        }
        self.lose_commands(member, at);
    }

    /// The data that have been at `members` only, in the rows that are not rebuilt.
    fn lost(&self, at: Instant, members: &[usize]) -> DataLoss {
        let rows = (self.health.rebuilt..self.layout.rows()).map(|row| self.layout.row(row));
        let units = rows.flat_map(|row| {
            let unit_of = move |member: &usize| self.layout.data_unit(row.index, *member);
            let units = members.iter().filter_map(unit_of);
            units.map(move |unit| (Lbn(row.first + unit * row.unit), row.unit))
        });
        let (mut first, mut blocks) = (Lbn(u64::MAX), 0);
        for (begin, sectors) in units {
            first = first.min(begin);
            blocks += sectors;
        }
        let blocks = SectorCount(blocks);
        DataLoss { at, first, blocks }
    }

    /// Takes from a member that has failed what it has not begun, in the order in which the
    /// requests arrived. What it serves at this moment ends when it would have, and counts as lost
    /// too.
    fn lose_commands(&mut self, member: usize, now: Instant) {
        let parts = self.parts.iter().filter(|(_, part)| part.blocked == 0);
        let commands = parts.flat_map(|(id, part)| {
            let parent = part.parent.and_then(|id| self.parents.get(id));
            // A part of the rebuild is the last.
            let number = parent.map_or(u64::MAX, |parent| parent.number);
            let order = (number, part.first());
            let commands = part.commands.iter().enumerate();
            let own = commands.filter(|(_, command)| command.member == member);
            own.map(move |(index, _)| (order, child_id(id, index)))
        });
        let mut commands: Vec<_> = commands.collect();
        commands.sort_unstable();
        for (_, id) in commands {
            if let Some(taken) = self.members[member].take(id) {
                self.members[member].count_waiting(now);
                let status = Status::NotReady;
                let lost = Completion::unserved(taken.request, taken.arrived, now, status);
                self.settle(member, &lost);
            } else {
                self.members[member].device.abort(now, id);
                self.note_event(member);
            }
        }
        self.release(now);
    }

    /// Lets a member fail or the rebuild continue, if that is due by `now` and before the members'
    /// next `event`; whether it was.
    pub(super) fn advance_itself(&mut self, now: Instant, event: Option<Instant>) -> bool {
        match self.failures.due(now, event) {
            Some(Due::Failure(failure)) => self.fail(failure),
            Some(Due::Rebuild(at)) => self.begin_rebuilding(at),
            None => return false,
        }
        true
    }

    /// The status of a command of a device as its part takes it; a rebuild that cannot continue stops.
    pub(super) fn status_for_part(&mut self, id: u64, device: usize, done: &Completion) -> Status {
        let bad = done.bad_block();
        let bad = bad.and_then(|bad| self.layout.block(self.place_of(device), bad));
        let Some(part) = self.parts.get(id) else {
            return done.status;
        };
        let parent = part.parent.and_then(|parent| self.parents.get(parent));
        let (first, rebuilds) = (part.first(), parent.is_none());
        let status = match parent {
            Some(parent) => part.translated(done.status, bad, &parent.request),
            None => done.status,
        };
        let status = self.excused(id, device, done).unwrap_or(status);
        if let Some(rebuild) = self.failures.rebuild.as_mut().filter(|_| rebuilds)
            && !status.is_success()
        {
            rebuild.fail(bad.unwrap_or(first));
        }
        status
    }

    /// The status of a command as its part has to take it. A read that failed where the rest of the
    /// row stands in for it, and a write to a member that is down, are none of the part's concern.
    fn excused(&mut self, id: u64, device: usize, done: &Completion) -> Option<Status> {
        let is_down = self.failures.has(device);
        let place = self.place_of(device);
        if self.failures.lost.is_some() {
            return is_down.then_some(Status::NotReady);
        }
        let part = self.parts.get_mut(id)?;
        let parent = self.parents.get_mut(part.parent?)?;
        parent.has_begun = true;
        match done.request.op {
            Op::Write | Op::Flush => is_down.then_some(Status::Good),
            Op::Read if is_down => part.lose(place).then_some(Status::Good),
            Op::Read => {
                let is_whole = self.health.failed.is_none();
                let is_bad = matches!(done.status, Status::MediumError { .. });
                let may_retry = is_whole && self.layout.has_parity() && part.without.is_none();
                let is_read = parent.request.op.is_read();
                (is_bad && may_retry && is_read && part.lose(place)).then_some(Status::Good)
            }
        }
    }

    /// Leaves out of a part that is about to start a step what is for a missing member: the rest of
    /// the row has it when the step has ended. Whether the part starts: it does not if data are
    /// lost.
    pub(super) fn leave_out_missing(&mut self, id: u64, now: Instant) -> bool {
        let (layout, health) = (self.layout, self.health);
        let is_lost = self.failures.lost.is_some();
        let Some(part) = self.parts.get_mut(id) else {
            return false;
        };
        if part.parent.is_none() {
            return true;
        }
        if is_lost {
            part.status = Status::NotReady;
            part.since = now.max(part.since);
            self.end_part(id);
            return false;
        }
        let is_missing = |access: &Access| {
            let row = access.place / layout.unit();
            health.missing(row) == Some(access.member)
        };
        part.leave_out(|access| !is_missing(access));
        true
    }

    /// Serves again what a part could not read of `member`, from all others.
    pub(super) fn do_without(&mut self, id: u64, member: usize, now: Instant) {
        let health = match self.health.failed {
            Some(_) => self.health,
            None => Health::without(member),
        };
        let parent_id = self.parts.get(id).and_then(|part| part.parent);
        let Some(parent) = parent_id.and_then(|id| self.parents.get_mut(id)) else {
            return;
        };
        let request = parent.request;
        if request.op == Op::Write {
            self.plan_again(id);
            return self.start(id, now);
        }
        let part = self.parts.remove(id);
        let mut again: Vec<Part> = Vec::new();
        plan::plan(&self.layout, health, &part.served(&request), &mut |plan| {
            again.push(part.again(plan, member));
        });
        parent.replace(again.len());
        self.leave_rows(id, &part, now);
        for part in again {
            self.enter(part, now);
        }
    }

    /// The device that is or takes the place of a member: the spare for the failed one.
    pub(super) fn in_place(&self, member: usize) -> usize {
        match [self.health.failed, self.replaced].contains(&Some(member)) {
            true => self.layout.members(),
            false => member,
        }
    }

    /// The member whose place a device has.
    pub(super) fn place_of(&self, device: usize) -> usize {
        match self.replaced.or(self.health.failed) {
            Some(failed) if device == self.layout.members() => failed,
            _ => device,
        }
    }
}
