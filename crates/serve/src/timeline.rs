//! The model in real time.

use std::collections::VecDeque;
use std::time::Instant as Wall;

use diskarm_core::device::{Completion, Device};
use diskarm_core::units::Instant;
use diskarm_emulate::{Backing, Response, Unit};

use crate::clock::{Clock, Speed};

/// Something of the model that ends what it is given at instants that it computes.
pub trait EventSource {
    /// What it has ended.
    type Ended;

    /// When something happens without further input, if anything does.
    fn next_event(&self) -> Option<Instant>;

    /// Advances to `now`, or to what ends first and returns it.
    fn advance(&mut self, now: Instant) -> Option<Self::Ended>;

    /// When it has ended.
    fn at(ended: &Self::Ended) -> Instant;
}

impl EventSource for Box<dyn Device> {
    type Ended = Completion;

    fn next_event(&self) -> Option<Instant> {
        (**self).next_event()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        (**self).advance(now)
    }

    fn at(ended: &Completion) -> Instant {
        ended.at
    }
}

impl<D: Backing> EventSource for Unit<D> {
    type Ended = Response;

    fn next_event(&self) -> Option<Instant> {
        Unit::next_event(self)
    }

    fn advance(&mut self, now: Instant) -> Option<Response> {
        Unit::advance(self, now)
    }

    fn at(ended: &Response) -> Instant {
        ended.at
    }
}

/// A device or a unit, and the clock by which it is asked.
///
/// Time begins when it is first given something that takes time, so that a trace of requests begins
/// at its start, too. What it is given enters it at the time of the clock, and is due at the time
/// that it computes. Nothing here waits: whoever holds it looks again at [`Self::next`].
pub struct Timeline<T: EventSource> {
    timed: T,
    speed: Speed,
    /// `None` before time begins.
    clock: Option<Clock>,
    /// When it was last given something before time began.
    given: Option<Wall>,
    /// It has advanced to here.
    latest: Instant,
    /// What has ended and nobody has taken yet, in its order.
    done: VecDeque<T::Ended>,
}

impl<T: EventSource> Timeline<T> {
    /// Runs `timed`, with its time that fast.
    pub fn new(timed: T, speed: Speed) -> Self {
        Self {
            timed,
            speed,
            clock: None,
            given: None,
            latest: Instant::START,
            done: VecDeque::new(),
        }
    }

    /// What it runs, at the time that it is now, for which everything has happened there.
    pub fn at(&mut self, now: Wall) -> (&mut T, Instant) {
        self.pass(now);
        self.given = Some(now);
        (&mut self.timed, self.latest)
    }

    /// What it runs, before any time has passed.
    pub fn timed_mut(&mut self) -> &mut T {
        &mut self.timed
    }

    /// Continues with another in its place; what has ended and nobody has taken is forgotten.
    pub fn replace(&mut self, timed: T) {
        self.timed = timed;
        self.done.clear();
    }

    /// What it runs.
    pub fn timed(&self) -> &T {
        &self.timed
    }

    /// What has ended and nobody has taken yet.
    pub fn untaken(&self) -> impl Iterator<Item = &T::Ended> {
        self.done.iter()
    }

    /// Forgets what has ended and nobody has taken yet, of these.
    pub fn forget(&mut self, of: impl Fn(&T::Ended) -> bool) {
        self.done.retain(|ended| !of(ended));
    }

    /// When to look again, if anything is under way.
    pub fn next(&self) -> Option<Wall> {
        let clock = self.any_clock()?;
        let done = self.done.front().map(T::at);
        let next = done.or_else(|| self.timed.next_event());
        next.map(|at| clock.wall(at))
    }

    /// The next that has ended by now, and when that was due.
    pub fn ended(&mut self, now: Wall) -> Option<(T::Ended, Wall)> {
        if self.done.is_empty() {
            self.pass(now);
        }
        let ended = self.done.pop_front()?;
        let due = self.any_clock()?.wall(T::at(&ended));
        Some((ended, due))
    }

    /// The clock, or what it will be if what was given last takes time.
    fn any_clock(&self) -> Option<Clock> {
        let begins = |at| Clock::new(at, self.speed);
        self.clock.or(self.given.map(begins))
    }

    /// Lets everything happen that happens by now.
    fn pass(&mut self, now: Wall) {
        if self.clock.is_none() {
            self.advance(Instant::START);
            let takes_time = self.timed.next_event().is_some();
            self.clock = self.any_clock().filter(|_| takes_time);
        }
        let Some(clock) = self.clock else { return };
        let mut at = clock.drive(now).max(self.latest);
        // Rounding must not put off an event that is due.
        if let Some(event) = self.timed.next_event()
            && clock.wall(event) <= now
        {
            at = at.max(event);
        }
        self.advance(at);
        self.latest = at;
    }

    fn advance(&mut self, at: Instant) {
        while let Some(ended) = self.timed.advance(at) {
            self.done.push_back(ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use diskarm_core::request::{Op, Request};
    use diskarm_core::units::{Lbn, SectorCount};
    use diskarm_simulate::Model;

    use super::*;

    /// The response times of requests that arrive when the one before completes, in wall time
    /// times `speed`.
    fn responses(speed: f64) -> Vec<u64> {
        let model = Model::find("hp-c2247").expect("a drive");
        let start = Wall::now();
        let pace = Speed::new(speed).expect("a speed");
        let device: Box<dyn Device> = Box::new(model.drive());
        let mut timeline = Timeline::new(device, pace);
        let mut now = start;
        (0..20_u64)
            .map(|id| {
                let block = Lbn(id * 7919 * 13 % 1_000_000);
                let request = Request::new(id, Op::Read, block, SectorCount(8));
                let (device, at) = timeline.at(now);
                device.submit(at, request).expect("an idle drive");
                // The last alone, or the next would arrive later too.
                let late = Duration::from_micros(if id == 19 { 50 } else { 0 });
                loop {
                    let next = timeline.next().expect("something under way");
                    assert!(timeline.ended(next - Duration::from_nanos(1)).is_none());
                    // Whoever asks late hears when it was due.
                    if let Some((completion, due)) = timeline.ended(next + late) {
                        assert_eq!((completion.request.id, due), (id, next));
                        let response = (next - now).as_nanos() as f64 * speed;
                        now = next;
                        return response.round() as u64;
                    }
                }
            })
            .collect()
    }

    /// The oracle is the drive itself, asked without a clock.
    #[test]
    fn requests_take_the_time_that_the_drive_takes() {
        let mut drive = Model::find("hp-c2247").expect("a drive").drive();
        let mut now = Instant::START;
        let expected: Vec<u64> = (0..20_u64)
            .map(|id| {
                let block = Lbn(id * 7919 * 13 % 1_000_000);
                let request = Request::new(id, Op::Read, block, SectorCount(8));
                drive.submit(now, request).expect("an idle drive");
                let done = loop {
                    let at = drive.next_event().expect("something under way");
                    if let Some(done) = drive.advance(at) {
                        break done;
                    }
                };
                let response = done.at - now;
                now = done.at;
                response.as_ns() as u64
            })
            .collect();
        assert_eq!(responses(1.0), expected);
        // At another speed arrivals are rounded to other instants, by less than a microsecond.
        for (found, expected) in responses(0.5).iter().zip(&expected) {
            assert!(found.abs_diff(*expected) < 1_000, "{found} {expected}");
        }
    }
}
