//! What is told of each request.

use diskarm_core::drive::Completion;
use diskarm_core::units::Lbn;

/// A request that was completed.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Which of the disks side by side, from 0.
    pub disk: u64,
    /// Its first block on that disk. (That of the completion counts through all disks.)
    pub lbn: Lbn,
    /// All else.
    pub completion: &'a Completion,
}

/// Where rows go: one for each request, in the order of completion, warm-up and all.
pub trait Sink {
    /// Takes the next.
    fn take(&mut self, row: Row<'_>);
}
