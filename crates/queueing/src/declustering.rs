//! Layouts that keep two copies of all data on an array of disks (liu05, chapter 9).
//!
//! A [`Layout`] maps each block to its two copies. Everything else is enumerated from this mapping:
//! the failures that lose data ([`survived`]), the load of each disk ([`loads`]), and the time
//! until data are lost ([`mean_time_to_data_loss`]). Tests compare the formulas in the thesis with
//! the enumeration.
//!
//! Disks are numbered from 0. Blocks are striped over all disks, so all disks have equal numbers of
//! primary copies and of secondary copies.

pub mod comparison;
mod data_loss;

pub use data_loss::mean_time_to_data_loss;
pub use diskarm_core::declustered::{
    CopyDisks, DiskSet, Layout, LayoutError, LayoutKind, MAX_DISKS,
};

/// Returns all sets of disks whose failure loses no data, including the empty set.
pub fn survived(layout: &Layout) -> Vec<DiskSet> {
    let mut found = Vec::new();
    extend(layout, DiskSet::NONE, 0, &mut found);
    found
}

/// Adds to `found` all surviving sets that extend `failed` by disks numbered `from` or higher.
fn extend(layout: &Layout, failed: DiskSet, from: usize, found: &mut Vec<DiskSet>) {
    found.push(failed);
    for disk in from..layout.disks() {
        if !layout.sharing(disk).intersects(failed) {
            extend(layout, failed.with(disk), disk + 1, found);
        }
    }
}

fn binomial(n: u64, k: u64) -> u64 {
    // After each step, the product is a binomial coefficient, so the division is exact.
    (0..k).fold(1, |product, i| product * n.saturating_sub(i) / (i + 1))
}

/// The load of a disk, in multiples of the rates of requests to one disk's data, whose primary
/// copies are on that disk.
///
/// The thesis calls these rates λ_R and λ_W and defines them as those "to each disk pair". Its
/// equations hold if such a pair is a primary copy and its secondary copy, so that each disk has
/// one pair. If a pair were two disks with the same data, the loads would be twice as large.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    pub reads: f64,
    pub writes: f64,
}

impl Load {
    /// The load without failures, λ_R + 2 λ_W for all layouts (liu05, eq. 9.1, 9.3, 9.5 and 9.8).
    const NORMAL: Self = Self {
        reads: 1.0,
        writes: 2.0,
    };

    /// Returns the accesses per request to the data of one disk, for a share of reads from 0 to 1.
    pub fn accesses(self, read_share: f64) -> f64 {
        self.reads * read_share + self.writes * (1.0 - read_share)
    }

    fn distance(self, other: Self) -> f64 {
        let writes = (self.writes - other.writes).abs();
        (self.reads - other.reads).abs().max(writes)
    }
}

/// Returns the load of each disk, `None` for a failed disk. Returns `None` if `failed` loses data.
///
/// Reads are divided between the copies by [`Layout::primary_share`]; writes go to all surviving
/// copies. No other routing of reads has a smaller maximum load.
pub fn loads(layout: &Layout, failed: DiskSet) -> Option<Vec<Option<Load>>> {
    loads_by(layout, failed, |data| layout.primary_share(data, failed))
}

/// Returns true if `failed` loses no data and leaves all other disks with the same load.
pub fn is_balanced(layout: &Layout, failed: DiskSet) -> bool {
    let loads = loads(layout, failed).unwrap_or_default();
    let mut loads = loads.into_iter().flatten();
    let first = loads.next();
    first.is_some_and(|first| loads.all(|load| first.distance(load) < 1e-9))
}

/// Returns the loads if `share` of the reads of data with two copies goes to the primary copy.
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
    for copies in layout.period() {
        let share = if failed.contains(copies.primary) {
            0.0
        } else if failed.contains(copies.secondary) {
            1.0
        } else {
            share(copies)
        };
        for (disk, share) in [(copies.primary, share), (copies.secondary, 1.0 - share)] {
            loads[disk].reads += share * weight;
            loads[disk].writes += weight;
        }
    }
    let survivor = |(disk, load)| (!failed.contains(disk)).then_some(load);
    Some(loads.into_iter().enumerate().map(survivor).collect())
}

#[cfg(test)]
mod tests;
