//! Striped disk arrays: RAID 0, RAID 5, and RAID 1+0 over mirrored pairs.
//!
//! # What it does
//! The blocks of the array are divided into stripe units. Consecutive units are on consecutive
//! members, and the units at the same position on all members form a row. A request becomes one
//! command for each run of consecutive blocks on a member, and completes with its last command.
//! Each member orders its queue by its own policy. A flush goes to all members.
//!
//! With [`Level::Five`], each row has a unit of parity. The layout is left-symmetric: the parity is
//! on the last member in row 0 and one member further left in each following row; the data begin on
//! the member after it.
//! * A write of full rows writes all their units and reads nothing. Consecutive full rows are
//!   written with one command for each member.
//! * A write to a part of a row first reads what it needs to compute the new parity: the old data
//!   and the old parity (read-modify-write), or the rest of the row (reconstruction), whichever
//!   takes fewer accesses; in a tie, it uses read-modify-write. It then writes the data and the
//!   parity. The parity takes one access, from the first to the last offset written in any unit.
//! * Writes to one row are serialised in order of arrival, from the first read to the end of the
//!   last write. A write across rows has a part for each row, and the parts do not wait for each
//!   other. Reads do not wait for writes.
//! * If a member has failed, its blocks are computed from the blocks at the same position on all
//!   other members. Such a read and writes to the same row wait for each other. A write keeps the
//!   parity valid for such reads, except in rows in which the failed member had the parity.
//!
//! # Failures
//! When a member fails ([`RaidConfig::failures`]), the commands that wait for it are lost
//! immediately, and those in service are lost when they would have ended. The affected reads start
//! again with the other members, as do writes that can no longer compute the parity. If a second
//! member fails before the first has been rebuilt, the blocks of both in the rows that have not
//! been rebuilt are lost.
//!
//! The rebuild ([`RaidConfig::rebuild_share`]) takes the rows one by one, in order. It reads all
//! other units of the row and writes the missing unit to the spare, which makes the row intact
//! again. It waits for earlier writes to the row, and later ones wait for it. Policies that ignore
//! priorities treat its commands like any others.
//!
//! The breakdown of a response is that of the command that ended last, plus that of the read that
//! ended last before it. Time spent waiting for a row or a member counts as queueing.
//!
//! A request fails with the most severe status of its commands if one of them fails. With RAID 5, a
//! write that could not read what it needs writes nothing. If a member of an intact RAID 5 cannot
//! read a block, the read starts again without that member, and computes the block from all others.
//!
//! # Cost
//! One command for each run of blocks on a member. A tournament tree finds the member with the next
//! event, in a time that grows with the logarithm of the number of members.
//!
//! # When it is bad
//! Small stripe units divide requests among members that must all seek. RAID 5 turns a small write
//! into four accesses.
//!
//! # Origin
//! D. A. Patterson, G. Gibson and R. H. Katz, "A case for redundant arrays of inexpensive disks
//! (RAID)", SIGMOD 1988. The left-symmetric layout is described by E. K. Lee and R. H. Katz,
//! "Performance consequences of parity placement in disk arrays", ASPLOS 1991.

mod plan;
#[cfg(test)]
mod tests;

use std::ops::Range;

use plan::{Health, Layout, Redundancy};

use crate::array::{Access, Array, Failures, Member, Part, Placement, child_id};
use crate::device::{Completion, DataLoss, Device, Failure, Status};
use crate::request::Op;
use crate::sched::PolicyConfig;
use crate::stack::{BoxedDevice, InsufficientKnowledge};
use crate::units::{Instant, Lbn, SectorCount};

/// The parameters of a striped array.
#[derive(Clone, Debug, PartialEq)]
pub struct RaidConfig {
    /// The contents of a row.
    pub level: Level,
    /// The number of blocks in a stripe unit; at least one. The units of the last row are shorter
    /// if the members are not a whole number of units long.
    pub unit: SectorCount,
    /// The order in which each member serves the commands that wait for it.
    pub policy: PolicyConfig,
    /// The members that fail, each at most once. Without parity, no member may fail.
    pub failures: Vec<Failure>,
    /// The share of time during which the rebuild of the first failed member is in progress, above
    /// 0 and at most 1. The spare is the last of the devices.
    pub rebuild_share: Option<f64>,
}

/// The contents of the rows of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Only data, on one or more members. Over mirrored pairs this is RAID 1+0.
    Zero,
    /// A unit of parity, left-symmetric; on three or more members.
    Five,
}

impl Level {
    /// Returns the minimum number of members.
    pub const fn min_members(self) -> usize {
        match self {
            Self::Zero => 1,
            Self::Five => 3,
        }
    }

    /// Returns the number of members that the data of an array of `members` members would fill.
    pub const fn data_members(self, members: usize) -> usize {
        match self {
            Self::Zero => members,
            Self::Five => members - 1,
        }
    }
}

/// Several devices that act as one; see the [module](self).
pub type Raid = Array<Stripes>;

/// The placement of a striped array.
pub struct Stripes {
    layout: Layout,
    health: Health,
    /// The member that the spare has replaced permanently.
    replaced: Option<usize>,
}

impl Stripes {
    /// Returns the member that a device acts as.
    fn member_of(&self, device: usize) -> usize {
        match self.replaced.or(self.health.failed) {
            Some(failed) if device == self.layout.members() => failed,
            _ => device,
        }
    }

    /// Returns the blocks of two failed `members` in the rows that have not been rebuilt.
    fn lost_blocks(&self, at: Instant, members: [usize; 2]) -> DataLoss {
        let rows = (self.health.rebuilt..self.layout.rows()).map(|row| self.layout.row(row));
        let units = rows.flat_map(|row| {
            let unit_of = move |member| self.layout.data_unit(row.index, member);
            let units = members.into_iter().filter_map(unit_of);
            units.map(move |unit| (Lbn(row.first + unit * row.unit), row.unit))
        });
        let (mut first, mut blocks) = (Lbn(u64::MAX), SectorCount(0));
        for (begin, sectors) in units {
            first = first.min(begin);
            blocks.0 += sectors;
        }
        DataLoss { at, first, blocks }
    }
}

impl Raid {
    /// Creates an array of idle `members`. If there is a rebuild, the last of them is the spare.
    ///
    /// # Errors
    /// If the policy needs more knowledge than the members have.
    ///
    /// # Panics
    /// If there are too few members, their capacities differ, a unit is empty, a member that is to
    /// fail does not exist or fails twice, or a rebuild has no failure or an invalid share.
    pub fn new(
        members: Vec<BoxedDevice>,
        config: &RaidConfig,
    ) -> Result<Self, InsufficientKnowledge> {
        let sectors = members[0].capacity();
        for member in &members {
            assert_eq!(sectors, member.capacity(), "the members differ in capacity");
        }
        let redundancy = match config.level {
            Level::Zero => Redundancy::None,
            Level::Five => Redundancy::Parity,
        };
        let count = members.len() - usize::from(config.rebuild_share.is_some());
        let failures = &config.failures;
        assert!(failures.iter().all(|failure| failure.member < count));
        assert!(failures.is_empty() || config.level == Level::Five);
        let stripes = Stripes {
            layout: Layout::new(redundancy, count, config.unit, sectors),
            health: Health::default(),
            replaced: None,
        };
        let failures = Failures::new(failures, config.rebuild_share);
        let members = Member::build(members, &config.policy)?;
        Ok(Self::assemble(stripes, members, None, failures))
    }

    /// Removes the commands that a failed member has not begun, in order of arrival of their
    /// requests. Those in service count as lost when they end.
    fn lose_commands(&mut self, member: usize, now: Instant) {
        let parts = self.parts.iter().filter(|(_, part)| part.blocked == 0);
        let commands = parts.flat_map(|(id, part)| {
            let order = (self.number(part), part.first());
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

    /// Returns the status of a command whose failure its part can tolerate: a read of blocks that
    /// the rest of the row determines, or a write to a failed member.
    fn excused_status(&mut self, id: u64, device: usize, done: &Completion) -> Option<Status> {
        let is_down = self.failures.has_failed(device);
        if self.has_lost_data() {
            return is_down.then_some(Status::NotReady);
        }
        let Stripes { layout, health, .. } = &self.placement;
        let member = self.placement.member_of(device);
        let part = &mut self.parts[id];
        let parent = &mut self.parents[part.parent?];
        parent.has_begun = true;
        match done.request.op {
            Op::Write | Op::Flush => is_down.then_some(Status::Good),
            Op::Read if is_down => part.lose(member).then_some(Status::Good),
            Op::Read => {
                let is_intact = health.failed.is_none();
                let is_bad = matches!(done.status, Status::MediumError { .. });
                let may_retry = is_intact && layout.has_parity() && part.avoided_member.is_none();
                let is_read = parent.request.op.is_read();
                (is_bad && may_retry && is_read && part.lose(member)).then_some(Status::Good)
            }
        }
    }

    /// Serves a part again from all other members, because it could not be read from `member`.
    fn do_without(&mut self, id: u64, member: usize, now: Instant) {
        let Some(parent) = self.parts[id].parent else {
            return;
        };
        let Stripes { layout, health, .. } = self.placement;
        let health = match health.failed {
            Some(_) => health,
            None => Health::without(member),
        };
        let parent = &mut self.parents[parent];
        let request = parent.request;
        if request.op == Op::Write {
            Stripes::replan(self, id);
            return Stripes::start(self, id, now);
        }
        let part = self.parts.remove(id);
        let mut new_parts: Vec<Part> = Vec::new();
        plan::plan(&layout, health, &part.sub_request(&request), &mut |plan| {
            new_parts.push(part.without_member(plan, member));
        });
        parent.left = parent.left + new_parts.len() - 1;
        parent.has_begun = true;
        self.release_rows(id, part.rows, now);
        for part in new_parts {
            self.add_part(part, now);
        }
    }
}

impl Placement for Stripes {
    type State = ();

    /// Returns the capacity of the members without their parity.
    fn capacity(array: &Raid) -> SectorCount {
        array.placement.layout.capacity()
    }

    fn block_at(array: &Raid, device: usize, start: Lbn) -> Option<Lbn> {
        let Stripes { layout, .. } = &array.placement;
        layout.block(array.placement.member_of(device), start)
    }

    /// Returns the device of a member: the spare if the member has failed.
    fn device_of(array: &Raid, member: usize) -> usize {
        let Stripes {
            layout,
            health,
            replaced,
        } = &array.placement;
        if [health.failed, *replaced].contains(&Some(member)) {
            return layout.members();
        }
        member
    }

    fn serve(array: &mut Raid, id: u64, now: Instant) {
        let Stripes { layout, health, .. } = array.placement;
        let request = array.parents[id].request;
        plan::plan(&layout, health, &request, &mut |plan| {
            array.add_plan(id, plan, now);
        });
    }

    /// Leaves out the commands for a missing member, because the rest of the row determines their
    /// data. If data have been lost, the part ends instead.
    fn start(array: &mut Raid, id: u64, now: Instant) {
        if !array.may_fail {
            return array.start_each(id, now);
        }
        let Stripes { layout, health, .. } = array.placement;
        let is_lost = array.has_lost_data();
        let part = &mut array.parts[id];
        if part.parent.is_some() {
            if is_lost {
                part.status = Status::NotReady;
                part.since = now.max(part.since);
                return array.end_part(id);
            }
            part.retain(|access: &Access| {
                let row = access.start / layout.unit();
                health.missing(row) != Some(access.member)
            });
        }
        array.start_each(id, now);
    }

    fn status(array: &mut Raid, id: u64, device: usize, done: &Completion) -> Status {
        let part = &array.parts[id];
        let (first, is_rebuild) = (part.first(), part.parent.is_none());
        let translated = if is_rebuild {
            done.status
        } else {
            array.translate_status(id, device, done)
        };
        let status = array.excused_status(id, device, done).unwrap_or(translated);
        if is_rebuild && !status.is_success() {
            let bad = done.bad_block();
            let block = bad.and_then(|bad| Self::block_at(array, device, bad));
            if let Some(rebuild) = &mut array.failures.rebuild {
                rebuild.fail(block.unwrap_or(first));
            }
        }
        status
    }

    fn end_step(array: &mut Raid, id: u64, done: &Completion) {
        let part = &mut array.parts[id];
        match part.lost.take().filter(|_| part.status.is_success()) {
            Some(member) => array.do_without(id, member, done.at),
            None => array.end_step(id, done.at),
        }
    }

    fn replan(array: &mut Raid, id: u64) {
        let Stripes { layout, health, .. } = &array.placement;
        let part = &mut array.parts[id];
        let Some(parent) = part.parent.map(|id| &array.parents[id]) else {
            return;
        };
        let health = match part.avoided_member {
            Some(member) if health.failed.is_none() => Health::without(member),
            _ => *health,
        };
        let (mut begin, mut follow) = (Vec::new(), Vec::new());
        let request = part.sub_request(&parent.request);
        plan::plan(layout, health, &request, &mut |plan| {
            begin.extend_from_slice(&plan.begin);
            follow.extend_from_slice(&plan.follow);
        });
        part.set_commands(begin.into_iter().collect(), follow.into_iter().collect());
    }

    fn abortable(array: &Raid, request: u64) -> Option<u64> {
        let parent = &array.parents[request];
        let is_single = parent.left == 1 && parent.outcome.is_none();
        let mut parts = array.parts.iter();
        let (id, _) = parts.find(|(_, part)| part.parent == Some(request) && part.is_single())?;
        is_single.then_some(id)
    }

    fn fail(array: &mut Raid, Failure { member, at }: Failure) {
        // Extends the statistics of an idle member up to now.
        array.members[member].count_waiting(at);
        let Stripes {
            layout,
            health,
            replaced,
        } = &mut array.placement;
        match health.failed {
            None => {
                *health = Health::without(member);
                array.failures.begin_rebuild(at, layout.rows());
            }
            Some(before) if health.rebuilt == layout.rows() => {
                *replaced = Some(before);
                *health = Health::without(member);
            }
            Some(before) => array
                .failures
                .lose(array.placement.lost_blocks(at, [before, member])),
        }
        array.lose_commands(member, at);
    }

    /// The rebuild claims its row, so it does not have to wait for anything else.
    fn begin_rebuild_step(array: &mut Raid, now: Instant) {
        Self::rebuild(array, now);
    }

    fn rebuild_blocks(array: &Raid) -> Range<u64> {
        let Stripes { layout, health, .. } = &array.placement;
        plan::rebuild(layout, *health).blocks
    }

    fn rebuild(array: &mut Raid, now: Instant) {
        let Stripes { layout, health, .. } = &array.placement;
        let plan = plan::rebuild(layout, *health);
        array.add_part(Part::new(None, now, plan), now);
    }

    fn record_rebuilt(array: &mut Raid, _: Range<u64>) {
        array.placement.health.rebuilt += 1;
    }
}
