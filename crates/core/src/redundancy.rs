//! Members that fail for good while a pair or an array works, and the rebuilding of what the first
//! of them had on a spare.

#[cfg(test)]
pub(crate) mod shadow;

use std::collections::VecDeque;

pub use crate::device::Failure;

use crate::device::{ComponentReport, DataLoss, RedundancyWork, Work};
use crate::units::{Instant, Lbn, Span};

/// The failures of the members of a pair or an array, and what they did.
#[derive(Default)]
pub(crate) struct Failures {
    /// Those to come, in their order.
    to_come: VecDeque<Failure>,
    /// Those that have been.
    pub been: Vec<Failure>,
    /// What they have lost. Nothing is served from then on.
    pub lost: Option<DataLoss>,
    /// The share of the time that a rebuild takes; `None` without a spare.
    share: Option<f64>,
    pub rebuild: Option<Rebuild>,
}

/// What is to be done at an instant.
pub(crate) enum Due {
    Failure(Failure),
    Rebuild(Instant),
}

impl Failures {
    /// Of failures in any order, with a spare if there is a share of the time for a rebuild.
    ///
    /// # Panics
    /// When a member fails twice, or there is a rebuild where none fails.
    pub fn new(failures: &[Failure], share: Option<f64>) -> Self {
        assert!(share.is_none() || !failures.is_empty(), "a rebuild");
        let mut members: Vec<usize> = failures.iter().map(|failure| failure.member).collect();
        members.sort_unstable();
        if let Some(twice) = members.windows(2).find(|two| two[0] == two[1]) {
            panic!("member {} fails twice", twice[0]);
        }
        let mut to_come = failures.to_vec();
        to_come.sort_by_key(|failure| (failure.at, failure.member));
        Self {
            to_come: to_come.into(),
            share,
            ..Self::default()
        }
    }

    /// Whether members have failed or will.
    pub fn are_any(&self) -> bool {
        !self.been.is_empty() || !self.to_come.is_empty()
    }

    /// Whether a member has failed.
    pub fn has(&self, member: usize) -> bool {
        self.at(member).is_some()
    }

    /// When a member failed, if it has.
    pub fn at(&self, member: usize) -> Option<Instant> {
        let mut been = self.been.iter();
        let failure = been.find(|failure| failure.member == member);
        failure.map(|failure| failure.at)
    }

    /// Notes that data are lost, which ends a rebuild that pauses.
    pub fn lose(&mut self, lost: DataLoss) {
        self.lost = Some(lost);
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.next = None;
        }
    }

    /// When a member fails or the rebuild continues.
    pub fn next_event(&self) -> Option<Instant> {
        let failure = self.to_come.front().map(|failure| failure.at);
        failure.into_iter().chain(self.pause_end()).min()
    }

    /// When the rebuild continues, if it pauses.
    fn pause_end(&self) -> Option<Instant> {
        self.rebuild.as_ref()?.next
    }

    /// Takes the next failure, if it is due.
    pub fn fail_by(&mut self, now: Instant) -> Option<Failure> {
        self.to_come.pop_front_if(|failure| failure.at <= now)
    }

    /// What is to be done by `now` and before the members' next `event`.
    pub fn due(&mut self, now: Instant, event: Option<Instant>) -> Option<Due> {
        let next = event.into_iter().chain(self.pause_end()).min();
        let next = next.unwrap_or(now).min(now);
        if let Some(failure) = self.fail_by(next) {
            return Some(Due::Failure(failure));
        }
        let pause_end = self.pause_end().filter(|at| *at <= now)?;
        event
            .is_none_or(|event| pause_end < event)
            .then_some(Due::Rebuild(pause_end))
    }

    /// Begins to rebuild what has failed in `steps` steps, if there is a spare: at once, or with
    /// the first request if nothing has happened yet.
    pub fn begin_rebuild(&mut self, now: Instant, steps: u64) {
        self.rebuild = self.share.map(|share| Rebuild::new(share, steps));
        if now > Instant::START {
            self.wake(now);
        }
    }

    /// Lets the rebuild begin, if it has not: a request has come.
    #[inline]
    pub fn wake(&mut self, now: Instant) {
        if let Some(rebuild) = &mut self.rebuild
            && self.lost.is_none()
        {
            rebuild.wake(now);
        }
    }

    /// Notes that a request has completed.
    #[inline]
    pub fn served(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.served();
        }
    }

    /// How far the rebuild is, if any.
    pub fn progress(&self) -> Option<Progress> {
        Some(self.rebuild.as_ref()?.progress)
    }

    /// What failures did, if any.
    pub fn part(&self) -> Option<ComponentReport> {
        if !self.are_any() {
            return None;
        }
        let progress = self.progress();
        let whole = progress.filter(|progress| progress.steps == progress.of);
        let work = RedundancyWork {
            failed: self.been.len() as u64,
            failed_at: self.been.first().map(|failure| failure.at),
            failures: self.been.iter().chain(&self.to_come).copied().collect(),
            rebuilt_fraction: progress.map(|progress| progress.steps as f64 / progress.of as f64),
            rebuild_time: whole.and_then(|whole| Some(whole.ended? - whole.began?)),
            rebuild_projected: progress.and_then(|progress| progress.projected()),
            stopped: progress
                .filter(|_| self.lost.is_none())
                .and_then(|progress| progress.stopped),
            lost: self.lost,
        };
        Some(ComponentReport {
            name: String::new(),
            work: Work::Redundancy(work),
        })
    }
}

/// How far a rebuild is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The steps that have ended: rows of stripe units, or runs of blocks of a pair.
    pub steps: u64,
    /// The steps of the whole rebuild.
    pub of: u64,
    /// When it began: with the first request.
    pub began: Option<Instant>,
    /// How many steps there were when a request last completed, and until when the last of them and
    /// the pause behind it take.
    pub under_load: (u64, Option<Instant>),
    /// When it ended, whether or not the spare has everything.
    pub ended: Option<Instant>,
    /// The block that could not be read, or the first of its row if that was parity: the rebuild
    /// has stopped there.
    pub stopped: Option<Lbn>,
}

impl Progress {
    /// From the beginning until all is rebuilt, at the rate until a request last completed;
    /// `None` if no step had ended by then.
    pub fn projected(&self) -> Option<Span> {
        let (steps, until) = self.under_load;
        let took = (until? - self.began?).as_ns() as f64;
        let all = took * self.of as f64 / steps as f64;
        Some(Span::from_ns(all.round() as i64))
    }
}

/// A rebuild, step by step.
pub(crate) struct Rebuild {
    /// The share of the time in which it is under way, above 0 and at most 1.
    share: f64,
    pub progress: Progress,
    /// When it continues with the next step; `None` while it is under way.
    pub next: Option<Instant>,
    /// When the step under way was begun; `None` before the first.
    begun: Option<Instant>,
    /// When the pause behind the last step so far ends; without it each step would have one but the
    /// last, and few steps would seem faster than many.
    until: Option<Instant>,
}

impl Rebuild {
    /// Of `of` steps, which has not begun.
    pub fn new(share: f64, of: u64) -> Self {
        assert!(share > 0.0 && share <= 1.0, "a share of {share}");
        Self {
            share,
            progress: Progress {
                steps: 0,
                of,
                began: None,
                under_load: (0, None),
                ended: None,
                stopped: None,
            },
            next: None,
            begun: None,
            until: None,
        }
    }

    /// Begins at the first request.
    #[inline]
    pub fn wake(&mut self, now: Instant) {
        if self.begun.is_none() {
            (self.next, self.begun) = (Some(now), Some(now));
            self.progress.began = Some(now);
        }
    }

    /// Notes that a request has completed.
    pub fn served(&mut self) {
        self.progress.under_load = (self.progress.steps, self.until);
    }

    pub fn begin(&mut self, now: Instant) {
        (self.next, self.begun) = (None, Some(now));
    }

    /// Notes that a block could not be read, or not be written.
    pub fn fail(&mut self, block: Lbn) {
        let before = self.progress.stopped;
        self.progress.stopped = Some(before.map_or(block, |before| before.min(block)));
    }

    /// Ends the step, and pauses such that the share of the time is kept. Whether the spare has it:
    /// if not, the rebuild ends.
    pub fn end_step(&mut self, now: Instant) -> bool {
        if self.progress.stopped.is_some() {
            self.progress.ended = Some(now);
            return false;
        }
        self.progress.steps += 1;
        if self.progress.steps == self.progress.of {
            (self.progress.ended, self.until) = (Some(now), Some(now));
            return true;
        }
        let begun = self.begun.unwrap_or(now);
        let took = (now - begun).as_ns() as f64;
        let pause = took * (1.0 / self.share - 1.0);
        self.next = Some(now + Span::from_ns(pause.round() as i64));
        self.until = self.next;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(members: &[usize]) -> Failures {
        let at = [3, 1, 2].map(Instant::from_ns);
        let failures = members.iter().zip(at);
        let failures: Vec<Failure> = failures
            .map(|(&member, at)| Failure { member, at })
            .collect();
        Failures::new(&failures, None)
    }

    #[test]
    fn members_fail_in_the_order_of_the_times() {
        let mut failures = failures(&[5, 0, 7]);
        let end = Instant::from_ns(9);
        let members = std::iter::from_fn(|| Some(failures.fail_by(end)?.member));
        assert_eq!(members.collect::<Vec<_>>(), [0, 7, 5]);
    }

    #[test]
    #[should_panic(expected = "member 5 fails twice")]
    fn no_member_fails_twice() {
        failures(&[5, 0, 5]);
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    /// What is projected by a quarter of the time for steps of 10 ms, from 7 ms on, when a request
    /// completes during this many steps of four.
    fn projected_ms(steps: u64) -> Option<f64> {
        let mut rebuild = Rebuild::new(0.25, 4);
        rebuild.wake(ms(7));
        for step in 0..steps {
            let begin = ms(7 + 40 * step);
            assert_eq!(rebuild.next, Some(begin));
            rebuild.begin(begin);
            assert!(rebuild.end_step(begin + Span::from_ms(10.0)));
        }
        rebuild.served();
        rebuild.progress.projected().map(Span::as_ms)
    }

    /// Each step takes 10 ms and is followed by a pause of 30 ms but the last, behind which nothing
    /// comes: four take 130 ms, and at the rate of those before, 160 ms.
    #[test]
    fn the_pause_behind_the_last_step_counts_in_a_projection() {
        assert_eq!(projected_ms(0), None);
        for steps in 1..4 {
            assert_eq!(projected_ms(steps), Some(160.0), "{steps}");
        }
        assert_eq!(projected_ms(4), Some(130.0));
    }
}
