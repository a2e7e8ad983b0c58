//! The number of requests inside a device over time.

use crate::stats::OverTime;
use crate::units::Instant;

/// Time averages from a start instant on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupancy {
    /// Requests inside the device.
    inside: u64,
    /// 1 while any request is inside.
    busy: OverTime,
    /// All requests inside except one.
    waiting: OverTime,
}

impl Occupancy {
    /// Starts with `inside` requests at `start`.
    pub(super) fn new(start: Instant, inside: u64) -> Self {
        Self {
            inside,
            busy: OverTime::new(start, inside.min(1)),
            waiting: OverTime::new(start, inside.saturating_sub(1)),
        }
    }

    /// Continues with the same device, but averages from `now` on.
    pub(super) fn from(&self, now: Instant) -> Self {
        Self::new(now, self.inside)
    }

    #[inline]
    pub(super) fn enter(&mut self, now: Instant) {
        self.step(now, self.inside + 1);
    }

    #[inline]
    pub(super) fn leave(&mut self, now: Instant) {
        self.step(now, self.inside - 1);
    }

    /// The share of time until `end` with some request inside; `None` if no time has passed.
    pub(super) fn busy_fraction(&self, end: Instant) -> Option<f64> {
        self.busy.average_count(end)
    }

    /// The average number waiting until `end`; `None` if no time has passed.
    pub(super) fn waiting_mean_count(&self, end: Instant) -> Option<f64> {
        self.waiting.average_count(end)
    }

    /// The largest number waiting.
    pub(super) fn waiting_max_count(&self) -> u64 {
        self.waiting.max()
    }

    /// Sets the number inside to `inside` at `now`. This changes only one of busy and waiting.
    #[inline]
    fn step(&mut self, now: Instant, inside: u64) {
        let greater = inside.max(self.inside);
        self.inside = inside;
        if greater == 1 {
            self.busy.set(now, inside);
        } else {
            self.waiting.set(now, inside - 1);
        }
    }
}
