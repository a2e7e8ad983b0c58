//! Permanent failures of members, and the rebuild of the first failed member on a spare.

use std::collections::VecDeque;

use crate::device::{ComponentReport, DataLoss, Failure, RedundancyWork, Work};
use crate::units::{Instant, Lbn, Span};

#[derive(Default)]
pub struct Failures {
    to_come: VecDeque<Failure>,
    pub been: Vec<Failure>,
    /// The data that they have lost. Nothing is served from then on.
    pub lost: Option<DataLoss>,
    /// The share of the time that the rebuild takes; `None` without a spare.
    share: Option<f64>,
    pub rebuild: Option<Rebuild>,
}

pub enum Due {
    Failure(Failure),
    Rebuild(Instant),
}

impl Failures {
    /// Takes failures in any order; there is a spare if the rebuild has a share of the time.
    ///
    /// # Panics
    /// If a member fails twice, or there is a rebuild without a failure.
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

    /// Returns true if members have failed or will.
    pub fn are_any(&self) -> bool {
        !self.been.is_empty() || !self.to_come.is_empty()
    }

    pub fn has(&self, member: usize) -> bool {
        self.failed_at(member).is_some()
    }

    pub fn failed_at(&self, member: usize) -> Option<Instant> {
        let mut been = self.been.iter();
        let failure = been.find(|failure| failure.member == member);
        failure.map(|failure| failure.at)
    }

    /// Records that data are lost, which ends a rebuild that pauses.
    pub fn lose(&mut self, lost: DataLoss) {
        self.lost = Some(lost);
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.next = None;
        }
    }

    /// Returns when a member fails or the rebuild continues.
    pub fn next_event(&self) -> Option<Instant> {
        let failure = self.to_come.front().map(|failure| failure.at);
        failure.into_iter().chain(self.pause_end()).min()
    }

    /// Returns when the rebuild continues, if it pauses.
    fn pause_end(&self) -> Option<Instant> {
        self.rebuild.as_ref()?.next
    }

    pub fn fail_by(&mut self, now: Instant) -> Option<Failure> {
        self.to_come.pop_front_if(|failure| failure.at <= now)
    }

    /// Returns the action that is due by `now` and before the next `event` of the members.
    pub fn due(&mut self, now: Instant, event: Option<Instant>) -> Option<Due> {
        let next = event
            .into_iter()
            .chain(self.pause_end())
            .min()
            .unwrap_or(now)
            .min(now);
        if let Some(failure) = self.fail_by(next) {
            return Some(Due::Failure(failure));
        }
        let pause_end = self.pause_end().filter(|at| *at <= now)?;
        event
            .is_none_or(|event| pause_end < event)
            .then_some(Due::Rebuild(pause_end))
    }

    /// Starts the rebuild in `steps` steps, if there is a spare: at once, or with the first request
    /// if the run has not begun.
    pub fn begin_rebuild(&mut self, now: Instant, steps: u64) {
        self.rebuild = self.share.map(|share| Rebuild::new(share, steps));
        if now > Instant::START {
            self.wake(now);
        }
    }

    /// Starts the rebuild with a request that has arrived, if it has not started.
    #[inline]
    pub fn wake(&mut self, now: Instant) {
        if let Some(rebuild) = &mut self.rebuild
            && self.lost.is_none()
        {
            rebuild.wake(now);
        }
    }

    #[inline]
    pub fn count_completion(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.count_completion();
        }
    }

    pub fn progress(&self) -> Option<Progress> {
        Some(self.rebuild.as_ref()?.progress)
    }

    /// Reports the failures and the rebuild; `None` without any.
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
        Some(ComponentReport::new(Work::Redundancy(work)))
    }
}

/// The progress of a rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// The steps that have ended: rows of stripe units, or runs of blocks of a pair.
    pub steps: u64,
    /// The steps of the whole rebuild.
    pub of: u64,
    /// The time at which it began.
    pub began: Option<Instant>,
    /// The steps when a request last completed, and the end of the last of them and its pause.
    pub under_load: (u64, Option<Instant>),
    /// The time at which it ended, whether or not the spare has everything.
    pub ended: Option<Instant>,
    /// The unreadable block where the rebuild has stopped; for parity, the first of its row.
    pub stopped: Option<Lbn>,
}

impl Progress {
    /// Projects the total time of the rebuild, at its rate until the last completion of a request;
    /// `None` if no step had ended before.
    pub fn projected(&self) -> Option<Span> {
        let (steps, until) = self.under_load;
        let took = (until? - self.began?).as_ns() as f64;
        let all = took * self.of as f64 / steps as f64;
        Some(Span::from_ns(all.round() as i64))
    }
}

pub struct Rebuild {
    /// The share of the time in which it is in progress, above 0 and at most 1.
    share: f64,
    pub progress: Progress,
    /// The time of the next step; `None` during a step.
    pub next: Option<Instant>,
    /// The beginning of the current step; `None` before the first.
    begun: Option<Instant>,
    /// The end of the pause after the last step. Without it each step but the last would have a
    /// pause, and few steps would seem faster than many.
    until: Option<Instant>,
}

impl Rebuild {
    /// Creates a rebuild of `of` steps that has not begun.
    pub fn new(share: f64, of: u64) -> Self {
        assert!(share > 0.0 && share <= 1.0, "a share of {share}");
        Self {
            share,
            progress: Progress {
                of,
                ..Progress::default()
            },
            next: None,
            begun: None,
            until: None,
        }
    }

    /// Starts the rebuild, if it has not started.
    #[inline]
    pub fn wake(&mut self, now: Instant) {
        if self.begun.is_none() {
            (self.next, self.begun) = (Some(now), Some(now));
            self.progress.began = Some(now);
        }
    }

    pub fn count_completion(&mut self) {
        self.progress.under_load = (self.progress.steps, self.until);
    }

    pub fn begin(&mut self, now: Instant) {
        (self.next, self.begun) = (None, Some(now));
    }

    /// Records a block that could not be read or written.
    pub fn fail(&mut self, block: Lbn) {
        let before = self.progress.stopped;
        self.progress.stopped = Some(before.map_or(block, |before| before.min(block)));
    }

    /// Ends the step, and pauses to keep the share of the time. Returns true if the spare has the
    /// blocks of the step: if not, the rebuild ends.
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
        let failures: Vec<Failure> = members
            .iter()
            .zip(at)
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

    /// Returns the projection for steps of 10 ms that take a quarter of the time, from 7 ms on,
    /// when a request completes after this many of four steps.
    fn projected_ms(steps: u64) -> Option<f64> {
        let mut rebuild = Rebuild::new(0.25, 4);
        rebuild.wake(ms(7));
        for step in 0..steps {
            let begin = ms(7 + 40 * step);
            assert_eq!(rebuild.next, Some(begin));
            rebuild.begin(begin);
            assert!(rebuild.end_step(begin + Span::from_ms(10.0)));
        }
        rebuild.count_completion();
        rebuild.progress.projected().map(Span::as_ms)
    }

    /// Each step takes 10 ms, and all but the last are followed by a pause of 30 ms: four take 130
    /// ms, and at the rate of those before, 160 ms.
    #[test]
    fn a_projection_counts_the_pause_after_the_last_step() {
        assert_eq!(projected_ms(0), None);
        for steps in 1..4 {
            assert_eq!(projected_ms(steps), Some(160.0), "{steps}");
        }
        assert_eq!(projected_ms(4), Some(130.0));
    }
}
