//! The same figures for each of several disks.

use super::Report;
use crate::device::Completion;
use crate::engine::Observer;
use crate::request::Request;
use crate::units::Instant;

/// An observer that reports the disks of [`SideBySide`] one by one, all over the period of the
/// report of all: from the first arrival at any disk, or from the completion that ends the warm-up,
/// to the last completion at any.
///
/// [`SideBySide`]: crate::array::SideBySide
#[derive(Clone, Debug)]
pub struct Disks {
    /// Completions that the warm-up still takes.
    warm_up: u64,
    start: Option<Instant>,
    end: Instant,
    reports: Vec<Report>,
}

impl Disks {
    /// Leaves out the first `warm_up_requests` completions of all disks together.
    pub fn new(warm_up_requests: u64) -> Self {
        Self::after(&Report::new(warm_up_requests))
    }

    /// Continues after `report`, to which only the first disk has contributed. While there is no
    /// other, no observer is needed.
    pub fn after(report: &Report) -> Self {
        let first = report.start.map(|_| Report {
            warm_up: 0,
            ..report.clone()
        });
        Self {
            warm_up: report.warm_up,
            start: report.start,
            end: report.end,
            reports: first.into_iter().collect(),
        }
    }

    /// A report for each disk up to the last that was asked for anything.
    pub fn finish(mut self) -> Vec<Report> {
        for report in &mut self.reports {
            report.end = self.end;
        }
        self.reports
    }

    #[inline]
    fn report(&mut self, request: &Request, start: Instant) -> &mut Report {
        let disk = usize::from(request.unit);
        while self.reports.len() <= disk {
            let mut report = Report::new(0);
            report.begin(start);
            self.reports.push(report);
        }
        &mut self.reports[disk]
    }
}

impl Observer for Disks {
    fn arrived(&mut self, now: Instant, request: &Request) {
        let start = *self.start.get_or_insert(now);
        self.report(request, start).arrived(now, request);
    }

    fn completed(&mut self, completion: &Completion) {
        self.end = completion.at;
        let start = *self.start.get_or_insert(completion.arrived);
        let counts = self.warm_up == 0;
        let report = self.report(&completion.request, start);
        if counts {
            return report.completed(completion);
        }
        report.occupancy.leave(completion.at);
        self.warm_up -= 1;
        if self.warm_up == 0 {
            self.start = Some(completion.at);
            for report in &mut self.reports {
                report.begin(completion.at);
            }
        }
    }
}
