//! Where the two copies of a block are, and which of them is read.

use super::disks::DiskSet;
use super::error::{self, LayoutError};

/// The most disks of a layout. A longer chain of disks has too many sets of failures to enumerate.
pub const MAX_DISKS: usize = 24;

/// How the second copies are placed (liu05, section 9.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutKind {
    /// Basic mirroring: disks 2 i and 2 i + 1 have the same data.
    Basic,
    /// Interleaved declustering: the second copies of a disk's data are striped over the other
    /// disks of its cluster.
    Interleaved {
        /// The disks of a cluster, at least 2; a divisor of the number of disks.
        cluster: usize,
    },
    /// Chained declustering: the second copies are on the next disk, and those of the last disk on
    /// the first.
    Chained,
    /// Group rotate declustering: the second copies of a cluster are striped over another cluster,
    /// rotated by one disk with each row. Clusters come in pairs, each with the copies of the
    /// other.
    GroupRotate {
        /// The disks of a cluster, at least 1; twice as many are a divisor of the number of disks.
        cluster: usize,
    },
}

impl LayoutKind {
    /// Its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Interleaved { .. } => "interleaved",
            Self::Chained => "chained",
            Self::GroupRotate { .. } => "group rotate",
        }
    }
}

/// The disks with the two copies of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyDisks {
    /// The disk with the primary copy.
    pub primary: usize,
    /// The disk with the secondary copy; always another one.
    pub secondary: usize,
}

impl CopyDisks {
    /// Both disks.
    pub fn disks(self) -> DiskSet {
        DiskSet::NONE.with(self.primary).with(self.secondary)
    }
}

/// A kind of layout on a number of disks.
#[derive(Clone, Debug)]
pub struct Layout {
    kind: LayoutKind,
    disks: usize,
    /// For each disk, those that have the other copies of its data.
    sharing: Vec<DiskSet>,
}

impl Layout {
    /// A layout on `disks` disks, 2 to [`MAX_DISKS`].
    ///
    /// # Errors
    /// If the disks do not divide into pairs, clusters, or pairs of clusters, as `kind` needs.
    pub fn new(kind: LayoutKind, disks: usize) -> Result<Self, LayoutError> {
        error::check(kind, disks)?;
        let mut layout = Self {
            kind,
            disks,
            sharing: Vec::new(),
        };
        let mut sharing = vec![DiskSet::NONE; disks];
        for CopyDisks { primary, secondary } in layout.period() {
            sharing[primary] = sharing[primary].with(secondary);
            sharing[secondary] = sharing[secondary].with(primary);
        }
        layout.sharing = sharing;
        Ok(layout)
    }

    /// How the second copies are placed.
    pub fn kind(&self) -> LayoutKind {
        self.kind
    }

    /// The number of disks.
    pub fn disks(&self) -> usize {
        self.disks
    }

    /// The disks of block `block`, which is in row `block` / N of N disks.
    ///
    /// The layouts drawn in figures 9.1 to 9.5 of the thesis follow from its prose; where that
    /// leaves the order of rows open, this takes the first disk that it allows in row 0.
    pub fn copy_disks(&self, block: u64) -> CopyDisks {
        let disks = self.disks as u64;
        let (primary, row) = ((block % disks) as usize, block / disks);
        let secondary = match self.kind {
            LayoutKind::Basic => primary ^ 1,
            LayoutKind::Chained => (primary + 1) % self.disks,
            LayoutKind::Interleaved { cluster } => {
                let (first, at) = (primary - primary % cluster, primary % cluster);
                let turn = (row % (cluster as u64 - 1)) as usize;
                first + (at + 1 + turn) % cluster
            }
            LayoutKind::GroupRotate { cluster } => {
                let (number, at) = (primary / cluster, primary % cluster);
                let turn = (row % cluster as u64) as usize;
                (number ^ 1) * cluster + (at + turn) % cluster
            }
        };
        CopyDisks { primary, secondary }
    }

    /// The rows after which places repeat.
    pub fn rows(&self) -> usize {
        match self.kind {
            LayoutKind::Basic | LayoutKind::Chained => 1,
            LayoutKind::Interleaved { cluster } => cluster - 1,
            LayoutKind::GroupRotate { cluster } => cluster,
        }
    }

    /// The places of the blocks of all rows until they repeat.
    pub fn period(&self) -> impl Iterator<Item = CopyDisks> {
        (0..(self.rows() * self.disks) as u64).map(|block| self.copy_disks(block))
    }

    /// The disks that have the other copies of the data of `disk`: their failure loses data if
    /// `disk` has failed.
    pub fn sharing(&self, disk: usize) -> DiskSet {
        self.sharing[disk]
    }

    /// Whether all data have a copy on a disk that is not in `failed`.
    pub fn survives(&self, failed: DiskSet) -> bool {
        failed
            .iter()
            .all(|disk| !self.sharing[disk].intersects(failed))
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
    pub fn primary_share(&self, place: CopyDisks, failed: DiskSet) -> f64 {
        match self.kind {
            LayoutKind::Basic | LayoutKind::Interleaved { .. } => 0.5,
            LayoutKind::Chained => self.chained_share(place.primary, failed),
            LayoutKind::GroupRotate { cluster } => {
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

    fn chained_share(&self, disk: usize, failed: DiskSet) -> f64 {
        let disks = self.disks;
        let since = (0..disks).find(|d| failed.contains((disk + disks - d) % disks));
        let until = (1..=disks).find(|d| failed.contains((disk + d) % disks));
        match (since, until) {
            (Some(since), Some(until)) => since as f64 / (since + until - 1) as f64,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests;
