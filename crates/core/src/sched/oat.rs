//! Optimal access time: a bound for all policies on a closed batch, and its short-sighted forms.
//!
//! # What it does
//! OAT serves all pending requests in the order whose last request completes earliest. It finds
//! this order exactly, by trying orders on copies of the drive and its buffer, and does so again
//! when a request arrives. The cost is factorial, so at most `most` requests are ordered. While
//! more are pending, it serves the shortest access time first and is not a bound.
//!
//! Short-sighted OAT (`oat-batch`) takes the n oldest requests, or all if there are fewer, and
//! serves them in the optimal order; only then does it consider new arrivals. Sliding-window OAT
//! (`oat-window`) serves the first request in the optimal order of the n oldest; then the next
//! request enters the window and it decides again.
//!
//! # Origin
//! jacobson91 section 4.1, with batches and windows of 6; liu05 section 6.1 (SW-OAT) and appendix
//! C. Departures: it minimises the instant at which the last request completes, not a sum of access
//! times, which would ignore overheads and the buffer; and the default limit is 8 requests, whereas
//! the papers went up to 10, offline. Ties go to the order that comes first when compared by age. A
//! batch is formed when a decision is due, so a short queue makes a small batch.
//!
//! # Cost
//! For n requests, up to e n! trials (1,957 for 6 requests, 110,000 for 8) of one simulated request
//! each, though usually a few percent of these. OAT makes them after each arrival, short-sighted
//! OAT for each batch, and sliding-window OAT for each decision.
//!
//! # When it is bad
//! If requests keep arriving, OAT accepts a long movement to the first request to gain time later,
//! but new arrivals spoil this gain (jacobson91 section 4.1). It minimises neither the mean
//! response time nor the longest wait. Under load, with 6 requests on the HP 97560, batches take
//! 1.84 times and windows 1.75 times as long as SATF over the whole queue, because they choose
//! among few requests. Windows do no better than SATF over the same window (jacobson91 section 4.1,
//! liu05 section 6.1). With batches, a request waits only for earlier batches and n - 1 others, but
//! it may stay in a window indefinitely while better ones are served.

use std::collections::VecDeque;

use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rehearse, Rule};
use super::waiting::{Candidate, Plan, Planner, Waiting};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oat {
    max: usize,
}

impl Rule for Oat {
    const INFO: PolicyInfo = PolicyInfo {
        name: "oat",
        summary: "optimal order of all pending requests, if there are few: a bound",
        parameters: &[(
            "most=8",
            "the maximum number of requests ordered exactly, from 1 to 10; while more are \
             pending, the one with the shortest access time goes first",
        )],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 4.1",
        example: "oat(most=7)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let max = args.maybe_count("most", 1..=10)?.unwrap_or(8) as usize;
        Ok(Self { max })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Optimal {
            max: self.max,
            waiting: Waiting::default(),
            planned: VecDeque::new(),
        })
    }
}

#[derive(Debug)]
struct Optimal {
    max: usize,
    waiting: Waiting,
    /// All pending requests in the best order: the id of each, and the time at which it is chosen.
    planned: VecDeque<(u64, Instant)>,
}

impl Optimal {
    fn plan<E: Estimate>(&mut self, now: Instant, drive: &E) {
        let all = self.waiting.all();
        let order = optimal_order(&drive.rehearse(), now, all).into_iter();
        let planned = order.map(|step| (all[step.index].pending.request.id, step.at));
        self.planned = planned.collect();
    }
}

impl<E: Estimate> Policy<E> for Optimal {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.planned.clear();
        self.waiting.add(pending, drive);
    }

    fn note_bypass(&mut self, _: &Request, _: &E) {
        self.planned.clear();
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.waiting.all().len() > self.max {
            let outlook = drive.outlook(now);
            let index = self.waiting.min(|c| c.access(&outlook))?;
            return Some(self.waiting.remove(index));
        }
        if self.planned.front().is_none_or(|&(_, at)| at != now) {
            self.plan(now, drive);
        }
        let (id, _) = self.planned.pop_front()?;
        self.waiting.take(id)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.planned.clear();
        self.waiting.take(id)
    }
}

pub type OatBatch = OatOldest<false>;
pub type OatWindow = OatOldest<true>;

/// Orders the oldest requests: batch after batch, or in a sliding window if `IS_WINDOW`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OatOldest<const IS_WINDOW: bool> {
    /// Maximum number of requests that are ordered.
    pub n: usize,
}

const BATCH: PolicyInfo = PolicyInfo {
    name: "oat-batch",
    summary: "short-sighted OAT: the optimal order of one batch after another",
    parameters: &[(
        "n=6",
        "the maximum number of requests in a batch, from 1 to 10",
    )],
    example: "oat-batch(n=6)",
    ..Oat::INFO
};

const WINDOW: PolicyInfo = PolicyInfo {
    name: "oat-window",
    summary: "sliding-window OAT: the first request in the optimal order of the n oldest",
    parameters: &[(
        "n=6",
        "the maximum number of requests in the window, from 1 to 10",
    )],
    example: "oat-window(n=6)",
    ..Oat::INFO
};

impl<const IS_WINDOW: bool> Rule for OatOldest<IS_WINDOW> {
    const INFO: PolicyInfo = if IS_WINDOW { WINDOW } else { BATCH };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let n = args.maybe_count("n", 1..=10)?.unwrap_or(6) as usize;
        Ok(Self { n })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Planner::new(*self))
    }
}

impl<const IS_WINDOW: bool> Plan for OatOldest<IS_WINDOW> {
    fn plan<E: Estimate>(&self, now: Instant, drive: &E, waiting: &Waiting) -> Vec<usize> {
        let order = optimal_order(&drive.rehearse(), now, waiting.oldest(self.n));
        let planned = if IS_WINDOW { 1 } else { order.len() };
        order.iter().take(planned).map(|step| step.index).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OrderStep {
    index: usize,
    at: Instant,
}

/// Returns the order of `requests`, served from `now` on, that completes earliest. Ties go to the
/// order that comes first when compared by age, request by request.
///
/// The search is exact (branch and bound). It abandons a prefix that takes longer than the best
/// complete order. It tries the prefixes that end earliest first, so the first complete order is
/// the greedy one. It serves at most e n! requests.
fn optimal_order<R: Rehearse>(drive: &R, now: Instant, requests: &[Candidate]) -> Vec<OrderStep> {
    let mut search = Search {
        requests,
        left: vec![true; requests.len()],
        prefix: Vec::new(),
        best: None,
    };
    search.deepen(drive, now);
    search.best.map_or_else(Vec::new, |(_, order)| order)
}

struct Search<'a> {
    requests: &'a [Candidate],
    /// True for each request that is not in `prefix`.
    left: Vec<bool>,
    prefix: Vec<OrderStep>,
    /// The best complete order so far, with its end.
    best: Option<(Instant, Vec<OrderStep>)>,
}

impl Search<'_> {
    /// Tries all continuations from `drive`, which has served the prefix. At `at`, the next request
    /// can be chosen, or the last one completes.
    fn deepen<R: Rehearse>(&mut self, drive: &R, at: Instant) {
        if self.prefix.len() == self.requests.len() {
            self.finish(at);
            return;
        }
        let mut continuations = self.continuations(drive, at);
        continuations.sort_by_key(|&(then, index, _)| (then, index));
        for (then, index, after) in continuations {
            if self.is_worse(then) {
                break;
            }
            self.left[index] = false;
            self.prefix.push(OrderStep { index, at });
            self.deepen(&after, then);
            self.prefix.pop();
            self.left[index] = true;
        }
    }

    /// Returns, for each possible next request, the time at which the following one can be chosen
    /// (or the last one completes), its index, and the drive at that time.
    fn continuations<R: Rehearse>(&self, drive: &R, at: Instant) -> Vec<(Instant, usize, R)> {
        let indices = (0..self.requests.len()).filter(|&index| self.left[index]);
        let is_last = self.prefix.len() + 1 == self.requests.len();
        let all = indices.map(|index| {
            let mut after = drive.clone();
            let next = after.serve(at, &self.requests[index].pending.request);
            let then = if is_last { after.completed_at() } else { next };
            (then, index, after)
        });
        all.filter(|&(then, ..)| !self.is_worse(then)).collect()
    }

    /// Returns true if no continuation from `then` can be better: requests chosen at `then` or
    /// later cannot complete before it.
    fn is_worse(&self, then: Instant) -> bool {
        self.best.as_ref().is_some_and(|&(best, _)| then > best)
    }

    fn finish(&mut self, end: Instant) {
        let prefix = self.prefix.iter().map(|step| step.index);
        let is_better = self.best.as_ref().is_none_or(|(best, order)| {
            end < *best || end == *best && prefix.lt(order.iter().map(|step| step.index))
        });
        if is_better {
            self.best = Some((end, self.prefix.clone()));
        }
    }
}
