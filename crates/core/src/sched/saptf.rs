//! Shortest adjusted processing time first.
//!
//! # What it does
//! Serves the pending request with the minimum positioning time multiplied by t^i, where i is the
//! level of its wait among the pending requests: 0 up to the mean wait, 1 up to one standard
//! deviation above it, 2 up to two, 3 up to three, and 4 for longer waits.
//!
//! # Origin
//! liu05 section 6.1 and table 6.1. The mean and the deviation are those of the requests pending at
//! the decision; liu05 updates them "every few time units". Waits are counted in whole
//! microseconds. liu05 gives no t; the default is ours. SAPTF(1) is SPTF.
//!
//! # Cost
//! Per decision, two scans of every pending request, one of which computes positioning times.
//!
//! # When it is bad
//! Waits are unbounded: a request of the last level still needs a positioning time below t^-4 times
//! that of every other request.

use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use super::waiting::{Candidate, Select, Selector, Waiting};
use crate::text::{Args, InputError};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saptf {
    discount_factor: f64,
}

impl Rule for Saptf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "saptf",
        summary: "shortest positioning time first, discounted by how unusual the wait is",
        parameters: &[("t=0.8", "the factor per level of the wait, from 0 to 1")],
        knowledge: Knowledge::Times,
        origin: "liu05 section 6.1",
        example: "saptf(t=0.7)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let discount_factor = args.maybe_number("t", 0.0..=1.0)?.unwrap_or(0.8);
        Ok(Self { discount_factor })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::new(*self))
    }
}

impl Select for Saptf {
    fn select<O: Outlook>(&mut self, now: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        let levels = Levels::new(queue, now);
        queue.min(|c| {
            let positioning = c.positioning(outlook);
            let discount = self.discount_factor.powi(levels.level(waited_us(c, now)));
            positioning.as_ns() as f64 * discount
        })
    }
}

fn waited_us(c: &Candidate, now: Instant) -> i128 {
    i128::from(now.since_or_zero(c.pending.arrived).as_ns() / 1000)
}

/// Mean and variance of waits, as integers, so that squares compare exactly.
struct Levels {
    count: i128,
    sum: i128,
    /// The square of `count` standard deviations.
    deviation_squared: i128,
}

impl Levels {
    fn new(waiting: &Waiting, now: Instant) -> Self {
        let waits = || waiting.all().iter().map(|c| waited_us(c, now));
        let count = waiting.all().len() as i128;
        let sum: i128 = waits().sum();
        let squares: i128 = waits().map(|wait| wait * wait).sum();
        Self {
            count,
            sum,
            deviation_squared: count * squares - sum * sum,
        }
    }

    fn level(&self, wait_us: i128) -> i32 {
        let above = self.count * wait_us - self.sum;
        if above <= 0 {
            return 0;
        }
        let beyond = |k: &i128| above * above > k * k * self.deviation_squared;
        1 + (1..=3).filter(beyond).count() as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_match_the_table() {
        // Mean 10 us, standard deviation 2 us: count 4, sum 40, deviation (4 * 2)^2.
        let levels = Levels {
            count: 4,
            sum: 40,
            deviation_squared: 64,
        };
        let all = [0, 10, 11, 12, 13, 14, 15, 16, 17, 100].map(|us| levels.level(us));
        assert_eq!(all, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    }
}
