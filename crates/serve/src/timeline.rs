//! A device of the model in real time.

use std::collections::VecDeque;
use std::time::Instant as Wall;

use diskarm_core::device::{Completion, Device, Refused};
use diskarm_core::request::Request;
use diskarm_core::units::Instant;

use crate::clock::Clock;

/// A device, and the clock by which it is asked.
///
/// A request enters the device at the time at which it is submitted, and its completion is due at
/// the time that the device computes. Nothing here waits: whoever holds it looks again at
/// [`Self::next`].
pub struct Timeline {
    device: Box<dyn Device>,
    clock: Clock,
    /// The device has advanced to here.
    latest: Instant,
    /// Completions that nobody has taken yet, in their order.
    done: VecDeque<Completion>,
}

impl Timeline {
    /// Runs `device` by `clock`.
    pub fn new(device: Box<dyn Device>, clock: Clock) -> Self {
        Self {
            device,
            clock,
            latest: Instant::START,
            done: VecDeque::new(),
        }
    }

    /// Submits a request that arrives now.
    ///
    /// # Errors
    /// If the device does not take it.
    pub fn submit(&mut self, now: Wall, request: Request) -> Result<(), Refused> {
        self.pass(now);
        self.device.submit(self.latest, request)
    }

    /// Takes back the request `id`, if it still waits; it completes either way.
    pub fn abort(&mut self, now: Wall, id: u64) {
        self.pass(now);
        self.device.abort(self.latest, id);
    }

    /// When to look again, if anything is under way.
    pub fn next(&self) -> Option<Wall> {
        let done = self.done.front().map(|completion| completion.at);
        let next = done.or_else(|| self.device.next_event());
        next.map(|at| self.clock.wall(at))
    }

    /// The next completion that is due by now, and when it was.
    pub fn completed(&mut self, now: Wall) -> Option<(Completion, Wall)> {
        if self.done.is_empty() {
            self.pass(now);
        }
        let completion = self.done.pop_front()?;
        let due = self.clock.wall(completion.at);
        Some((completion, due))
    }

    /// Lets everything happen that happens by now.
    fn pass(&mut self, now: Wall) {
        let mut at = self.clock.drive(now).max(self.latest);
        // Rounding must not put off an event that is due.
        if let Some(event) = self.device.next_event()
            && self.clock.wall(event) <= now
        {
            at = at.max(event);
        }
        while let Some(completion) = self.device.advance(at) {
            self.done.push_back(completion);
        }
        self.latest = at;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use diskarm_core::request::Op;
    use diskarm_core::units::{Lbn, SectorCount};
    use diskarm_simulate::Model;

    use super::*;
    use crate::clock::Speed;

    /// The response times of requests that arrive when the one before completes, in wall time
    /// times `speed`.
    fn responses(speed: f64) -> Vec<u64> {
        let model = Model::find("hp-c2247").expect("a drive");
        let start = Wall::now();
        let clock = Clock::new(start, Speed::new(speed).expect("a speed"));
        let mut timeline = Timeline::new(Box::new(model.drive()), clock);
        let mut now = start;
        (0..20_u64)
            .map(|id| {
                let block = Lbn(id * 7919 * 13 % 1_000_000);
                let request = Request::new(id, Op::Read, block, SectorCount(8));
                timeline.submit(now, request).expect("an idle drive");
                // The last alone, or the next would arrive later too.
                let late = Duration::from_micros(if id == 19 { 50 } else { 0 });
                loop {
                    let next = timeline.next().expect("something under way");
                    assert!(timeline.completed(next - Duration::from_nanos(1)).is_none());
                    // Whoever asks late hears when it was due.
                    if let Some((completion, due)) = timeline.completed(next + late) {
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
