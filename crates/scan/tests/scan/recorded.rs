//! Recorded foregrounds.

use diskarm_core::device::Completion;
use diskarm_core::engine::{self, OpenLoop};
use diskarm_core::host::Host;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::stats::BatchMeans;
use diskarm_core::testing::SplitMix64;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_scan::{
    BackgroundSettings, ForegroundReport, OnPrediction, OnProgress, Requests, Scan, ScanReport,
    SchedulerLocation,
};

use crate::bench::{Observations, drive_of, new, policy, small};

/// Returns requests of up to 16 blocks, of which several sometimes wait.
fn random_requests(spec: &Spec, count: u64) -> Vec<(Instant, Request)> {
    let mut random = SplitMix64::new(7);
    let mut at = Instant::START;
    let requests = (0..count).map(|id| {
        at += Span::from_ns(random.below(20_000_000) as i64);
        let sectors = SectorCount(1 + random.below(16));
        let first = Lbn(random.below(spec.geometry.sectors.0 - sectors.0));
        let op = if random.below(3) == 0 {
            Op::Write
        } else {
            Op::Read
        };
        (at, Request::new(id, op, first, sectors))
    });
    requests.collect()
}

/// Serves the requests on the drive behind a host's queue, like a simulation of their trace.
fn plain(spec: &Spec, order: &str, requests: &[(Instant, Request)]) -> Vec<Completion> {
    let drive = new(spec);
    let order = policy(order).policy(&drive);
    let mut observations = Observations {
        completions: Vec::new(),
        max: usize::MAX,
        gathered: None,
    };
    let mut load = OpenLoop::new(requests.iter().copied());
    engine::run(&mut Host::new(drive, order), &mut load, &mut observations)
        .expect("all requests are accepted");
    observations.completions
}

fn scan(
    spec: &Spec,
    order: &str,
    location: SchedulerLocation,
    requests: Requests<'_>,
) -> ScanReport {
    let idle = None;
    scan_with_idle_time(idle, spec, order, location, requests)
}

/// Like [`scan`], but also reads when the drive has been idle for `idle`.
fn scan_with_idle_time(
    idle: Option<Span>,
    spec: &Spec,
    order: &str,
    location: SchedulerLocation,
    requests: Requests<'_>,
) -> ScanReport {
    let scan = Scan {
        spec,
        model: spec,
        requests,
        policy: &policy(order),
        location,
        settings: BackgroundSettings {
            conservatism: Span::ZERO,
            idle,
            ..BackgroundSettings::default()
        },
        seed: 1,
        max_requests: u64::MAX,
        on_progress: OnProgress::default(),
        on_prediction: OnPrediction::default(),
    };
    scan.run().expect("valid layout")
}

fn foreground(all: &[Completion]) -> ForegroundReport {
    let responses = all.iter().map(|one| one.response().as_ns());
    let mut batches = BatchMeans::default();
    all.iter().for_each(|one| batches.record(one.response()));
    let count = all.len() as i64;
    ForegroundReport {
        requests: all.len() as u64,
        sectors: all.iter().map(|one| one.request.sectors.0).sum(),
        end: all.last().expect("there are requests").at,
        response: Span::from_ns(responses.sum::<i64>() / count),
        batches,
    }
}

/// The foreground without the scan is identical. No policy here needs the angle of the platter,
/// which the scheduler only learns from completions.
#[test]
fn a_recorded_foreground_matches_the_plain_scheduler() {
    for spec in [small(), drive_of("hp-c2247")] {
        let requests = random_requests(&spec, 400);
        let all = Requests::Recorded(&requests);
        for order in ["fcfs", "clook", "sstf(by=map)"] {
            let plain = foreground(&plain(&spec, order, &requests));
            assert!(plain.response > Span::from_ns(5_000_000), "{plain:?}");
            let report = scan(&spec, order, SchedulerLocation::Outside(1), all);
            assert_eq!(report.alone, plain, "{order}");
            assert!(report.stats.sectors > 0);
        }
    }
}

/// Reads in idle time after the last request do not happen.
#[test]
fn a_scan_in_idle_time_ends_with_the_last_recorded_request() {
    let spec = small();
    let requests = random_requests(&spec, 30);
    let idle = Some(Span::ZERO);
    let all = Requests::Recorded(&requests);
    let report = scan_with_idle_time(idle, &spec, "fcfs", SchedulerLocation::Outside(1), all);
    assert_eq!(report.foreground.requests, 30);
    // At most one track per revolution of 10 ms: all 180 tracks would take six times as long.
    let end_s = report.foreground.end.as_s();
    assert!(end_s < 0.6, "{end_s}");
    let read = report.sectors.0 - report.left.0;
    assert!(read as f64 <= 40.0 * end_s / 0.01, "{read} in {end_s} s");
    let in_gaps = scan(&spec, "fcfs", SchedulerLocation::Outside(1), all)
        .stats
        .sectors;
    assert!(read > in_gaps && in_gaps > 0, "{read} {in_gaps}");
}

/// Both outside and in the firmware, the run ends with the last request, or earlier if the scan is
/// complete. Without the scan the requests are the same.
#[test]
fn a_scan_ends_with_the_last_recorded_request() {
    let spec = small();
    let requests = random_requests(&spec, 3_000);
    for location in [SchedulerLocation::Outside(1), SchedulerLocation::InFirmware] {
        let run = |count: usize| {
            let some = Requests::Recorded(&requests[..count]);
            scan(&spec, "sptf", location, some)
        };
        let short = run(30);
        assert!(!short.is_complete());
        assert_eq!(short.foreground.requests, 30);
        assert_eq!(short.alone.requests, 30);
        assert!(short.foreground.end >= requests[29].0);
        let long = run(3_000);
        assert!(long.is_complete());
        assert!(long.foreground.requests < 3_000, "{:?}", long.foreground);
        assert_eq!(long.alone.requests, long.foreground.requests);
    }
}
