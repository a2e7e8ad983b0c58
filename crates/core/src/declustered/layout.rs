//! The placement of two copies of all data on disks, and the choice of the copy to read.

use std::error::Error;
use std::fmt;

use crate::text::with_noun;

/// The maximum number of disks. Longer chains have too many sets of failed disks to count.
pub const MAX_DISKS: usize = 24;

/// The placement of the secondary copies (liu05, section 9.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutKind {
    /// Basic mirroring: disks 2 i and 2 i + 1 have the same data.
    Basic,
    /// Interleaved declustering: the secondary copies of a disk's data are striped over the other
    /// disks of its cluster.
    Interleaved {
        /// The size of a cluster, at least 2; it divides the number of disks.
        cluster: usize,
    },
    /// Chained declustering: the secondary copies of a disk's data are on the next disk, and those
    /// of the last disk are on the first.
    Chained,
    /// Group rotate declustering: clusters form pairs, and each cluster has the secondary copies of
    /// the other one. They are striped over its disks, rotated by one disk with each row.
    GroupRotate {
        /// The size of a cluster, at least 1; twice the size divides the number of disks.
        cluster: usize,
    },
}

impl LayoutKind {
    /// Returns the name of the placement, in words.
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
    /// The disk with the secondary copy, which is always a different disk.
    pub secondary: usize,
}

impl CopyDisks {
    /// Returns both disks as a set.
    pub fn disks(self) -> DiskSet {
        DiskSet::NONE.with(self.primary).with(self.secondary)
    }
}

/// A layout of two copies of all data on a number of disks.
#[derive(Clone, Debug)]
pub struct Layout {
    kind: LayoutKind,
    disks: usize,
    /// For each disk, the disks with the other copies of its data.
    sharing: Vec<DiskSet>,
}

impl Layout {
    /// Creates a layout on `disks` disks, 2 to [`MAX_DISKS`].
    ///
    /// # Errors
    /// If the disks cannot be divided into the pairs, clusters, or pairs of clusters of `kind`.
    pub fn new(kind: LayoutKind, disks: usize) -> Result<Self, LayoutError> {
        check(kind, disks)?;
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

    /// Returns the placement of the secondary copies.
    pub fn kind(&self) -> LayoutKind {
        self.kind
    }

    /// Returns the number of disks.
    pub fn disks(&self) -> usize {
        self.disks
    }

    /// Returns the disks of block `block`, which is in row `block` / N of an array of N disks.
    ///
    /// This follows the prose of the thesis and gives the layouts of its figures 9.1 to 9.5. Where
    /// the prose leaves the order of rows open, row 0 uses the first disk that the prose allows.
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

    /// Returns the block in `row` whose secondary copy is on `disk`.
    pub fn secondary_unit(&self, row: u64, disk: usize) -> Option<u64> {
        let first = row * self.disks as u64;
        let mut row = first..first + self.disks as u64;
        row.find(|block| self.copy_disks(*block).secondary == disk)
    }

    /// Returns the number of rows after which the layout repeats.
    pub fn rows(&self) -> usize {
        match self.kind {
            LayoutKind::Basic | LayoutKind::Chained => 1,
            LayoutKind::Interleaved { cluster } => cluster - 1,
            LayoutKind::GroupRotate { cluster } => cluster,
        }
    }

    /// Returns the disks of each block in the rows before the layout repeats.
    pub fn period(&self) -> impl Iterator<Item = CopyDisks> {
        (0..(self.rows() * self.disks) as u64).map(|block| self.copy_disks(block))
    }

    /// Returns the disks that share data with `disk`: if one of them fails too, data are lost.
    pub fn sharing(&self, disk: usize) -> DiskSet {
        self.sharing[disk]
    }

    /// Returns true if all data have a copy on a disk that is not in `failed`.
    pub fn survives(&self, failed: DiskSet) -> bool {
        failed
            .iter()
            .all(|disk| !self.sharing[disk].intersects(failed))
    }

    /// Returns the share of reads that go to the primary copy of a block whose copies both exist:
    ///
    /// - Basic: one half (α of section 9.1.2).
    /// - Interleaved: one half. The thesis leaves α open, and the loads do not depend on it.
    /// - Chained: all of them if no disk has failed (section 9.2.3). Otherwise, L is the distance
    ///   from a failed disk to the next failed disk. The disk at distance i from the first of these
    ///   serves i / (L - 1) of the reads of its own data and (L - i) / (L - 1) of those of the disk
    ///   before it. With one failure, L = N and this is equation 9.6; with failures half a chain
    ///   apart, it is equation 9.7.
    /// - Group rotate: α = n / (2 n - k) for the cluster in which k disks have failed (section
    ///   9.2.4). This is one half if neither cluster has failures.
    pub fn primary_share(&self, disks: CopyDisks, failed: DiskSet) -> f64 {
        match self.kind {
            LayoutKind::Basic | LayoutKind::Interleaved { .. } => 0.5,
            LayoutKind::Chained => self.chained_share(disks.primary, failed),
            LayoutKind::GroupRotate { cluster } => {
                let failures = |disk: usize| {
                    let first = disk - disk % cluster;
                    let cluster = first..first + cluster;
                    cluster.filter(|disk| failed.contains(*disk)).count()
                };
                let share = |k: usize| cluster as f64 / (2 * cluster - k) as f64;
                // At most one of the two clusters has failures.
                match failures(disks.secondary) {
                    0 => share(failures(disks.primary)),
                    k => 1.0 - share(k),
                }
            }
        }
    }

    fn chained_share(&self, disk: usize, failed: DiskSet) -> f64 {
        let disks = self.disks;
        if failed.is_empty() {
            return 1.0;
        }
        let since = (0..disks).find(|d| failed.contains((disk + disks - d) % disks));
        let until = (1..=disks).find(|d| failed.contains((disk + d) % disks));
        match (since, until) {
            (Some(since), Some(until)) => since as f64 / (since + until - 1) as f64,
            _ => 1.0,
        }
    }
}

/// Returns the first stripe unit for which `is_lost` is true, and the number of lost units. Each
/// half of a disk has `rows` units, and a spare has the first `rebuilt` units of its disk.
///
/// Among rows for which the spare has the same halves, lost units repeat with the period of the
/// layout, so it is enough to examine one period.
pub fn count_lost(
    layout: &Layout,
    rows: u64,
    rebuilt: u64,
    is_lost: impl Fn(u64) -> bool,
) -> Option<(u64, u64)> {
    let (period, disks) = (layout.rows() as u64, layout.disks() as u64);
    // The spare first gets the primary copies of all rows, then the secondary ones.
    let [secondary, primary] = [rebuilt.saturating_sub(rows), rebuilt.min(rows)];
    let (mut first, mut units) = (None, 0);
    for range in [0..secondary, secondary..primary, primary..rows] {
        for row in range.clone().take(period as usize) {
            let repeated = (range.end - row).div_ceil(period);
            for unit in (row * disks..(row + 1) * disks).filter(|unit| is_lost(*unit)) {
                first = first.or(Some(unit));
                units += repeated;
            }
        }
    }
    first.map(|first| (first, units))
}

/// A set of disks, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiskSet(u32);

impl DiskSet {
    /// The set that contains no disk.
    pub const NONE: Self = Self(0);

    /// Returns the set with `disk`, a number below [`MAX_DISKS`].
    #[must_use]
    pub fn with(self, disk: usize) -> Self {
        assert!(disk < MAX_DISKS, "disk {disk} is out of range");
        Self(self.0 | 1 << disk)
    }

    /// Returns the set without `disk`.
    #[must_use]
    pub fn without(self, disk: usize) -> Self {
        if self.contains(disk) {
            Self(self.0 ^ 1 << disk)
        } else {
            self
        }
    }

    /// Returns true if `disk` is in the set.
    pub fn contains(self, disk: usize) -> bool {
        disk < MAX_DISKS && self.0 >> disk & 1 == 1
    }

    /// Returns true if the two sets have a disk in common.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the number of disks.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns true if the set has no disks.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the disks, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..MAX_DISKS).filter(move |disk| self.contains(*disk))
    }

    /// Returns the set of the disks that are in either set.
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

/// The reason why a layout is impossible on a number of disks. The message is one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// Fewer than two disks, or more than [`MAX_DISKS`].
    Disks(usize),
    /// Basic mirroring of an odd number of disks.
    Pairs(usize),
    /// Clusters of one disk, which have no room for a second copy.
    Small,
    /// The size of a cluster (first) does not divide the number of disks (second).
    Clusters(usize, usize),
    /// An odd number of clusters: the size of a cluster (first) and the number of disks (second).
    PairsOfClusters(usize, usize),
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disks(disks) => {
                write!(
                    f,
                    "found {disks} as the number of disks, expected 2 to {MAX_DISKS}"
                )
            }
            Self::Pairs(disks) => {
                write!(f, "basic mirroring needs pairs of disks, found {disks}")
            }
            Self::Small => write!(f, "found clusters of 1 disk, expected 2 or more"),
            Self::Clusters(cluster, disks) => {
                write!(f, "cannot divide {disks} disks into clusters of {cluster}")
            }
            Self::PairsOfClusters(cluster, disks) => {
                let clusters = with_noun(disks / cluster, "cluster");
                let size = with_noun(*cluster, "disk");
                write!(
                    f,
                    "group rotate needs an even number of clusters, found {clusters} of {size}"
                )
            }
        }
    }
}

impl Error for LayoutError {}

fn check(kind: LayoutKind, disks: usize) -> Result<(), LayoutError> {
    if !(2..=MAX_DISKS).contains(&disks) {
        return Err(LayoutError::Disks(disks));
    }
    let divides = |cluster: usize| cluster > 0 && disks.is_multiple_of(cluster);
    match kind {
        LayoutKind::Basic if !divides(2) => Err(LayoutError::Pairs(disks)),
        LayoutKind::Interleaved { cluster: 1 } => Err(LayoutError::Small),
        LayoutKind::Interleaved { cluster } | LayoutKind::GroupRotate { cluster }
            if !divides(cluster) =>
        {
            Err(LayoutError::Clusters(cluster, disks))
        }
        LayoutKind::GroupRotate { cluster } if !divides(2 * cluster) => {
            Err(LayoutError::PairsOfClusters(cluster, disks))
        }
        _ => Ok(()),
    }
}
