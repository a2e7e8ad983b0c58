//! Results of a run: observers that add up, in constant memory, where time was spent.
//!
//! They provide means, shares and time averages; printing is done elsewhere.

mod disks;
mod occupancy;
mod replications;
mod served;
#[cfg(test)]
mod tests;
mod windows;

pub use disks::Disks;
pub use replications::{ReplicatedTotals, Replications};
pub use served::RequestTotals;
pub use windows::{Window, Windows};

use crate::device::{Completion, Status};
use crate::engine::Observer;
use crate::request::{Op, Request};
use crate::stats::BatchMeans;
use crate::units::{Instant, Span};
use occupancy::Occupancy;

/// Results of a run on one device.
///
/// The measured period runs from the first arrival, or from the completion that ends the warm-up,
/// to the last completion. A request counts if it is completed within it.
///
/// All requests inside the device but one are waiting: a drive's mechanism serves one at a time.
/// (If a drive moves its arm before the completion of the previous request, [`PreSeek`], the later
/// one still counts as waiting.)
///
/// [`PreSeek`]: crate::spec::PreSeek
#[derive(Clone, Debug)]
pub struct Report {
    /// Completions remaining in the warm-up.
    warm_up: u64,
    /// When the measured period began; `None` before the first arrival.
    start: Option<Instant>,
    end: Instant,
    occupancy: Occupancy,
    reads: RequestTotals,
    writes: RequestTotals,
    flushes: RequestTotals,
    /// Requests that did not succeed.
    failed: u64,
    /// Reads and writes that succeeded after retries.
    recovered: u64,
    /// Response times of reads and writes in their order.
    series: BatchMeans,
}

impl Report {
    /// A report that excludes the first `warm_up_requests` completions.
    pub fn new(warm_up_requests: u64) -> Self {
        Self {
            warm_up: warm_up_requests,
            start: None,
            end: Instant::START,
            occupancy: Occupancy::new(Instant::START, 0),
            reads: RequestTotals::default(),
            writes: RequestTotals::default(),
            flushes: RequestTotals::default(),
            failed: 0,
            recovered: 0,
            series: BatchMeans::default(),
        }
    }

    /// Totals of all counted reads and writes.
    pub fn all(&self) -> RequestTotals {
        RequestTotals::together(&self.reads, &self.writes, &self.series)
    }

    /// The same for those of one kind. Flushes are counted only there.
    pub fn of(&self, op: Op) -> &RequestTotals {
        match op {
            Op::Read => &self.reads,
            Op::Write => &self.writes,
            Op::Flush => &self.flushes,
        }
    }

    /// Number of requests that failed; they affect no other figure except the period and the queue.
    pub const fn failed_count(&self) -> u64 {
        self.failed
    }

    /// How many reads and writes succeeded after retries; they are in all figures.
    pub const fn recovered_count(&self) -> u64 {
        self.recovered
    }

    /// Number of reads and writes counted.
    pub fn requests_count(&self) -> u64 {
        self.reads.requests_count() + self.writes.requests_count()
    }

    /// Whether the warm-up is over, so that the next completion counts.
    pub const fn is_counting(&self) -> bool {
        self.warm_up == 0
    }

    /// The length of the measured period.
    pub fn elapsed(&self) -> Span {
        match self.start {
            Some(start) => self.end.since_or_zero(start),
            None => Span::ZERO,
        }
    }

    /// The share of reads that were served entirely from the buffer; `None` without reads. Partial
    /// hits do not count.
    pub fn cache_hit_fraction(&self) -> Option<f64> {
        let reads = self.reads.requests_count();
        (reads > 0).then(|| self.reads.hits_count() as f64 / reads as f64)
    }

    /// The share of the period with some request inside; `None` when it has no length.
    pub fn utilisation_fraction(&self) -> Option<f64> {
        self.start?;
        self.occupancy.busy_fraction(self.end)
    }

    /// The average over time of the number of requests waiting; `None` as above.
    pub fn waiting_mean_count(&self) -> Option<f64> {
        self.start?;
        self.occupancy.waiting_mean_count(self.end)
    }

    /// The largest number of requests waiting.
    pub fn waiting_max_count(&self) -> u64 {
        self.occupancy.waiting_max_count()
    }

    /// Requests counted per second of the period; `None` as above.
    pub fn throughput_per_s(&self) -> Option<f64> {
        let elapsed = self.elapsed();
        (elapsed > Span::ZERO).then(|| self.requests_count() as f64 / elapsed.as_s())
    }

    /// Counts a flush, or a request that did not succeed at the first attempt.
    #[cold]
    fn completed_otherwise(&mut self, completion: &Completion) {
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

    /// Begins the measured period at `now`, with the requests inside at that time.
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
        // One piece of code for both directions.
        let served = match completion.request.op {
            Op::Read if completion.status == Status::Good => &mut self.reads,
            Op::Write if completion.status == Status::Good => &mut self.writes,
            _ => return self.completed_otherwise(completion),
        };
        self.series.record(completion.response());
        served.record(completion);
    }
}
