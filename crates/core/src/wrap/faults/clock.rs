//! A clock that stops, for a device that stands still.

use crate::request::Request;
use crate::sched::{Estimate, Rehearse};
use crate::units::{Instant, Span};

/// Between the time outside and that of the device inside, whose clock stands still now and then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// How long it has stood still, all stops together.
    lag: Span,
    /// When the last stop ends.
    resumes: Instant,
}

impl Clock {
    /// The device's time at `now`.
    #[inline]
    pub fn inside(&self, now: Instant) -> Instant {
        now.max(self.resumes) - self.lag
    }

    /// When the device's clock shows `at`, which it does not before now.
    #[inline]
    pub fn outside(&self, at: Instant) -> Instant {
        at + self.lag
    }

    /// Stops for `lasts` from `from` on, or after the stop that lasts until then.
    pub fn stop(&mut self, from: Instant, lasts: Span) {
        self.resumes = self.resumes.max(from) + lasts;
        self.lag += lasts;
    }
}

/// A copy of a device whose clock was stopped, to try requests on.
#[derive(Clone, Debug)]
pub struct Stopped<R> {
    device: R,
    clock: Clock,
}

impl<R> Stopped<R> {
    pub(super) fn new(device: R, clock: Clock) -> Self {
        Self { device, clock }
    }
}

impl<R: Rehearse> Estimate for Stopped<R> {
    type Outlook<'a> = R::Outlook<'a>;
    type Rehearsal = Stopped<R::Rehearsal>;

    forward!(shape locate);

    fn outlook(&self, now: Instant) -> Self::Outlook<'_> {
        self.device.outlook(self.clock.inside(now))
    }

    fn rehearse(&self) -> Self::Rehearsal {
        Stopped::new(self.device.rehearse(), self.clock)
    }
}

impl<R: Rehearse> Rehearse for Stopped<R> {
    fn serve(&mut self, now: Instant, request: &Request) -> Instant {
        let next = self.device.serve(self.clock.inside(now), request);
        self.clock.outside(next)
    }

    fn completed_at(&self) -> Instant {
        self.clock.outside(self.device.completed_at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_clock_shows_no_time_twice_and_leaves_none_out() {
        let at = Instant::from_ns;
        let mut clock = Clock::default();
        clock.stop(at(100), Span::from_ns(50));
        for (outside, inside) in [(100, 100), (120, 100), (150, 100), (151, 101)] {
            assert_eq!(clock.inside(at(outside)), at(inside));
        }
        assert_eq!(clock.outside(at(101)), at(151));
        // During a stop another begins: it follows.
        clock.stop(at(130), Span::from_ns(20));
        assert_eq!(clock.inside(at(169)), at(100));
        assert_eq!(clock.outside(at(100)), at(170));
    }
}
