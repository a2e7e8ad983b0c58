//! What comes back from a drive: completions, and where their time went.

use crate::request::Request;
use crate::units::{Instant, Span};

/// A served request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What was asked.
    pub request: Request,
    /// When the request entered the device, a host queue included.
    pub arrived: Instant,
    /// When the host was told that it is done.
    pub at: Instant,
    /// Where the time between went.
    pub breakdown: Breakdown,
    /// What the buffer did for it.
    pub outcome: Outcome,
}

impl Completion {
    /// Queue wait and service.
    #[inline]
    pub fn response(&self) -> Span {
        self.at - self.arrived
    }

    /// Response without queue wait.
    #[inline]
    pub fn service(&self) -> Span {
        self.response() - self.breakdown.queue
    }
}

/// What the buffer did for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: all blocks came from or went to the media.
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

    /// Their sum.
    #[inline]
    pub fn total(&self) -> Span {
        self.parts().into_iter().sum()
    }
}
