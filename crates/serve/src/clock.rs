//! The time of the drive, and the time of the wall.

use std::time::{Duration, Instant as Wall};

use diskarm_core::units::Instant;

/// How much faster than the wall's the drive's time runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(f64);

impl Speed {
    /// The drive's own time.
    pub const REAL: Self = Self(1.0);

    /// From a thousandth to a thousand; `None` for anything else.
    pub fn new(factor: f64) -> Option<Self> {
        (0.001..=1000.0).contains(&factor).then_some(Self(factor))
    }

    /// Seconds of the drive for each second of the wall.
    pub const fn factor(self) -> f64 {
        self.0
    }
}

/// Turns one time into the other.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// When the drive's time began.
    start: Wall,
    speed: Speed,
}

impl Clock {
    /// The drive's time begins at `start`.
    pub const fn new(start: Wall, speed: Speed) -> Self {
        Self { start, speed }
    }

    /// The drive's time, rounded down.
    pub fn drive(&self, at: Wall) -> Instant {
        let passed = at.saturating_duration_since(self.start).as_nanos() as u64;
        Instant::from_ns(match self.speed {
            Speed::REAL => passed,
            Speed(factor) => (passed as f64 * factor) as u64,
        })
    }

    /// The wall's time, rounded up.
    pub fn wall(&self, at: Instant) -> Wall {
        let ns = match self.speed {
            Speed::REAL => at.as_ns(),
            Speed(factor) => (at.as_ns() as f64 / factor).ceil() as u64,
        };
        self.start + Duration::from_nanos(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenfold_speed_lets_a_second_pass_in_a_tenth() {
        let start = Wall::now();
        let at = |speed| Clock::new(start, Speed::new(speed).expect("a speed"));
        let second = start + Duration::from_secs(1);
        for (speed, ns) in [
            (1.0, 1_000_000_000),
            (10.0, 10_000_000_000),
            (0.5, 500_000_000),
        ] {
            assert_eq!(at(speed).drive(second), Instant::from_ns(ns));
            assert_eq!(at(speed).wall(Instant::from_ns(ns)), second);
        }
        // Before the start no time has passed.
        assert_eq!(at(2.0).drive(start), Instant::START);
    }

    #[test]
    fn speeds_are_positive_and_finite() {
        for wrong in [0.0, -1.0, 1001.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Speed::new(wrong), None);
        }
    }
}
