//! Wrappers in front of the tiny drive. A flush with nothing to write takes it no time.

use std::sync::{Arc, Mutex};

use diskarm_core::device::{Completion, Device, Outcome, Status};
use diskarm_core::drive::Drive;
use diskarm_core::host::Host;
use diskarm_core::report::Report;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, PolicyConfig};
use diskarm_core::units::{Lbn, Span};
use diskarm_core::wrap::{
    AffectedOps, BadBlocks, FaultPlan, Faults, Limits, ObservedDevice, Outage, RandomErrors,
    Recalibration, Recorder, Recording, Spikes, Throttle,
};

use super::attributes::{at_ms, drive, ids, queueing_spec, run};
use super::tiny::{R, W, check, check_at, request};

fn flushes(at_ms: &[f64]) -> Vec<(f64, Request)> {
    let numbered = at_ms.iter().zip(0..);
    numbered.map(|(&at, id)| (at, Request::flush(id))).collect()
}

/// Returns each completion in ms, and its queue wait, to the microsecond.
fn times(done: &[Completion]) -> Vec<(f64, f64)> {
    let rounded = |ms: f64| (ms * 1e3).round() / 1e3;
    let times = |completion: &Completion| {
        let at = rounded(completion.at.as_s() * 1e3);
        (at, rounded(completion.breakdown.queue.as_ms()))
    };
    done.iter().map(times).collect()
}

fn host<D: Device + Estimate>(policy_name: &str, device: D) -> Host<D> {
    let config: PolicyConfig = policy_name.parse().expect("a policy");
    let policy = config.policy(&device);
    Host::new(device, policy)
}

fn throttled<D: Device>(device: D, requests_per_s: f64, burst_ms: f64) -> Throttle<D> {
    let limits = Limits {
        requests_per_s: Some(requests_per_s),
        burst: Span::from_ms(burst_ms),
        ..Limits::default()
    };
    Throttle::new(device, limits)
}

fn faulty(plan: FaultPlan) -> Faults<Drive> {
    Faults::new(drive(&queueing_spec()), &plan, Span::from_ms(10.0))
}

#[test]
fn a_throttle_spaces_requests_and_counts_the_wait_as_queue_time() {
    let requests = flushes(&[0.0, 0.0, 0.0, 25.0, 100.0]);
    let done = run(
        &mut throttled(drive(&queueing_spec()), 100.0, 0.0),
        &requests,
    );
    let expected = [
        (0.0, 0.0),
        (10.0, 10.0),
        (20.0, 20.0),
        (30.0, 5.0),
        (100.0, 0.0),
    ];
    assert_eq!(times(&done), expected);
    assert_eq!(ids(&done), [0, 1, 2, 3, 4]);
}

#[test]
fn a_burst_lets_saved_requests_pass_at_once() {
    let requests = flushes(&[50.0, 50.0, 50.0, 50.0]);
    let done = run(
        &mut throttled(drive(&queueing_spec()), 100.0, 10.0),
        &requests,
    );
    assert_eq!(
        times(&done),
        [(50.0, 0.0), (50.0, 0.0), (60.0, 10.0), (70.0, 20.0)]
    );
}

#[test]
fn a_throttle_counts_bytes() {
    let limits = Limits {
        bytes_per_s: Some(51_200.0),
        ..Limits::default()
    };
    let requests = [
        (0.0, request(0, R, 0, 2)),
        (1.0, Request::flush(1)),
        (1.0, Request::flush(2)),
    ];
    let done = run(
        &mut Throttle::new(drive(&queueing_spec()), limits),
        &requests,
    );
    // Two blocks at 10 ms each; a flush has none.
    assert_eq!(times(&done)[1..], [(20.0, 19.0), (20.0, 19.0)]);
}

#[test]
fn limits_of_which_a_request_takes_for_ever_are_refused() {
    let error = |bytes_per_s| {
        let limits = Limits {
            bytes_per_s: Some(bytes_per_s),
            ..Limits::default()
        };
        limits.check().err().map(|error| error.to_string())
    };
    assert_eq!(error(100.0), None);
    for rate in [99.0, 0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = error(rate).expect("not sound");
        assert!(error.starts_with("bytes_per_s: "), "{error}");
    }
}

/// C-LOOK takes block 60 before block 100 whenever both wait.
#[test]
fn a_queue_in_front_of_a_throttle_keeps_the_choice() {
    let requests = [0, 100, 60].map(|block| (0.0, request(block, R, block, 1)));
    let inside = throttled(host("clook", drive(&queueing_spec())), 20.0, 0.0);
    let mut outside = host("clook", throttled(drive(&queueing_spec()), 20.0, 0.0));
    assert_eq!(ids(&run(&mut { inside }, &requests)), [0, 100, 60]);
    assert_eq!(ids(&run(&mut outside, &requests)), [0, 60, 100]);
}

#[test]
fn a_held_request_can_be_aborted() {
    let mut device = throttled(drive(&queueing_spec()), 100.0, 0.0);
    for (_, request) in flushes(&[0.0, 0.0, 0.0]) {
        assert_eq!(device.submit(at_ms(0.0), request), Ok(()));
    }
    assert!(device.abort(at_ms(0.0), 1));
    let done = run(&mut device, &[]);
    assert_eq!(ids(&done), [1, 0, 2]);
    assert_eq!(done[0].status, Status::Aborted);
    assert_eq!(times(&done), [(0.0, 0.0), (0.0, 0.0), (10.0, 10.0)]);
}

fn bad(first: u64, end: u64, affected: AffectedOps, retries: u16) -> Vec<BadBlocks> {
    let (first, end) = (Lbn(first), Lbn(end));
    vec![BadBlocks {
        first,
        end,
        affected,
        retries,
    }]
}

/// Block 23 passes from 9 to 10 ms, and again two revolutions later; block 24 right after it.
#[test]
fn retries_take_revolutions_and_the_next_request_waits() {
    let plan = FaultPlan {
        recovered_errors: bad(23, 24, AffectedOps::Both, 2),
        ..FaultPlan::default()
    };
    let requests = [(0.0, request(0, R, 23, 1)), (12.0, request(1, R, 24, 1))];
    let done = run(&mut faulty(plan), &requests);
    assert_eq!(done[0].status, Status::Recovered { retries: 2 });
    check(&done[0], 30.0, [0.0, 0.0, 2.0, 0.0, 27.0, 1.0, 0.0]);
    assert_eq!(done[1].status, Status::Good);
    check(&done[1], 31.0, [18.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn a_medium_error_names_its_block() {
    let plan = || FaultPlan {
        medium_errors: bad(23, 200, AffectedOps::Reads, 1),
        ..FaultPlan::default()
    };
    // Blocks 20 to 24 pass from 6 to 11 ms.
    let read = run(&mut faulty(plan()), &[(0.0, request(0, R, 20, 5))])[0];
    assert_eq!(read.status, Status::MediumError { offset: 3 });
    assert_eq!(read.bad_block(), Some(Lbn(23)));
    check(&read, 21.0, [0.0, 0.0, 2.0, 0.0, 14.0, 5.0, 0.0]);
    let write = run(&mut faulty(plan()), &[(0.0, request(0, W, 20, 5))])[0];
    assert_eq!(write.status, Status::Good);
    check_at(&write, 11.0, Outcome::Miss);
}

#[test]
fn spikes_are_owed_time() {
    let plan = FaultPlan {
        spikes: Some(Spikes {
            share: 1.0,
            delay: Span::from_ms(3.0),
        }),
        ..FaultPlan::default()
    };
    let done = run(&mut faulty(plan), &flushes(&[0.0, 1.0]));
    assert_eq!(times(&done), [(3.0, 0.0), (6.0, 2.0)]);
    assert_eq!(done[1].breakdown.owed, Span::from_ms(3.0));
}

/// Due at 20 ms with nothing to do; at 40 ms during a read, which completes first.
#[test]
fn a_recalibration_follows_the_request_under_way() {
    let plan = FaultPlan {
        recalibration: Some(Recalibration {
            every: Span::from_ms(20.0),
            lasts: Span::from_ms(5.0),
        }),
        ..FaultPlan::default()
    };
    let mut requests = flushes(&[1.0, 21.0, 26.0, 45.0, 50.0]);
    // The platter stood for 4 ms: block 23 passes from 43 to 44 ms.
    requests.insert(3, (35.0, request(9, R, 23, 1)));
    let done = run(&mut faulty(plan), &requests);
    assert_eq!(ids(&done), [0, 1, 2, 9, 3, 4]);
    let waits: Vec<f64> = times(&done).iter().map(|(_, queue)| *queue).collect();
    assert_eq!(waits, [0.0, 4.0, 0.0, 0.0, 4.0, 0.0]);
    check(&done[3], 44.0, [0.0, 0.0, 2.0, 0.0, 6.0, 1.0, 0.0]);
}

fn outage(from_ms: f64, until_ms: f64) -> FaultPlan {
    FaultPlan {
        outages: vec![Outage {
            from: at_ms(from_ms),
            until: at_ms(until_ms),
        }],
        ..FaultPlan::default()
    }
}

#[test]
fn a_lost_device_ends_all_that_is_inside_and_all_that_comes() {
    let requests = [
        (0.0, request(0, R, 23, 1)),
        (1.0, request(1, R, 100, 1)),
        (7.0, Request::flush(2)),
        (16.0, Request::flush(3)),
    ];
    let done = run(&mut faulty(outage(5.0, 15.0)), &requests);
    assert_eq!(ids(&done), [0, 1, 2, 3]);
    assert_eq!(
        times(&done),
        [(5.0, 5.0), (5.0, 4.0), (7.0, 0.0), (16.0, 0.0)]
    );
    let statuses: Vec<Status> = done.iter().map(|completion| completion.status).collect();
    let lost = Status::NotReady;
    assert_eq!(statuses, [lost, lost, lost, Status::Good]);
}

/// The read ends at 10 ms although no client waits for it.
#[test]
fn a_device_that_returns_finishes_what_was_under_way() {
    let requests = [(0.0, request(0, R, 23, 1)), (9.0, Request::flush(1))];
    let done = run(&mut faulty(outage(5.0, 8.0)), &requests);
    assert_eq!(times(&done), [(5.0, 5.0), (10.0, 1.0)]);
}

/// The limit allows the next request at 50 ms. Until 2 ms the device itself is busy.
#[test]
fn a_device_that_returns_has_no_more_room_than_it_had() {
    let throttled = throttled(drive(&queueing_spec()), 20.0, 0.0);
    let mut device = Faults::new(throttled, &outage(1.0, 2.0), Span::from_ms(10.0));
    for (at, id) in [(0.0, 0), (1.5, 1)] {
        assert_eq!(device.submit(at_ms(at), Request::flush(id)), Ok(()));
        let done = device.advance(at_ms(at)).expect("a completion at once");
        assert_eq!(done.request.id, id);
    }
    assert!(device.has_room());
    assert_eq!(device.advance(at_ms(3.0)), None);
    assert!(!device.has_room());
}

#[test]
fn random_errors_depend_on_the_seed_alone_and_come_as_often_as_asked_for() {
    let statuses = |seed| {
        let errors = |share, retries| Some(RandomErrors { share, retries });
        let plan = FaultPlan {
            seed,
            random_medium_errors: errors(0.1, 0),
            random_recovered_errors: errors(0.3, 4),
            ..FaultPlan::default()
        };
        let requests: Vec<(f64, Request)> = (0..2_000)
            .map(|id| (id as f64 * 100.0, request(id, R, id % 100, 5)))
            .collect();
        let done = run(&mut faulty(plan), &requests);
        done.iter().map(|done| done.status).collect::<Vec<_>>()
    };
    let (once, again, other) = (statuses(1), statuses(1), statuses(2));
    assert_eq!(once, again);
    assert_ne!(once, other);
    let count = |wanted: fn(&Status) -> bool| once.iter().filter(|status| wanted(status)).count();
    // Four standard deviations of 13.4; of recovered errors a tenth are hidden by medium errors.
    let medium = count(|status| matches!(status, Status::MediumError { .. }));
    assert!(medium.abs_diff(200) < 54, "{medium}");
    let recovered = count(|status| matches!(status, Status::Recovered { retries: 1..=4 }));
    assert!(recovered.abs_diff(540) < 80, "{recovered}");
    for wanted in 0..5 {
        assert!(once.contains(&Status::MediumError { offset: wanted }));
    }
    for wanted in 1..5 {
        assert!(once.contains(&Status::Recovered { retries: wanted }));
    }
}

/// Two requests wait for one that is under way, inside and outside the queue of the host.
#[test]
fn recorders_and_observers_see_what_passes_at_their_level() {
    let report = Arc::new(Mutex::new(Report::new(0)));
    let inside = Recorder::new(
        ObservedDevice::new(drive(&queueing_spec()), report.clone()),
        Default::default(),
    );
    let mut outside = Recorder::new(host("fcfs", inside), Recording::default());
    let mut requests = vec![(0.0, request(7, R, 23, 1)), (1.0, request(8, W, 24, 1))];
    assert_eq!(outside.submit(at_ms(0.0), requests[0].1), Ok(()));
    let passed = outside.observer().requests();
    assert_eq!((passed.len(), passed[0].completion), (1, None));
    requests.remove(0);
    let done = run(&mut outside, &requests);
    let recorded = outside.into_observer();
    let passed = recorded.requests();
    for ((passed, done), (id, arrived)) in passed.iter().zip(&done).zip([(7, 0.0), (8, 1.0)]) {
        assert_eq!((passed.request.id, passed.arrived), (id, at_ms(arrived)));
        assert_eq!(passed.completion, Some(*done));
    }
    assert_eq!(passed.len(), 2);
    assert_eq!(report.lock().expect("no panic").requests_count(), 2);
}
