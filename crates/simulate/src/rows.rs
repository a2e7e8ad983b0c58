//! Per-request rows.

use diskarm_core::device::{Completion, Outcome, Status};

/// Receives every completed request in order of completion, including the warm-up.
pub trait Sink {
    /// Takes the next completion. Its request names the disk ([`Request::unit`]) and the block on
    /// that disk.
    ///
    /// [`Request::unit`]: diskarm_core::request::Request::unit
    fn take(&mut self, completion: &Completion);
}

/// The outcomes that a row can have: what the buffer did for a request, or why the request failed.
pub const OUTCOMES: [&str; 7] = [
    "miss",
    "hit",
    "partial",
    "absorbed",
    "medium-error",
    "not-ready",
    "aborted",
];

/// The index in [`OUTCOMES`] of the outcome of a completed request.
pub const fn outcome(completion: &Completion) -> usize {
    match (completion.status, completion.outcome) {
        (Status::MediumError { .. }, _) => 4,
        (Status::NotReady, _) => 5,
        (Status::Aborted, _) => 6,
        (_, Outcome::Miss) => 0,
        (_, Outcome::Hit) => 1,
        (_, Outcome::PartialHit) => 2,
        (_, Outcome::Absorbed) => 3,
    }
}
