//! A delay: adds a latency to every request, as Linux's dm-delay does.
//!
//! # What it does
//! Each request goes to the wrapped device immediately, and completes a fixed time after the
//! wrapped device has completed it. Any number of requests may be delayed at the same time: the
//! delay does not occupy the device, so the throughput of many outstanding requests hardly changes.
//! Writes and flushes may have their own latency. The latency counts as command overhead. Aborted
//! requests are not delayed.
//!
//! # Origin
//! The `delay` target of Linux's device mapper (Documentation/admin-guide/device-mapper/delay.rst),
//! which has separate latencies for reads and writes. It holds requests before it submits them;
//! here they are held after service, so that the order of service does not depend on the latency.
//!
//! # Cost
//! Logarithmic in the number of delayed requests if reads and writes differ, otherwise constant;
//! one extra event per request.
//!
//! # When it is bad
//! Blocks reach the media before the write that puts them there completes.
//!
//! # Example
//! ```
//! use diskarm_core::device::Device;
//! use diskarm_core::units::Span;
//! use diskarm_core::wrap::{Delay, Latency};
//!
//! fn far<D: Device>(device: D) -> Delay<D> {
//!     let span = Span::from_ms(5.0);
//!     Delay::new(device, Latency { reads: span, writes: span })
//! }
//! ```

use std::collections::VecDeque;

use crate::device::{Completion, ComponentReport, Device, NamedWork, Status, Work};
use crate::sched::Estimate;
use crate::units::{Instant, Span};

/// The latencies that a [`Delay`] adds; none is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The latency of reads.
    pub reads: Span,
    /// The latency of writes and flushes.
    pub writes: Span,
}

/// See the module's documentation.
pub struct Delay<D> {
    device: D,
    latency: Latency,
    /// Completions of the device that are held back, in the order in which they become due.
    late: VecDeque<Completion>,
    delayed: u64,
    /// The largest number of requests that were held back at the same time.
    late_max: usize,
}

impl<D: Device> Delay<D> {
    /// Adds `latency` to the requests of `device`.
    ///
    /// # Panics
    /// If a latency is negative.
    pub fn new(device: D, latency: Latency) -> Self {
        assert!(
            latency.reads >= Span::ZERO && latency.writes >= Span::ZERO,
            "found {latency:?}, expected latencies of 0 or more"
        );
        Self {
            device,
            latency,
            late: VecDeque::new(),
            delayed: 0,
            late_max: 0,
        }
    }

    /// Holds back a completion of the device, or returns it if it is not delayed.
    fn hold(&mut self, mut completion: Completion) -> Option<Completion> {
        let span = if completion.request.op.is_read() {
            self.latency.reads
        } else {
            self.latency.writes
        };
        if span == Span::ZERO || completion.status == Status::Aborted {
            return Some(completion);
        }
        completion.at += span;
        completion.breakdown.overhead += span;
        // Completions that are due at the same instant keep their order.
        let index = self.late.partition_point(|late| late.at <= completion.at);
        self.late.insert(index, completion);
        self.delayed += 1;
        self.late_max = self.late_max.max(self.late.len());
        None
    }
}

impl<D: Device> Device for Delay<D> {
    crate::forward!(
        device: capacity sector_size check has_room accepts submit abort persisted
    );

    fn next_event(&self) -> Option<Instant> {
        let due = self.late.front().map(|completion| completion.at);
        let events = [due, self.device.next_event()];
        events.into_iter().flatten().min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            if self.late.front().is_some_and(|late| late.at <= at) {
                return self.late.pop_front();
            }
            let done = self.device.advance(at);
            if let Some(completion) = done.and_then(|done| self.hold(done)) {
                return Some(completion);
            }
        }
        None
    }

    fn components(&self, now: Instant) -> Vec<ComponentReport> {
        let work = Work::Named(NamedWork {
            kind: "delay",
            numbers: vec![
                ("delayed", Some(self.delayed as f64)),
                ("late_max", Some(self.late_max as f64)),
            ],
        });
        let mut all = self.device.components(now);
        all.push(ComponentReport::new(work));
        all
    }
}

impl<D: Device + Estimate> Estimate for Delay<D> {
    type Outlook<'a> = D::Outlook<'a>;
    type Rehearsal = D::Rehearsal;

    crate::forward!(device: shape locate outlook rehearse);
}
