//! Which failures lose data.

use super::{DiskSet, Layout};

/// How often failures lose no data.
pub trait Survival {
    /// All sets of failed disks that lose no data, the empty one included.
    fn survived(&self) -> Vec<DiskSet>;

    /// How many sets of k failed disks lose no data, for k from 0 to the number of disks, by exact
    /// enumeration.
    fn survived_by_number(&self) -> Vec<u64>;

    /// The most failures that can go without loss of data.
    fn most_failures(&self) -> usize;

    /// The number of sets of `failures` disks.
    fn sets(&self, failures: usize) -> u64;

    /// The probability that `failures` failures lose no data, if all sets of as many disks are
    /// equally likely. 0 for more failures than disks.
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

/// Adds to `found` what survives of `failed` together with disks from `from` on.
fn extend(layout: &Layout, failed: DiskSet, from: usize, found: &mut Vec<DiskSet>) {
    found.push(failed);
    for disk in from..layout.disks() {
        if !layout.sharing(disk).intersects(failed) {
            extend(layout, failed.with(disk), disk + 1, found);
        }
    }
}

/// The number of sets of `k` out of `n`, which is 0 for more than `n`.
pub fn binomial(n: u64, k: u64) -> u64 {
    // After each step the product is a binomial coefficient, so that the division is exact.
    (0..k).fold(1, |product, i| product * n.saturating_sub(i) / (i + 1))
}
