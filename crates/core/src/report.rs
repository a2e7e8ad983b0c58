//! What a run is reported by: an observer that adds up, in flat memory, where time went.
//!
//! Hands over means, shares and time averages; how they are printed is decided elsewhere.

use crate::drive::{Breakdown, Completion, Outcome};
use crate::engine::Observer;
use crate::stats::{OverTime, ResponseSummary};
use crate::units::{Instant, Span};

/// Parts of a breakdown without the queue wait.
const SERVICE_PARTS: usize = Breakdown::NAMES.len() - 1;

/// Figures of a run on one device.
///
/// The measured period runs from the first arrival, or from the completion that ends the
/// warm-up, to the last completion. A request counts when it is completed within it.
///
/// All requests inside the device but one are waiting: a drive's mechanism serves one at a time.
/// (Where a drive moves its arm on before the completion of the request before, [`PreSeek`],
/// the later one still counts as waiting.)
///
/// [`PreSeek`]: crate::spec::PreSeek
#[derive(Clone, Debug)]
pub struct Report {
    /// Completions that the warm-up still takes.
    warm_up: u64,
    /// When the measured period began; `None` before the first arrival.
    start: Option<Instant>,
    /// The last completion.
    end: Instant,
    /// Requests inside the device.
    inside: u64,
    /// 1 while any is inside.
    busy: OverTime,
    /// All that are inside but one.
    waiting: OverTime,
    responses: ResponseSummary,
    /// Sums in nanoseconds of the parts of service, those of the breakdown but its first, the
    /// queue wait. That one alone could outgrow 63 bits: on a saturated drive it has no bound,
    /// while of service it takes 292 years.
    parts: [i64; SERVICE_PARTS],
    reads: u64,
    hits: u64,
}

impl Report {
    /// A report that leaves the first `warm_up_requests` completions out.
    pub fn new(warm_up_requests: u64) -> Self {
        Self {
            warm_up: warm_up_requests,
            start: None,
            end: Instant::START,
            inside: 0,
            busy: OverTime::new(Instant::START, 0),
            waiting: OverTime::new(Instant::START, 0),
            responses: ResponseSummary::default(),
            parts: [0; SERVICE_PARTS],
            reads: 0,
            hits: 0,
        }
    }

    /// How many requests were counted.
    pub fn requests_count(&self) -> u64 {
        self.responses.moments().count()
    }

    /// The length of the measured period.
    pub fn elapsed(&self) -> Span {
        match self.start {
            Some(start) => self.end.since_or_zero(start),
            None => Span::ZERO,
        }
    }

    /// Response times.
    pub fn responses(&self) -> &ResponseSummary {
        &self.responses
    }

    /// The mean breakdown, each part to the nearest nanosecond and all together the mean
    /// response; `None` when nothing was counted.
    pub fn mean_breakdown(&self) -> Option<Breakdown> {
        let response = self.responses.moments().mean()?;
        let mean = |sum: i64| self.mean_of(i128::from(sum));
        let [owed, overhead, seek, settle, rotation, transfer, bus] = self.parts;
        let service = Breakdown {
            queue: Span::ZERO,
            owed: mean(owed)?,
            overhead: mean(overhead)?,
            seek: mean(seek)?,
            settle: mean(settle)?,
            rotation: mean(rotation)?,
            transfer: mean(transfer)?,
            bus: mean(bus)?,
        };
        Some(Breakdown {
            queue: response - service.total(),
            ..service
        })
    }

    /// The mean of response without queue wait, to the nearest nanosecond; `None` when nothing
    /// was counted.
    pub fn mean_service(&self) -> Option<Span> {
        self.mean_of(self.parts.iter().copied().map(i128::from).sum())
    }

    /// The share of reads that were served wholly from the buffer; `None` without reads. A
    /// partial hit is none.
    pub fn cache_hit_fraction(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.hits as f64 / self.reads as f64)
    }

    /// The share of the period in which some request was inside; `None` when it has no length.
    pub fn utilisation_fraction(&self) -> Option<f64> {
        self.average(&self.busy)
    }

    /// The average over time of the number of requests waiting; `None` as above.
    pub fn waiting_mean_count(&self) -> Option<f64> {
        self.average(&self.waiting)
    }

    /// The largest number of requests waiting.
    pub fn waiting_max_count(&self) -> u64 {
        self.waiting.max()
    }

    /// Requests counted per second of the period; `None` as above.
    pub fn throughput_per_s(&self) -> Option<f64> {
        let elapsed = self.elapsed();
        (elapsed > Span::ZERO).then(|| self.requests_count() as f64 / elapsed.as_s())
    }

    fn mean_of(&self, sum_ns: i128) -> Option<Span> {
        let count = i128::from(self.requests_count());
        // Floor of twice the mean plus one, halved: the nearest, also of negative sums.
        (count > 0).then(|| Span::from_ns((2 * sum_ns + count).div_euclid(2 * count) as i64))
    }

    fn average(&self, quantity: &OverTime) -> Option<f64> {
        self.start.and_then(|_| quantity.average_count(self.end))
    }

    /// Begins the measured period at `now`, with what is inside at that time.
    #[cold]
    fn begin(&mut self, now: Instant) {
        self.start = Some(now);
        self.end = now;
        self.busy = OverTime::new(now, self.inside.min(1));
        self.waiting = OverTime::new(now, self.inside.saturating_sub(1));
    }

    /// The number inside becomes `inside` at `now`. Only one of busy and waiting changes with it.
    #[inline]
    fn step(&mut self, now: Instant, inside: u64) {
        let greater = inside.max(self.inside);
        self.inside = inside;
        if greater == 1 {
            self.busy.set(now, inside);
        } else {
            self.waiting.set(now, inside - 1);
        }
    }
}

impl Observer for Report {
    #[inline]
    fn arrived(&mut self, now: Instant) {
        if self.start.is_none() {
            self.begin(now);
        }
        self.step(now, self.inside + 1);
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        self.step(completion.at, self.inside - 1);
        self.end = completion.at;
        if self.warm_up > 0 {
            self.warm_up -= 1;
            if self.warm_up == 0 {
                self.begin(completion.at);
            }
            return;
        }
        self.responses.record(completion.response());
        let [_, service @ ..] = completion.breakdown.parts();
        for (sum, part) in self.parts.iter_mut().zip(service) {
            *sum += part.as_ns();
        }
        self.reads += u64::from(completion.request.op.is_read());
        self.hits += u64::from(completion.outcome == Outcome::Hit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Op, Request};
    use crate::units::{Lbn, SectorCount};
    use crate::workload::{Pauses, Times, arrivals::Poisson};

    /// A read that came and was completed at these instants; all but `service` it waited.
    fn read(arrived: Instant, at: Instant, service: Span) -> Completion {
        Completion {
            request: Request {
                id: 0,
                op: Op::Read,
                start: Lbn(0),
                sectors: SectorCount(1),
            },
            arrived,
            at,
            breakdown: Breakdown {
                queue: at - arrived - service,
                transfer: service,
                ..Breakdown::default()
            },
            outcome: Outcome::Miss,
        }
    }

    /// Serves `arrivals` in their order, each for `service`.
    fn serve(arrivals: &[Instant], service: Span, report: &mut Report) {
        let mut completions: Vec<Completion> = Vec::new();
        for &arrived in arrivals {
            let free = completions.last().map_or(Instant::START, |c| c.at);
            completions.push(read(arrived, free.max(arrived) + service, service));
        }
        let mut done = completions.iter().peekable();
        for &arrived in arrivals {
            while let Some(completion) = done.next_if(|c| c.at <= arrived) {
                report.completed(completion);
            }
            report.arrived(arrived);
        }
        done.for_each(|completion| report.completed(completion));
    }

    fn at_ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    /// Service of 10 ms; arrivals at 5, 9 and 35 ms, and so completions at 15, 25 and 45 ms.
    fn schedule(warm_up: u64) -> Report {
        let mut report = Report::new(warm_up);
        serve(&[5, 9, 35].map(at_ms), Span::from_ms(10.0), &mut report);
        report
    }

    #[test]
    fn a_schedule_worked_by_hand() {
        let report = schedule(0);
        // From 5 to 45: busy 5 to 25 and 35 to 45, one waiting from 9 to 15.
        assert_eq!(report.requests_count(), 3);
        assert_eq!(report.elapsed(), Span::from_ms(40.0));
        assert_eq!(report.utilisation_fraction(), Some(30.0 / 40.0));
        assert_eq!(report.waiting_mean_count(), Some(6.0 / 40.0));
        assert_eq!(report.waiting_max_count(), 1);
        assert_eq!(report.throughput_per_s(), Some(75.0));
        // Responses of 10, 16 and 10 ms.
        let figures = report.responses().figures().unwrap();
        assert_eq!((figures.mean_ms, figures.max_ms), (12.0, 16.0));
        assert_eq!(report.mean_service(), Some(Span::from_ms(10.0)));
        let breakdown = report.mean_breakdown().unwrap();
        assert_eq!(breakdown.queue, Span::from_ms(2.0));
        assert_eq!(breakdown.transfer, Span::from_ms(10.0));
        assert_eq!(breakdown.total(), Span::from_ms(12.0));
    }

    #[test]
    fn a_warm_up_is_left_out_with_its_time() {
        // From 15 on, when the first is completed and the second is served: busy 10 + 10 of 30.
        let report = schedule(1);
        assert_eq!(report.requests_count(), 2);
        assert_eq!(report.elapsed(), Span::from_ms(30.0));
        assert_eq!(report.utilisation_fraction(), Some(20.0 / 30.0));
        assert_eq!(report.waiting_mean_count(), Some(0.0));
        assert_eq!(report.waiting_max_count(), 0);
        assert_eq!(report.responses().figures().unwrap().mean_ms, 13.0);
    }

    #[test]
    fn nothing_counted_has_no_figures() {
        for report in [Report::new(0), schedule(3), schedule(4)] {
            assert_eq!(report.requests_count(), 0);
            assert_eq!(report.mean_breakdown(), None);
            assert_eq!(report.mean_service(), None);
            assert_eq!(report.cache_hit_fraction(), None);
            assert!(report.responses().figures().is_none());
        }
        assert_eq!(Report::new(0).utilisation_fraction(), None);
        assert_eq!(schedule(3).throughput_per_s(), None);
    }

    #[test]
    fn littles_law_and_the_wait_of_a_random_queue() {
        const N: usize = 400_000;
        let service = Span::from_ms(10.0);
        let mean = Span::from_ms(20.0);
        let times = Times::new(&Pauses::Poisson(Poisson { mean }), 3, 0);
        let arrivals: Vec<Instant> = times.take(N).collect();
        let mut report = Report::new(0);
        serve(&arrivals, service, &mut report);

        // L = lambda W, without approximation: nothing is inside at either end.
        let inside = report.waiting_mean_count().unwrap() + report.utilisation_fraction().unwrap();
        let mean_s = report.responses().figures().unwrap().mean_ms / 1e3;
        let by_little = report.throughput_per_s().unwrap() * mean_s;
        // The mean response is rounded to the nanosecond, of 15 million.
        assert!(
            (inside / by_little - 1.0).abs() < 1e-7,
            "{inside} {by_little}"
        );

        // M/D/1 at half load (Pollaczek and Khinchine): rho^2 / (2 (1 - rho)) = 0.25 waiting.
        // The worst of eight other streams of this length strays by 1.5 %.
        let waiting = report.waiting_mean_count().unwrap();
        assert!((waiting / 0.25 - 1.0).abs() < 0.02, "{waiting}");
        assert!((report.utilisation_fraction().unwrap() / 0.5 - 1.0).abs() < 0.01);
    }

    #[test]
    fn hits_are_a_share_of_reads_alone() {
        let mut report = Report::new(0);
        let outcomes = [
            (Op::Read, Outcome::Hit),
            (Op::Read, Outcome::Miss),
            (Op::Write, Outcome::Absorbed),
            (Op::Read, Outcome::PartialHit),
            (Op::Read, Outcome::Miss),
        ];
        for (i, (op, outcome)) in (0..).zip(outcomes) {
            let mut completion = read(at_ms(i), at_ms(i + 1), Span::from_ms(1.0));
            completion.request.op = op;
            completion.outcome = outcome;
            report.arrived(at_ms(i));
            report.completed(&completion);
        }
        assert_eq!(report.cache_hit_fraction(), Some(0.25));
    }

    #[test]
    fn means_round_to_the_nearest_nanosecond_below_zero_too() {
        let mut report = Report::new(0);
        for settle in [-3, -2] {
            let mut completion = read(at_ms(0), at_ms(1), Span::from_ms(1.0));
            completion.breakdown.settle = Span::from_ns(settle);
            report.arrived(at_ms(1));
            report.completed(&completion);
        }
        // -2.5 lies between; a third, 0, makes it -1.67.
        assert_eq!(report.mean_breakdown().unwrap().settle, Span::from_ns(-2));
        report.arrived(at_ms(1));
        report.completed(&read(at_ms(0), at_ms(1), Span::from_ms(1.0)));
        assert_eq!(report.mean_breakdown().unwrap().settle, Span::from_ns(-2));
    }
}
