//! Shortest access time first with urgent forcing.
//!
//! # What it does
//! Shortest access time first, until the oldest request has waited for `age`. Then the n oldest
//! are forced: they are to be served at once, in greedy order; before each goes what does not
//! delay it, shortest access time first.
//!
//! # Origin
//! jacobson91 section 5.1, figure 6: SATFUF, and SATFUF(N). Departures: the paper gives no "too
//! old", the default is ours; nor the order of N forced requests, which is greedy here as in its
//! batches (section 5.2); and "delay" is told by trying on a copy of the drive, to the nanosecond
//! and with the buffer's contents, not by sums of access times.
//!
//! # Cost
//! SATF's scan; while it forces, for each waiting request one tried on a copy of the drive, and up
//! to n more.
//!
//! # When it is bad
//! Under load: once the oldest are always too old little is spliced in, and it becomes FCFS with
//! the queue that this leaves (jacobson91 section 5.1). A forced request is delayed by nothing
//! that is not forced; one that has become too old waits for those forced before it.
//!
//! # Example
//! ```
//! use diskarm_core::sched::Choice;
//! assert!(Choice::parse("satfuf(n=4, age=500ms)", "policy").is_ok());
//! ```

use std::collections::VecDeque;

use super::forced::{AGE, Gap, Greedy, Promise, Splice, age};
use super::waiting::{Candidate, Waiting};
use super::{Estimate, Info, Knowledge, Outlook, Pending, Policy, Rehearse, Rule};
use crate::text::{Args, Fault};
use crate::units::{Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SatfUf {
    /// How many are forced at a time.
    pub n: usize,
    /// How old the oldest becomes before it is forced.
    pub age: Span,
}

impl Rule for SatfUf {
    const INFO: Info = Info {
        name: "satfuf",
        summary: "SATF, but at once the oldest when they are too old",
        parameters: &[("n=1", "requests forced at a time, from 1 to 1000"), AGE],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 5.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, Fault> {
        let n = args.maybe_count("n", 1..=1000)?.unwrap_or(1) as usize;
        Ok(Self { n, age: age(args)? })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Forcing::new(self.n, self.age, Span::ZERO, Greedy))
    }
}

/// Shortest access time first, until the oldest is too old; then promises to the oldest, and what
/// keeps them in between. The other forcing policies are this with more slack, or with another
/// choice.
#[derive(Debug)]
pub(super) struct Forcing<S> {
    /// How many are forced at a time.
    pub n: usize,
    /// How old the oldest becomes before it is forced.
    pub age: Span,
    /// What a promise leaves beyond the soonest.
    pub slack: Span,
    pub splice: S,
    pub waiting: Waiting,
    pub promises: VecDeque<Promise>,
}

impl<S> Forcing<S> {
    pub fn new(n: usize, age: Span, slack: Span, splice: S) -> Self {
        Self {
            n,
            age,
            slack,
            splice,
            waiting: Waiting::default(),
            promises: VecDeque::new(),
        }
    }

    /// Promises the oldest what they would get at once and in greedy order, and the slack.
    fn promise<R: Rehearse>(&mut self, mut drive: R, mut now: Instant) {
        let mut oldest = self.waiting.oldest(self.n).to_vec();
        loop {
            let nearest = {
                let outlook = drive.outlook(now);
                let access = |c: &Candidate| outlook.access(&c.pending.request, &c.place);
                (0..oldest.len()).min_by_key(|&index| access(&oldest[index]))
            };
            let Some(nearest) = nearest else { break };
            let candidate = oldest.remove(nearest);
            now = drive.serve(now, &candidate.pending.request);
            let due = now + self.slack;
            self.promises.push_back(Promise { candidate, due });
        }
    }
}

impl<E: Estimate, S: Splice> Policy<E> for Forcing<S> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.waiting.add(pending, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let oldest = self.waiting.all().first()?;
        let is_too_old = now.since_or_zero(oldest.pending.arrived) >= self.age;
        if self.promises.is_empty() && is_too_old {
            self.promise(drive.rehearse(), now);
        }
        let Some(first) = self.promises.front() else {
            let outlook = drive.outlook(now);
            let access = |c: &Candidate| outlook.access(&c.pending.request, &c.place);
            let index = self.waiting.least(access)?;
            return Some(self.waiting.remove(index));
        };
        let forced = first.candidate.pending.request.id;
        let gap = Gap {
            now,
            drive: drive.rehearse(),
            all: self.waiting.all(),
            promises: &self.promises,
        };
        match self.splice.choose(&gap) {
            Some(index) => Some(self.waiting.remove(index)),
            None => {
                self.promises.pop_front();
                self.waiting.take(forced)
            }
        }
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.promises
            .retain(|p| p.candidate.pending.request.id != id);
        self.waiting.take(id)
    }
}
