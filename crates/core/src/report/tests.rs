//! Tests of schedules worked out by hand, and of laws that apply to any schedule.

use super::*;
use crate::device::{Breakdown, Outcome, Status};
use crate::stats::ResponseSummary;
use crate::units::{Lbn, SectorCount};
use crate::workload::{Pauses, Times, arrivals::Poisson};

/// Returns a read that arrived and completed at these instants, and was served for `service`.
fn read(arrived: Instant, at: Instant, service: Span) -> Completion {
    Completion {
        request: Request::new(0, Op::Read, Lbn(0), SectorCount(1)),
        arrived,
        at,
        breakdown: Breakdown {
            queue: at - arrived - service,
            transfer: service,
            ..Breakdown::default()
        },
        outcome: Outcome::Miss,
        status: Status::Good,
    }
}

/// Serves requests that arrive at `arrivals` in order, each for `service`.
fn serve(arrivals: &[Instant], service: Span, report: &mut impl Observer) {
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
        report.arrived(arrived, &read(arrived, arrived, Span::ZERO).request);
    }
    done.for_each(|completion| report.completed(completion));
}

fn at_ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

/// Each request takes 10 ms. They arrive at 5, 9 and 35 ms, and complete at 15, 25 and 45 ms.
fn schedule(warm_up: u64) -> Report {
    let mut report = Report::new(warm_up);
    serve(&[5, 9, 35].map(at_ms), Span::from_ms(10.0), &mut report);
    report
}

#[test]
fn a_schedule_worked_out_by_hand() {
    let report = schedule(0);
    // From 5 to 45 ms: busy from 5 to 25 and from 35 to 45, one request waits from 9 to 15.
    assert_eq!(report.requests_count(), 3);
    assert_eq!(report.elapsed(), Span::from_ms(40.0));
    assert_eq!(report.utilisation_fraction(), Some(30.0 / 40.0));
    assert_eq!(report.waiting_mean_count(), Some(6.0 / 40.0));
    assert_eq!(report.waiting_max_count(), 1);
    assert_eq!(report.throughput_per_s(), Some(75.0));
    // Responses of 10, 16 and 10 ms.
    let stats = report.all().responses().stats().unwrap();
    assert_eq!((stats.mean_ms, stats.max_ms), (12.0, 16.0));
    assert_eq!(report.all().mean_service(), Some(Span::from_ms(10.0)));
    let breakdown = report.all().mean_breakdown().unwrap();
    assert_eq!(breakdown.queue, Span::from_ms(2.0));
    assert_eq!(breakdown.transfer, Span::from_ms(10.0));
    assert_eq!(breakdown.total(), Span::from_ms(12.0));
}

#[test]
fn a_warm_up_is_left_out_with_its_time() {
    // The period begins at 15 ms, when the second request begins: busy for 10 + 10 of 30 ms.
    let report = schedule(1);
    assert_eq!(report.requests_count(), 2);
    assert_eq!(report.elapsed(), Span::from_ms(30.0));
    assert_eq!(report.utilisation_fraction(), Some(20.0 / 30.0));
    assert_eq!(report.waiting_mean_count(), Some(0.0));
    assert_eq!(report.waiting_max_count(), 0);
    assert_eq!(report.all().responses().stats().unwrap().mean_ms, 13.0);
}

#[test]
fn windows_of_the_same_schedule() {
    let mut windows = Windows::new(Span::from_ms(10.0), 5);
    serve(&[5, 9, 35].map(at_ms), Span::from_ms(10.0), &mut windows);
    let stats = |w: &Window| {
        let mean_ms = w.responses.map(|r| r.mean_ms);
        let averages = (w.utilisation_fraction, w.waiting_mean_count);
        (w.start, w.arrived_count, mean_ms, averages)
    };
    let found: Vec<_> = windows.finish().unwrap().iter().map(stats).collect();
    // The completions at 15, 25 and 45 ms are in the windows that begin at 10, 20 and 40 ms.
    let expected = [
        (at_ms(0), 2, None, (0.5, 0.1)),
        (at_ms(10), 0, Some(10.0), (1.0, 0.5)),
        (at_ms(20), 0, Some(16.0), (0.5, 0.0)),
        (at_ms(30), 1, None, (0.5, 0.0)),
        (at_ms(40), 0, Some(10.0), (0.5, 0.0)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn windows_exclude_failures_and_flushes_from_responses() {
    let mut windows = Windows::new(Span::from_ms(10.0), 1);
    let good = read(at_ms(0), at_ms(4), Span::from_ms(4.0));
    let failed = Completion {
        status: Status::Aborted,
        ..read(at_ms(0), at_ms(5), Span::from_ms(1.0))
    };
    let flush = Completion {
        request: Request::flush(2),
        ..read(at_ms(0), at_ms(6), Span::from_ms(1.0))
    };
    let recovered = Completion {
        status: Status::Recovered { retries: 1 },
        ..read(at_ms(0), at_ms(8), Span::from_ms(2.0))
    };
    let all = [good, failed, flush, recovered];
    for c in &all {
        windows.arrived(c.arrived, &c.request);
    }
    all.iter().for_each(|c| windows.completed(c));
    let window = windows.finish().unwrap()[0];
    let responses = window.responses.unwrap();
    assert_eq!((responses.count, responses.mean_ms), (2, 6.0));
    // Failures and flushes still count as arrivals and keep the device busy.
    assert_eq!(window.arrived_count, 4);
    assert_eq!(window.utilisation_fraction, 0.8);
}

#[test]
fn a_completion_at_the_end_of_a_window_is_in_the_next() {
    let serve_in = |length_ms: f64, max| {
        let mut windows = Windows::new(Span::from_ms(length_ms), max);
        serve(&[5, 9, 35].map(at_ms), Span::from_ms(10.0), &mut windows);
        windows.finish()
    };
    let windows = serve_in(15.0, 4).unwrap();
    let count = |w: &Window| w.responses.map_or(0, |r| r.count);
    assert_eq!(windows.iter().map(count).collect::<Vec<_>>(), [0, 2, 0, 1]);
    assert_eq!(windows[3].utilisation_fraction, 0.0);
    // One window more than the maximum, both during the run and at its end.
    assert_eq!(serve_in(15.0, 3), None);
    assert_eq!(serve_in(1.0, 44), None);
    assert_eq!(serve_in(1.0, 46).unwrap().len(), 46);
}

#[test]
fn reads_and_writes_add_up_to_all() {
    let mut report = Report::new(2);
    let mut series = ResponseSummary::default();
    let mut by_op = [RequestTotals::default(), RequestTotals::default()];
    for i in 0..2_000u64 {
        let wait = Span::from_ms((i * 7_919 % 1_009) as f64);
        let (service, at) = (Span::from_ms(5.0), at_ms(5_000 + i));
        let mut completion = read(at - wait - service, at, service);
        let is_write = i % 3 == 0;
        if is_write {
            completion.request.op = Op::Write;
        }
        report.arrived(at, &completion.request);
        report.completed(&completion);
        if i >= 2 {
            series.record(completion.response());
            by_op[usize::from(is_write)].record(&completion);
        }
    }
    assert_eq!(report.of(Op::Read), &by_op[0]);
    assert_eq!(report.of(Op::Write), &by_op[1]);
    assert_eq!(report.all().responses(), &series);
    assert_eq!(report.all().mean_service(), Some(Span::from_ms(5.0)));
    assert_eq!(report.requests_count(), 1_998);
    assert!(series.stats().unwrap().ci95_ms.is_some());
}

#[test]
fn an_empty_report_has_no_statistics() {
    for report in [Report::new(0), schedule(3), schedule(4)] {
        assert_eq!(report.requests_count(), 0);
        assert_eq!(report.all().mean_breakdown(), None);
        assert_eq!(report.all().mean_service(), None);
        assert_eq!(report.cache_hit_fraction(), None);
        assert!(report.all().responses().stats().is_none());
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

    // L = lambda W is exact, because no request is outstanding at either end.
    let outstanding = report.waiting_mean_count().unwrap() + report.utilisation_fraction().unwrap();
    let mean_s = report.all().responses().stats().unwrap().mean_ms / 1e3;
    let by_little = report.throughput_per_s().unwrap() * mean_s;
    // The mean response, about 15 million ns, is rounded to the nanosecond.
    let error = outstanding / by_little - 1.0;
    assert!(error.abs() < 1e-7, "{outstanding} {by_little}");

    // M/D/1 at half load (Pollaczek and Khinchine): rho^2 / (2 (1 - rho)) = 0.25 requests wait. The
    // worst of eight other streams of this length is off by 1.5 %.
    let waiting = report.waiting_mean_count().unwrap();
    assert!((waiting / 0.25 - 1.0).abs() < 0.02, "{waiting}");
    assert!((report.utilisation_fraction().unwrap() / 0.5 - 1.0).abs() < 0.01);
}

#[test]
fn the_hit_fraction_counts_only_reads() {
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
        report.arrived(at_ms(i), &completion.request);
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
        report.arrived(at_ms(1), &completion.request);
        report.completed(&completion);
    }
    // The mean of -2.5 is rounded up. With a third value of 0, the mean is -1.67.
    let settle = |report: &Report| report.all().mean_breakdown().unwrap().settle;
    assert_eq!(settle(&report), Span::from_ns(-2));
    let completion = read(at_ms(0), at_ms(1), Span::from_ms(1.0));
    report.arrived(at_ms(1), &completion.request);
    report.completed(&completion);
    assert_eq!(settle(&report), Span::from_ns(-2));
}

/// Runs three requests of 10 ms: one for the first disk at 5 ms, and two for the second at 7 and 9
/// ms.
fn two_disks(warm_up: u64) -> Vec<Report> {
    let mut disks = Disks::new(warm_up);
    let served = |unit, arrived, at| {
        let mut completion = read(at_ms(arrived), at_ms(at), Span::from_ms(10.0));
        completion.request.unit = unit;
        completion
    };
    let [a, b, c] = [served(0, 5, 15), served(1, 7, 17), served(1, 9, 27)];
    for arriving in [&a, &b, &c] {
        disks.arrived(arriving.arrived, &arriving.request);
    }
    for completed in [&a, &b, &c] {
        disks.completed(completed);
    }
    disks.finish()
}

#[test]
fn disks_are_reported_over_a_common_period() {
    let reports = two_disks(0);
    // From 5 to 27 ms: the disks are busy for 10 and 20 ms, and one request waits for 8 ms.
    let busy = reports.iter().map(Report::utilisation_fraction);
    assert!(busy.eq([Some(10.0 / 22.0), Some(20.0 / 22.0)]));
    let waiting = reports.iter().map(Report::waiting_mean_count);
    assert!(waiting.eq([Some(0.0), Some(8.0 / 22.0)]));
    let counts = reports.iter().map(Report::requests_count);
    assert!(counts.eq([1, 2]));
    assert_eq!(reports[1].waiting_max_count(), 1);
}

#[test]
fn disks_exclude_a_common_warm_up() {
    // From 15 ms on, the first disk is idle and the second completes two more requests.
    let reports = two_disks(1);
    let counts = reports.iter().map(Report::requests_count);
    assert!(counts.eq([0, 2]));
    let busy = reports.iter().map(Report::utilisation_fraction);
    assert!(busy.eq([Some(0.0), Some(1.0)]));
    let waiting = reports.iter().map(Report::waiting_mean_count);
    assert!(waiting.eq([Some(0.0), Some(2.0 / 12.0)]));
}

/// Tests idle times of the second disk that end within the warm-up or after it.
#[test]
fn a_disk_added_later_is_reported_as_from_the_start() {
    let completions: Vec<Completion> = (0..8)
        .map(|k| {
            let arrived = at_ms(3 + 7 * k);
            let mut completion = read(arrived, arrived + Span::from_ms(4.0), Span::from_ms(4.0));
            completion.request.unit = u16::from(k >= 4) * (k % 2) as u16;
            completion
        })
        .collect();
    for warm_up in [0, 2, 4, 5, 6] {
        let mut all = Report::new(warm_up);
        let mut always = Disks::new(warm_up);
        let mut late: Option<Disks> = None;
        for completion in &completions {
            let (at, request) = (completion.arrived, &completion.request);
            if request.unit > 0 {
                late.get_or_insert_with(|| Disks::after(&all));
            }
            all.arrived(at, request);
            always.arrived(at, request);
            if let Some(late) = &mut late {
                late.arrived(at, request);
                late.completed(completion);
            }
            always.completed(completion);
            all.completed(completion);
        }
        let found = late.expect("a second disk").finish();
        assert_eq!(format!("{found:?}"), format!("{:?}", always.finish()));
    }
}

#[test]
fn two_runs_have_the_interval_of_two_values() {
    let (a, b) = (schedule(0), schedule(1));
    let both = Replications::new([&a, &b]);
    assert_eq!(both.requests_count(), 5);
    assert_eq!(both.elapsed(), Span::from_ms(70.0));
    assert_eq!(both.waiting_max_count(), 1);
    // The standard error of two values is half their distance. Student's t is 12.706205.
    let close = |found: Option<f64>, expected: f64| {
        let error = found.unwrap() / expected - 1.0;
        assert!(error.abs() < 1e-12, "{found:?} {expected}");
    };
    let t = 12.706_205;
    close(
        both.mean_number(Report::utilisation_fraction),
        (3.0 / 4.0 + 2.0 / 3.0) / 2.0,
    );
    close(
        both.half_width_number(Report::utilisation_fraction),
        t * (3.0 / 4.0 - 2.0 / 3.0) / 2.0,
    );
    close(both.mean_number(Report::waiting_mean_count), 0.15 / 2.0);
    close(
        both.half_width_number(Report::waiting_mean_count),
        t * 0.15 / 2.0,
    );
    close(
        both.mean_number(Report::throughput_per_s),
        (75.0 + 2.0 / 0.03) / 2.0,
    );
    close(
        both.half_width_number(Report::throughput_per_s),
        t * (75.0 - 2.0 / 0.03) / 2.0,
    );
    assert_eq!(both.mean_number(Report::cache_hit_fraction), Some(0.0));
    // Responses of 10, 16, 10 ms and 16, 10 ms: the means are 12 and 13 ms, and 12.4 ms overall.
    let replicated = ReplicatedTotals::new(vec![a.all(), b.all()]);
    let stats = replicated.stats().unwrap();
    assert_eq!((stats.count, stats.mean_ms), (5, 12.4));
    close(stats.ci95_ms, t * 0.5);
    assert_eq!(replicated.all().mean_service(), Some(Span::from_ms(10.0)));
    assert_eq!(replicated.service_ci95_ms(), Some(0.0));
    // A run that counted no requests has no mean.
    let none = ReplicatedTotals::new(vec![a.all(), RequestTotals::default()]);
    assert_eq!(none.stats().unwrap().ci95_ms, None);
}

#[test]
fn a_single_run_keeps_its_own_figures() {
    let report = schedule(0);
    let one = Replications::new([&report]);
    assert_eq!(
        one.mean_number(Report::utilisation_fraction),
        report.utilisation_fraction()
    );
    assert_eq!(
        one.mean_number(Report::waiting_mean_count),
        report.waiting_mean_count()
    );
    assert_eq!(
        one.mean_number(Report::throughput_per_s),
        report.throughput_per_s()
    );
    assert_eq!(one.half_width_number(Report::utilisation_fraction), None);
    let mut series = RequestTotals::default();
    for ms in 0..600 {
        series.record(&read(at_ms(ms), at_ms(ms + 1 + ms % 7), Span::from_ms(1.0)));
    }
    let stats = ReplicatedTotals::new(vec![series.clone()]).stats();
    assert_eq!(stats, series.responses().stats());
    assert!(stats.unwrap().ci95_ms.is_some());
}

#[test]
fn independent_runs_are_added() {
    let run = |outcomes: &[Outcome], service_ms: f64| {
        let mut served = RequestTotals::default();
        for &outcome in outcomes {
            let service = Span::from_ms(service_ms);
            let completion = read(at_ms(1), at_ms(1) + service, service);
            served.record(&Completion {
                outcome,
                ..completion
            });
        }
        served
    };
    let mut both = run(&[Outcome::Hit, Outcome::Miss], 4.0);
    both.merge(&run(&[Outcome::Hit, Outcome::Hit], 10.0));
    assert_eq!(both.hits_count(), 3);
    assert_eq!(both.requests_count(), 4);
    let service = both.mean_breakdown().expect("four requests");
    assert_eq!(service.transfer, Span::from_ms(7.0));
}
