//! Tests that carry out plans on real bytes.

use std::collections::BTreeMap;

use super::*;
use crate::random::{Generator, Purpose, below, generator};
use crate::units::SectorCount;

/// An array with one byte for each block, and the bytes that its host has written.
struct Bytes {
    layout: Layout,
    failed: Option<usize>,
    rebuilt: u64,
    /// The contents of each member; the failed one may not be read.
    members: Vec<Vec<u8>>,
    acknowledged: Vec<u8>,
}

/// Bytes that have been read, by member and position.
type Known = BTreeMap<(usize, u64), u8>;

impl Bytes {
    fn new(layout: Layout, sectors: u64, failed: Option<usize>) -> Self {
        Self {
            layout,
            failed,
            rebuilt: 0,
            members: vec![vec![0; sectors as usize]; layout.members()],
            acknowledged: vec![0; layout.capacity().0 as usize],
        }
    }

    fn plans(&self, op: Op, first: u64, end: u64) -> Vec<Plan> {
        let request = Request::new(0, op, Lbn(first), SectorCount(end - first));
        let mut plans = Vec::new();
        plan(&self.layout, self.health(), &request, &mut |plan| {
            plans.push(plan);
        });
        plans
    }

    fn health(&self) -> Health {
        Health {
            failed: self.failed,
            rebuilt: self.rebuilt,
        }
    }

    /// Returns the failed member, if it is missing at a position.
    fn missing(&self, position: u64) -> Option<usize> {
        let rows = self.layout.row(self.rebuilt).start;
        self.failed.filter(|_| position >= rows)
    }

    fn rebuild(&mut self) {
        let plan = rebuild(&self.layout, self.health());
        let mut known = Known::new();
        plan.begin
            .iter()
            .for_each(|access| self.read(access, &mut known));
        for access in plan.follow.iter() {
            assert_eq!(Some(access.member), self.failed);
            for position in access.start..access.start + access.sectors {
                let others = known.iter().filter(|((_, other), _)| *other == position);
                let value = others.fold(0, |sum, (_, value)| sum ^ value);
                self.members[access.member][position as usize] = value;
            }
        }
        self.rebuilt += 1;
    }

    fn read(&self, access: &Access, known: &mut Known) {
        assert_ne!(
            Some(access.member),
            self.missing(access.start),
            "{access:?}"
        );
        assert_eq!(access.op, Op::Read);
        for position in access.start..access.start + access.sectors {
            let byte = self.members[access.member][position as usize];
            let twice = known.insert((access.member, position), byte);
            assert_eq!(twice, None, "{access:?} is read twice");
        }
    }

    /// Returns the members of the data and of the parity at a position.
    fn column(&self, position: u64) -> (Vec<(usize, Lbn)>, Option<usize>) {
        let data: Vec<_> = (0..self.layout.members())
            .filter_map(|member| Some((member, self.layout.block(member, Lbn(position))?)))
            .collect();
        let holds_data = |member: usize| data.iter().any(|(holder, _)| *holder == member);
        let parity = (0..self.layout.members()).find(|member| !holds_data(*member));
        (data, parity)
    }

    /// Returns the new parity at a position, from the known and the new bytes.
    fn parity(&self, position: u64, known: &Known, new: &BTreeMap<u64, u8>) -> u8 {
        let (data, parity) = self.column(position);
        let values = data.iter().map(|(member, block)| {
            let new = new.get(&block.0);
            new.or_else(|| known.get(&(*member, position))).copied()
        });
        if let Some(values) = values.collect::<Option<Vec<u8>>>() {
            return values.into_iter().fold(0, |one, other| one ^ other);
        }
        let parity = parity.expect("a row with parity");
        let mut value = known[&(parity, position)];
        for (member, block) in data {
            if let Some(new) = new.get(&block.0) {
                value ^= new ^ known[&(member, position)];
            }
        }
        value
    }

    fn write(&mut self, first: u64, bytes: &[u8]) {
        let new: BTreeMap<u64, u8> = (first..).zip(bytes.iter().copied()).collect();
        let mut written = 0;
        for plan in self.plans(Op::Write, first, first + bytes.len() as u64) {
            let mut known = Known::new();
            let writes = if plan.follow.is_empty() {
                &plan.begin
            } else {
                plan.begin
                    .iter()
                    .for_each(|access| self.read(access, &mut known));
                &plan.follow
            };
            let mut values = Vec::new();
            for access in writes.iter() {
                assert_ne!(Some(access.member), self.missing(access.start));
                assert_eq!(access.op, Op::Write);
                for position in access.start..access.start + access.sectors {
                    let block = self.layout.block(access.member, Lbn(position));
                    written += usize::from(block.is_some());
                    let value = match block {
                        Some(block) => new[&block.0],
                        None => self.parity(position, &known, &new),
                    };
                    values.push((access.member, position as usize, value));
                }
            }
            for (member, position, value) in values {
                self.members[member][position] = value;
            }
        }
        let is_lost = |block: &u64| {
            let row = self.layout.row_of(Lbn(*block));
            let (unit, _) = row.unit_of(*block);
            Some(self.layout.member(row.index, unit)) == self.missing(row.start)
        };
        let lost = new.keys().filter(|block| is_lost(block)).count();
        assert_eq!(written + lost, bytes.len(), "each block is written once");
        self.acknowledged[first as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn check_read(&self, first: u64, end: u64) {
        let mut known = Known::new();
        for plan in self.plans(Op::Read, first, end) {
            assert!(plan.follow.is_empty());
            for access in plan.begin.iter() {
                self.read(access, &mut known);
            }
        }
        for block in first..end {
            let row = self.layout.row_of(Lbn(block));
            let (unit, offset) = row.unit_of(block);
            let (member, position) = (self.layout.member(row.index, unit), row.start + offset);
            let others = (0..self.layout.members()).filter(|other| *other != member);
            let value = known.get(&(member, position)).copied().unwrap_or_else(|| {
                let others = others.map(|other| known[&(other, position)]);
                others.fold(0, |one, other| one ^ other)
            });
            assert_eq!(value, self.acknowledged[block as usize], "block {block}");
        }
    }

    /// Checks the parity of all rows, and the data of all working members.
    fn check_all(&self) {
        for position in 0..self.members[0].len() as u64 {
            let (data, parity) = self.column(position);
            let mut sum = 0;
            for (member, block) in data {
                let value = self.acknowledged[block.0 as usize];
                sum ^= value;
                let found = self.members[member][position as usize];
                assert!(
                    found == value || self.missing(position) == Some(member),
                    "{block:?}"
                );
            }
            let parity = parity.filter(|parity| Some(*parity) != self.missing(position));
            let kept = parity.map(|parity| self.members[parity][position as usize]);
            assert!(
                kept.is_none_or(|kept| kept == sum),
                "wrong parity at {position}"
            );
        }
    }
}

fn random_array(dice: &mut Generator) -> Bytes {
    let members = 3 + below(dice, 6) as usize;
    let (unit, sectors) = (1 + below(dice, 7), 1 + below(dice, 60));
    let redundancy = Redundancy::Parity;
    let layout = Layout::new(redundancy, members, SectorCount(unit), SectorCount(sectors));
    let failed = (below(dice, 2) == 0).then(|| below(dice, members as u64) as usize);
    Bytes::new(layout, sectors, failed)
}

/// Returns a random range of blocks, often short and often across rows.
fn random_range(dice: &mut Generator, capacity: u64) -> (u64, u64) {
    let first = below(dice, capacity);
    let max = if below(dice, 2) == 0 { 8 } else { capacity };
    (first, first + 1 + below(dice, max.min(capacity - first)))
}

/// Tries thousands of arrays that are intact, have a failed member, or have rebuilt a part of it.
/// Each read returns what was written, and the parity is right.
#[test]
fn reads_return_what_was_written_and_the_parity_is_right() {
    for seed in 0..4_000 {
        let dice = &mut generator(seed, 0, Purpose::Requests);
        let mut array = random_array(dice);
        let capacity = array.layout.capacity().0;
        let rows = array.layout.row_of(Lbn(capacity - 1)).index + 1;
        for _ in 0..12 {
            if array.failed.is_some() && array.rebuilt < rows && below(dice, 2) == 0 {
                array.rebuild();
            }
            let (first, end) = random_range(dice, capacity);
            let bytes: Vec<u8> = (first..end).map(|_| below(dice, 256) as u8).collect();
            array.write(first, &bytes);
            let (first, end) = random_range(dice, capacity);
            array.check_read(first, end);
        }
        array.check_all();
        array.check_read(0, capacity);
    }
}

/// Counts the accesses of each write to an intact array block by block.
#[test]
fn a_write_takes_the_fewest_accesses() {
    let (mut modified, mut reconstructed, mut full) = (0, 0, 0);
    for seed in 0..2_000 {
        let dice = &mut generator(seed, 1, Purpose::Requests);
        let mut array = random_array(dice);
        array.failed = None;
        let (first, end) = random_range(dice, array.layout.capacity().0);
        for plan in array.plans(Op::Write, first, end) {
            if plan.follow.is_empty() {
                full += 1;
                let is_write = |access: &Access| access.op == Op::Write;
                assert!(plan.begin.iter().all(is_write), "{plan:?}");
                continue;
            }
            let parity = array.layout.parity(plan.rows.start).expect("a parity");
            let mut writes = plan.follow.iter();
            let covered = writes
                .find(|access| access.member == parity)
                .expect("the parity is written");
            let positions = covered.start..covered.start + covered.sectors;
            let data = (0..array.layout.members()).filter(|member| *member != parity);
            let is_written = |member: usize, position: u64| {
                let block = array.layout.block(member, Lbn(position));
                block.is_some_and(|block| (first..end).contains(&block.0))
            };
            let touched = data.clone().filter(|member| {
                let mut positions = positions.clone();
                positions.any(|position| is_written(*member, position))
            });
            let partly_written = data.filter(|member| {
                let mut positions = positions.clone();
                positions.any(|position| !is_written(*member, position))
            });
            let (to_modify, to_reconstruct) = (touched.count() + 1, partly_written.count());
            let is_modified = to_modify <= to_reconstruct;
            modified += u64::from(is_modified);
            reconstructed += u64::from(!is_modified);
            let reads = to_modify.min(to_reconstruct);
            assert_eq!(plan.begin.len(), reads, "{plan:?}");
            assert!(reads > 0);
        }
    }
    assert!(modified > 200 && reconstructed > 200 && full > 200);
}

fn accesses(layout: &Layout, op: Op, first: u64, sectors: u64) -> Vec<[Vec<(usize, u64, u64)>; 2]> {
    let request = Request::new(0, op, Lbn(first), SectorCount(sectors));
    let mut found = Vec::new();
    plan(layout, Health::default(), &request, &mut |plan| {
        let tuples = |accesses: &[Access]| {
            let tuple = |access: &Access| (access.member, access.start, access.sectors);
            accesses.iter().map(tuple).collect()
        };
        found.push([tuples(&plan.begin), tuples(&plan.follow)]);
    });
    found
}

/// From the left-symmetric table of five disks: row 0 is 0 1 2 3 P, and row 1 is 5 6 7 P 4.
#[test]
fn accesses_worked_by_hand() {
    let (unit, sectors) = (SectorCount(10), SectorCount(100));
    let five = &Layout::new(Redundancy::Parity, 5, unit, sectors);
    // A small write in unit 6, on member 1, reads the old data there and the parity on member 3.
    let small = vec![(1, 12, 3), (3, 12, 3)];
    assert_eq!(
        accesses(five, Op::Write, 62, 3),
        [[small.clone(), small.clone()]]
    );
    // Units 0 to 2: read-modify-write would take four reads, reconstruction only reads unit 3.
    let three = vec![(0, 0, 10), (1, 0, 10), (2, 0, 10), (4, 0, 10)];
    assert_eq!(
        accesses(five, Op::Write, 0, 30),
        [[vec![(3, 0, 10)], three]]
    );
    // The end of unit 3, the full row 1, and the beginning of unit 8.
    let found = accesses(five, Op::Write, 38, 43);
    let end = vec![(3, 8, 2), (4, 8, 2)];
    let row = (0..5).map(|member| (member, 10, 10)).collect();
    let beginning = vec![(3, 20, 1), (2, 20, 1)];
    assert_eq!(
        found,
        [
            [end.clone(), end],
            [row, vec![]],
            [beginning.clone(), beginning]
        ]
    );
    // Two full rows take one command on each member.
    let rows = (0..5).map(|member| (member, 0, 20)).collect();
    assert_eq!(accesses(five, Op::Write, 0, 80), [[rows, vec![]]]);
    // Units 3 to 8 are six units, of which member 3 has two, in one run.
    let read = vec![
        (0, 10, 10),
        (1, 10, 10),
        (2, 10, 10),
        (3, 0, 10),
        (3, 20, 10),
        (4, 10, 10),
    ];
    assert_eq!(accesses(five, Op::Read, 30, 60), [[read, vec![]]]);
}

#[test]
fn stripes_without_parity_worked_by_hand() {
    let (unit, sectors) = (SectorCount(10), SectorCount(25));
    let three = &Layout::new(Redundancy::None, 3, unit, sectors);
    // Units 1 to 6, the last of which is shorter: block 60 begins the row of units of 5.
    let all = vec![(0, 10, 15), (1, 5, 20), (2, 0, 21)];
    assert_eq!(accesses(three, Op::Write, 15, 56), [[all, vec![]]]);
    let two = vec![(2, 19, 1), (0, 20, 2)];
    assert_eq!(accesses(three, Op::Read, 59, 3), [[two, vec![]]]);
    assert_eq!(three.capacity(), SectorCount(75));
}

fn new_layout(redundancy: Redundancy, members: usize, unit: u64, sectors: u64) -> Layout {
    Layout::new(redundancy, members, SectorCount(unit), SectorCount(sectors))
}

/// The table found in every text on RAID 5: five disks, left-symmetric.
#[test]
fn five_disks_are_left_symmetric() {
    const P: u64 = u64::MAX;
    let table = [
        [0, 1, 2, 3, P],
        [5, 6, 7, P, 4],
        [10, 11, P, 8, 9],
        [15, P, 12, 13, 14],
        [P, 16, 17, 18, 19],
        [20, 21, 22, 23, P],
    ];
    let layout = new_layout(Redundancy::Parity, 5, 4, 24);
    for (row, units) in (0..).zip(table) {
        for (member, unit) in units.into_iter().enumerate() {
            let found = layout.block(member, Lbn(row * 4 + 3));
            let expected = (unit != P).then_some(Lbn(unit.wrapping_mul(4).wrapping_add(3)));
            assert_eq!(found, expected, "row {row}, member {member}");
        }
    }
    assert_eq!(layout.capacity(), SectorCount(96));
}

/// Checks both directions, including layouts whose last row has shorter units.
#[test]
fn layouts_are_bijections() {
    for redundancy in [Redundancy::None, Redundancy::Parity] {
        for members in 3..8 {
            for unit in 1..12 {
                check_bijection(&new_layout(redundancy, members, unit, 47));
            }
        }
    }
    check_bijection(&new_layout(Redundancy::None, 1, 5, 47));
    check_bijection(&new_layout(Redundancy::None, 2, 100, 47));
}

fn check_bijection(layout: &Layout) {
    let mut seen = vec![false; layout.capacity().0 as usize];
    let mut parity = 0;
    for member in 0..layout.members() {
        for position in 0..47 {
            let Some(block) = layout.block(member, Lbn(position)) else {
                parity += 1;
                continue;
            };
            let twice = std::mem::replace(&mut seen[block.0 as usize], true);
            assert!(!twice, "{layout:?}: {block:?}");
            let row = layout.row_of(block);
            let (unit, offset) = row.unit_of(block.0);
            let back = (layout.member(row.index, unit), row.start + offset);
            assert_eq!(back, (member, position), "{layout:?}: {block:?}");
        }
    }
    assert!(seen.into_iter().all(|seen| seen), "{layout:?}");
    assert_eq!(parity, if layout.has_parity() { 47 } else { 0 });
}
