//! Totals of the requests of one kind.

use crate::device::{Breakdown, Completion, Outcome};
use crate::stats::{BatchMeans, ResponseSummary};
use crate::units::Span;

/// Parts of a breakdown without the queue wait.
const SERVICE_PARTS: usize = Breakdown::NAMES.len() - 1;

/// Response times, parts of service and hits of some requests of a run, in constant memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTotals {
    responses: ResponseSummary,
    /// Sums in nanoseconds of the parts of service: all parts of the breakdown except the queue
    /// wait. That alone could exceed 63 bits: on a saturated drive it is unbounded, while service
    /// would take 292 years.
    parts: [i64; SERVICE_PARTS],
    hits: u64,
}

impl RequestTotals {
    /// Adds a request.
    #[inline(always)]
    pub fn record(&mut self, completion: &Completion) {
        self.responses.record(completion.response());
        let [_, service @ ..] = completion.breakdown.parts();
        for (sum, part) in self.parts.iter_mut().zip(service) {
            *sum += part.as_ns();
        }
        self.hits += u64::from(completion.outcome == Outcome::Hit);
    }

    /// All requests of two kinds of one run; `series` has the response times of both in order,
    /// because the two kinds depend on each other.
    pub(super) fn together(a: &Self, b: &Self, series: &BatchMeans) -> Self {
        let mut parts = a.parts;
        for (sum, part) in parts.iter_mut().zip(b.parts) {
            *sum += part;
        }
        Self {
            responses: ResponseSummary::together(&a.responses, &b.responses, series),
            parts,
            hits: a.hits + b.hits,
        }
    }

    /// Adds all requests of an independent run.
    pub fn merge(&mut self, other: &Self) {
        self.responses.merge(&other.responses);
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            *sum += part;
        }
        self.hits += other.hits;
    }

    /// Number of reads that were served entirely from the buffer; partial hits do not count.
    pub fn hits_count(&self) -> u64 {
        self.hits
    }

    /// Number of requests counted.
    pub fn requests_count(&self) -> u64 {
        self.responses.moments().count()
    }

    /// Response times.
    pub fn responses(&self) -> &ResponseSummary {
        &self.responses
    }

    /// The mean breakdown, each part to the nearest nanosecond, which adds up to the mean response;
    /// `None` when nothing was counted.
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

    /// The mean response time without queue wait, to the nearest nanosecond; `None` when nothing
    /// was counted.
    pub fn mean_service(&self) -> Option<Span> {
        self.mean_of(self.parts.iter().copied().map(i128::from).sum())
    }

    fn mean_of(&self, sum_ns: i128) -> Option<Span> {
        let count = i128::from(self.requests_count());
        // The floor of twice the mean plus one, halved: rounds to nearest, also for negative sums.
        (count > 0).then(|| Span::from_ns((2 * sum_ns + count).div_euclid(2 * count) as i64))
    }
}
