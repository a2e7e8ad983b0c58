//! Results of a run: observers that add up, in constant memory, how requests spent their time.
//!
//! They provide means, shares and time averages, which other crates print.

#[cfg(test)]
mod tests;

use crate::device::{Breakdown, Completion, Outcome, Status};
use crate::engine::Observer;
use crate::request::{Op, Request};
use crate::stats::{
    BatchMeans, OverTime, ResponseStats, ResponseSummary, half_width_95_of_numbers,
};
use crate::units::{Instant, Span};

/// Results of a run on one device.
///
/// The measured period runs from the first arrival, or from the completion that ends the warm-up,
/// to the last completion. A request counts if it completes within this period.
///
/// All but one of the outstanding requests count as waiting, because a drive's mechanism serves one
/// at a time. With [`PreSeek`], the later of two requests still counts as waiting.
///
/// [`PreSeek`]: crate::spec::PreSeek
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of completions that remain in the warm-up.
    warm_up: u64,
    /// Start of the measured period; `None` before the first arrival.
    start: Option<Instant>,
    end: Instant,
    occupancy: Occupancy,
    reads: RequestTotals,
    writes: RequestTotals,
    flushes: RequestTotals,
    failed: u64,
    recovered: u64,
    /// Response times of all reads and writes, in order of completion.
    series: BatchMeans,
}

impl Report {
    /// Creates a report that excludes the first `warm_up_requests` completions.
    pub fn new(warm_up_requests: u64) -> Self {
        Self {
            warm_up: warm_up_requests,
            ..Self::default()
        }
    }

    /// Returns the totals of all counted reads and writes.
    pub fn all(&self) -> RequestTotals {
        RequestTotals::combine(&self.reads, &self.writes, &self.series)
    }

    /// Returns the totals of requests of one kind. Flushes are counted only here.
    pub fn of(&self, op: Op) -> &RequestTotals {
        match op {
            Op::Read => &self.reads,
            Op::Write => &self.writes,
            Op::Flush => &self.flushes,
        }
    }

    /// Returns the number of failed requests. They only affect the period and the queue length.
    pub const fn failed_count(&self) -> u64 {
        self.failed
    }

    /// Returns the number of counted reads and writes that succeeded after retries.
    pub const fn recovered_count(&self) -> u64 {
        self.recovered
    }

    /// Returns the number of counted reads and writes.
    pub fn requests_count(&self) -> u64 {
        self.reads.requests_count() + self.writes.requests_count()
    }

    /// Returns true if the warm-up has ended, so that the next completion counts.
    pub const fn is_counting(&self) -> bool {
        self.warm_up == 0
    }

    /// Returns the length of the measured period.
    pub fn elapsed(&self) -> Span {
        let since = |start| self.end.since_or_zero(start);
        self.start.map_or(Span::ZERO, since)
    }

    /// Returns the share of reads that were served entirely from the buffer; `None` without reads.
    pub fn cache_hit_fraction(&self) -> Option<f64> {
        let reads = self.reads.requests_count();
        (reads > 0).then(|| self.reads.hits_count() as f64 / reads as f64)
    }

    /// Returns the share of the period with requests outstanding; `None` if the period is empty.
    pub fn utilisation_fraction(&self) -> Option<f64> {
        self.start?;
        self.occupancy.busy.average_count(self.end)
    }

    /// Returns the time average of the number of waiting requests; `None` if the period is empty.
    pub fn waiting_mean_count(&self) -> Option<f64> {
        self.start?;
        self.occupancy.waiting.average_count(self.end)
    }

    /// Returns the largest number of waiting requests.
    pub fn waiting_max_count(&self) -> u64 {
        self.occupancy.waiting.max()
    }

    /// Returns the number of counted requests per second; `None` if the period is empty.
    pub fn throughput_per_s(&self) -> Option<f64> {
        let elapsed = self.elapsed();
        (elapsed > Span::ZERO).then(|| self.requests_count() as f64 / elapsed.as_s())
    }

    /// Counts a flush, or a request that did not succeed at the first attempt.
    #[cold]
    fn count_exception(&mut self, completion: &Completion) {
        let served = match completion.request.op {
            _ if !completion.status.is_success() => {
                self.failed += 1;
                return;
            }
            Op::Flush => return self.flushes.record(completion),
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
        };
        self.recovered += 1;
        self.series.record(completion.response());
        served.record(completion);
    }

    /// Starts the measured period at `now`, with the requests that are outstanding at that time.
    #[cold]
    fn begin(&mut self, now: Instant) {
        self.start = Some(now);
        self.end = now;
        self.occupancy = self.occupancy.from(now);
    }
}

impl Observer for Report {
    #[inline]
    fn arrived(&mut self, now: Instant, _: &Request) {
        if self.start.is_none() {
            self.begin(now);
        }
        self.occupancy.enter(now);
    }

    #[inline(always)]
    fn completed(&mut self, completion: &Completion) {
        self.occupancy.leave(completion.at);
        self.end = completion.at;
        if self.warm_up > 0 {
            self.warm_up -= 1;
            if self.warm_up == 0 {
                self.begin(completion.at);
            }
            return;
        }
        // Reads and writes share the code below.
        let served = match completion.request.op {
            Op::Read if completion.status == Status::Good => &mut self.reads,
            Op::Write if completion.status == Status::Good => &mut self.writes,
            _ => return self.count_exception(completion),
        };
        self.series.record(completion.response());
        served.record(completion);
    }
}

/// An observer that reports each of several [`IndependentDisks`] over the same period: from the
/// first arrival, or from the completion that ends the warm-up, to the last completion on any disk.
///
/// [`IndependentDisks`]: crate::array::IndependentDisks
#[derive(Clone, Debug)]
pub struct Disks {
    /// Number of completions that remain in the warm-up.
    warm_up: u64,
    start: Option<Instant>,
    end: Instant,
    reports: Vec<Report>,
}

impl Disks {
    /// Creates reports that exclude the first `warm_up_requests` completions over all disks.
    pub fn new(warm_up_requests: u64) -> Self {
        Self::after(&Report::new(warm_up_requests))
    }

    /// Continues from `report`, to which only the first disk has contributed.
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

    /// Returns a report for each disk up to the last that received a request.
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

/// Runs that differ only in their seeds.
///
/// Their requests are pooled. Shares, rates and queue lengths are means over the runs. Confidence
/// intervals are Student's, over the values of the runs. Runs are independent even if the requests
/// within a run are not, so these intervals are valid near saturation, where intervals from batch
/// means are too narrow. With fewer than two runs there are no intervals.
#[derive(Clone, Debug)]
pub struct Replications<'r> {
    runs: Vec<&'r Report>,
}

impl<'r> Replications<'r> {
    /// Combines the reports of independent runs.
    pub fn new(runs: impl IntoIterator<Item = &'r Report>) -> Self {
        Self {
            runs: runs.into_iter().collect(),
        }
    }

    /// Returns the number of requests counted.
    pub fn requests_count(&self) -> u64 {
        self.runs.iter().map(|run| run.requests_count()).sum()
    }

    /// Returns the total length of the measured periods.
    pub fn elapsed(&self) -> Span {
        self.runs.iter().map(|run| run.elapsed()).sum()
    }

    /// Returns the mean of a number over the runs that have it; `None` if no run has it.
    pub fn mean_number(&self, number: impl Fn(&Report) -> Option<f64>) -> Option<f64> {
        let values = self.each(number);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Returns half the width of the confidence interval of [`Self::mean_number`].
    pub fn half_width_number(&self, number: impl Fn(&Report) -> Option<f64>) -> Option<f64> {
        half_width_95_of_numbers(&self.each(number))
    }

    /// Returns the largest number of waiting requests in any run.
    pub fn waiting_max_count(&self) -> u64 {
        let counts = self.runs.iter().map(|run| run.waiting_max_count());
        counts.max().unwrap_or(0)
    }

    fn each(&self, statistic: impl Fn(&Report) -> Option<f64>) -> Vec<f64> {
        self.runs.iter().filter_map(|run| statistic(run)).collect()
    }
}

/// Requests of one kind in each of several runs.
#[derive(Clone, Debug)]
pub struct ReplicatedTotals {
    runs: Vec<RequestTotals>,
}

impl ReplicatedTotals {
    /// Combines the totals of at least one run.
    ///
    /// # Panics
    /// If `runs` is empty.
    pub fn new(runs: Vec<RequestTotals>) -> Self {
        assert!(!runs.is_empty(), "there must be at least one run");
        Self { runs }
    }

    /// Returns the totals of all runs together. Their confidence interval is not valid.
    pub fn all(&self) -> RequestTotals {
        let mut all = RequestTotals::default();
        self.runs.iter().for_each(|run| all.merge(run));
        all
    }

    /// Returns the response times of all requests; `None` when nothing was counted. The interval
    /// comes from batch means for a single run, and otherwise from the means of the runs.
    pub fn stats(&self) -> Option<ResponseStats> {
        match &self.runs[..] {
            [only] => only.responses().stats(),
            runs => ResponseStats::from_replications(runs.iter().map(RequestTotals::responses)),
        }
    }

    /// Returns half the width of the confidence interval of the mean service time.
    pub fn service_ci95_ms(&self) -> Option<f64> {
        let means = self.runs.iter().filter_map(RequestTotals::mean_service);
        half_width_95_of_numbers(&means.map(Span::as_ms).collect::<Vec<f64>>())
    }
}

/// Number of parts of a breakdown except the queue wait.
const SERVICE_PARTS: usize = Breakdown::NAMES.len() - 1;

/// Response times, service times and buffer hits of some requests of a run, in constant memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTotals {
    responses: ResponseSummary,
    /// Sums, in ns, of all parts of the breakdown except the queue wait, which may need more bits.
    parts: [i64; SERVICE_PARTS],
    hits: u64,
}

impl RequestTotals {
    /// Adds a completed request to the totals.
    #[inline(always)]
    pub fn record(&mut self, completion: &Completion) {
        self.responses.record(completion.response());
        let [_, service @ ..] = completion.breakdown.parts();
        for (sum, part) in self.parts.iter_mut().zip(service) {
            *sum += part.as_ns();
        }
        self.hits += u64::from(completion.outcome == Outcome::Hit);
    }

    /// Combines two kinds of requests of one run. `series` has the responses of both, in order.
    fn combine(a: &Self, b: &Self, series: &BatchMeans) -> Self {
        let mut both = a.clone();
        both.merge(b);
        both.responses = ResponseSummary::combine(&a.responses, &b.responses, series);
        both
    }

    /// Adds all requests of an independent run.
    pub fn merge(&mut self, other: &Self) {
        self.responses.merge(&other.responses);
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            *sum += part;
        }
        self.hits += other.hits;
    }

    /// Returns the number of reads that were served entirely from the buffer.
    pub fn hits_count(&self) -> u64 {
        self.hits
    }

    /// Returns the number of requests counted.
    pub fn requests_count(&self) -> u64 {
        self.responses.moments().count()
    }

    /// Returns the distribution of response times.
    pub fn responses(&self) -> &ResponseSummary {
        &self.responses
    }

    /// Returns the mean breakdown, whose parts add up to the mean response, if there were requests.
    pub fn mean_breakdown(&self) -> Option<Breakdown> {
        let response = self.responses.moments().mean()?;
        let mean = |sum: i64| self.mean_of(i128::from(sum));
        let [owed, overhead, seek, settle, rotation, transfer, bus] = self.parts;
        let service = Breakdown {
            queue: Span::ZERO,
            owed: mean(owed)?,
            overhead: mean(overhead)?,
            seek: mean(seek)?,
            settle: mean(settle)?,
            rotation: mean(rotation)?,
            transfer: mean(transfer)?,
            bus: mean(bus)?,
        };
        Some(Breakdown {
            queue: response - service.total(),
            ..service
        })
    }

    /// Returns the mean response time without queue wait, rounded; `None` when nothing was counted.
    pub fn mean_service(&self) -> Option<Span> {
        self.mean_of(self.parts.iter().copied().map(i128::from).sum())
    }

    fn mean_of(&self, sum_ns: i128) -> Option<Span> {
        let count = i128::from(self.requests_count());
        // Rounds to the nearest integer, even for negative sums: floor(mean + 1/2).
        (count > 0).then(|| Span::from_ns((2 * sum_ns + count).div_euclid(2 * count) as i64))
    }
}

/// Results of one half-open window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Start of the window.
    pub start: Instant,
    /// Number of requests that arrived within the window.
    pub arrived_count: u64,
    /// Response times of reads and writes that succeeded within the window; `None` if none did.
    pub responses: Option<ResponseStats>,
    /// The share of the window with requests outstanding.
    pub utilisation_fraction: f64,
    /// The average number of waiting requests.
    pub waiting_mean_count: f64,
}

/// An observer that divides a run and its warm-up into windows of equal length from time zero.
///
/// It needs about 150 bytes per window. Events after the last allowed window are ignored.
#[derive(Clone, Debug)]
pub struct Windows {
    length: Span,
    max: usize,
    done: Vec<Window>,
    start: Instant,
    end: Instant,
    arrived: u64,
    responses: ResponseSummary,
    occupancy: Occupancy,
    last: Instant,
    is_cut: bool,
}

impl Windows {
    /// Creates windows of the given length, up to a maximum number.
    ///
    /// # Panics
    /// If the length is not positive.
    pub fn new(length: Span, max: usize) -> Self {
        assert!(length > Span::ZERO, "invalid window length {length}");
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

    /// Returns the windows up to the last event, or `None` if there would be more than the maximum.
    /// The last window is complete too, because no request is outstanding at its end.
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

    #[inline]
    fn advance(&mut self, now: Instant) {
        self.last = now;
        while now >= self.end && !self.is_cut {
            self.close(self.end);
        }
    }

    #[cold]
    fn close(&mut self, end: Instant) {
        let busy = self.occupancy.busy.average_count(end);
        let waiting = self.occupancy.waiting.average_count(end);
        let (Some(utilisation_fraction), Some(waiting_mean_count)) = (busy, waiting) else {
            panic!("the window that ends at {end:?} has no length");
        };
        self.is_cut |= self.done.len() == self.max;
        if self.is_cut {
            return;
        }
        self.done.push(Window {
            start: self.start,
            arrived_count: std::mem::take(&mut self.arrived),
            responses: self.responses.stats(),
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

/// Averages over the time since a start instant.
#[derive(Clone, Copy, Debug, Default)]
struct Occupancy {
    outstanding: u64,
    /// 1 while any request is outstanding.
    busy: OverTime,
    /// The number of outstanding requests minus one, or zero if there are none.
    waiting: OverTime,
}

impl Occupancy {
    fn new(start: Instant, outstanding: u64) -> Self {
        Self {
            outstanding,
            busy: OverTime::new(start, outstanding.min(1)),
            waiting: OverTime::new(start, outstanding.saturating_sub(1)),
        }
    }

    /// Returns the occupancy of the same device, averaged from `now` on.
    fn from(&self, now: Instant) -> Self {
        Self::new(now, self.outstanding)
    }

    #[inline]
    fn enter(&mut self, now: Instant) {
        self.step(now, self.outstanding + 1);
    }

    #[inline]
    fn leave(&mut self, now: Instant) {
        self.step(now, self.outstanding - 1);
    }

    /// Sets the number of outstanding requests, which changes either `busy` or `waiting`.
    #[inline]
    fn step(&mut self, now: Instant, outstanding: u64) {
        let greater = outstanding.max(self.outstanding);
        self.outstanding = outstanding;
        if greater == 1 {
            self.busy.set(now, outstanding);
        } else {
            self.waiting.set(now, outstanding - 1);
        }
    }
}
