//! Code shared by the forcing policies: promises to the oldest requests, and the choice of requests
//! that can be served first without breaking a promise.
//!
//! A promise is an instant by which the drive will have served a request. Each request that could
//! be served first is tried on a copy of the drive and its buffer. In a host's queue the copy is
//! exact, so promises are kept to the nanosecond unless requests are taken out of turn. In the
//! drive's own queue, a command that has just arrived may still need processing, which the copy
//! assumes to be done.

use std::collections::VecDeque;

use super::policy::{Estimate, Pending, Policy, Rehearse};
use super::waiting::{Candidate, Waiting};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

pub(super) const AGE: (&str, &str) = (
    "age=1 s",
    "the wait after which the oldest request is forced, from 0 to an hour",
);

/// Reads the parameter `age`. The paper says only "too old". The default is where the paper's
/// comparison of 95th percentiles ends (jacobson91 section 6.1).
pub(super) fn read_age(args: &mut Args<'_>) -> Result<Span, InputError> {
    Ok(args.maybe_time("age")?.unwrap_or(Span::from_s(1.0)))
}

/// A rule that chooses the requests to serve before the promised ones.
pub(super) trait Splice: Send {
    /// Returns the index of a request that is not promised and breaks no promise; `None` to serve
    /// the first promised one.
    fn choose<R: Rehearse>(&self, gap: &Gap<'_, R>) -> Option<usize>;
}

/// A request, and the instant by which the drive must have served it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    pub candidate: Candidate,
    pub due: Instant,
}

/// The time until the promised requests must be served.
pub(super) struct Gap<'a, R> {
    pub now: Instant,
    pub drive: R,
    /// All pending requests, including promised ones.
    pub all: &'a [Candidate],
    pub promises: &'a VecDeque<Promise>,
}

/// A copy of the drive after it has served some requests.
pub(super) struct After<R> {
    pub drive: R,
    pub at: Instant,
}

impl<R: Rehearse> After<R> {
    pub fn serve(&self, candidate: &Candidate) -> Self {
        self.serve_all([candidate])
    }

    pub fn serve_all<'c>(&self, candidates: impl IntoIterator<Item = &'c Candidate>) -> Self {
        let mut drive = self.drive.clone();
        let mut at = self.at;
        for candidate in candidates {
            at = drive.serve(at, &candidate.pending.request);
        }
        Self { drive, at }
    }

    /// Returns the time until the media transfer of `candidate` would begin, and its duration.
    pub fn positioning_and_transfer(&self, candidate: &Candidate) -> (Span, Span) {
        let outlook = self.drive.outlook(self.at);
        let positioning = candidate.positioning(&outlook);
        (positioning, candidate.access(&outlook) - positioning)
    }
}

impl<R: Rehearse> Gap<'_, R> {
    pub fn start(&self) -> After<R> {
        After {
            drive: self.drive.clone(),
            at: self.now,
        }
    }

    /// Returns the request that is forced next, and its deadline.
    pub fn end(&self) -> &Promise {
        &self.promises[0]
    }

    /// Returns the indices of requests that are not promised, except those identical to a promised
    /// one, because they would complete before it.
    pub fn free(&self) -> Vec<usize> {
        let repeats = |c: &Candidate, promise: &Promise| {
            let (own, promised) = (c.pending.request, promise.candidate.pending.request);
            own == Request {
                id: own.id,
                ..promised
            }
        };
        let is_free = |c| !self.promises.iter().any(|promise| repeats(c, promise));
        let free = (0..self.all.len()).filter(|&index| is_free(&self.all[index]));
        free.collect()
    }

    /// Returns the end of all promised requests if they are served now; `None` if one is late.
    pub fn keep_promises(&self, after: &After<R>) -> Option<Instant> {
        let mut drive = after.drive.clone();
        let mut at = after.at;
        for promise in self.promises {
            // A deadline in the past cannot be met.
            if at > promise.due {
                return None;
            }
            at = drive.serve(at, &promise.candidate.pending.request);
            if at > promise.due {
                return None;
            }
        }
        Some(at)
    }

    /// Returns the request in `free` with the shortest positioning time that breaks no promise if
    /// it is served next, and the drive after it. Ties go to the oldest.
    pub fn nearest_that_fits(&self, after: &After<R>, free: &[usize]) -> Option<(usize, After<R>)> {
        let outlook = after.drive.outlook(after.at);
        let timed = |&index: &usize| (self.all[index].positioning(&outlook), index);
        let mut nearest: Vec<(Span, usize)> = free.iter().map(timed).collect();
        nearest.sort_unstable();
        nearest.into_iter().find_map(|(_, index)| {
            let then = after.serve(&self.all[index]);
            self.keep_promises(&then).map(|_| (index, then))
        })
    }
}

/// Shortest positioning time first among requests that break no promise.
#[derive(Debug)]
pub(super) struct Greedy;

impl Splice for Greedy {
    fn choose<R: Rehearse>(&self, gap: &Gap<'_, R>) -> Option<usize> {
        let fits = gap.nearest_that_fits(&gap.start(), &gap.free());
        fits.map(|(index, _)| index)
    }
}

/// Serves requests by shortest positioning time (jacobson91's access time, section 4) until the
/// oldest is too old. Then the oldest requests get promises, and `splice` chooses what to serve
/// first.
#[derive(Debug)]
pub(super) struct Forcing<S> {
    n: usize,
    age: Span,
    /// Time added to the earliest instant that can be promised.
    slack: Span,
    splice: S,
    waiting: Waiting,
    promises: VecDeque<Promise>,
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

    /// Promises each of the oldest requests its end in their greedy order, plus the slack.
    fn promise<R: Rehearse>(&mut self, mut drive: R, mut now: Instant) {
        let mut oldest = self.waiting.oldest(self.n).to_vec();
        loop {
            let nearest = {
                let outlook = drive.outlook(now);
                (0..oldest.len()).min_by_key(|&index| oldest[index].positioning(&outlook))
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
            let index = self.waiting.min(|c| c.positioning(&outlook))?;
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
