//! What the parts of a device have done: the disks of a pair or an array, caches, and buffers of
//! drives.

use crate::units::{Instant, Lbn, SectorCount, Span};

/// A part of a device that reports by itself ([`Device::parts`]). Figures cover all that it has
/// done, the warm-up of a run included. A device may continue after the last request of a run, with a
/// rebuild or with destages; an observer hears when that was completed
/// ([`Observer::all_completed`]).
///
/// [`Device::parts`]: super::Device::parts
/// [`Observer::all_completed`]: crate::engine::Observer::all_completed
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its place, counted from 0 at each level, the outermost first: `0`, or `3.1` for the second
    /// disk of the fourth pair. Empty for the only one.
    pub name: String,
    /// What it has done.
    pub work: Work,
}

/// What a part has done.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A disk, or whatever stands in its place.
    Disk(DiskWork),
    /// A non-volatile write cache.
    Cache(CacheWork),
    /// The buffer of a drive, if its write cache chooses what it puts on the media
    /// ([`WriteCache::Deferred`](crate::spec::WriteCache::Deferred)).
    Buffer(BufferWork),
    /// What failures of disks did to an array, and how far their rebuild is.
    Redundancy(RedundancyWork),
    /// Any other device that reports values of its own.
    Named(NamedWork),
}

/// Values that a device reports under names of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWork {
    /// The name of the device.
    pub kind: &'static str,
    /// The values and their names; `None` if a value does not exist.
    pub values: Vec<(&'static str, Option<f64>)>,
}

impl Work {
    /// Returns the name of the kind of part.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Disk(_) => "disk",
            Self::Cache(_) => "cache",
            Self::Buffer(_) => "buffer",
            Self::Redundancy(_) => "redundancy",
            Self::Named(work) => work.kind,
        }
    }

    /// Returns the value called `name`, which a part of kind [`Work::Named`] reports.
    pub fn named(&self, name: &str) -> Option<f64> {
        let Self::Named(work) = self else {
            return None;
        };
        let mut values = work.values.iter();
        values.find(|(key, _)| *key == name)?.1
    }
}

impl Part {
    /// The parts of `inner`, which is the part number `index` of something larger.
    pub fn within(index: usize, inner: Vec<Self>) -> impl Iterator<Item = Self> {
        inner.into_iter().map(move |part| {
            let name = match part.name.is_empty() {
                true => index.to_string(),
                false => format!("{index}.{}", part.name),
            };
            Self { name, ..part }
        })
    }
}

/// What a disk has done. Shares and means over time are from the beginning until its report, or
/// until it failed.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskWork {
    /// Commands to read that it has completed.
    pub reads: u64,
    /// Commands to write that it has completed.
    pub writes: u64,
    /// The share of time with a read inside, 0 to 1.
    pub reading_fraction: f64,
    /// The share of time with a write inside.
    pub writing_fraction: f64,
    /// The share of time in batches of writes: a part of `writing`.
    pub in_batches_fraction: f64,
    /// Batches of writes that have ended.
    pub batches: u64,
    /// The mean length of a batch; `None` without any.
    pub batch_mean: Option<Span>,
    /// The mean time from the end of a batch to the beginning of the next; `None` without two.
    pub between_batches_mean: Option<Span>,
    /// The mean number of commands that wait for it; a read that two disks share waits for both.
    pub waiting_mean_count: f64,
    /// The largest number.
    pub waiting_max: u64,
    /// The mean number of writes that wait for it.
    pub writes_waiting_mean_count: f64,
}

/// What a non-volatile write cache has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CacheWork {
    /// Writes that completed once they were in the cache.
    pub absorbed: u64,
    /// Writes that had to wait for room.
    pub waited: u64,
    /// Blocks that were overwritten in the cache before they were written to the disks.
    pub overwritten: u64,
    /// Writes to the devices behind it that have ended.
    pub destages: u64,
    /// Those that failed: what they held is lost.
    pub failed: u64,
    /// Reads served from the cache.
    pub hits: u64,
    /// The mean number of blocks that the devices behind do not have yet.
    pub dirty_mean_count: f64,
    /// The largest number.
    pub dirty_max: u64,
}

/// What a write cache that chooses what it puts on the media has put there, or begun to, until the
/// last event of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferWork {
    /// Blocks in all.
    pub destaged: SectorCount,
    /// Those of them that were written in gaps of commands.
    pub in_gaps: SectorCount,
    /// Writes in gaps of commands.
    pub writes_in_gaps: u64,
}

/// What failures of disks did to an array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RedundancyWork {
    /// Disks that have failed.
    pub failed: u64,
    /// When the first of them failed.
    pub failed_at: Option<Instant>,
    /// All that have failed or will, in the order of their times.
    pub failures: Vec<Failure>,
    /// The share of the failed disk that a spare has, 0 to 1; `None` without a rebuild.
    pub rebuilt_fraction: Option<f64>,
    /// From the beginning of the rebuild until the spare had everything.
    pub rebuild_time: Option<Span>,
    /// The same at the rate until a request last completed; `None` if there was none by then.
    pub rebuild_projected: Option<Span>,
    /// Where the rebuild has stopped because a block could not be read.
    pub stopped: Option<Lbn>,
    /// What the failures have lost.
    pub lost: Option<Lost>,
}

/// A member of a pair or an array that fails for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The member, counted from 0.
    pub member: usize,
    /// When. Those at [`Instant::START`] have failed before anything else.
    pub at: Instant,
}

/// Data of which nothing is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// When the last copy, or the redundancy from which it could be computed, failed.
    pub at: Instant,
    /// The first block.
    pub first: Lbn,
    /// The number of blocks.
    pub blocks: SectorCount,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_joined() {
        let work = Work::Cache(CacheWork::default());
        let part = |name: &str| Part {
            name: name.to_owned(),
            work: work.clone(),
        };
        let named: Vec<String> = Part::within(3, vec![part(""), part("1")])
            .map(|part| part.name)
            .collect();
        assert_eq!(named, ["3", "3.1"]);
    }
}
