//! Permanent failures of members, and the rebuild of the first failed member on a spare.

use std::collections::VecDeque;

use crate::device::{ComponentReport, DataLoss, Failure, RedundancyWork, Work};
use crate::units::{Instant, Lbn, Span};

#[derive(Default)]
pub struct Failures {
    pending: VecDeque<Failure>,
    pub past: Vec<Failure>,
    /// The data lost to the failures; nothing is served after a loss.
    pub lost: Option<DataLoss>,
    /// The share of time during which the rebuild is in progress; `None` without a spare.
    share: Option<f64>,
    pub rebuild: Option<Rebuild>,
}

pub enum DueAction {
    Failure(Failure),
    Rebuild(Instant),
}

impl Failures {
    /// Schedules `failures`, in any order. With `share`, a rebuild takes that share of the time.
    ///
    /// # Panics
    /// If a member fails twice, or there is a rebuild without a failure.
    pub fn new(failures: &[Failure], share: Option<f64>) -> Self {
        assert!(
            share.is_none() || !failures.is_empty(),
            "a rebuild needs a failure"
        );
        let mut members: Vec<usize> = failures.iter().map(|failure| failure.member).collect();
        members.sort_unstable();
        if let Some(pair) = members.windows(2).find(|pair| pair[0] == pair[1]) {
            panic!("member {} fails twice", pair[0]);
        }
        let mut pending = failures.to_vec();
        pending.sort_by_key(|failure| (failure.at, failure.member));
        Self {
            pending: pending.into(),
            share,
            ..Self::default()
        }
    }

    /// Returns true if members have failed or will fail.
    pub fn has_any(&self) -> bool {
        !self.past.is_empty() || !self.pending.is_empty()
    }

    pub fn has_failed(&self, member: usize) -> bool {
        self.failed_at(member).is_some()
    }

    pub fn failed_at(&self, member: usize) -> Option<Instant> {
        let mut past = self.past.iter();
        let failure = past.find(|failure| failure.member == member);
        failure.map(|failure| failure.at)
    }

    /// Records that data were lost. This ends a paused rebuild.
    pub fn lose(&mut self, lost: DataLoss) {
        self.lost = Some(lost);
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.next = None;
        }
    }

    pub fn next_event(&self) -> Option<Instant> {
        let failure = self.pending.front().map(|failure| failure.at);
        failure.into_iter().chain(self.pause_end()).min()
    }

    fn pause_end(&self) -> Option<Instant> {
        self.rebuild.as_ref()?.next
    }

    pub fn fail_by(&mut self, now: Instant) -> Option<Failure> {
        self.pending.pop_front_if(|failure| failure.at <= now)
    }

    /// Returns the action that is due by `now` and before the next `event` of the members.
    pub fn due(&mut self, now: Instant, event: Option<Instant>) -> Option<DueAction> {
        let next = event
            .into_iter()
            .chain(self.pause_end())
            .min()
            .unwrap_or(now)
            .min(now);
        if let Some(failure) = self.fail_by(next) {
            return Some(DueAction::Failure(failure));
        }
        let pause_end = self.pause_end().filter(|at| *at <= now)?;
        event
            .is_none_or(|event| pause_end < event)
            .then_some(DueAction::Rebuild(pause_end))
    }

    /// Starts a rebuild of `steps` steps if there is a spare: immediately, or with the first
    /// request if the run has not begun.
    pub fn begin_rebuild(&mut self, now: Instant, steps: u64) {
        self.rebuild = self.share.map(|share| Rebuild::new(share, steps));
        if now > Instant::START {
            self.wake(now);
        }
    }

    /// Starts the rebuild, if there is one that has not started.
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

    /// Reports the failures and the rebuild; `None` if no member fails.
    pub fn report(&self) -> Option<ComponentReport> {
        if !self.has_any() {
            return None;
        }
        let progress = self.progress();
        let complete = progress.filter(|progress| progress.steps == progress.total);
        let work = RedundancyWork {
            failed: self.past.len() as u64,
            failed_at: self.past.first().map(|failure| failure.at),
            failures: self.past.iter().chain(&self.pending).copied().collect(),
            rebuilt_fraction: progress.map(|done| done.steps as f64 / done.total as f64),
            rebuild_time: complete.and_then(|progress| Some(progress.ended? - progress.began?)),
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
    /// Number of completed steps. A step is a row of stripe units, or a run of blocks of a pair.
    pub steps: u64,
    /// The total number of steps.
    pub total: u64,
    /// The time at which the rebuild began.
    pub began: Option<Instant>,
    /// Number of steps at the last completion of a request, and the end of the pause after them.
    pub under_load: (u64, Option<Instant>),
    /// The time at which the rebuild ended, even if it stopped early.
    pub ended: Option<Instant>,
    /// The bad block that stopped the rebuild; with parity, the first block of its row.
    pub stopped: Option<Lbn>,
}

impl Progress {
    /// Projects the total time of the rebuild from its rate up to the last completion of a request;
    /// `None` if no step had ended by then.
    pub fn projected(&self) -> Option<Span> {
        let (steps, until) = self.under_load;
        let duration = (until? - self.began?).as_ns() as f64;
        let projected = duration * self.total as f64 / steps as f64;
        Some(Span::from_ns(projected.round() as i64))
    }
}

pub struct Rebuild {
    /// The share of time during which the rebuild is in progress, above 0 and at most 1.
    share: f64,
    pub progress: Progress,
    /// The time of the next step; `None` during a step.
    pub next: Option<Instant>,
    /// The beginning of the current step; `None` before the first.
    step_start: Option<Instant>,
    /// The end of the pause after the last step; without this pause, projections are too short.
    until: Option<Instant>,
}

impl Rebuild {
    pub fn new(share: f64, total: u64) -> Self {
        assert!(share > 0.0 && share <= 1.0, "invalid share {share}");
        Self {
            share,
            progress: Progress {
                total,
                ..Progress::default()
            },
            next: None,
            step_start: None,
            until: None,
        }
    }

    #[inline]
    pub fn wake(&mut self, now: Instant) {
        if self.step_start.is_none() {
            (self.next, self.step_start) = (Some(now), Some(now));
            self.progress.began = Some(now);
        }
    }

    pub fn count_completion(&mut self) {
        self.progress.under_load = (self.progress.steps, self.until);
    }

    pub fn begin(&mut self, now: Instant) {
        (self.next, self.step_start) = (None, Some(now));
    }

    /// Records a block that could not be read or written.
    pub fn fail(&mut self, block: Lbn) {
        let before = self.progress.stopped;
        self.progress.stopped = Some(before.map_or(block, |before| before.min(block)));
    }

    /// Ends the step, and begins a pause that is as long as the share of the time requires. If the
    /// step failed, ends the rebuild and returns false.
    pub fn end_step(&mut self, now: Instant) -> bool {
        if self.progress.stopped.is_some() {
            self.progress.ended = Some(now);
            return false;
        }
        self.progress.steps += 1;
        if self.progress.steps == self.progress.total {
            (self.progress.ended, self.until) = (Some(now), Some(now));
            return true;
        }
        let step_start = self.step_start.unwrap_or(now);
        let duration = (now - step_start).as_ns() as f64;
        let pause = duration * (1.0 / self.share - 1.0);
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
    fn members_fail_in_order_of_time() {
        let mut failures = failures(&[5, 0, 7]);
        let end = Instant::from_ns(9);
        let members = std::iter::from_fn(|| Some(failures.fail_by(end)?.member));
        assert_eq!(members.collect::<Vec<_>>(), [0, 7, 5]);
    }

    #[test]
    #[should_panic(expected = "member 5 fails twice")]
    fn a_member_cannot_fail_twice() {
        failures(&[5, 0, 5]);
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    /// Projects a rebuild of four steps of 10 ms that takes a quarter of the time and begins at 7
    /// ms, if the last request completes after `steps` steps.
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

    /// Each step takes 10 ms, and each but the last is followed by a pause of 30 ms. Four steps
    /// take 130 ms, but at the rate of the first three they would take 160 ms.
    #[test]
    fn a_projection_counts_the_pause_after_the_last_step() {
        assert_eq!(projected_ms(0), None);
        for steps in 1..4 {
            assert_eq!(projected_ms(steps), Some(160.0), "{steps}");
        }
        assert_eq!(projected_ms(4), Some(130.0));
    }
}
