//! Layouts that keep two copies of all data on an array of disks (liu05, chapter 9).
//!
//! A [`Layout`] maps each block to its two copies. Everything else is enumerated from this mapping:
//! the failures that lose data ([`Survival`]), the load of each disk ([`Loads`]), and the time
//! until data are lost ([`DataLoss`]). [`equations`] has the formulas printed in the thesis; tests
//! compare them with the enumeration.
//!
//! Disks are numbered from 0. Blocks are striped over all disks, so each disk has the same number
//! of primary copies, and the same number of secondary copies.

pub mod comparison;
mod data_loss;
pub mod equations;

use std::ops::{Add, Mul};

pub use data_loss::DataLoss;
pub use diskarm_core::declustered::{
    CopyDisks, DiskSet, Layout, LayoutError, LayoutKind, MAX_DISKS,
};

/// Enumerates the failures that lose no data.
pub trait Survival {
    /// Returns all sets of failed disks that lose no data, including the empty set.
    fn survived(&self) -> Vec<DiskSet>;

    /// Returns the number of sets of k failed disks that lose no data, for k from 0 to the number
    /// of disks, by exact enumeration.
    fn survived_by_number(&self) -> Vec<u64>;

    /// Returns the maximum number of failures that can be survived.
    fn most_failures(&self) -> usize;

    /// Returns the number of sets of `failures` disks.
    fn sets(&self, failures: usize) -> u64;

    /// Returns the probability that `failures` failures lose no data, if all sets of this size are
    /// equally likely; 0 for more failures than disks.
    fn survival(&self, failures: usize) -> f64;
}

impl Survival for Layout {
    fn survived(&self) -> Vec<DiskSet> {
        let mut found = Vec::new();
        extend(self, DiskSet::NONE, 0, &mut found);
        found
    }

    fn survived_by_number(&self) -> Vec<u64> {
        let mut counts = vec![0; self.disks() + 1];
        for failed in self.survived() {
            counts[failed.len()] += 1;
        }
        counts
    }

    fn most_failures(&self) -> usize {
        let counts = self.survived_by_number();
        counts.iter().rposition(|count| *count > 0).unwrap_or(0)
    }

    fn sets(&self, failures: usize) -> u64 {
        binomial(self.disks() as u64, failures as u64)
    }

    fn survival(&self, failures: usize) -> f64 {
        let survived = self.survived_by_number().get(failures).copied();
        survived.unwrap_or(0) as f64 / self.sets(failures).max(1) as f64
    }
}

/// Adds to `found` all surviving sets that extend `failed` by disks from `from` on.
fn extend(layout: &Layout, failed: DiskSet, from: usize, found: &mut Vec<DiskSet>) {
    found.push(failed);
    for disk in from..layout.disks() {
        if !layout.sharing(disk).intersects(failed) {
            extend(layout, failed.with(disk), disk + 1, found);
        }
    }
}

/// Returns the number of subsets of size `k` of a set of `n`.
pub fn binomial(n: u64, k: u64) -> u64 {
    // After each step the product is a binomial coefficient, so the division is exact.
    (0..k).fold(1, |product, i| product * n.saturating_sub(i) / (i + 1))
}

/// The load of a disk, as multiples of the rates of requests to the data of one disk, that is,
/// those whose primary copies it has.
///
/// The thesis calls these rates λ_R and λ_W and defines them as those "to each disk pair". Its
/// equations hold if such a pair is a primary copy and its secondary copy, so that the number of
/// pairs is that of disks. If a pair were two disks with the same data, they would be twice too
/// large.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// The multiple of the rate of reads, λ_R.
    pub reads: f64,
    /// The multiple of the rate of writes, λ_W.
    pub writes: f64,
}

impl Load {
    /// Returns the accesses per request to the data of one disk, for a share of reads from 0 to 1.
    pub fn accesses(self, read_share: f64) -> f64 {
        self.reads * read_share + self.writes * (1.0 - read_share)
    }
}

impl Add for Load {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
        }
    }
}

impl Mul<f64> for Load {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self {
            reads: self.reads * factor,
            writes: self.writes * factor,
        }
    }
}

/// Computes the load of each disk.
pub trait Loads {
    /// Returns the load of each disk, `None` for a failed one; `None` if `failed` loses data.
    ///
    /// Reads are divided between the copies by [`Layout::primary_share`]; writes go to all
    /// surviving copies. No other routing of the reads has a smaller maximum load.
    fn loads(&self, failed: DiskSet) -> Option<Vec<Option<Load>>>;

    /// Returns true if `failed` loses no data and leaves all other disks with the same load.
    fn is_balanced(&self, failed: DiskSet) -> bool;
}

impl Loads for Layout {
    fn loads(&self, failed: DiskSet) -> Option<Vec<Option<Load>>> {
        loads_by(self, failed, |place| self.primary_share(place, failed))
    }

    fn is_balanced(&self, failed: DiskSet) -> bool {
        let loads = self.loads(failed).unwrap_or_default();
        let mut left = loads.into_iter().flatten();
        let off = |one: Load, other: Load| {
            let writes = (one.writes - other.writes).abs();
            (one.reads - other.reads).abs().max(writes)
        };
        left.next()
            .is_some_and(|first| left.all(|load| off(first, load) < 1e-9))
    }
}

/// Returns the loads if `share` of the reads of data with both copies goes to the primary copy.
fn loads_by(
    layout: &Layout,
    failed: DiskSet,
    share: impl Fn(CopyDisks) -> f64,
) -> Option<Vec<Option<Load>>> {
    if !layout.survives(failed) {
        return None;
    }
    let mut loads = vec![Load::default(); layout.disks()];
    let weight = 1.0 / layout.rows() as f64;
    for place in layout.period() {
        let share = match (
            failed.contains(place.primary),
            failed.contains(place.secondary),
        ) {
            (true, _) => 0.0,
            (_, true) => 1.0,
            _ => share(place),
        };
        for (disk, reads) in [(place.primary, share), (place.secondary, 1.0 - share)] {
            loads[disk] = loads[disk] + Load { reads, writes: 1.0 } * weight;
        }
    }
    let of = |(disk, load)| (!failed.contains(disk)).then_some(load);
    Some(loads.into_iter().enumerate().map(of).collect())
}

#[cfg(test)]
mod tests;
