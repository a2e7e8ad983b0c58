//! Per-request rows.

use diskarm_core::device::Completion;

/// Where completed requests go: each of them, in the order of completion, warm-up included.
pub trait Sink {
    /// Takes the next. Its request names the disk ([`Request::unit`]) and the block on that disk.
    ///
    /// [`Request::unit`]: diskarm_core::request::Request::unit
    fn take(&mut self, completion: &Completion);
}
