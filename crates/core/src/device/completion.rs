//! What a device returns for a request: how it ended, and where its time went.

use crate::request::{Op, Request};
use crate::units::{Instant, Lbn, Span};

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub request: Request,
    /// When the request entered the device, a host queue included.
    pub arrived: Instant,
    /// When the host learned that it has ended.
    pub at: Instant,
    /// Where the time between went.
    pub breakdown: Breakdown,
    /// What the buffer did for it.
    pub outcome: Outcome,
    /// Whether it succeeded.
    pub status: Status,
}

impl Completion {
    /// Queue wait and service.
    #[inline]
    pub fn response(&self) -> Span {
        self.at - self.arrived
    }

    /// Whether it is a read or a write that succeeded: figures of transfers leave all else out.
    #[inline]
    pub const fn has_transferred(&self) -> bool {
        self.status.is_success() && !matches!(self.request.op, Op::Flush)
    }

    /// Response without queue wait.
    #[inline]
    pub fn service(&self) -> Span {
        self.response() - self.breakdown.queue
    }

    /// The block that could not be read or written, if that is how the request ended.
    pub fn bad_block(&self) -> Option<Lbn> {
        match self.status {
            Status::MediumError { offset } => Some(Lbn(self.request.start.0 + u64::from(offset))),
            _ => None,
        }
    }

    /// The completion of a request that ended at `at` while it waited: it did nothing.
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

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It did what was asked.
    #[default]
    Good,
    /// The same, after errors that retries overcame (SCSI: RECOVERED ERROR).
    Recovered {
        /// How often the drive tried again.
        retries: u16,
    },
    /// A block could not be read or written (SCSI: MEDIUM ERROR). [`Completion::bad_block`] names
    /// it; earlier blocks of the request were transferred.
    MediumError {
        /// The block, counted from the first of the request.
        offset: u16,
    },
    /// The device could not be accessed (SCSI: NOT READY).
    NotReady,
    /// It was taken back, or given up before it was tried, and did nothing.
    Aborted,
}

impl Status {
    /// Whether the request did what was asked.
    #[inline]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Good | Self::Recovered { .. })
    }
}

/// What the buffer did for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: all blocks came from or went to the media, or there were none.
    Miss,
    /// All blocks of a read were in the buffer.
    Hit,
    /// The first blocks of a read were in the buffer, or on their way.
    PartialHit,
    /// A write completed before it was on the media.
    Absorbed,
}

/// The parts of a response time. They follow one another on the request's critical path, so
/// that they add up to the response to the nanosecond; what overlaps is in none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Waiting behind other commands.
    pub queue: Span,
    /// Waiting for what the drive does first: a flush of dirty data, required read-ahead, the
    /// sector or the movement under way.
    pub owed: Span,
    /// Command processing, reconnections and completion.
    pub overhead: Span,
    /// Arm movement.
    pub seek: Span,
    /// Head switch without a seek, and write settle; may be negative when effective.
    pub settle: Span,
    /// Wait for the first sector to come round.
    pub rotation: Span,
    /// From the first sector's beginning to the last one's end, track crossings included.
    pub transfer: Span,
    /// Bus transfer that nothing else covers.
    pub bus: Span,
}

impl Breakdown {
    /// The parts' names, in the order of [`Self::parts`].
    pub const NAMES: [&'static str; 8] = [
        "queue", "owed", "overhead", "seek", "settle", "rotation", "transfer", "bus",
    ];

    /// The parts.
    #[inline]
    pub fn parts(&self) -> [Span; 8] {
        let Self {
            queue,
            owed,
            overhead,
            seek,
            settle,
            rotation,
            transfer,
            bus,
        } = *self;
        [queue, owed, overhead, seek, settle, rotation, transfer, bus]
    }

    /// The same parts of two times, one after the other.
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

    /// Their sum.
    #[inline]
    pub fn total(&self) -> Span {
        self.parts().into_iter().sum()
    }
}
