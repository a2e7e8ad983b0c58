//! Shortest access time first with look-ahead.
//!
//! # What it does
//! Finds the sequence of i requests with the minimum sum of access times, where each counts `alpha`
//! times as much as the previous one. By default, it serves the first of them and decides again;
//! with `strict`, it serves all of them before it decides again.
//!
//! # Origin
//! liu05 section 6.1: SATF-LAi, or SPTF-LAi. With `i=1` or `alpha=0`, it is SATF. Departures: the
//! weight of the k-th request is alpha to the power of k - 1 (the printed sum skips one power at
//! its end); the thesis names no best alpha, so the default is ours; up to 4 requests are allowed,
//! whereas the thesis stops at 2. Ties go to the sequence that begins with the earliest arrival.
//!
//! # Cost
//! At worst n^i estimates, and a trial on a copy of the drive for each request but the last. A
//! request whose access time alone exceeds the best sum is not tried.
//!
//! # When it is bad
//! New arrivals may spoil the second step, for which a better first step was given up. It is
//! slightly better than SATF on random requests, and more so on clustered ones (liu05 section
//! 6.2.1). It starves requests as SATF does.

use super::policy::{Estimate, Knowledge, Policy, PolicyInfo, Rehearse, Rule};
use super::waiting::{Candidate, Plan, Planner, Waiting};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SatfLa {
    i: usize,
    alpha: f64,
    strict: bool,
}

impl Rule for SatfLa {
    const INFO: PolicyInfo = PolicyInfo {
        name: "satf-la",
        summary: "SATF with look-ahead: the smallest sum of the next access times",
        parameters: &[
            (
                "i=2",
                "the number of requests that it looks ahead, from 1 to 4",
            ),
            (
                "alpha=0.5",
                "the weight of each request relative to the previous one, from 0 to 1; the default \
                 is 1 with strict=yes",
            ),
            (
                "strict=no",
                "with yes, all i requests are served before the next decision",
            ),
        ],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "liu05 section 6.1",
        example: "satf-la(i=2, alpha=0.5, strict=yes)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let i = args.maybe_count("i", 1..=4)?.unwrap_or(2) as usize;
        let alpha = args.maybe_number("alpha", 0.0..=1.0)?;
        let strict = args.maybe_yes("strict")?.unwrap_or(false);
        Ok(Self {
            i,
            alpha: alpha.unwrap_or(if strict { 1.0 } else { 0.5 }),
            strict,
        })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Planner::new(*self))
    }
}

struct Sequence {
    /// The weighted sum of access times in nanoseconds, which is exact for a single request.
    sum: f64,
    indices: Vec<usize>,
}

impl SatfLa {
    fn best<R: Rehearse>(
        &self,
        drive: &R,
        now: Instant,
        all: &[Candidate],
        left: &[usize],
        length: usize,
    ) -> Option<Sequence> {
        let outlook = drive.outlook(now);
        let access = |&index: &usize| (all[index].access(&outlook), index);
        let mut nearest: Vec<(Span, usize)> = left.iter().map(access).collect();
        nearest.sort_unstable();
        let mut best: Option<Sequence> = None;
        for (access, first) in nearest {
            let access = access.as_ns() as f64;
            // Later requests can only add to the sum.
            if best.as_ref().is_some_and(|best| access > best.sum) {
                break;
            }
            let mut sequence = Sequence {
                sum: access,
                indices: vec![first],
            };
            if length > 1 && left.len() > 1 {
                let mut after = drive.clone();
                let then = after.serve(now, &all[first].pending.request);
                let others: Vec<usize> = left.iter().copied().filter(|&i| i != first).collect();
                if let Some(next) = self.best(&after, then, all, &others, length - 1) {
                    sequence.sum += self.alpha * next.sum;
                    sequence.indices.extend(next.indices);
                }
            }
            let is_better =
                |best: &Sequence| (sequence.sum, &sequence.indices) < (best.sum, &best.indices);
            if best.as_ref().is_none_or(is_better) {
                best = Some(sequence);
            }
        }
        best
    }
}

impl Plan for SatfLa {
    fn plan<E: Estimate>(&self, now: Instant, drive: &E, waiting: &Waiting) -> Vec<usize> {
        let all = waiting.all();
        let left: Vec<usize> = (0..all.len()).collect();
        let best = self.best(&drive.rehearse(), now, all, &left, self.i);
        let mut order = best.map_or_else(Vec::new, |best| best.indices);
        order.truncate(if self.strict { self.i } else { 1 });
        order
    }
}
