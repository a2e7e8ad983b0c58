//! Disks that do not divide as a layout needs.

use std::error::Error;
use std::fmt;

use super::layout::{LayoutKind, MAX_DISKS};

/// Why there is no such layout. The message is one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// Fewer than two disks, or more than [`MAX_DISKS`].
    Disks(usize),
    /// Basic mirroring of an odd number of disks.
    Pairs(usize),
    /// Clusters of one disk have no place for a second copy.
    Small,
    /// Clusters of this many disks do not divide these disks.
    Clusters(usize, usize),
    /// These disks are an odd number of clusters of this many, which have no partner.
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
                write!(f, "basic mirroring needs pairs, found {disks} disks")
            }
            Self::Small => write!(f, "found clusters of 1 disk, expected 2 or more"),
            Self::Clusters(cluster, disks) => {
                write!(f, "clusters of {cluster} do not divide {disks} disks")
            }
            Self::PairsOfClusters(cluster, disks) => {
                let found = match disks / cluster {
                    1 => "one cluster".to_owned(),
                    number => format!("{number} clusters"),
                };
                write!(
                    f,
                    "group rotate needs pairs of clusters, found {found} of {cluster} disks"
                )
            }
        }
    }
}

impl Error for LayoutError {}

pub(super) fn check(kind: LayoutKind, disks: usize) -> Result<(), LayoutError> {
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
