//! What each disk serves.

use std::ops::{Add, Mul};

use super::{Disks, Kind, Layout, Place};

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

impl Layout {
    /// The load of each disk, `None` for a failed one. `None` if `failed` loses data.
    ///
    /// Reads go to copies by [`Layout::primary_share`], writes to both copies that are left. No
    /// routing of the reads has a smaller greatest load.
    pub fn loads(&self, failed: Disks) -> Option<Vec<Option<Load>>> {
        self.loads_by(failed, |place| self.primary_share(place, failed))
    }

    /// The loads if `share` of the reads of data with both copies goes to the primary one.
    pub(super) fn loads_by(
        &self,
        failed: Disks,
        share: impl Fn(Place) -> f64,
    ) -> Option<Vec<Option<Load>>> {
        if !self.survives(failed) {
            return None;
        }
        let mut loads = vec![Load::default(); self.disks];
        let weight = 1.0 / self.rows() as f64;
        for place in self.period() {
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

    /// Whether `failed` loses no data and leaves all other disks with the same load.
    pub fn is_balanced(&self, failed: Disks) -> bool {
        let loads = self.loads(failed).unwrap_or_default();
        let mut left = loads.into_iter().flatten();
        left.next().is_some_and(|first| {
            left.all(|load| {
                (load.reads - first.reads)
                    .abs()
                    .max((load.writes - first.writes).abs())
                    < 1e-9
            })
        })
    }

    /// The share of the reads of a block at `place`, both of whose copies are left, that goes to
    /// the primary one:
    ///
    /// - Basic: one half (α of section 9.1.2).
    /// - Interleaved: one half. The thesis leaves α open, and the loads do not depend on it.
    /// - Chained: all without failures (section 9.2.3). Otherwise the disks from a failed one up to
    ///   the next, L with the first of these, share the data of all L: the disk i after the failed
    ///   one serves (L - i) / (L - 1) of the data before its own and i / (L - 1) of its own. With
    ///   one failure L = N and this is equation 9.6, with failures half a chain apart it is 9.7.
    /// - Group rotate: α = n / (2 n - k) to the cluster in which k disks have failed (section
    ///   9.2.4), so that half go to each of two clusters without failures.
    pub fn primary_share(&self, place: Place, failed: Disks) -> f64 {
        match self.kind {
            Kind::Basic | Kind::Interleaved { .. } => 0.5,
            Kind::Chained => self.chained_share(place.primary, failed),
            Kind::GroupRotate { cluster } => {
                let failures = |disk: usize| {
                    let first = disk - disk % cluster;
                    let disks = first..first + cluster;
                    disks.filter(|disk| failed.contains(*disk)).count()
                };
                let share = |k: usize| cluster as f64 / (2 * cluster - k) as f64;
                // At most one of the two clusters has failures.
                match failures(place.secondary) {
                    0 => share(failures(place.primary)),
                    k => 1.0 - share(k),
                }
            }
        }
    }

    fn chained_share(&self, disk: usize, failed: Disks) -> f64 {
        let disks = self.disks;
        let since = (0..disks).find(|d| failed.contains((disk + disks - d) % disks));
        let until = (1..=disks).find(|d| failed.contains((disk + d) % disks));
        match (since, until) {
            (Some(since), Some(until)) => since as f64 / (since + until - 1) as f64,
            _ => 1.0,
        }
    }
}
