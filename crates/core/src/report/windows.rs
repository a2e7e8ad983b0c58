//! Results of a run by time window.

use super::occupancy::Occupancy;
use crate::device::Completion;
use crate::engine::Observer;
use crate::request::Request;
use crate::stats::{ResponseStats, ResponseSummary};
use crate::units::{Instant, Span};

/// Results of one half-open window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its start.
    pub start: Instant,
    /// Requests that entered the device within it.
    pub arrived_count: u64,
    /// Response times of the reads and writes that succeeded within it; `None` if there were none.
    pub responses: Option<ResponseStats>,
    /// The share of it with some request inside.
    pub utilisation_fraction: f64,
    /// The average number of requests waiting.
    pub waiting_mean_count: f64,
}

/// An observer that divides a run into windows of equal length, starting at time zero. They include
/// the warm-up, so that they show whether it was long enough.
///
/// Memory grows by about 150 bytes per window, up to a maximum number of windows; later events are
/// not observed.
#[derive(Clone, Debug)]
pub struct Windows {
    length: Span,
    max: usize,
    done: Vec<Window>,
    /// Start and end of the current window.
    start: Instant,
    end: Instant,
    arrived: u64,
    responses: ResponseSummary,
    occupancy: Occupancy,
    last: Instant,
    is_cut: bool,
}

impl Windows {
    /// Windows of this length, up to a maximum number.
    ///
    /// # Panics
    /// When the length is not positive.
    pub fn new(length: Span, max: usize) -> Self {
        assert!(length > Span::ZERO, "windows of {length}");
        Self {
            length,
            max,
            done: Vec::new(),
            start: Instant::START,
            end: Instant::START + length,
            arrived: 0,
            responses: ResponseSummary::default(),
            occupancy: Occupancy::new(Instant::START, 0),
            last: Instant::START,
            is_cut: false,
        }
    }

    /// The windows up to that of the last event, which is complete too: nothing is inside after it.
    /// `None` if there would be more than the maximum.
    pub fn finish(mut self) -> Option<Vec<Window>> {
        let is_empty = self.last == self.start && self.arrived == 0 && self.completed_count() == 0;
        if !is_empty {
            self.close(self.end);
        }
        (!self.is_cut).then_some(self.done)
    }

    fn completed_count(&self) -> u64 {
        self.responses.moments().count()
    }

    /// Closes all windows that ended by `now`.
    #[inline]
    fn advance(&mut self, now: Instant) {
        self.last = now;
        while now >= self.end && !self.is_cut {
            self.close(self.end);
        }
    }

    /// Ends the current window at `end` and begins another.
    #[cold]
    fn close(&mut self, end: Instant) {
        let averages = (
            self.occupancy.busy_fraction(end),
            self.occupancy.waiting_mean_count(end),
        );
        let (Some(utilisation_fraction), Some(waiting_mean_count)) = averages else {
            panic!("a window of no time at {end:?}");
        };
        self.is_cut |= self.done.len() == self.max;
        if self.is_cut {
            return;
        }
        self.done.push(Window {
            start: self.start,
            arrived_count: std::mem::take(&mut self.arrived),
            responses: self.responses.figures(),
            utilisation_fraction,
            waiting_mean_count,
        });
        if self.completed_count() > 0 {
            self.responses = ResponseSummary::default();
        }
        self.occupancy = self.occupancy.from(end);
        self.start = end;
        self.end = end + self.length;
    }
}

impl Observer for Windows {
    fn arrived(&mut self, now: Instant, _: &Request) {
        self.advance(now);
        if !self.is_cut {
            self.arrived += 1;
            self.occupancy.enter(now);
        }
    }

    fn completed(&mut self, completion: &Completion) {
        self.advance(completion.at);
        if !self.is_cut {
            self.occupancy.leave(completion.at);
            if completion.has_transferred() {
                self.responses.record(completion.response());
            }
        }
    }
}
