//! Sets of disks.

use super::layout::MAX_DISKS;

/// A set of disks, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiskSet(u32);

impl DiskSet {
    /// No disk.
    pub const NONE: Self = Self(0);

    /// The set with `disk`, a number below [`MAX_DISKS`].
    #[must_use]
    pub fn with(self, disk: usize) -> Self {
        assert!(disk < MAX_DISKS, "disk {disk}");
        Self(self.0 | 1 << disk)
    }

    /// The set without `disk`.
    #[must_use]
    pub fn without(self, disk: usize) -> Self {
        match self.contains(disk) {
            true => Self(self.0 ^ 1 << disk),
            false => self,
        }
    }

    /// Whether `disk` is in the set.
    pub fn contains(self, disk: usize) -> bool {
        disk < MAX_DISKS && self.0 >> disk & 1 == 1
    }

    /// Whether some disk is in both sets.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The number of disks.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The disks, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..MAX_DISKS).filter(move |disk| self.contains(*disk))
    }

    /// The set with the disks of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl FromIterator<usize> for DiskSet {
    fn from_iter<T: IntoIterator<Item = usize>>(disks: T) -> Self {
        disks.into_iter().fold(Self::NONE, Self::with)
    }
}
