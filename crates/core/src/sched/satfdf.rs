//! Shortest access time first with delayed forcing.
//!
//! # What it does
//! Like `satfuf`, but a forced request gets some revolutions of slack, in which as many other
//! requests as possible are served without delaying it further. With `splice=forward`, the next one
//! is always the request with the shortest access time that fits. With `splice=both`, a second
//! greedy order is built backward from the forced request, by prepending the request from which the
//! next is reached fastest. The two orders are joined where the time without transfer is shortest.
//!
//! # Origin
//! jacobson91 section 5.1: SATFDF(N), variations 2 (`splice=forward`) and 3 (`splice=both`).
//! Departures: the paper does not define "too old", so the default is ours. N is taken to be the
//! number of forced requests, as in SATFUF(N). Variation 2 ends where the forced request would be
//! late, not at the deadline itself, so that the deadline is met. The time from one request to the
//! next is estimated on a copy of the drive that serves the first immediately. Joined orders are
//! verified on a copy of the drive. Ties go to the joint whose forced requests end first, then to
//! the one with the shorter beginning. The joint is recomputed for each decision, so that new
//! arrivals are considered.
//!
//! # Cost
//! With `splice=forward`, the cost of `satfuf`. With `splice=both`, for k requests in the gap
//! before a forced one and n pending requests: about k n trials on copies of the drive, the same
//! number of estimates, and trials of up to k^2 orders of k requests.
//!
//! # When it is bad
//! Its throughput is lower than that of SATF and ASATF, and its response times have a longer tail
//! than those of `satfgdf` (jacobson91 section 6.1), because the forward order may leave the head
//! anywhere.

use std::cmp::Reverse;

use super::forced::{AGE, After, Forcing, Gap, Greedy, Splice, read_age};
use super::policy::{Estimate, Knowledge, Policy, PolicyInfo, Rehearse, Rule, read_word};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SatfDf {
    n: usize,
    revolutions: u64,
    age: Span,
    is_spliced: bool,
}

impl Rule for SatfDf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "satfdf",
        summary: "SATF, but requests that are too old are forced within some revolutions",
        parameters: &[
            ("n=1", "requests forced at a time, from 1 to 1000"),
            (
                "revolutions=5",
                "the slack before a forced request, from 0 to 1000",
            ),
            AGE,
            (
                "splice=forward",
                "how the slack is filled: greedily (forward), or also backward from the end (both)",
            ),
        ],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 5.1",
        example: "satfdf(n=2, revolutions=3, age=500ms, splice=both)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let n = args.maybe_count("n", 1..=1000)?.unwrap_or(1) as usize;
        let revolutions = args.maybe_count("revolutions", 0..=1000)?.unwrap_or(5);
        let is_spliced = read_word(args, "splice", [("forward", false), ("both", true)])?;
        Ok(Self {
            n,
            revolutions,
            age: read_age(args)?,
            is_spliced: is_spliced.unwrap_or(false),
        })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let slack = drive.shape().revolution * self.revolutions;
        if self.is_spliced {
            Box::new(Forcing::new(self.n, self.age, slack, Spliced))
        } else {
            Box::new(Forcing::new(self.n, self.age, slack, Greedy))
        }
    }
}

/// A forward and a backward greedy order, joined.
#[derive(Debug)]
struct Spliced;

/// The start of the forward order, joined to the end of the backward one so as to keep promises.
struct Joint {
    /// Time of data transfers before the forced requests; no data move in the rest of the gap.
    useful: Span,
    end: Instant,
    first: usize,
}

impl Splice for Spliced {
    fn choose<R: Rehearse>(&self, gap: &Gap<'_, R>) -> Option<usize> {
        let forward = forward(gap);
        let backward = backward(gap);
        let mut best: Option<Joint> = None;
        for length in 0..=forward.len() {
            let Some(joint) = join(gap, &forward[..length], &backward) else {
                continue;
            };
            let is_better = |best: &Joint| {
                let order = |joint: &Joint| (Reverse(joint.useful), joint.end);
                order(&joint) < order(best)
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some(joint);
            }
        }
        best.map(|joint| joint.first)
    }
}

/// Returns the greedy order from now on, as long as promises are kept.
fn forward<R: Rehearse>(gap: &Gap<'_, R>) -> Vec<(usize, After<R>)> {
    let mut free = gap.free();
    let mut forward: Vec<(usize, After<R>)> = Vec::new();
    let start = gap.start();
    loop {
        let last = forward.last().map_or(&start, |(_, after)| after);
        let Some((index, after)) = gap.nearest_that_fits(last, &free) else {
            return forward;
        };
        free.retain(|&other| other != index);
        forward.push((index, after));
    }
}

/// Returns the greedy order backward from the forced request, last request first, within the gap.
fn backward<R: Rehearse>(gap: &Gap<'_, R>) -> Vec<usize> {
    let start = gap.start();
    let free = gap.free().into_iter();
    let mut left: Vec<(usize, After<R>)> = free
        .map(|index| (index, start.serve(&gap.all[index])))
        .collect();
    // Negative if a request taken out of turn has broken the promise.
    let mut room = gap.end().due.after(gap.now);
    let mut target = gap.end().candidate;
    let mut backward = Vec::new();
    while !left.is_empty() {
        let afters = left.iter().map(|(_, after)| after);
        let times = afters
            .map(|after| after.positioning_and_transfer(&target))
            .enumerate();
        let nearest = times.min_by_key(|&(_, (positioning, _))| positioning);
        let Some((nearest, (positioning, transfer))) = nearest else {
            break;
        };
        room -= positioning + transfer;
        if room < Span::ZERO {
            break;
        }
        let (index, _) = left.remove(nearest);
        target = gap.all[index];
        backward.push(index);
    }
    backward
}

/// Joins `begin` to the longest end of the backward order that keeps promises and repeats nothing.
fn join<R: Rehearse>(
    gap: &Gap<'_, R>,
    begin: &[(usize, After<R>)],
    backward: &[usize],
) -> Option<Joint> {
    let start = gap.start();
    let after = begin.last().map_or(&start, |(_, after)| after);
    let head: Vec<usize> = begin.iter().map(|&(index, _)| index).collect();
    (0..=backward.len()).rev().find_map(|length| {
        let nearest_last = backward[..length].iter().rev().copied();
        let tail: Vec<usize> = nearest_last.filter(|i| !head.contains(i)).collect();
        let &first = head.first().or(tail.first())?;
        let end = gap.keep_promises(&after.serve_all(tail.iter().map(|&index| &gap.all[index])))?;
        // Promises must not depend on requests after the first, which may be taken out of turn.
        gap.keep_promises(&start.serve(&gap.all[first]))?;
        let order = head.iter().chain(&tail);
        let transfers = order.map(|&index| start.positioning_and_transfer(&gap.all[index]).1);
        let useful = transfers.sum();
        Some(Joint { useful, end, first })
    })
}
