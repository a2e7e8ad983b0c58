//! Which commands a request makes at which members: pure data.

use std::ops::Range;

use super::layout::{Layout, Row};
use crate::request::{Op, Request};
use crate::units::Lbn;

/// A command for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub member: usize,
    pub op: Op,
    pub place: u64,
    pub sectors: u64,
}

/// A part of a request: commands to begin with, and those that follow when all of them succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The rows that nothing else with a claim may use meanwhile; none for most plans.
    pub rows: Range<u64>,
    /// The blocks of the request that it serves.
    pub blocks: Range<u64>,
    pub begin: Vec<Access>,
    pub follow: Vec<Access>,
}

impl Plan {
    /// Commands that no other has to wait for.
    fn simple(blocks: Range<u64>, begin: Vec<Access>) -> Self {
        Self {
            rows: 0..0,
            blocks,
            begin,
            follow: Vec::new(),
        }
    }
}

/// Which member has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Health {
    pub failed: Option<usize>,
    /// The rows before this one have been rebuilt: the spare takes the place of the failed member
    /// there.
    pub rebuilt: u64,
}

impl Health {
    /// Without a member that cannot be read.
    pub fn without(member: usize) -> Self {
        Self {
            failed: Some(member),
            rebuilt: 0,
        }
    }

    /// The member that is missing in a row.
    pub fn missing(&self, row: u64) -> Option<usize> {
        self.failed.filter(|_| row >= self.rebuilt)
    }
}

/// What it takes to rebuild a row: to read all others and to write to the failed member's place.
pub(super) fn rebuild(layout: &Layout, health: Health) -> Plan {
    let row = layout.row(health.rebuilt);
    let access = |member: usize| {
        let is_lost = Some(member) == health.failed;
        let op = if is_lost { Op::Write } else { Op::Read };
        let (place, sectors) = (row.place, row.unit);
        Access {
            member,
            op,
            place,
            sectors,
        }
    };
    let (follow, begin) = (0..layout.members())
        .map(access)
        .partition(|access| access.op == Op::Write);
    Plan {
        rows: row.index..row.index + 1,
        blocks: row.first..row.first + row.unit * layout.width(),
        begin,
        follow,
    }
}

/// Passes the parts of `request` to `each`; a missing member gets no commands.
pub(super) fn plan(
    layout: &Layout,
    health: Health,
    request: &Request,
    each: &mut impl FnMut(Plan),
) {
    let (first, end) = (request.start.0, request.end().0);
    match request.op {
        Op::Flush => {
            let missing = health.failed.filter(|_| health.rebuilt == 0);
            let members = (0..layout.members()).filter(|member| Some(*member) != missing);
            let flush = |member| Access {
                member,
                op: Op::Flush,
                place: 0,
                sectors: 0,
            };
            each(Plan::simple(first..end, members.map(flush).collect()));
        }
        Op::Write if layout.has_parity() => plan_write(layout, health, first, end, each),
        Op::Read if health.failed.is_some() => plan_read(layout, health, first, end, each),
        op => each(Plan::simple(first..end, transfers(layout, op, first, end))),
    }
}

/// The commands that transfer the blocks from `first` to before `end` and nothing else: one for
/// each run of consecutive blocks at a member.
fn transfers(layout: &Layout, op: Op, first: u64, end: u64) -> Vec<Access> {
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
    // So few units are all at different members, with left-symmetric parity too.
    let mut begun = first;
    let mut row = top;
    let mut accesses = Vec::with_capacity(units as usize);
    while begun < end {
        if begun >= row.first + width * row.unit {
            row = layout.row(row.index + 1);
        }
        let (unit, offset) = row.unit_of(begun);
        let sectors = (row.unit - offset).min(end - begun);
        accesses.push(Access {
            member: layout.member(row.index, unit),
            op,
            place: row.place + offset,
            sectors,
        });
        begun += sectors;
    }
    accesses
}

/// The same of one member, over `rows`.
fn runs(
    layout: &Layout,
    op: Op,
    blocks: Range<u64>,
    rows: Range<u64>,
    member: usize,
) -> Vec<Access> {
    let mut runs: Vec<Access> = Vec::new();
    for row in rows.map(|row| layout.row(row)) {
        let touched = Touched::new(layout, row, &blocks);
        let Some(unit) = layout.data_unit(row.index, member) else {
            continue;
        };
        let own = touched.own(unit);
        if own.is_empty() {
            continue;
        }
        let place = row.place + own.start;
        let sectors = own.end - own.start;
        match runs.last_mut() {
            Some(last) if last.place + last.sectors == place => last.sectors += sectors,
            _ => runs.push(Access {
                member,
                op,
                place,
                sectors,
            }),
        }
    }
    runs
}

/// What a run of blocks touches of a row: units of data, each from an offset to another.
struct Touched {
    row: Row,
    /// The first unit and the offset of its first block.
    from: (u64, u64),
    /// The last unit and the offset behind its last block.
    to: (u64, u64),
}

impl Touched {
    /// What `blocks` touch of `row`: at least one.
    fn new(layout: &Layout, row: Row, blocks: &Range<u64>) -> Self {
        let end = blocks.end.min(row.first + row.unit * layout.width());
        let (last, offset) = row.unit_of(end - 1);
        Self {
            row,
            from: row.unit_of(blocks.start.max(row.first)),
            to: (last, offset + 1),
        }
    }

    /// The touched offsets of a unit.
    fn own(&self, unit: u64) -> Range<u64> {
        if unit < self.from.0 || unit > self.to.0 {
            return 0..0;
        }
        let is_first = unit == self.from.0;
        let is_last = unit == self.to.0;
        let start = if is_first { self.from.1 } else { 0 };
        let end = if is_last { self.to.1 } else { self.row.unit };
        start..end
    }

    /// The offsets that one command for the parity covers: from the first to the last that any
    /// unit has touched.
    fn hull(&self) -> Range<u64> {
        if self.from.0 == self.to.0 {
            return self.from.1..self.to.1;
        }
        0..self.row.unit
    }

    fn access(&self, member: usize, op: Op, offsets: &Range<u64>) -> Option<Access> {
        (!offsets.is_empty()).then_some(Access {
            member,
            op,
            place: self.row.place + offsets.start,
            sectors: offsets.end.saturating_sub(offsets.start),
        })
    }
}

/// A write to rows with parity: the full rows as one part, and a part for each other row.
fn plan_write(layout: &Layout, health: Health, first: u64, end: u64, each: &mut impl FnMut(Plan)) {
    let mut begun = first;
    while begun < end {
        let row = layout.row_of(Lbn(begun));
        let mut next = row.first + row.unit * layout.width();
        if begun > row.first || end < next {
            let touched = Touched::new(layout, row, &(begun..end));
            each(plan_row(layout, health, &touched, begun..next.min(end)));
            begun = next;
            continue;
        }
        let mut last = row;
        let missing = health.missing(row.index);
        while next < end {
            let following = layout.row_of(Lbn(next));
            let behind = following.first + following.unit * layout.width();
            if end < behind || health.missing(following.index) != missing {
                break;
            }
            (last, next) = (following, behind);
        }
        let members = (0..layout.members()).filter(|member| Some(*member) != missing);
        let write = |member| Access {
            member,
            op: Op::Write,
            place: row.place,
            sectors: last.place + last.unit - row.place,
        };
        each(Plan {
            rows: row.index..last.index + 1,
            blocks: begun..next,
            begin: members.map(write).collect(),
            follow: Vec::new(),
        });
        begun = next;
    }
}

/// A write to a part of a row.
fn plan_row(layout: &Layout, health: Health, touched: &Touched, blocks: Range<u64>) -> Plan {
    let row = touched.row.index;
    let missing = health.missing(row);
    let parity = layout.parity(row);
    let hull = touched.hull();
    let is_alive = |access: &Access| Some(access.member) != missing;
    let data = (touched.from.0..=touched.to.0).filter_map(|unit| {
        let member = layout.member(row, unit);
        touched.access(member, Op::Write, &touched.own(unit))
    });
    let parity_write = parity.and_then(|parity| touched.access(parity, Op::Write, &hull));
    let writes: Vec<Access> = data.chain(parity_write).filter(is_alive).collect();
    let reads = match missing {
        // There is no parity to keep.
        Some(missing) if Some(missing) == parity => Vec::new(),
        Some(missing) => {
            // Where the missing unit is written, the parity follows from all others, elsewhere from
            // what it was.
            let unit = layout.data_unit(row, missing);
            let lost = unit.map_or(0..0, |unit| touched.own(unit));
            let mut reads = reads_for_parity(layout, touched, &lost);
            reads.retain(is_alive);
            reads
        }
        None => {
            let whole = (touched.from.0..=touched.to.0).filter(|unit| touched.own(*unit) == hull);
            let to_reconstruct = layout.width() - whole.count() as u64;
            let to_modify = touched.to.0 - touched.from.0 + 2;
            let is_reconstructed = to_reconstruct < to_modify;
            let anew = if is_reconstructed { hull } else { 0..0 };
            reads_for_parity(layout, touched, &anew)
        }
    };
    let (begin, follow) = match reads.is_empty() {
        true => (writes, Vec::new()),
        false => (reads, writes),
    };
    Plan {
        rows: row..row + 1,
        blocks,
        begin,
        follow,
    }
}

/// What must be read to know the parity that a write leaves, if it is computed from all data of
/// the row at the offsets `anew`, and elsewhere from the old parity and the old data. `anew` begins
/// where the hull does, or ends there.
fn reads_for_parity(layout: &Layout, touched: &Touched, anew: &Range<u64>) -> Vec<Access> {
    let row = touched.row.index;
    let modified = hull_without(&touched.hull(), anew);
    let units = match anew.is_empty() {
        true => touched.from.0..touched.to.0 + 1,
        false => 0..layout.width(),
    };
    let data = units.filter_map(|unit| {
        let own = touched.own(unit);
        let others = hull_without(anew, &own);
        let old = own.start.max(modified.start)..own.end.min(modified.end);
        touched.access(layout.member(row, unit), Op::Read, &joined(others, old))
    });
    let parity = layout.parity(row);
    let parity = parity.and_then(|parity| touched.access(parity, Op::Read, &modified));
    data.chain(parity).collect()
}

/// A read from an array of which a member has failed: its blocks follow from all others of the row.
fn plan_read(layout: &Layout, health: Health, first: u64, end: u64, each: &mut impl FnMut(Plan)) {
    let mut pending = first;
    let mut begun = first;
    while begun < end {
        let row = layout.row_of(Lbn(begun));
        let next = (row.first + row.unit * layout.width()).min(end);
        let touched = Touched::new(layout, row, &(begun..end));
        let missing = health.missing(row.index);
        let unit = missing.and_then(|missing| layout.data_unit(row.index, missing));
        let lost = unit.map_or(0..0, |unit| touched.own(unit));
        if !lost.is_empty() {
            if pending < begun {
                let before = transfers(layout, Op::Read, pending, begun);
                each(Plan::simple(pending..begun, before));
            }
            let others = (0..layout.members()).filter(|member| Some(*member) != missing);
            let reads = others.filter_map(|member| {
                let unit = layout.data_unit(row.index, member);
                let own = unit.map_or(0..0, |unit| touched.own(unit));
                touched.access(member, Op::Read, &joined(lost.clone(), own))
            });
            each(Plan {
                rows: row.index..row.index + 1,
                blocks: begun..next,
                begin: reads.collect(),
                follow: Vec::new(),
            });
            pending = next;
        }
        begun = next;
    }
    if pending < end {
        let rest = transfers(layout, Op::Read, pending, end);
        each(Plan::simple(pending..end, rest));
    }
}

/// The smallest range with both; an empty one counts for nothing.
fn joined(one: Range<u64>, other: Range<u64>) -> Range<u64> {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other,
        (_, true) => one,
        _ => one.start.min(other.start)..one.end.max(other.end),
    }
}

/// The smallest range with what is in `all` and not in `part`; empty if there is nothing.
fn hull_without(all: &Range<u64>, part: &Range<u64>) -> Range<u64> {
    if part.is_empty() {
        return all.clone();
    }
    let start = match part.start <= all.start {
        true => all.start.max(part.end),
        false => all.start,
    };
    let end = match part.end >= all.end {
        true => all.end.min(part.start),
        false => all.end,
    };
    start..end
}

#[cfg(test)]
mod tests;
