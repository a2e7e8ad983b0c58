//! The layout of a striped array, and the commands that a request causes on its members: pure data.

use std::ops::Range;

use crate::array::{Access, Commands, Plan};
use crate::request::{Op, Request};
use crate::units::{Lbn, SectorCount};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    None,
    /// A unit of parity, left-symmetric (RAID 5): on the last member in row 0 and one member
    /// further left in each following row; the data begin on the member after it.
    Parity,
}

/// Rows of stripe units, with one unit of each row on each member.
///
/// If the members are not a whole number of units long, the units of the last row are shorter, so
/// that every block of the members is used.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    redundancy: Redundancy,
    members: u64,
    unit: u64,
    sectors: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeRow {
    pub index: u64,
    /// The first block of the array in the row.
    pub first: u64,
    /// The first block of the row on every member.
    pub start: u64,
    /// The number of blocks in each unit.
    pub unit: u64,
}

impl Layout {
    /// Returns the layout of `members` members of `sectors` blocks each, in units of `unit` blocks.
    /// Panics if there are too few members (three with parity), or if a member or unit is empty.
    pub fn new(
        redundancy: Redundancy,
        members: usize,
        unit: SectorCount,
        sectors: SectorCount,
    ) -> Self {
        let min = match redundancy {
            Redundancy::None => 1,
            Redundancy::Parity => 3,
        };
        assert!(members >= min, "too few members: {members}");
        assert!(unit.0 > 0 && sectors.0 > 0, "a unit or a member is empty");
        Self {
            redundancy,
            members: members as u64,
            unit: unit.0.min(sectors.0),
            sectors: sectors.0,
        }
    }

    /// Returns the number of data units in a row.
    pub fn width(&self) -> u64 {
        match self.redundancy {
            Redundancy::None => self.members,
            Redundancy::Parity => self.members - 1,
        }
    }

    pub fn capacity(&self) -> SectorCount {
        SectorCount(self.width() * self.sectors)
    }

    pub fn has_parity(&self) -> bool {
        self.redundancy == Redundancy::Parity
    }

    pub fn members(&self) -> usize {
        self.members as usize
    }

    pub fn unit(&self) -> u64 {
        self.unit
    }

    pub fn rows(&self) -> u64 {
        self.sectors.div_ceil(self.unit)
    }

    /// Returns row number `index`. A row beyond the last has no blocks.
    pub fn row(&self, index: u64) -> StripeRow {
        let start = index * self.unit;
        StripeRow {
            index,
            first: start * self.width(),
            start,
            unit: self.unit.min(self.sectors.saturating_sub(start)),
        }
    }

    pub fn row_of(&self, block: Lbn) -> StripeRow {
        self.row(block.0 / (self.unit * self.width()))
    }

    pub fn parity(&self, row: u64) -> Option<usize> {
        let last = self.members - 1;
        self.has_parity()
            .then_some((last - row % self.members) as usize)
    }

    /// Returns the member with data unit number `unit` of a row.
    pub fn member(&self, row: u64, unit: u64) -> usize {
        match self.parity(row) {
            None => unit as usize,
            Some(parity) => ((parity as u64 + 1 + unit) % self.members) as usize,
        }
    }

    /// Returns the number of the data unit that a member holds in a row; `None` for parity.
    pub fn data_unit(&self, row: u64, member: usize) -> Option<u64> {
        match self.parity(row) {
            None => Some(member as u64),
            Some(parity) if parity == member => None,
            Some(parity) => Some((member as u64 + self.members - 1 - parity as u64) % self.members),
        }
    }

    /// Returns the block of the array that a member holds at `start`; `None` for parity.
    pub fn block(&self, member: usize, start: Lbn) -> Option<Lbn> {
        let row = self.row(start.0 / self.unit);
        let unit = self.data_unit(row.index, member)?;
        Some(Lbn(row.first + unit * row.unit + (start.0 - row.start)))
    }

    /// Returns the first block of the array after a row.
    pub fn end(&self, row: &StripeRow) -> u64 {
        row.first + row.unit * self.width()
    }
}

impl StripeRow {
    /// Returns the number of the data unit that contains a block, and the offset of the block.
    pub fn unit_of(&self, block: u64) -> (u64, u64) {
        let offset = block - self.first;
        (offset / self.unit, offset % self.unit)
    }
}

/// The member that has failed, and the progress of its rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    pub failed: Option<usize>,
    /// The first row that has not been rebuilt. The spare serves all earlier rows.
    pub rebuilt: u64,
}

impl Health {
    /// Returns the health of an array that has lost `member` and has rebuilt nothing.
    pub fn without(member: usize) -> Self {
        Self {
            failed: Some(member),
            rebuilt: 0,
        }
    }

    pub fn missing(&self, row: u64) -> Option<usize> {
        self.failed.filter(|_| row >= self.rebuilt)
    }
}

/// Plans the rebuild of the next row: reads of the other units, and a write of the missing unit.
pub fn rebuild(layout: &Layout, health: Health) -> Plan {
    let row = layout.row(health.rebuilt);
    let access = |member: usize| {
        let is_lost = Some(member) == health.failed;
        let op = if is_lost { Op::Write } else { Op::Read };
        Access::new(member, op, row.start, row.unit)
    };
    let accesses = (0..layout.members()).map(access);
    let (follow, begin): (Vec<_>, Vec<_>) = accesses.partition(|access| access.op == Op::Write);
    Plan {
        rows: row.index..row.index + 1,
        follow: follow.into_iter().collect(),
        ..Plan::new(row.first..layout.end(&row), begin.into_iter().collect())
    }
}

/// Calls `each` with the plans for the parts of `request`; a missing member gets no commands.
pub fn plan(layout: &Layout, health: Health, request: &Request, each: &mut impl FnMut(Plan)) {
    let (first, end) = (request.start.0, request.end().0);
    match request.op {
        Op::Flush => {
            let missing = health.failed.filter(|_| health.rebuilt == 0);
            let members = (0..layout.members()).filter(|member| Some(*member) != missing);
            let flush = |member| Access::new(member, Op::Flush, 0, 0);
            each(Plan::new(first..end, members.map(flush).collect()));
        }
        Op::Write if layout.has_parity() => plan_write(layout, health, first, end, each),
        Op::Read if health.failed.is_some() => plan_read(layout, health, first, end, each),
        op => each(Plan::new(first..end, transfers(layout, op, first, end))),
    }
}

/// Returns the commands that transfer exactly the blocks `[first, end)`: one for each run of
/// consecutive blocks on a member.
fn transfers(layout: &Layout, op: Op, first: u64, end: u64) -> Commands {
    let (top, bottom) = (layout.row_of(Lbn(first)), layout.row_of(Lbn(end - 1)));
    let width = layout.width();
    let units = (bottom.index - top.index) * width + bottom.unit_of(end - 1).0 + 1;
    let units = units - top.unit_of(first).0;
    if units > layout.members() as u64 {
        let members = 0..layout.members();
        return members
            .flat_map(|member| runs(layout, op, first..end, top.index..bottom.index + 1, member))
            .collect();
    }
    if units == 1 {
        let (unit, offset) = top.unit_of(first);
        let member = layout.member(top.index, unit);
        return Commands::One(Access::new(member, op, top.start + offset, end - first));
    }
    // These few units are all on different members, even with left-symmetric parity.
    let mut start = first;
    let mut row = top;
    let mut accesses = Vec::with_capacity(units as usize);
    while start < end {
        if start >= layout.end(&row) {
            row = layout.row(row.index + 1);
        }
        let (unit, offset) = row.unit_of(start);
        let sectors = (row.unit - offset).min(end - start);
        let member = layout.member(row.index, unit);
        accesses.push(Access::new(member, op, row.start + offset, sectors));
        start += sectors;
    }
    accesses.into_iter().collect()
}

/// Returns the commands that [`transfers`] needs on one member in `rows`.
fn runs(
    layout: &Layout,
    op: Op,
    blocks: Range<u64>,
    rows: Range<u64>,
    member: usize,
) -> Vec<Access> {
    let mut runs: Vec<Access> = Vec::new();
    for row in rows.map(|row| layout.row(row)) {
        let part = RowPart::new(layout, row, &blocks);
        let Some(unit) = layout.data_unit(row.index, member) else {
            continue;
        };
        let own = part.offsets(unit);
        if own.is_empty() {
            continue;
        }
        let start = row.start + own.start;
        let sectors = own.end - own.start;
        match runs.last_mut() {
            Some(last) if last.start + last.sectors == start => last.sectors += sectors,
            _ => runs.push(Access::new(member, op, start, sectors)),
        }
    }
    runs
}

/// The part of a row that a run of blocks covers, as offsets in its data units.
struct RowPart {
    row: StripeRow,
    /// The first unit and the offset of its first block.
    from: (u64, u64),
    /// The last unit and the offset after its last block.
    to: (u64, u64),
}

impl RowPart {
    /// Returns the part of `row` that `blocks` cover. The part must not be empty.
    fn new(layout: &Layout, row: StripeRow, blocks: &Range<u64>) -> Self {
        let end = blocks.end.min(layout.end(&row));
        let (last, offset) = row.unit_of(end - 1);
        Self {
            row,
            from: row.unit_of(blocks.start.max(row.first)),
            to: (last, offset + 1),
        }
    }

    fn offsets(&self, unit: u64) -> Range<u64> {
        if unit < self.from.0 || unit > self.to.0 {
            return 0..0;
        }
        let is_first = unit == self.from.0;
        let is_last = unit == self.to.0;
        let start = if is_first { self.from.1 } else { 0 };
        let end = if is_last { self.to.1 } else { self.row.unit };
        start..end
    }

    /// Returns the offsets for one command that transfers the parity: from the first to the last
    /// offset that is covered in any unit.
    fn hull(&self) -> Range<u64> {
        if self.from.0 == self.to.0 {
            return self.from.1..self.to.1;
        }
        0..self.row.unit
    }

    fn access(&self, member: usize, op: Op, offsets: &Range<u64>) -> Option<Access> {
        let sectors = offsets.end.saturating_sub(offsets.start);
        let access = Access::new(member, op, self.row.start + offsets.start, sectors);
        (!offsets.is_empty()).then_some(access)
    }
}

/// Plans a write to rows with parity: a part for each run of full rows and for each other row.
fn plan_write(layout: &Layout, health: Health, first: u64, end: u64, each: &mut impl FnMut(Plan)) {
    let mut start = first;
    while start < end {
        let row = layout.row_of(Lbn(start));
        let mut next = layout.end(&row);
        if start > row.first || end < next {
            let part = RowPart::new(layout, row, &(start..end));
            each(plan_row(layout, health, &part, start..next.min(end)));
            start = next;
            continue;
        }
        let mut last = row;
        let missing = health.missing(row.index);
        while next < end {
            let following = layout.row_of(Lbn(next));
            let after = layout.end(&following);
            if end < after || health.missing(following.index) != missing {
                break;
            }
            (last, next) = (following, after);
        }
        let members = (0..layout.members()).filter(|member| Some(*member) != missing);
        let sectors = last.start + last.unit - row.start;
        let write = |member| Access::new(member, Op::Write, row.start, sectors);
        each(Plan {
            rows: row.index..last.index + 1,
            ..Plan::new(start..next, members.map(write).collect())
        });
        start = next;
    }
}

fn plan_row(layout: &Layout, health: Health, part: &RowPart, blocks: Range<u64>) -> Plan {
    let row = part.row.index;
    let missing = health.missing(row);
    let parity = layout.parity(row);
    let hull = part.hull();
    let is_alive = |access: &Access| Some(access.member) != missing;
    let data = (part.from.0..=part.to.0).filter_map(|unit| {
        let member = layout.member(row, unit);
        part.access(member, Op::Write, &part.offsets(unit))
    });
    let parity_write = parity.and_then(|parity| part.access(parity, Op::Write, &hull));
    let writes: Vec<Access> = data.chain(parity_write).filter(is_alive).collect();
    let reads = match missing {
        // The parity of this row is missing.
        Some(missing) if Some(missing) == parity => Vec::new(),
        Some(missing) => {
            // At offsets at which the missing unit is written, the parity is computed from all
            // other units; at all others, it is computed from the old parity.
            let unit = layout.data_unit(row, missing);
            let lost = unit.map_or(0..0, |unit| part.offsets(unit));
            let mut reads = reads_for_parity(layout, part, &lost);
            reads.retain(is_alive);
            reads
        }
        None => {
            let complete = (part.from.0..=part.to.0).filter(|unit| part.offsets(*unit) == hull);
            let to_reconstruct = layout.width() - complete.count() as u64;
            let to_modify = part.to.0 - part.from.0 + 2;
            let is_reconstructed = to_reconstruct < to_modify;
            let recomputed = if is_reconstructed { hull } else { 0..0 };
            reads_for_parity(layout, part, &recomputed)
        }
    };
    let (begin, follow) = if reads.is_empty() {
        (writes, Vec::new())
    } else {
        (reads, writes)
    };
    Plan {
        rows: row..row + 1,
        follow: follow.into_iter().collect(),
        ..Plan::new(blocks, begin.into_iter().collect())
    }
}

/// Returns the reads that a write needs for the new parity. At the offsets `recomputed`, which
/// begin or end with the hull, it reads the data that it does not write. Elsewhere, it reads the
/// old data and parity.
fn reads_for_parity(layout: &Layout, part: &RowPart, recomputed: &Range<u64>) -> Vec<Access> {
    let row = part.row.index;
    let modified = hull_without(&part.hull(), recomputed);
    let units = if recomputed.is_empty() {
        part.from.0..part.to.0 + 1
    } else {
        0..layout.width()
    };
    let data = units.filter_map(|unit| {
        let own = part.offsets(unit);
        let others = hull_without(recomputed, &own);
        let old = own.start.max(modified.start)..own.end.min(modified.end);
        part.access(layout.member(row, unit), Op::Read, &join(others, old))
    });
    let parity = layout
        .parity(row)
        .and_then(|parity| part.access(parity, Op::Read, &modified));
    data.chain(parity).collect()
}

/// Plans a read from an array in which the blocks of a failed member have to be computed.
fn plan_read(layout: &Layout, health: Health, first: u64, end: u64, each: &mut impl FnMut(Plan)) {
    let mut pending = first;
    let mut start = first;
    while start < end {
        let row = layout.row_of(Lbn(start));
        let next = layout.end(&row).min(end);
        let part = RowPart::new(layout, row, &(start..end));
        let missing = health.missing(row.index);
        let unit = missing.and_then(|missing| layout.data_unit(row.index, missing));
        let lost = unit.map_or(0..0, |unit| part.offsets(unit));
        if !lost.is_empty() {
            if pending < start {
                let before = transfers(layout, Op::Read, pending, start);
                each(Plan::new(pending..start, before));
            }
            let others = (0..layout.members()).filter(|member| Some(*member) != missing);
            let reads = others.filter_map(|member| {
                let unit = layout.data_unit(row.index, member);
                let own = unit.map_or(0..0, |unit| part.offsets(unit));
                part.access(member, Op::Read, &join(lost.clone(), own))
            });
            each(Plan {
                rows: row.index..row.index + 1,
                ..Plan::new(start..next, reads.collect())
            });
            pending = next;
        }
        start = next;
    }
    if pending < end {
        let reads = transfers(layout, Op::Read, pending, end);
        each(Plan::new(pending..end, reads));
    }
}

/// Returns the smallest range that contains both ranges. An empty range is ignored.
fn join(one: Range<u64>, other: Range<u64>) -> Range<u64> {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other,
        (_, true) => one,
        _ => one.start.min(other.start)..one.end.max(other.end),
    }
}

/// Returns the smallest range that contains `all` without `part`.
fn hull_without(all: &Range<u64>, part: &Range<u64>) -> Range<u64> {
    if part.is_empty() {
        return all.clone();
    }
    let mut hull = all.clone();
    if part.start <= all.start {
        hull.start = all.start.max(part.end);
    }
    if part.end >= all.end {
        hull.end = all.end.min(part.start);
    }
    hull
}

#[cfg(test)]
mod tests;
