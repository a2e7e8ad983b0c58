//! The observer of a run: its report, the requested extras, the backlog, and progress.

use std::ops::ControlFlow;
use std::time::{Duration, Instant as HostInstant};

use diskarm_core::device::{Completion, ComponentReport, Device, Outcome, Status, Work};
use diskarm_core::engine::Observer;
use diskarm_core::report::{Disks, Report, RequestTotals, Windows};
use diskarm_core::request::Request;
use diskarm_core::units::Instant;

/// Observes a run for its report and the requested extras, and calls the progress function.
pub struct RunObserver<'a> {
    pub report: Report,
    pub backlog: Backlog,
    /// `None` if no extras were requested; this costs only one check per request.
    pub extras: Option<Box<Extras<'a>>>,
    pub calls: ProgressCalls<'a>,
    /// The run ends when more requests than this are outstanding at an arrival.
    pub max_outstanding: u64,
    pub end: Option<EarlyEnd>,
    /// The parts of the device when the last request was completed; `None` before.
    pub parts: Option<Vec<ComponentReport>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    Stopped,
    Saturated,
}

#[derive(Default)]
pub struct Extras<'a> {
    /// The requests of each stream of a workload, if it has several.
    pub streams: Vec<RequestTotals>,
    pub windows: Option<Windows>,
    pub disks: Option<Disks>,
    pub rows: Option<&'a mut dyn Sink>,
}

impl Extras<'_> {
    pub fn is_requested(&self) -> bool {
        !self.streams.is_empty() || self.windows.is_some() || self.rows.is_some()
    }

    #[cold]
    fn arrived(&mut self, now: Instant, request: &Request) {
        if let Some(windows) = &mut self.windows {
            windows.arrived(now, request);
        }
        if let Some(disks) = &mut self.disks {
            disks.arrived(now, request);
        }
    }

    /// Records a completion; `is_counted` is false during the warm-up.
    #[cold]
    fn completed(&mut self, completion: &Completion, is_counted: bool) {
        if is_counted && completion.has_transferred() && !self.streams.is_empty() {
            let stream = usize::from(completion.request.stream);
            self.streams[stream].record(completion);
        }
        if let Some(windows) = &mut self.windows {
            windows.completed(completion);
        }
        if let Some(disks) = &mut self.disks {
            disks.completed(completion);
        }
        if let Some(rows) = &mut self.rows {
            rows.take(completion);
        }
    }
}

impl RunObserver<'_> {
    /// Starts a report for each disk: until now, only the first disk was used.
    #[cold]
    fn split(&mut self) {
        let disks = &mut self.extras.get_or_insert_default().disks;
        disks.get_or_insert_with(|| Disks::after(&self.report));
    }

    /// Returns the parts of `device`, which is now idle: disks and their buffers as they were under
    /// load, when the last request was completed, and all other parts as they are now.
    pub fn parts(&mut self, device: &impl Device) -> Vec<ComponentReport> {
        let now = device.components(self.backlog.end);
        let Some(under_load) = self.parts.take() else {
            return now;
        };
        assert_eq!(now.len(), under_load.len(), "the parts changed");
        let merged = now.into_iter().zip(under_load).map(|(now, under_load)| {
            assert_eq!(now.name, under_load.name, "the parts changed");
            match under_load.work {
                Work::Disk(_) | Work::Buffer(_) => under_load,
                _ => now,
            }
        });
        merged.collect()
    }
}

impl Observer for RunObserver<'_> {
    #[inline(always)]
    fn arrived(&mut self, now: Instant, request: &Request) {
        if request.unit > 0 {
            self.split();
        }
        self.report.arrived(now, request);
        self.backlog.arrived(now);
        if let Some(extras) = &mut self.extras {
            extras.arrived(now, request);
        }
    }

    #[inline(always)]
    fn completed(&mut self, completion: &Completion) {
        if let Some(extras) = &mut self.extras {
            extras.completed(completion, self.report.is_counting());
        }
        self.report.completed(completion);
        let done = self.backlog.completed(completion.at);
        if self.backlog.at_last_arrival > self.max_outstanding {
            self.end = Some(EarlyEnd::Saturated);
        } else if self.calls.are_due(done) && self.calls.call(done).is_break() {
            self.end = Some(EarlyEnd::Stopped);
        }
    }

    fn all_completed(&mut self, device: &dyn Device) {
        self.parts = Some(device.components(self.backlog.end));
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.end.is_some()
    }
}

/// Fewer outstanding requests than this at the last arrival are a burst, not a growing backlog.
const MIN_BACKLOG: u64 = 100;

#[derive(Default)]
pub struct Backlog {
    first: Option<Instant>,
    last: Instant,
    /// The time of the last completion.
    pub end: Instant,
    arrived: u64,
    completed: u64,
    /// The number of requests outstanding at the last arrival.
    pub at_last_arrival: u64,
}

impl Backlog {
    #[inline]
    pub fn arrived(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = now;
        self.arrived += 1;
        self.at_last_arrival = self.arrived - self.completed;
    }

    /// Records a completion and returns the number of completions.
    #[inline]
    pub fn completed(&mut self, now: Instant) -> u64 {
        self.end = now;
        self.completed += 1;
        self.completed
    }

    /// Returns true if throughput stayed below 99 % of the arrival rate of the same requests.
    pub fn is_growing(&self) -> bool {
        let first = self.first.unwrap_or_default();
        let (arriving, serving) = (self.last - first, self.end - first);
        self.at_last_arrival >= MIN_BACKLOG && arriving.as_s() < 0.99 * serving.as_s()
    }
}

/// Called periodically with the number of requests that a run has completed. The result can stop
/// the run. Concurrent runs, such as replications, each pass their own count.
pub type Progress<'a> = &'a (dyn Fn(u64) -> ControlFlow<()> + Sync);

/// Ignores progress and never stops a run.
pub fn never_stop(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

const MAX_STRIDE: u64 = 1024;

/// If more time than this passes between calls, they become more frequent. Policies that search for
/// an order take milliseconds per completion, others a tenth of a microsecond.
const MAX_PAUSE: Duration = Duration::from_millis(10);

/// Calls a [`Progress`] often enough that a run can be stopped without delay.
pub(crate) struct ProgressCalls<'a> {
    progress: Progress<'a>,
    /// The number of completions at the next call.
    next: u64,
    stride: u64,
    last: HostInstant,
}

impl<'a> ProgressCalls<'a> {
    pub(crate) fn new(progress: Progress<'a>) -> Self {
        Self {
            progress,
            next: 1,
            stride: 1,
            last: HostInstant::now(),
        }
    }

    #[inline]
    pub(crate) fn are_due(&self, done: u64) -> bool {
        done >= self.next
    }

    /// Calls the progress function. Reads the wall clock, which does not affect the simulation.
    #[cold]
    pub(crate) fn call(&mut self, done: u64) -> ControlFlow<()> {
        let now = HostInstant::now();
        self.stride = if now - self.last > MAX_PAUSE {
            (self.stride / 2).max(1)
        } else {
            (self.stride * 2).min(MAX_STRIDE)
        };
        self.last = now;
        self.next = done + self.stride;
        (self.progress)(done)
    }
}

/// Receives every completed request in order of completion, including the warm-up.
pub trait Sink {
    /// Receives the next completion; [`Request::unit`] is the disk.
    fn take(&mut self, completion: &Completion);
}

/// The outcomes of a request: how the buffer served it, or why it failed.
pub const OUTCOMES: [&str; 7] = [
    "miss",
    "hit",
    "partial",
    "absorbed",
    "medium-error",
    "not-ready",
    "aborted",
];

/// Returns the index in [`OUTCOMES`] of the outcome of a completed request.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates one arrival per millisecond at a server that takes `service_us` per request.
    fn is_growing(requests: u64, service_us: u64) -> bool {
        let (mut backlog, mut done) = (Backlog::default(), 0);
        let finish = |id: u64| (id * 1_000).max((id + 1) * service_us) * 1_000;
        for id in 0..requests {
            let now = id * 1_000_000;
            while done < id && finish(done) <= now {
                backlog.completed(Instant::from_ns(finish(done)));
                done += 1;
            }
            backlog.arrived(Instant::from_ns(now));
        }
        for id in done..requests {
            backlog.completed(Instant::from_ns(finish(id)));
        }
        backlog.is_growing()
    }

    /// Served at 1/1.02 of the arrival rate, 10,000 requests leave a backlog of 200; at
    /// 1/1.005, 50,000 leave 250, which is less than one percent.
    #[test]
    fn a_growing_backlog_is_detected() {
        assert!(is_growing(10_000, 1_020));
        assert!(!is_growing(50_000, 1_005));
        assert!(!is_growing(10_000, 990));
        // Too few to distinguish from a burst.
        assert!(!is_growing(50, 2_000));
    }
}
