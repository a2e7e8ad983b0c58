//! Runs a model in real time, and converts between drive time and wall-clock time.

use std::collections::VecDeque;
use std::time::{Duration, Instant as HostInstant};

use diskarm_core::device::{Completion, Device};
use diskarm_core::units::Instant;
use diskarm_emulate::{Backing, Response, Unit};

/// Ratio of drive time to wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(f64);

impl Speed {
    pub const REAL: Self = Self(1.0);

    /// Accepts factors from 0.001 to 1000.
    pub fn new(factor: f64) -> Option<Self> {
        (0.001..=1000.0).contains(&factor).then_some(Self(factor))
    }

    /// Seconds of drive time for each second of wall-clock time.
    pub const fn factor(self) -> f64 {
        self.0
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The wall-clock time at which drive time starts.
    start: HostInstant,
    speed: Speed,
}

impl Clock {
    pub const fn new(start: HostInstant, speed: Speed) -> Self {
        Self { start, speed }
    }

    /// Returns the drive time at `at`, rounded down.
    pub fn drive_time(&self, at: HostInstant) -> Instant {
        let passed = at.saturating_duration_since(self.start).as_nanos() as u64;
        Instant::from_ns(match self.speed {
            Speed::REAL => passed,
            Speed(factor) => (passed as f64 * factor) as u64,
        })
    }

    /// Returns the wall-clock time of `at`, rounded up.
    pub fn host_time(&self, at: Instant) -> HostInstant {
        let ns = match self.speed {
            Speed::REAL => at.as_ns(),
            Speed(factor) => (at.as_ns() as f64 / factor).ceil() as u64,
        };
        self.start + Duration::from_nanos(ns)
    }
}

/// A model that computes the times of its outputs.
pub trait EventSource {
    type Output;

    /// Returns the time of the next event, assuming no further input.
    fn next_event(&self) -> Option<Instant>;

    /// Advances to `now`, or only to the next output if that is due by `now`; returns the output.
    fn advance(&mut self, now: Instant) -> Option<Self::Output>;

    fn time_of(output: &Self::Output) -> Instant;
}

impl EventSource for Box<dyn Device> {
    type Output = Completion;

    fn next_event(&self) -> Option<Instant> {
        (**self).next_event()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        (**self).advance(now)
    }

    fn time_of(output: &Completion) -> Instant {
        output.at
    }
}

impl<D: Backing> EventSource for Unit<D> {
    type Output = Response;

    fn next_event(&self) -> Option<Instant> {
        Unit::next_event(self)
    }

    fn advance(&mut self, now: Instant) -> Option<Response> {
        Unit::advance(self, now)
    }

    fn time_of(output: &Response) -> Instant {
        output.at
    }
}

/// A device or a unit, and the clock that drives it.
///
/// Drive time starts with the first input that takes time, and so does a trace of the requests. An
/// input enters the model at the time of the clock, and its output is due at the time that the
/// model computes. No method blocks: the caller polls again at [`Self::next_due`].
pub struct Timeline<T: EventSource> {
    pub model: T,
    speed: Speed,
    /// `None` until drive time starts.
    clock: Option<Clock>,
    /// The wall-clock time of the last input before drive time started.
    last_input: Option<HostInstant>,
    /// The time to which the model has advanced.
    latest: Instant,
    /// Outputs that [`Self::pop_due`] has not returned yet, in order.
    pub outputs: VecDeque<T::Output>,
}

impl<T: EventSource> Timeline<T> {
    pub fn new(model: T, speed: Speed) -> Self {
        Self {
            model,
            speed,
            clock: None,
            last_input: None,
            latest: Instant::START,
            outputs: VecDeque::new(),
        }
    }

    /// Advances the model to `now`; returns it with the drive time.
    pub fn advance_to(&mut self, now: HostInstant) -> (&mut T, Instant) {
        self.catch_up(now);
        self.last_input = Some(now);
        (&mut self.model, self.latest)
    }

    /// Replaces the model, and drops the outputs that have not been returned yet.
    pub fn replace(&mut self, model: T) {
        self.model = model;
        self.outputs.clear();
    }

    /// Returns the time of the next output or event.
    pub fn next_due(&self) -> Option<HostInstant> {
        let clock = self.clock_or_next()?;
        let done = self.outputs.front().map(T::time_of);
        let next = done.or_else(|| self.model.next_event());
        next.map(|at| clock.host_time(at))
    }

    /// Returns the next output that is due by `now`, with its due time.
    pub fn pop_due(&mut self, now: HostInstant) -> Option<(T::Output, HostInstant)> {
        if self.outputs.is_empty() {
            self.catch_up(now);
        }
        let output = self.outputs.pop_front()?;
        let due = self.clock_or_next()?.host_time(T::time_of(&output));
        Some((output, due))
    }

    /// Returns the clock or, until drive time starts, the one to use if the last input takes time.
    fn clock_or_next(&self) -> Option<Clock> {
        let start = |at| Clock::new(at, self.speed);
        self.clock.or(self.last_input.map(start))
    }

    fn catch_up(&mut self, now: HostInstant) {
        if self.clock.is_none() {
            self.advance(Instant::START);
            let takes_time = self.model.next_event().is_some();
            self.clock = self.clock_or_next().filter(|_| takes_time);
        }
        let Some(clock) = self.clock else { return };
        let mut at = clock.drive_time(now).max(self.latest);
        // Rounding the time down must not postpone an event that is due.
        if let Some(event) = self.model.next_event()
            && clock.host_time(event) <= now
        {
            at = at.max(event);
        }
        self.advance(at);
        self.latest = at;
    }

    fn advance(&mut self, at: Instant) {
        while let Some(output) = self.model.advance(at) {
            self.outputs.push_back(output);
        }
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::request::{Op, Request};
    use diskarm_core::units::{Lbn, SectorCount};
    use diskarm_simulate::Model;

    use super::*;

    #[test]
    fn time_scales_with_the_speed() {
        let start = HostInstant::now();
        let at = |speed| Clock::new(start, Speed::new(speed).expect("a speed"));
        let second = start + Duration::from_secs(1);
        for (speed, ns) in [
            (1.0, 1_000_000_000),
            (10.0, 10_000_000_000),
            (0.5, 500_000_000),
        ] {
            assert_eq!(at(speed).drive_time(second), Instant::from_ns(ns));
            assert_eq!(at(speed).host_time(Instant::from_ns(ns)), second);
        }
        // No time has passed at the start.
        assert_eq!(at(2.0).drive_time(start), Instant::START);
    }

    #[test]
    fn speeds_are_positive_and_finite() {
        for wrong in [0.0, -1.0, 1001.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Speed::new(wrong), None);
        }
    }

    /// Returns response times, in wall-clock time multiplied by `speed`. Each request arrives when
    /// the previous one completes.
    fn responses(speed: f64) -> Vec<u64> {
        let model = Model::find("hp-c2247").expect("a drive");
        let start = HostInstant::now();
        let pace = Speed::new(speed).expect("a speed");
        let device: Box<dyn Device> = Box::new(model.drive());
        let mut timeline = Timeline::new(device, pace);
        let mut now = start;
        (0..20_u64)
            .map(|id| {
                let block = Lbn(id * 7919 * 13 % 1_000_000);
                let request = Request::new(id, Op::Read, block, SectorCount(8));
                let (device, at) = timeline.advance_to(now);
                device.submit(at, request).expect("an idle drive");
                // Only the last poll is late. Otherwise, the following arrivals would also be late.
                let late = Duration::from_micros(if id == 19 { 50 } else { 0 });
                loop {
                    let next = timeline.next_due().expect("a pending event");
                    assert!(timeline.pop_due(next - Duration::from_nanos(1)).is_none());
                    // Even a late poll returns the time at which the output was due.
                    if let Some((completion, due)) = timeline.pop_due(next + late) {
                        assert_eq!((completion.request.id, due), (id, next));
                        let response = (next - now).as_nanos() as f64 * speed;
                        now = next;
                        return response.round() as u64;
                    }
                }
            })
            .collect()
    }

    /// The expected times are those of a drive that runs without a clock.
    #[test]
    fn response_times_are_those_of_the_drive() {
        let mut drive = Model::find("hp-c2247").expect("a drive").drive();
        let mut now = Instant::START;
        let expected: Vec<u64> = (0..20_u64)
            .map(|id| {
                let block = Lbn(id * 7919 * 13 % 1_000_000);
                let request = Request::new(id, Op::Read, block, SectorCount(8));
                drive.submit(now, request).expect("an idle drive");
                let done = loop {
                    let at = drive.next_event().expect("a pending event");
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
        // At another speed, rounding changes the arrival times by less than a microsecond.
        for (found, expected) in responses(0.5).iter().zip(&expected) {
            assert!(found.abs_diff(*expected) < 1_000, "{found} {expected}");
        }
    }
}
