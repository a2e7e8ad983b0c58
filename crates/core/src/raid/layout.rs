//! Where each block of an array is: pure arithmetic, in both directions.

use crate::units::{Lbn, SectorCount};

/// What a row of stripe units holds besides data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redundancy {
    None,
    /// A unit of parity, left-symmetric (RAID 5): in row 0 at the last member, in each next row one
    /// member further left, and the data begin at the member behind it.
    Parity,
}

/// Rows of stripe units, one of each row at each member.
///
/// If the members are no whole number of units long, the units of the last row are shorter, so that
/// every block of the members is used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    redundancy: Redundancy,
    members: u64,
    /// Blocks of a stripe unit.
    unit: u64,
    /// Blocks of a member.
    sectors: u64,
}

/// A row of stripe units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub index: u64,
    /// The first block of the array in it.
    pub first: u64,
    /// Its first block on every member.
    pub place: u64,
    /// The blocks of each unit.
    pub unit: u64,
}

impl Layout {
    /// Of at least one member, or three with parity, of `sectors` blocks each, in units of `unit`
    /// blocks, at least one.
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
        assert!(members >= min, "{members} members");
        assert!(unit.0 > 0 && sectors.0 > 0, "units of {unit:?}");
        Self {
            redundancy,
            members: members as u64,
            unit: unit.0.min(sectors.0),
            sectors: sectors.0,
        }
    }

    /// Units of data in a row.
    pub fn width(&self) -> u64 {
        match self.redundancy {
            Redundancy::None => self.members,
            Redundancy::Parity => self.members - 1,
        }
    }

    /// The blocks of data.
    pub fn capacity(&self) -> SectorCount {
        SectorCount(self.width() * self.sectors)
    }

    pub fn has_parity(&self) -> bool {
        self.redundancy == Redundancy::Parity
    }

    pub fn members(&self) -> usize {
        self.members as usize
    }

    /// The blocks of a stripe unit.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.sectors.div_ceil(self.unit)
    }

    /// The row number `index`; of no blocks behind the last.
    pub fn row(&self, index: u64) -> Row {
        let place = index * self.unit;
        Row {
            index,
            first: place * self.width(),
            place,
            unit: self.unit.min(self.sectors.saturating_sub(place)),
        }
    }

    /// The row of a block of the array.
    pub fn row_of(&self, block: Lbn) -> Row {
        self.row(block.0 / (self.unit * self.width()))
    }

    /// The member with the parity of a row.
    pub fn parity(&self, row: u64) -> Option<usize> {
        let last = self.members - 1;
        self.has_parity()
            .then_some((last - row % self.members) as usize)
    }

    /// The member with the data unit number `unit` of a row.
    pub fn member(&self, row: u64, unit: u64) -> usize {
        match self.parity(row) {
            None => unit as usize,
            Some(parity) => ((parity as u64 + 1 + unit) % self.members) as usize,
        }
    }

    /// The number of the data unit that a member holds of a row; `None` if it holds the parity.
    pub fn data_unit(&self, row: u64, member: usize) -> Option<u64> {
        match self.parity(row) {
            None => Some(member as u64),
            Some(parity) if parity == member => None,
            Some(parity) => Some((member as u64 + self.members - 1 - parity as u64) % self.members),
        }
    }

    /// The block of the array that a member holds at `place`; `None` if it holds parity there.
    pub fn block(&self, member: usize, place: Lbn) -> Option<Lbn> {
        let row = self.row(place.0 / self.unit);
        let unit = self.data_unit(row.index, member)?;
        Some(Lbn(row.first + unit * row.unit + (place.0 - row.place)))
    }
}

impl Row {
    /// The number of the data unit of a block of this row, and its offset there.
    pub fn unit_of(&self, block: u64) -> (u64, u64) {
        let offset = block - self.first;
        (offset / self.unit, offset % self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(redundancy: Redundancy, members: usize, unit: u64, sectors: u64) -> Layout {
        Layout::new(redundancy, members, SectorCount(unit), SectorCount(sectors))
    }

    /// The table that every text on RAID 5 prints: five disks, left-symmetric.
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
        let layout = layout(Redundancy::Parity, 5, 4, 24);
        for (row, units) in (0..).zip(table) {
            for (member, unit) in units.into_iter().enumerate() {
                let found = layout.block(member, Lbn(row * 4 + 3));
                let expected = (unit != P).then_some(Lbn(unit.wrapping_mul(4).wrapping_add(3)));
                assert_eq!(found, expected, "row {row}, member {member}");
            }
        }
        assert_eq!(layout.capacity(), SectorCount(96));
    }

    /// In both directions, and with a last row of shorter units.
    #[test]
    fn every_block_has_one_place() {
        for redundancy in [Redundancy::None, Redundancy::Parity] {
            for members in 3..8 {
                for unit in 1..12 {
                    check_bijection(&layout(redundancy, members, unit, 47));
                }
            }
        }
        check_bijection(&layout(Redundancy::None, 1, 5, 47));
        check_bijection(&layout(Redundancy::None, 2, 100, 47));
    }

    fn check_bijection(layout: &Layout) {
        let mut seen = vec![false; layout.capacity().0 as usize];
        let mut parity = 0;
        for member in 0..layout.members() {
            for place in 0..47 {
                let Some(block) = layout.block(member, Lbn(place)) else {
                    parity += 1;
                    continue;
                };
                let twice = std::mem::replace(&mut seen[block.0 as usize], true);
                assert!(!twice, "{layout:?}: {block:?}");
                let row = layout.row_of(block);
                let (unit, offset) = row.unit_of(block.0);
                let back = (layout.member(row.index, unit), row.place + offset);
                assert_eq!(back, (member, place), "{layout:?}: {block:?}");
            }
        }
        assert!(seen.into_iter().all(|seen| seen), "{layout:?}");
        assert_eq!(parity, if layout.has_parity() { 47 } else { 0 });
    }
}
