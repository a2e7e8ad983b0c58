//! The observer of a run: the report and the requested extras.

use diskarm_core::device::{Completion, ComponentReport, Device, Work};
use diskarm_core::engine::Observer;
use diskarm_core::report::{Disks, Report, RequestTotals, Windows};
use diskarm_core::request::Request;
use diskarm_core::units::Instant;

use crate::backlog::Backlog;
use crate::progress::ProgressCalls;
use crate::rows::Sink;

/// A report, and the progress callback.
pub struct Watched<'a> {
    pub report: Report,
    pub backlog: Backlog,
    /// `None` if nothing more was requested, which costs one check per request.
    pub extras: Option<Box<Extras<'a>>>,
    pub calls: ProgressCalls<'a>,
    /// The run ends when more requests than this are outstanding at an arrival.
    pub max_outstanding: u64,
    /// `None` while the run continues.
    pub end: Option<End>,
    /// The parts of the device when the last request was completed; `None` before.
    pub parts: Option<Vec<ComponentReport>>,
}

/// Why a run ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The progress callback stopped it.
    Stopped,
    /// Too many requests wait.
    Saturated,
}

#[derive(Default)]
pub struct Extras<'a> {
    /// The requests of each stream of a workload, if it has several.
    pub streams: Vec<RequestTotals>,
    pub windows: Option<Windows>,
    /// The disks, if there are several.
    pub disks: Option<Disks>,
    pub rows: Option<&'a mut dyn Sink>,
}

impl Extras<'_> {
    /// Whether any of them is requested.
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

    /// A request was completed; `counts` is false during the warm-up.
    #[cold]
    fn completed(&mut self, completion: &Completion, counts: bool) {
        if counts && completion.has_transferred() && !self.streams.is_empty() {
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

impl Watched<'_> {
    /// Reports disks one by one from now on: until now, only the first was used.
    #[cold]
    fn split(&mut self) {
        let extras = self.extras.get_or_insert_default();
        extras
            .disks
            .get_or_insert_with(|| Disks::after(&self.report));
    }

    /// The parts of `device`, which does nothing more: disks and their buffers as they were when
    /// the last request was completed, because what a rebuild or destages do afterwards is not done
    /// under load, and the rest as it is now.
    pub fn parts(&mut self, device: &impl Device) -> Vec<ComponentReport> {
        let now = device.components(self.backlog.end());
        let Some(under_load) = self.parts.take() else {
            return now;
        };
        assert_eq!(now.len(), under_load.len(), "the same parts");
        let merged = now.into_iter().zip(under_load).map(|(now, under_load)| {
            assert_eq!(now.name, under_load.name, "the same parts");
            match under_load.work {
                Work::Disk(_) | Work::Buffer(_) => under_load,
                Work::Cache(_) | Work::Redundancy(_) => now,
            }
        });
        merged.collect()
    }
}

impl Observer for Watched<'_> {
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
        if self.backlog.at_last_arrival() > self.max_outstanding {
            self.end = Some(End::Saturated);
        } else if self.calls.are_due(done) && self.calls.call(done).is_break() {
            self.end = Some(End::Stopped);
        }
    }

    fn all_completed(&mut self, device: &dyn Device) {
        self.parts = Some(device.components(self.backlog.end()));
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.end.is_some()
    }
}
