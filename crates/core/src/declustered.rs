//! Declustered mirroring: an array that keeps two copies of all data.
//!
//! # What it does
//! The blocks of the array are divided into stripe units. Consecutive units have their primary
//! copies on consecutive members; the [`Layout`] places the secondary copies. Each member has
//! primary copies in its first half and secondary copies in its second. A request becomes a command
//! for each unit, or for each copy if it is a write, and completes with its last command. Each
//! member orders its queue by its own policy. A flush goes to all members.
//!
//! A read of a unit goes to its primary copy with the probability that balances the load as well as
//! possible ([`Layout::primary_share`]), and otherwise to its secondary copy. A chain without
//! failures reads only primary copies, so that its arms stay in one half.
//!
//! A read that fails is retried on the other copy if there is one, and fails only if the retry
//! fails too; if the retry succeeds, the read counts as recovered. A write fails if the write of
//! either copy fails: an error does not take a member out of service. The breakdown of a response
//! is that of the command that ended last, plus that of the failed attempt before it. Time spent
//! waiting for a member counts as queueing.
//!
//! # Failures
//! When a member fails ([`DeclusteredConfig::failures`]), all its commands are lost immediately,
//! including those in service. Its reads go to the other copy, and its writes no longer count. Data
//! are lost if both members with a copy of them fail. The rebuild
//! ([`DeclusteredConfig::rebuild_share`]) copies the units of the first failed member to the spare
//! one by one, in order. The spare serves the units that it has.
//!
//! # Cost
//! One command for each unit of a read, and two for each unit of a write.
//!
//! # When it is bad
//! A request that spans rows becomes several commands on each member, even if one would suffice.
//!
//! # Origin
//! liu05 chapter 9: sections 9.1.2 (placement) and 9.2 (routing). The thesis does not specify the
//! positions of the copies on a disk.

mod layout;
#[cfg(test)]
mod tests;

pub use layout::{CopyDisks, DiskSet, Layout, LayoutError, LayoutKind, MAX_DISKS};

use std::ops::Range;

use crate::array::{Access, Array, Commands, Failures, Member, Part, Placement, Plan, blocks_of};
use crate::device::{Completion, DataLoss, Device, Failure, Status};
use crate::random::{Chance, Generator, Purpose, generator};
use crate::request::{Op, Request};
use crate::sched::PolicyConfig;
use crate::stack::{BoxedDevice, InsufficientKnowledge};
use crate::units::{Instant, Lbn, SectorCount};

/// The parameters of a declustered array.
#[derive(Clone, Debug)]
pub struct DeclusteredConfig {
    /// The placement of the copies.
    pub layout: Layout,
    /// The members that fail, each at most once.
    pub failures: Vec<Failure>,
    /// The share of time during which the rebuild of the first failed member is in progress, above
    /// 0 and at most 1. The spare is the last of the devices.
    pub rebuild_share: Option<f64>,
    /// The number of blocks in a stripe unit: at least one, and at most half of a member. A
    /// remainder that does not fill a unit in both halves of a member is not used.
    pub unit: SectorCount,
    /// The order in which each member serves the commands that wait for it.
    pub policy: PolicyConfig,
    /// The seed of the routing of reads.
    pub seed: u64,
}

impl DeclusteredConfig {
    /// Returns the capacity of an array whose members have `member` blocks: half of their sum, in
    /// whole units.
    pub fn capacity(&self, member: SectorCount) -> SectorCount {
        SectorCount(self.rows(member) * self.unit.0 * self.layout.disks() as u64)
    }

    fn rows(&self, member: SectorCount) -> u64 {
        member.0 / 2 / self.unit.0
    }
}

/// Several devices that act as one; see the [module](self).
pub type Declustered = Array<TwoCopies>;

/// The placement of a declustered array.
pub struct TwoCopies {
    layout: Layout,
    unit: u64,
    /// Number of units in each half of a member.
    rows: u64,
    random: Generator,
    /// The slots of failed members. A slot is removed when a spare has all its blocks.
    missing: DiskSet,
    /// The slot of the spare until the spare has all its blocks.
    rebuilding: Option<usize>,
    /// Number of units that the spare has, counted from the first unit of the member.
    rebuilt: u64,
}

#[derive(Clone, Copy, Debug)]
struct CopyPosition {
    member: usize,
    start: u64,
}

impl CopyPosition {
    fn access(self, op: Op, sectors: u64) -> Access {
        Access::new(self.member, op, self.start, sectors)
    }
}

impl TwoCopies {
    /// Returns the positions on `disks` of both copies of a block, the primary copy first.
    fn copies_on(&self, disks: CopyDisks, block: u64) -> [CopyPosition; 2] {
        let (number, offset) = (block / self.unit, block % self.unit);
        let row = number / self.layout.disks() as u64;
        let copy = |member, row: u64| CopyPosition {
            member,
            start: row * self.unit + offset,
        };
        [
            copy(disks.primary, row),
            copy(disks.secondary, self.rows + row),
        ]
    }

    /// Returns the positions of both copies of a block, the primary copy first.
    fn copies(&self, block: u64) -> [CopyPosition; 2] {
        self.copies_on(self.layout.copy_disks(block / self.unit), block)
    }

    /// Returns true if a member has lost its unit number `unit`.
    fn is_missing(&self, member: usize, unit: u64) -> bool {
        let is_rebuilt = self.rebuilding == Some(member) && unit < self.rebuilt;
        self.missing.contains(member) && !is_rebuilt
    }

    fn existing(&self, copies: [CopyPosition; 2]) -> [Option<CopyPosition>; 2] {
        let is_missing = |copy: &CopyPosition| self.is_missing(copy.member, copy.start / self.unit);
        copies.map(|copy| Some(copy).filter(|copy| !is_missing(copy)))
    }

    fn any_copy(&self, block: u64) -> Option<CopyPosition> {
        let copies = self.existing(self.copies(block));
        copies.into_iter().flatten().next()
    }

    /// Returns true if a member, or a spare in its slot, serves commands.
    fn is_present(&self, member: usize) -> bool {
        !self.missing.contains(member) || self.rebuilding == Some(member)
    }

    /// Plans a read of blocks of one unit from one of its copies; `None` if both are lost.
    fn plan_read(&mut self, blocks: Range<u64>) -> Option<Plan> {
        let disks = self.layout.copy_disks(blocks.start / self.unit);
        let [mut first, mut other] = self.existing(self.copies_on(disks, blocks.start));
        // For routing, a member counts as missing only if it lacks its copy of these blocks.
        let mut missing = self.missing;
        for copy in [first, other].into_iter().flatten() {
            missing = missing.without(copy.member);
        }
        let share = self.layout.primary_share(disks, missing);
        let has_both = first.is_some() && other.is_some();
        if first.is_none() || has_both && !Chance::new(share).hits(&mut self.random) {
            (first, other) = (other, first);
        }
        let sectors = blocks.end - blocks.start;
        let access = |copy: CopyPosition| copy.access(Op::Read, sectors);
        Some(Plan {
            other: other.map(access),
            ..Plan::new(blocks, Commands::One(access(first?)))
        })
    }

    /// Returns the blocks lost to failures so far; `member` is the last member that failed.
    fn lost_blocks(&self, at: Instant, member: usize) -> Option<DataLoss> {
        if !self.layout.sharing(member).intersects(self.missing) {
            return None;
        }
        let is_lost = |number: u64| self.any_copy(number * self.unit).is_none();
        let lost = layout::count_lost(&self.layout, self.rows, self.rebuilt, is_lost);
        lost.map(|(first, units)| DataLoss {
            at,
            first: Lbn(first * self.unit),
            blocks: SectorCount(units * self.unit),
        })
    }
}

impl Declustered {
    /// Creates an array of idle `members`. If there is a rebuild, the last of them is the spare.
    ///
    /// # Errors
    /// If the policy needs more knowledge than the members have.
    ///
    /// # Panics
    /// If the number of members is wrong, their capacities differ or are below two units, a member
    /// that is to fail does not exist or fails twice, or there is a rebuild without a failure or
    /// with an invalid share of the time.
    pub fn new(
        members: Vec<BoxedDevice>,
        config: DeclusteredConfig,
    ) -> Result<Self, InsufficientKnowledge> {
        let sectors = members[0].capacity();
        for member in &members {
            assert_eq!(sectors, member.capacity(), "the members differ in capacity");
        }
        let disks = config.layout.disks();
        let spares = usize::from(config.rebuild_share.is_some());
        assert_eq!(disks + spares, members.len());
        assert!(config.failures.iter().all(|failure| failure.member < disks));
        let rows = config.rows(sectors);
        assert!(rows > 0, "a member has no room for two units");
        let mut members = Member::build(members, &config.policy)?;
        let spare = members.split_off(disks).pop();
        let failures = Failures::new(&config.failures, config.rebuild_share);
        let copies = TwoCopies {
            layout: config.layout,
            unit: config.unit.0,
            rows,
            random: generator(config.seed, 0, Purpose::Routing),
            missing: DiskSet::NONE,
            rebuilding: None,
            rebuilt: 0,
        };
        Ok(Self::assemble(copies, members, spare, failures))
    }

    /// Returns the parts on a member in the order in which their requests arrived. Ids do not give
    /// this order, because they are reused.
    fn parts_at(&self, member: usize) -> Vec<u64> {
        let parts = self
            .parts
            .iter()
            .filter(|(_, part)| part.member() == member);
        let mut ids: Vec<_> = parts
            .map(|(id, part)| (self.number(part), part.first(), id))
            .collect();
        ids.sort_unstable();
        ids.into_iter().map(|(.., id)| id).collect()
    }

    /// Handles the loss of a part's command on a member that has just failed.
    fn lose_command(&mut self, id: u64, now: Instant) {
        let part = &mut self.parts[id];
        let Access { op, sectors, .. } = part.commands[0];
        let copy = self.placement.any_copy(part.blocks.start);
        let status = match part.failed {
            _ if part.is_aborted => Status::Aborted,
            // The other copy has the data or will receive them.
            _ if op != Op::Read => Status::Good,
            Some(failed) => failed,
            None => Status::NotReady,
        };
        let may_move = op == Op::Read && part.failed.is_none() && !part.is_aborted;
        if let Some(copy) = copy.filter(|_| may_move) {
            part.restart(Commands::One(copy.access(op, sectors)));
            return self.start_each(id, now);
        }
        part.end_unserved(status, now);
        self.end_part(id);
    }
}

impl Placement for TwoCopies {
    type State = ();

    /// Returns half of the total number of blocks of the members, in whole units.
    fn capacity(array: &Declustered) -> SectorCount {
        let copies = &array.placement;
        SectorCount(copies.rows * copies.unit * copies.layout.disks() as u64)
    }

    fn block_at(array: &Declustered, member: usize, start: Lbn) -> Option<Lbn> {
        let TwoCopies {
            layout, unit, rows, ..
        } = &array.placement;
        let number = match (start.0 / unit).checked_sub(*rows) {
            None => start.0 / unit * layout.disks() as u64 + member as u64,
            Some(row) => layout.secondary_unit(row, member)?,
        };
        Some(Lbn(number * unit + start.0 % unit)).filter(|block| block.0 < Self::capacity(array).0)
    }

    fn serve(array: &mut Declustered, id: u64, now: Instant) {
        let request = array.parents[id].request;
        let Request { op, .. } = request;
        if op == Op::Flush {
            for member in 0..array.members.len() {
                if array.placement.is_present(member) {
                    let flush = Access::new(member, op, 0, request.sectors.0);
                    let plan = Plan::new(blocks_of(&request), Commands::One(flush));
                    array.add_plan(id, plan, now);
                }
            }
            return;
        }
        let (mut block, unit) = (request.start.0, array.placement.unit);
        while block < request.end().0 {
            let blocks = block..request.end().0.min((block / unit + 1) * unit);
            block = blocks.end;
            if op == Op::Read {
                if let Some(plan) = array.placement.plan_read(blocks) {
                    array.add_plan(id, plan, now);
                }
                continue;
            }
            let copies = array.placement.copies(blocks.start);
            for copy in array.placement.existing(copies).into_iter().flatten() {
                let access = copy.access(op, blocks.end - blocks.start);
                let plan = Plan::new(blocks.clone(), Commands::One(access));
                array.add_plan(id, plan, now);
            }
        }
    }

    fn end_step(array: &mut Declustered, id: u64, done: &Completion) {
        let part = &mut array.parts[id];
        let has_failed = !part.status.is_success() && part.status != Status::Aborted;
        if has_failed && let Some(other) = part.other.take() {
            part.retry(Commands::One(other));
            return array.start_each(id, done.at);
        }
        part.combine_attempts();
        array.end_step(id, done.at);
    }

    fn abortable(array: &Declustered, request: u64) -> Option<u64> {
        let is_first = |part: &Part| part.parent == Some(request) && part.failed.is_none();
        let is_single = array.parents[request].total == 1;
        array.parts.find(is_first).filter(|_| is_single)
    }

    fn fail(array: &mut Declustered, Failure { member, at }: Failure) {
        let copies = &mut array.placement;
        copies.missing = copies.missing.with(member);
        if let Some(lost) = copies.lost_blocks(at, member) {
            array.failures.lose(lost);
            return array.end_all(at);
        }
        let steps = 2 * copies.rows;
        let parts = array.parts_at(member);
        if array.remove_member(member, at) {
            array.placement.rebuilding = Some(member);
            array.failures.begin_rebuild(at, steps);
        }
        for id in parts {
            array.lose_command(id, at);
        }
        // Reads must not be retried on a failed member.
        let would_retry = |part: &Part| part.other.is_some_and(|other| other.member == member);
        while let Some(id) = array.parts.find(would_retry) {
            array.parts[id].other = None;
        }
        array.release(at);
    }

    fn rebuild_blocks(array: &Declustered) -> Range<u64> {
        let copies = &array.placement;
        let (slot, rebuilt) = (copies.rebuilding.unwrap_or_default(), copies.rebuilt);
        let unit = match rebuilt.checked_sub(copies.rows) {
            None => rebuilt * copies.layout.disks() as u64 + slot as u64,
            // In each row, exactly one unit has its secondary copy on this member.
            Some(row) => copies.layout.secondary_unit(row, slot).unwrap_or_default(),
        };
        unit * copies.unit..(unit + 1) * copies.unit
    }

    fn rebuild(array: &mut Declustered, now: Instant) {
        let blocks = Self::rebuild_blocks(array);
        let TwoCopies {
            rebuilding,
            rebuilt,
            unit,
            ..
        } = array.placement;
        let source = array.placement.any_copy(blocks.start);
        if let (Some(source), Some(member)) = (source, rebuilding) {
            let start = rebuilt * unit;
            let target = CopyPosition { member, start };
            let plan = Plan {
                follow: Commands::One(target.access(Op::Write, unit)),
                ..Plan::new(blocks, Commands::One(source.access(Op::Read, unit)))
            };
            array.add_part(Part::new(None, now, plan), now);
        }
    }

    fn record_rebuilt(array: &mut Declustered, _: Range<u64>) {
        let copies = &mut array.placement;
        copies.rebuilt += 1;
        if copies.rebuilt == 2 * copies.rows
            && let Some(slot) = copies.rebuilding.take()
        {
            copies.missing = copies.missing.without(slot);
        }
    }
}
