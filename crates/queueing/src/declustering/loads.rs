//! What each disk serves.

use std::ops::{Add, Mul};

use super::{CopyDisks, DiskSet, Layout};

/// The load of a disk, as multiples of the rates of requests to the data of one disk, that is,
/// those whose primary copies it has.
///
/// The thesis calls these rates λ_R and λ_W and defines them as those "to each disk pair". Its
/// equations hold if such a pair is a primary and its secondary copy, of which there are as many
/// as disks. For two disks with the same data as one pair they would be twice too large.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// The multiple of the rate of reads, λ_R.
    pub reads: f64,
    /// The multiple of the rate of writes, λ_W.
    pub writes: f64,
}

impl Load {
    /// Accesses for each request to the data of one disk, a share of which, 0 to 1, are reads.
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

/// What each disk serves.
pub trait Loads {
    /// The load of each disk, `None` for a failed one. `None` if `failed` loses data.
    ///
    /// Reads go to copies by [`Layout::primary_share`], writes to both copies that are left. No
    /// routing of the reads has a smaller greatest load.
    fn loads(&self, failed: DiskSet) -> Option<Vec<Option<Load>>>;

    /// Whether `failed` loses no data and leaves all other disks with the same load.
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

/// The loads if `share` of the reads of data with both copies goes to the primary one.
pub(super) fn loads_by(
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
