//! Time averages of step functions.

use crate::units::{Instant, Span};

/// Time average and maximum of an integer that changes in steps: the length of a queue, or 1 and 0
/// for busy and idle. The area under the steps is an integer.
///
/// Start it at the end of a warm-up to exclude the warm-up.
///
/// ```
/// use diskarm_core::stats::OverTime;
/// use diskarm_core::units::Instant;
/// let mut queued = OverTime::new(Instant::from_ns(0), 0);
/// queued.set(Instant::from_ns(10), 3); // 0 for 10 ns
/// queued.set(Instant::from_ns(14), 1); // 3 for 4 ns, then 1 for 6 ns
/// assert_eq!(queued.average_count(Instant::from_ns(20)), Some(18.0 / 20.0));
/// assert_eq!(queued.max(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverTime {
    start: Instant,
    since: Instant,
    value: u64,
    max: u64,
    /// Sum of value times nanoseconds from `start` to `since`.
    area: u128,
}

impl OverTime {
    /// Starts with `value` at `start`.
    pub const fn new(start: Instant, value: u64) -> Self {
        Self {
            start,
            since: start,
            value,
            max: value,
            area: 0,
        }
    }

    /// Sets the quantity to `value` from `at` on. A value that is replaced at the instant it begins
    /// counts only for the maximum. Panics when `at` is before the last step.
    #[inline]
    pub fn set(&mut self, at: Instant, value: u64) {
        self.area += area(at - self.since, self.value);
        self.since = at;
        self.value = value;
        self.max = self.max.max(value);
    }

    /// The current value.
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// The largest value so far.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The average from the start to `end`; `None` when no time has passed. Panics when `end` is
    /// before the last step.
    pub fn average_count(&self, end: Instant) -> Option<f64> {
        let area = self.area + area(end - self.since, self.value);
        let length = (end - self.start).as_ns();
        (length > 0).then(|| area as f64 / length as f64)
    }
}

#[inline]
fn area(width: Span, height: u64) -> u128 {
    u128::from(super::elapsed_ns(width)) * u128::from(height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_fraction_starts_after_the_warm_up() {
        let ns = Instant::from_ns;
        let mut busy = OverTime::new(ns(1_000), 1);
        busy.set(ns(1_030), 0);
        busy.set(ns(1_070), 1);
        assert_eq!(busy.average_count(ns(1_100)), Some(0.6));
        assert_eq!(busy.average_count(ns(1_070)), Some(30.0 / 70.0));
        assert_eq!(busy.value(), 1);
    }

    #[test]
    fn no_time_has_no_average_but_a_maximum() {
        let mut queued = OverTime::new(Instant::START, 2);
        queued.set(Instant::START, 5);
        queued.set(Instant::START, 0);
        assert_eq!(queued.average_count(Instant::START), None);
        assert_eq!(queued.max(), 5);
    }

    #[test]
    #[should_panic(expected = "time runs backwards")]
    fn steps_come_in_order() {
        OverTime::new(Instant::from_ns(5), 0).set(Instant::from_ns(4), 1);
    }
}
