//! How far a run has come, for whoever waits, and whether it goes on.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Hears now and then of how many requests a run has completed, and says whether it goes on. Runs
/// side by side, such as replications, call it from threads of their own, each with its own count.
pub type Look<'a> = &'a (dyn Fn(u64) -> ControlFlow<()> + Sync);

/// Looks at nothing and stops nothing.
pub fn keep_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// When to look: at most so many completions after the last look.
const MAX_STRIDE: u64 = 1024;

/// Looks that are further apart than this come closer. Policies that search orders take
/// milliseconds for a completion, others a microsecond for ten.
const FAR: Duration = Duration::from_millis(10);

/// Looks at a run, so often that somebody who wants it to stop does not wait.
pub(crate) struct Looks<'a> {
    look: Look<'a>,
    /// Completions at which it is looked at next.
    next: u64,
    stride: u64,
    last: Instant,
}

impl<'a> Looks<'a> {
    pub(crate) fn new(look: Look<'a>) -> Self {
        Self {
            look,
            next: 1,
            stride: 1,
            last: Instant::now(),
        }
    }

    /// Whether it is time to look.
    #[inline]
    pub(crate) fn are_due(&self, done: u64) -> bool {
        done >= self.next
    }

    /// Looks. Reads the clock, which takes no part in what is simulated.
    #[cold]
    pub(crate) fn look(&mut self, done: u64) -> ControlFlow<()> {
        let now = Instant::now();
        self.stride = match now - self.last > FAR {
            true => (self.stride / 2).max(1),
            false => (self.stride * 2).min(MAX_STRIDE),
        };
        self.last = now;
        self.next = done + self.stride;
        (self.look)(done)
    }
}
