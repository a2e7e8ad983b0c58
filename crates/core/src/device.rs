//! The trait of everything that can serve requests, and the types of its results.
//!
//! A drive is a device, and so is everything that wraps devices: a host queue, a set of disks, an
//! observer, a fault injector. Requests enter with [`Device::submit`], completions leave with
//! [`Device::advance`], and [`Device::next_event`] returns the instant of the next event.

mod children;

use crate::request::{Op, Request};
use crate::units::{Bytes, Instant, Lbn, SectorCount, Span};

pub use children::Children;

/// A device that does no I/O, reads no clock and starts no thread.
///
/// Callers pass requests and instants, and receive completions and the instant of the next event.
/// Instants never decrease from one call to the next. Events up to an instant come before input at
/// that instant: call [`advance`](Self::advance) until it returns `None`, then
/// [`submit`](Self::submit) or [`abort`](Self::abort). Every request completes exactly once.
pub trait Device: Send {
    /// Returns the number of blocks that requests may address, on each unit if there are several.
    fn capacity(&self) -> SectorCount;

    /// Returns the size of a block.
    fn sector_size(&self) -> Bytes;

    /// Checks that the device can serve `request`, now or later.
    ///
    /// # Errors
    /// Returns the reason why it cannot serve the request.
    #[inline]
    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        check(request, self.capacity())
    }

    /// Returns true if the device has room for a request. Only then does a queue above it choose
    /// one.
    fn has_room(&self) -> bool;

    /// Returns true if the device would now accept this request, which must be valid.
    #[inline]
    fn accepts(&self, _: &Request) -> bool {
        self.has_room()
    }

    /// Submits a request.
    ///
    /// # Errors
    /// If the device does not accept the request; its state is then unchanged.
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError>;

    /// Returns the instant of the next event, assuming no further input.
    fn next_event(&self) -> Option<Instant>;

    /// Advances to the next completion up to and including `now` and returns it, or advances to
    /// `now` and returns `None`. Completions are returned in order of time.
    fn advance(&mut self, now: Instant) -> Option<Completion>;

    /// If the request `id` is still waiting, aborts it and returns true. It then completes at `now`
    /// with [`Status::Aborted`]; otherwise it completes normally.
    fn abort(&mut self, now: Instant, id: u64) -> bool;

    /// Returns the statistics of the device's components so far. The only component of a single
    /// disk is a buffer that defers writes; a wrapper returns the components of the device that it
    /// wraps. Fractions and means over time cover the time until `now`, or until the last event of
    /// the component if that is later. For a failed disk, they cover the time until its failure.
    fn components(&self, _now: Instant) -> Vec<ComponentReport> {
        Vec::new()
    }

    /// Returns the blocks that have reached the media since the last call, in order. The first call
    /// starts the record. Returns `None` if the device cannot keep such a record, because it has
    /// several drives or delays requests that a drive has already completed.
    fn persisted(&mut self, _now: Instant) -> Option<Vec<Persisted>> {
        None
    }
}

impl<D: Device + ?Sized> Device for Box<D> {
    crate::forward!(
        self, (**self); capacity sector_size check has_room accepts submit next_event
        advance abort components persisted
    );
}

/// The reason why a device does not accept a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitError {
    /// The queue of the device is full.
    Full,
    /// The request reads or writes no blocks.
    Empty,
    /// The request is larger than [`Request::MAX_SECTORS`].
    TooLarge,
    /// The request ends beyond the last block.
    BeyondEnd {
        /// Number of blocks on the device.
        sectors: SectorCount,
    },
    /// The unit of the request does not exist.
    NoSuchUnit {
        /// Number of units that exist.
        units: u32,
    },
}

impl std::fmt::Display for SubmitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Full => f.write_str("the command queue is full"),
            Self::Empty => f.write_str("the request has no sectors, expected at least 1"),
            Self::TooLarge => {
                let max = Request::MAX_SECTORS.0;
                write!(
                    f,
                    "the request is too large, expected at most {max} sectors"
                )
            }
            Self::BeyondEnd { sectors } => {
                write!(
                    f,
                    "the request ends beyond the last of {} blocks",
                    sectors.0
                )
            }
            Self::NoSuchUnit { units } => write!(f, "no such unit, expected a unit below {units}"),
        }
    }
}

impl std::error::Error for SubmitError {}

/// Checks that a device of `sectors` blocks can serve `request`.
///
/// # Errors
/// [`SubmitError::Empty`], [`SubmitError::TooLarge`] and [`SubmitError::BeyondEnd`].
pub fn check(request: &Request, sectors: SectorCount) -> Result<(), SubmitError> {
    if request.sectors.0 == 0 {
        return match request.op {
            Op::Flush => Ok(()),
            Op::Read | Op::Write => Err(SubmitError::Empty),
        };
    }
    if request.sectors > Request::MAX_SECTORS {
        return Err(SubmitError::TooLarge);
    }
    match request.start.0.checked_add(request.sectors.0) {
        Some(end) if end <= sectors.0 => Ok(()),
        _ => Err(SubmitError::BeyondEnd { sectors }),
    }
}

/// A completed request, successful or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request that has completed.
    pub request: Request,
    /// Instant of arrival at the device, or at its host queue.
    pub arrived: Instant,
    /// Instant at which the host received the completion.
    pub at: Instant,
    /// The parts of the time from `arrived` to `at`.
    pub breakdown: Breakdown,
    /// Effect of the buffer on the request.
    pub outcome: Outcome,
    /// Success, or the kind of error.
    pub status: Status,
}

impl Completion {
    /// Returns the response time: the queue wait and the service time.
    #[inline]
    pub fn response(&self) -> Span {
        self.at - self.arrived
    }

    /// Returns true for a successful read or write: only these count as transfers.
    #[inline]
    pub const fn has_transferred(&self) -> bool {
        self.status.is_success() && !matches!(self.request.op, Op::Flush)
    }

    /// Returns the response time without the queue wait.
    #[inline]
    pub fn service(&self) -> Span {
        self.response() - self.breakdown.queue
    }

    /// Returns the block that could not be read or written, after a medium error.
    pub fn bad_block(&self) -> Option<Lbn> {
        match self.status {
            Status::MediumError { offset } => Some(Lbn(self.request.start.0 + u64::from(offset))),
            _ => None,
        }
    }

    /// Creates the completion of a request that ended at `at` before it was served.
    pub fn unserved(request: Request, arrived: Instant, at: Instant, status: Status) -> Self {
        let breakdown = Breakdown {
            queue: at - arrived,
            ..Breakdown::default()
        };
        Self {
            request,
            arrived,
            at,
            breakdown,
            outcome: Outcome::Miss,
            status,
        }
    }
}

/// The result of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Success without any errors.
    #[default]
    Good,
    /// Success after errors that retries overcame (SCSI: RECOVERED ERROR).
    Recovered {
        /// Number of retries that were needed.
        retries: u16,
    },
    /// A block could not be read or written (SCSI: MEDIUM ERROR). [`Completion::bad_block`] returns
    /// it; earlier blocks of the request were transferred.
    MediumError {
        /// The block, counted from the first of the request.
        offset: u16,
    },
    /// The device could not be accessed (SCSI: NOT READY).
    NotReady,
    /// The request was aborted or not tried, and had no effect.
    Aborted,
}

impl Status {
    /// Returns true if the request succeeded.
    #[inline]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Good | Self::Recovered { .. })
    }
}

/// The effect of the buffer on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No effect: all blocks came from the media or went there, or the request has no blocks.
    Miss,
    /// All blocks of a read were in the buffer.
    Hit,
    /// The first blocks of a read were in the buffer, or the drive was already reading them.
    PartialHit,
    /// A write completed before it was on the media.
    Absorbed,
}

/// The parts of a response time. They follow one another on the request's critical path, so their
/// sum is exactly the response time; work that overlaps is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Waiting for other commands.
    pub queue: Span,
    /// Waiting for work that the drive must finish first: a flush of dirty data, required
    /// read-ahead, or the current sector or movement.
    pub owed: Span,
    /// Command processing, reconnections and completion.
    pub overhead: Span,
    /// Arm movement between two cylinders.
    pub seek: Span,
    /// Head switch without a seek, and write settle; an effective value may be negative.
    pub settle: Span,
    /// Rotational wait for the first sector.
    pub rotation: Span,
    /// Time from the start of the first sector to the end of the last, including track crossings.
    pub transfer: Span,
    /// Bus transfer that overlaps nothing else.
    pub bus: Span,
}

impl Breakdown {
    /// The parts' names, in the order of [`Self::parts`].
    pub const NAMES: [&'static str; 8] = [
        "queue", "owed", "overhead", "seek", "settle", "rotation", "transfer", "bus",
    ];

    /// Returns the parts, in the order of [`Self::NAMES`].
    #[inline]
    pub fn parts(&self) -> [Span; 8] {
        [
            self.queue,
            self.owed,
            self.overhead,
            self.seek,
            self.settle,
            self.rotation,
            self.transfer,
            self.bus,
        ]
    }

    /// Adds the parts of two consecutive periods.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            queue: self.queue + other.queue,
            owed: self.owed + other.owed,
            overhead: self.overhead + other.overhead,
            seek: self.seek + other.seek,
            settle: self.settle + other.settle,
            rotation: self.rotation + other.rotation,
            transfer: self.transfer + other.transfer,
            bus: self.bus + other.bus,
        }
    }

    /// Returns the sum of all parts.
    #[inline]
    pub fn total(&self) -> Span {
        self.parts().into_iter().sum()
    }
}

/// The statistics of one component of a device ([`Device::components`]): a disk of a pair or an
/// array, a cache, or the buffer of a drive. They cover the whole run, including its warm-up. A
/// device may continue after the last request of a run, with a rebuild or with destages;
/// [`Observer::all_completed`] marks the completion of the last request.
///
/// [`Observer::all_completed`]: crate::engine::Observer::all_completed
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentReport {
    /// The position of the component, counted from 0 at each level, outermost first: `0`, or `3.1`
    /// for the second disk of the fourth pair. Empty for a single component.
    pub name: String,
    /// Statistics of this component.
    pub work: Work,
}

/// Statistics by type of component.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A disk, or another device that takes the role of one.
    Disk(DiskWork),
    /// A non-volatile write cache.
    Cache(CacheWork),
    /// The buffer of a drive whose write cache chooses what it destages
    /// ([`WriteCache::Deferred`](crate::spec::WriteCache::Deferred)).
    Buffer(BufferWork),
    /// The failures of an array's disks, their effect, and the progress of the rebuild.
    Redundancy(RedundancyWork),
    /// Any other device that reports its own numbers.
    Named(NamedWork),
}

/// Numbers that a device reports under its own names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWork {
    /// The name of the device.
    pub kind: &'static str,
    /// The names and numbers; a number that does not exist is `None`.
    pub numbers: Vec<(&'static str, Option<f64>)>,
}

impl Work {
    /// Returns the name of the kind of component.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Disk(_) => "disk",
            Self::Cache(_) => "cache",
            Self::Buffer(_) => "buffer",
            Self::Redundancy(_) => "redundancy",
            Self::Named(work) => work.kind,
        }
    }

    /// Returns the number called `name`, if this is a [`Work::Named`] that has one.
    pub fn named_number(&self, name: &str) -> Option<f64> {
        let Self::Named(work) = self else {
            return None;
        };
        let mut numbers = work.numbers.iter();
        numbers.find(|(key, _)| *key == name)?.1
    }
}

impl ComponentReport {
    /// Creates the report of a single component.
    pub fn new(work: Work) -> Self {
        let name = String::new();
        Self { name, work }
    }

    /// Returns the components `inner` of a device, named as parts of component `index` of another.
    pub fn within(index: usize, inner: Vec<Self>) -> impl Iterator<Item = Self> {
        inner.into_iter().map(move |part| {
            let name = if part.name.is_empty() {
                index.to_string()
            } else {
                format!("{index}.{}", part.name)
            };
            Self { name, ..part }
        })
    }
}

/// Statistics of a disk. Fractions and means over time cover the time from the start until the
/// report, or until the disk failed.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskWork {
    /// Number of completed reads.
    pub reads: u64,
    /// Number of completed writes.
    pub writes: u64,
    /// Fraction of time with a read in service, 0 to 1.
    pub reading_fraction: f64,
    /// Fraction of time with a write in service.
    pub writing_fraction: f64,
    /// Fraction of time in batches of writes; included in `writing_fraction`.
    pub in_batches_fraction: f64,
    /// Completed batches of writes.
    pub batches: u64,
    /// The mean length of a batch; `None` if there were no batches.
    pub batch_mean: Option<Span>,
    /// The mean time from the end of a batch to the beginning of the next; `None` if there were
    /// fewer than two batches.
    pub between_batches_mean: Option<Span>,
    /// Mean number of waiting commands; a read that waits for either of two disks counts for both.
    pub waiting_mean_count: f64,
    /// Maximum number of waiting commands.
    pub waiting_max: u64,
    /// Mean number of waiting writes.
    pub writes_waiting_mean_count: f64,
}

/// Statistics of a non-volatile write cache.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CacheWork {
    /// Writes that completed once they were in the cache.
    pub absorbed: u64,
    /// Writes that had to wait for room.
    pub waited: u64,
    /// Blocks that were overwritten in the cache before they were written to the disks.
    pub overwritten: u64,
    /// Completed writes to the devices below.
    pub destages: u64,
    /// Failed destages, whose data are lost.
    pub failed: u64,
    /// Reads served from the cache.
    pub hits: u64,
    /// Mean number of blocks not yet written to the devices below.
    pub dirty_mean_count: f64,
    /// Maximum number of blocks not yet written to the devices below.
    pub dirty_max: u64,
}

/// Blocks that a deferred write cache had begun to destage by the last event of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferWork {
    /// Total number of blocks.
    pub destaged: SectorCount,
    /// Blocks written in the gaps that commands leave.
    pub in_gaps: SectorCount,
    /// Writes in the gaps that commands leave.
    pub writes_in_gaps: u64,
}

/// Failures of an array's disks and their effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RedundancyWork {
    /// Disks that have failed.
    pub failed: u64,
    /// Instant of the first failure.
    pub failed_at: Option<Instant>,
    /// All past and scheduled failures, in order of time.
    pub failures: Vec<Failure>,
    /// Fraction of the failed disk that the spare holds, 0 to 1; `None` without a rebuild.
    pub rebuilt_fraction: Option<f64>,
    /// Time from the start of the rebuild until its end.
    pub rebuild_time: Option<Span>,
    /// Projected time of the whole rebuild, from its progress when the last request completed.
    pub rebuild_projected: Option<Span>,
    /// The unreadable block at which the rebuild stopped.
    pub stopped: Option<Lbn>,
    /// Data lost by the failures.
    pub lost: Option<DataLoss>,
}

/// A permanent failure of a member of a pair or an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The member, counted from 0.
    pub member: usize,
    /// Instant of the failure; a member that fails at [`Instant::START`] never works.
    pub at: Instant,
}

/// Data that can no longer be read or reconstructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataLoss {
    /// Instant of the failure that destroyed the data.
    pub at: Instant,
    /// First block that is lost.
    pub first: Lbn,
    /// The number of blocks.
    pub blocks: SectorCount,
}

/// Consecutive blocks whose data have reached the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Persisted {
    /// First block of the range.
    pub first: Lbn,
    /// Length of the range in blocks.
    pub sectors: SectorCount,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Lbn;

    fn check_read(start: u64, sectors: u64) -> Result<(), SubmitError> {
        let request = Request::new(0, Op::Read, Lbn(start), SectorCount(sectors));
        check(&request, SectorCount(100_000))
    }

    #[test]
    fn requests_must_be_within_the_device_and_have_a_valid_size() {
        let beyond = Err(SubmitError::BeyondEnd {
            sectors: SectorCount(100_000),
        });
        assert_eq!(check_read(99_999, 1), Ok(()));
        assert_eq!(check_read(99_999, 2), beyond);
        assert_eq!(check_read(u64::MAX, 1), beyond);
        assert_eq!(check_read(0, 0), Err(SubmitError::Empty));
        assert_eq!(check_read(0, 65_536), Ok(()));
        assert_eq!(check_read(0, 65_537), Err(SubmitError::TooLarge));
        assert_eq!(check(&Request::flush(0), SectorCount(1)), Ok(()));
    }

    #[test]
    fn names_are_joined_by_a_dot() {
        let work = Work::Cache(CacheWork::default());
        let part = |name: &str| ComponentReport {
            name: name.to_owned(),
            work: work.clone(),
        };
        let names: Vec<String> = ComponentReport::within(3, vec![part(""), part("1")])
            .map(|part| part.name)
            .collect();
        assert_eq!(names, ["3", "3.1"]);
    }
}
