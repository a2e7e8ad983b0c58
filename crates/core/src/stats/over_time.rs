//! Time averages of step functions, and the work of a disk that is part of a device.

use crate::device::DiskWork;
use crate::units::{Instant, Span, elapsed_ns};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

    /// Sets the value from `at` on. A value that is replaced at the instant it is set counts only
    /// toward the maximum. Panics if `at` is before the last change.
    #[inline]
    pub fn set(&mut self, at: Instant, value: u64) {
        self.area += area(at - self.since, self.value);
        self.since = at;
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Returns the current value.
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// Returns the largest value so far.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// Returns the average until `end`; `None` at the start. Panics if `end` is before the last
    /// change.
    pub fn average_count(&self, end: Instant) -> Option<f64> {
        let area = self.area + area(end - self.since, self.value);
        let length = (end - self.start).as_ns();
        (length > 0).then(|| area as f64 / length as f64)
    }
}

#[inline]
fn area(width: Span, height: u64) -> u128 {
    u128::from(elapsed_ns(width)) * u128::from(height)
}

/// Counts the work of a disk.
#[derive(Clone, Debug, Default)]
pub struct DiskMeter {
    reads: InService,
    writes: InService,
    waiting: OverTime,
    writes_waiting: OverTime,
    batches: BatchMeter,
    last_event: Instant,
}

impl DiskMeter {
    /// Records that a read or a write has entered the disk.
    #[inline]
    pub fn begin(&mut self, now: Instant, is_read: bool) {
        self.last_event = now;
        let in_service = self.in_service(is_read);
        in_service.count += 1;
        in_service.busy.set(now, 1);
    }

    /// Records the completion of a read or a write.
    #[inline]
    pub fn end(&mut self, now: Instant, is_read: bool) {
        self.last_event = now;
        let in_service = self.in_service(is_read);
        in_service.done += 1;
        in_service.count -= 1;
        in_service.busy.set(now, in_service.count.min(1));
    }

    /// Records that a read or a write was lost with the disk.
    pub fn drop(&mut self, now: Instant, is_read: bool) {
        self.end(now, is_read);
        self.in_service(is_read).done -= 1;
    }

    /// Sets the number of waiting commands and of the writes among them.
    #[inline]
    pub fn wait(&mut self, now: Instant, waiting: usize, writes: usize) {
        self.last_event = now;
        self.waiting.set(now, waiting as u64);
        self.writes_waiting.set(now, writes as u64);
    }

    /// Records the start of a batch of writes.
    pub fn begin_batch(&mut self, now: Instant) {
        self.last_event = now;
        self.batches.begin(now);
    }

    /// Records the end of a batch of writes.
    pub fn end_batch(&mut self, now: Instant) {
        self.last_event = now;
        self.batches.end(now);
    }

    /// Returns the instant of the last event.
    pub fn last(&self) -> Instant {
        self.last_event
    }

    /// Returns statistics up to `now` or the last event, whichever is later; fractions default to
    /// 0.
    pub fn work(&self, now: Instant) -> DiskWork {
        let until = self.last_event.max(now);
        let share = |over: &OverTime| over.average_count(until).unwrap_or(0.0);
        let batches = &self.batches;
        DiskWork {
            reads: self.reads.done,
            writes: self.writes.done,
            reading_fraction: share(&self.reads.busy),
            writing_fraction: share(&self.writes.busy),
            in_batches_fraction: share(&batches.busy),
            batches: batches.done,
            batch_mean: mean(batches.total, batches.done),
            between_batches_mean: mean(batches.total_gaps, batches.begun_count.saturating_sub(1)),
            waiting_mean_count: share(&self.waiting),
            waiting_max: self.waiting.max(),
            writes_waiting_mean_count: share(&self.writes_waiting),
        }
    }

    fn in_service(&mut self, is_read: bool) -> &mut InService {
        if is_read {
            &mut self.reads
        } else {
            &mut self.writes
        }
    }
}

#[derive(Clone, Debug, Default)]
struct InService {
    done: u64,
    count: u64,
    /// 1 while any request is in service.
    busy: OverTime,
}

#[derive(Clone, Debug, Default)]
struct BatchMeter {
    begun_count: u64,
    done: u64,
    busy: OverTime,
    begun_at: Instant,
    ended_at: Instant,
    total: Span,
    total_gaps: Span,
}

impl BatchMeter {
    fn begin(&mut self, now: Instant) {
        if self.begun_count > 0 {
            self.total_gaps += now - self.ended_at;
        }
        self.begun_count += 1;
        self.begun_at = now;
        self.busy.set(now, 1);
    }

    fn end(&mut self, now: Instant) {
        self.done += 1;
        self.ended_at = now;
        self.total += now - self.begun_at;
        self.busy.set(now, 0);
    }
}

fn mean(total: Span, count: u64) -> Option<Span> {
    let count = i64::try_from(count).ok().filter(|count| *count > 0)?;
    Some(Span::from_ns(total.as_ns() / count))
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
    fn an_empty_period_has_a_maximum_but_no_average() {
        let mut queued = OverTime::new(Instant::START, 2);
        queued.set(Instant::START, 5);
        queued.set(Instant::START, 0);
        assert_eq!(queued.average_count(Instant::START), None);
        assert_eq!(queued.max(), 5);
    }

    #[test]
    #[should_panic(expected = "time runs backwards")]
    fn a_step_before_the_last_one_panics() {
        OverTime::new(Instant::from_ns(5), 0).set(Instant::from_ns(4), 1);
    }

    #[test]
    #[should_panic(expected = "time runs backwards")]
    fn an_unchanged_value_before_the_last_step_panics() {
        OverTime::new(Instant::from_ns(5), 0).set(Instant::from_ns(4), 0);
    }

    fn ms(ms: i64) -> Instant {
        Instant::START + Span::from_ns(ms * 1_000_000)
    }

    #[test]
    fn fractions_and_means_match_values_worked_out_by_hand() {
        let mut meter = DiskMeter::default();
        assert_eq!(meter.work(Instant::START).reading_fraction, 0.0);
        // Two reads that overlap from 0 to 4 ms, then two batches of writes.
        meter.begin(ms(0), true);
        meter.wait(ms(1), 3, 2);
        meter.begin(ms(2), true);
        meter.end(ms(3), true);
        meter.end(ms(4), true);
        for (from, until) in [(5, 7), (8, 12)] {
            meter.begin_batch(ms(from));
            meter.begin(ms(from), false);
            meter.end(ms(until), false);
            meter.end_batch(ms(until));
        }
        meter.begin_batch(ms(15));
        meter.wait(ms(16), 0, 0);
        let work = meter.work(Instant::START);
        assert_eq!((work.reads, work.writes, work.batches), (2, 2, 2));
        let shares = [work.reading_fraction, work.writing_fraction];
        assert_eq!(shares, [4.0 / 16.0, 6.0 / 16.0]);
        assert_eq!(work.in_batches_fraction, 7.0 / 16.0);
        assert_eq!(work.batch_mean, Some(Span::from_ms(3.0)));
        assert_eq!(work.between_batches_mean, Some(Span::from_ms(2.0)));
        assert_eq!(work.waiting_mean_count, 45.0 / 16.0);
        assert_eq!(work.writes_waiting_mean_count, 30.0 / 16.0);
        assert_eq!(work.waiting_max, 3);
        // Only the batch continues.
        let later = meter.work(ms(32));
        let shares = [later.reading_fraction, later.in_batches_fraction];
        assert_eq!(shares, [4.0 / 32.0, 23.0 / 32.0]);
    }

    #[test]
    fn a_failed_disk_does_not_complete_requests_in_service() {
        let mut meter = DiskMeter::default();
        meter.begin(ms(1), true);
        meter.end(ms(3), true);
        meter.begin(ms(4), true);
        meter.begin(ms(5), false);
        meter.begin_batch(ms(6));
        assert_eq!(meter.work(Instant::START).in_batches_fraction, 0.0);
        for is_read in [true, false] {
            meter.drop(ms(8), is_read);
        }
        meter.wait(ms(10), 0, 0);
        let work = meter.work(Instant::START);
        assert_eq!((work.reads, work.writes), (1, 0));
        let shares = [work.reading_fraction, work.writing_fraction];
        assert_eq!(shares, [6.0 / 10.0, 3.0 / 10.0]);
    }
}
