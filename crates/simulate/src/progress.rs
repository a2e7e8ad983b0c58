//! Progress callbacks, which may stop a run.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Called from time to time with the number of requests that a run has completed; says whether to
/// continue. Concurrent runs, such as replications, call it from their own threads, each with its
/// own count.
pub type Progress<'a> = &'a (dyn Fn(u64) -> ControlFlow<()> + Sync);

/// Ignores progress and stops nothing.
pub fn keep_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The largest number of completions between two calls.
const MAX_STRIDE: u64 = 1024;

/// If calls are further apart than this, they become more frequent. Policies that search orders
/// take milliseconds per completion, others a tenth of a microsecond.
const FAR: Duration = Duration::from_millis(10);

/// Calls a [`Progress`] often enough that a run stops without delay.
pub(crate) struct ProgressCalls<'a> {
    progress: Progress<'a>,
    /// The number of completions at the next call.
    next: u64,
    stride: u64,
    last: Instant,
}

impl<'a> ProgressCalls<'a> {
    pub(crate) fn new(progress: Progress<'a>) -> Self {
        Self {
            progress,
            next: 1,
            stride: 1,
            last: Instant::now(),
        }
    }

    /// Whether a call is due.
    #[inline]
    pub(crate) fn are_due(&self, done: u64) -> bool {
        done >= self.next
    }

    /// Calls. Reads the clock, which does not affect the simulation.
    #[cold]
    pub(crate) fn call(&mut self, done: u64) -> ControlFlow<()> {
        let now = Instant::now();
        self.stride = match now - self.last > FAR {
            true => (self.stride / 2).max(1),
            false => (self.stride * 2).min(MAX_STRIDE),
        };
        self.last = now;
        self.next = done + self.stride;
        (self.progress)(done)
    }
}
