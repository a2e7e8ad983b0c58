//! SPTF within a window of arrival times.
//!
//! # What it does
//! Among the pending requests that arrived within t of the oldest, serves the one with the shortest
//! positioning time. The window of the dynamic variant is t times the queue length.
//!
//! # Origin
//! liu05 section 6.1 (WB-SPTF). t = 50 ms was best on one of liu05's bursts (table 6.2). liu05 says
//! that the dynamic variant adjusts the window to the load, but not how; we let it grow with the
//! queue. With a window longer than any wait, both variants are SPTF; with an empty one, they are
//! FCFS except for simultaneous arrivals.
//!
//! # Cost
//! Per decision, the positioning time of the requests in the window.
//!
//! # When it is bad
//! When the queue exceeds the window, throughput hardly grows with load. A request is overtaken
//! only by those that arrive within t after it; in the dynamic variant, within t times the longest
//! queue.

use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use super::waiting::{Select, Selector, Waiting};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WbSptf {
    /// Time from the oldest arrival to the last one considered.
    window: Span,
    is_dynamic: bool,
}

impl Rule for WbSptf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "wb-sptf",
        summary: "shortest positioning time first among arrivals soon after the oldest",
        parameters: &[
            ("t=50 ms", "the length of the window, from 0 to an hour"),
            (
                "dynamic=no",
                "with yes, the window is t times the queue length",
            ),
        ],
        knowledge: Knowledge::Times,
        origin: "liu05 section 6.1",
        example: "wb-sptf(t=60 ms, dynamic=yes)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            window: args.maybe_time("t")?.unwrap_or(Span::from_ms(50.0)),
            is_dynamic: args.maybe_yes("dynamic")?.unwrap_or(false),
        })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::new(*self))
    }
}

impl Select for WbSptf {
    fn select<O: Outlook>(&mut self, _: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        let all = queue.all();
        let oldest = all.first()?.pending.arrived;
        let times = if self.is_dynamic { all.len() } else { 1 };
        // An hour times millions of requests would exceed 64 bits.
        let window = i128::from(self.window.as_ns()) * times as i128;
        let inside = all.partition_point(|c| {
            let after = c.pending.arrived.since_or_zero(oldest);
            i128::from(after.as_ns()) <= window
        });
        queue.min_of_oldest(inside, |c| c.positioning(outlook))
    }
}
