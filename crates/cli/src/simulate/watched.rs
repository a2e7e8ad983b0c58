//! All that watches a run: the report, and what was asked for beside it.

use diskarm_core::drive::Completion;
use diskarm_core::engine::Observer;
use diskarm_core::report::{Disks, Report, Served, Windows};
use diskarm_core::request::Request;
use diskarm_core::units::Instant;

use super::backlog::Backlog;
use super::rows::Rows;
use crate::progress::Progress;

/// A report, and the bar that shows how far it is.
pub struct Watched {
    pub report: Report,
    pub backlog: Backlog,
    /// `None` where nobody asked for more: one look a request.
    pub extras: Option<Box<Extras>>,
    pub progress: Progress,
}

/// What not every run is asked for.
#[derive(Default)]
pub struct Extras {
    /// Of each stream of a workload, where there are several.
    pub streams: Vec<Served>,
    pub windows: Option<Windows>,
    /// Where there may be several.
    pub disks: Option<Disks>,
    pub rows: Option<Rows>,
}

impl Extras {
    /// Whether anything is in it.
    pub fn is_asked_for(&self) -> bool {
        !self.streams.is_empty()
            || self.windows.is_some()
            || self.disks.is_some()
            || self.rows.is_some()
    }

    /// A request arrived.
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
        if counts && !self.streams.is_empty() {
            // As `engine::Streams` numbers requests.
            let number = completion.request.id % self.streams.len() as u64;
            self.streams[number as usize].record(completion);
        }
        if let Some(windows) = &mut self.windows {
            windows.completed(completion);
        }
        if let Some(disks) = &mut self.disks {
            disks.completed(completion);
        }
        if let Some(rows) = &mut self.rows {
            rows.write(completion);
        }
    }
}

/// Requests between two looks at the clock.
const STRIDE: u64 = 1024;

impl Observer for Watched {
    #[inline]
    fn arrived(&mut self, now: Instant, request: &Request) {
        self.report.arrived(now, request);
        self.backlog.arrived(now);
        if let Some(extras) = &mut self.extras {
            extras.arrived(now, request);
        }
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        if let Some(extras) = &mut self.extras {
            extras.completed(completion, self.report.is_counting());
        }
        self.report.completed(completion);
        let done = self.backlog.completed(completion.at);
        if done.is_multiple_of(STRIDE) {
            self.progress.at(done);
        }
    }
}
