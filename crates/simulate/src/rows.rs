//! Per-request rows.

use diskarm_core::device::Completion;

/// Receives every completed request in order of completion, including the warm-up.
pub trait Sink {
    /// Takes the next completion. Its request names the disk ([`Request::unit`]) and the block on
    /// that disk.
    ///
    /// [`Request::unit`]: diskarm_core::request::Request::unit
    fn take(&mut self, completion: &Completion);
}
