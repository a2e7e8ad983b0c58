//! The order in which the last of some requests completes earliest, found by trying orders on
//! copies of the drive: the core of the bounds.

use super::Rehearse;
use super::waiting::Candidate;
use crate::units::Instant;

/// One request of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Its index among the requests to be ordered.
    pub index: usize,
    /// When it is chosen.
    pub at: Instant,
}

/// The order of `requests`, from `now` on, whose last completes earliest; ties go to the order that
/// comes first when compared by age, request by request.
///
/// Exact, by branch and bound: the drive's state after a prefix is known, a prefix is abandoned
/// when it alone takes longer than the best complete order, and prefixes are tried earliest first,
/// so that the first complete order is the greedy one. In the worst case it serves e times n!
/// requests.
pub(super) fn optimal<R: Rehearse>(drive: &R, now: Instant, requests: &[Candidate]) -> Vec<Step> {
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
    /// Whether each request is not in `prefix`.
    left: Vec<bool>,
    prefix: Vec<Step>,
    /// The best complete order so far, and when it ends.
    best: Option<(Instant, Vec<Step>)>,
}

impl Search<'_> {
    /// Tries all ways to continue from `drive`, which has served the prefix: at `at` the next can
    /// be chosen, or the last one completes.
    fn deepen<R: Rehearse>(&mut self, drive: &R, at: Instant) {
        if self.prefix.len() == self.requests.len() {
            self.finish(at);
            return;
        }
        let mut ways = self.ways(drive, at);
        ways.sort_by_key(|&(then, index, _)| (then, index));
        for (then, index, after) in ways {
            if self.is_worse(then) {
                break;
            }
            self.left[index] = false;
            self.prefix.push(Step { index, at });
            self.deepen(&after, then);
            self.prefix.pop();
            self.left[index] = true;
        }
    }

    /// For each possible next request: when the one after it can be chosen (for the last, when it
    /// completes), its index, and the drive then.
    fn ways<R: Rehearse>(&self, drive: &R, at: Instant) -> Vec<(Instant, usize, R)> {
        let indices = (0..self.requests.len()).filter(|&index| self.left[index]);
        let is_last = self.prefix.len() + 1 == self.requests.len();
        let ways = indices.map(|index| {
            let mut after = drive.clone();
            let next = after.serve(at, &self.requests[index].pending.request);
            let then = if is_last { after.completed_at() } else { next };
            (then, index, after)
        });
        ways.filter(|&(then, ..)| !self.is_worse(then)).collect()
    }

    /// Requests chosen at `then` or later cannot complete before it, so no continuation can be
    /// better.
    fn is_worse(&self, then: Instant) -> bool {
        self.best.as_ref().is_some_and(|&(best, _)| then > best)
    }

    fn finish(&mut self, over: Instant) {
        let by_age = |order: &[Step]| -> Vec<usize> { order.iter().map(|s| s.index).collect() };
        let is_better = self.best.as_ref().is_none_or(|(best, order)| {
            over < *best || (over == *best && by_age(&self.prefix) < by_age(order))
        });
        if is_better {
            self.best = Some((over, self.prefix.clone()));
        }
    }
}
