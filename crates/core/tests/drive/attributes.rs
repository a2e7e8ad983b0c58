//! Flushes, forced access to the media, ordering and aborts, in the drive's queue and the host's.

use diskarm_core::device::{Completion, Device, Outcome, Status};
use diskarm_core::drive::Drive;
use diskarm_core::host::Host;
use diskarm_core::queue::CommandQueue;
use diskarm_core::request::{Ordering, Priority, Request};
use diskarm_core::sched::{Pending, PolicyConfig};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant, SectorCount, Span};

use super::tiny::{R, W, check, check_at, request, tiny};

/// Returns a drive whose write cache absorbs everything.
fn cached() -> Spec {
    tiny(
        r#"
[buffer]
caching = true
write_cache = "always"
[overheads]
read_hit_after_write = "0.5 ms"
write_completion = "0.1 ms"
"#,
    )
}

/// Returns a queue of four requests in C-LOOK order.
pub fn queueing_spec() -> Spec {
    tiny("[queue]\ndepth = 8\npolicy = \"clook\"\n")
}

pub fn drive(spec: &Spec) -> Drive {
    Drive::new(spec, Angle::ZERO).expect("a valid layout")
}

/// Returns the drive of `spec`, which accepts one command at a time, below a host queue.
fn host(spec: &Spec) -> Host<Drive> {
    let mut spec = spec.clone();
    spec.queue.depth = 1;
    let drive = drive(&spec);
    let clook: PolicyConfig = "clook".parse().expect("a policy");
    let policy = clook.policy(&drive);
    Host::new(drive, policy)
}

pub fn at_ms(ms: f64) -> Instant {
    Instant::START + Span::from_ms(ms)
}

/// Submits requests at their times in ms, and collects the completions.
pub fn run(device: &mut dyn Device, requests: &[(f64, Request)]) -> Vec<Completion> {
    let mut done = Vec::new();
    let mut until = |device: &mut dyn Device, at: Instant| {
        while let Some(event) = device.next_event().filter(|event| *event < at) {
            done.extend(device.advance(event));
        }
    };
    for &(at, request) in requests {
        until(device, at_ms(at));
        assert_eq!(device.submit(at_ms(at), request), Ok(()));
    }
    until(device, at_ms(1e6));
    for completion in &done {
        assert_eq!(completion.breakdown.total(), completion.response());
    }
    done
}

pub fn ids(done: &[Completion]) -> Vec<u64> {
    done.iter()
        .map(|completion| completion.request.id)
        .collect()
}

#[test]
fn a_flush_waits_until_the_write_cache_is_on_the_media() {
    // The write is taken at 0.1; block 23 passes from 9 to 10 ms.
    let flush_at = |at: f64| {
        let requests = [(0.0, request(0, W, 23, 1)), (at, Request::flush(1))];
        let done = run(&mut drive(&cached()), &requests);
        assert_eq!(done[0].at, at_ms(0.1));
        done[1]
    };
    let flush = flush_at(1.0);
    check(&flush, 10.1, [8.5, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(flush.status, Status::Good);
    // Nothing is dirty.
    check(&flush_at(20.0), 20.6, [0.0, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn forced_writes_complete_after_the_media() {
    let mut forced = request(0, W, 23, 1);
    forced.force_unit_access = true;
    let done = run(&mut drive(&cached()), &[(0.0, forced)]);
    check_at(&done[0], 10.1, Outcome::Miss);
}

#[test]
fn forced_reads_take_nothing_from_the_buffer() {
    // Both times the block ends 10 ms into a revolution.
    let again = |force_unit_access| {
        let again = Request {
            force_unit_access,
            ..request(1, R, 23, 1)
        };
        let requests = [(0.0, request(0, R, 23, 1)), (12.0, again)];
        run(&mut drive(&cached()), &requests)[1]
    };
    check_at(&again(false), 12.0, Outcome::Hit);
    check_at(&again(true), 20.0, Outcome::Miss);
}

/// C-LOOK serves the blocks in ascending order; the first is in service when the others arrive.
fn five(change: impl Fn(&mut Request)) -> Vec<(f64, Request)> {
    let blocks = [0, 100, 60, 20, 160];
    let requests = (0..).zip(blocks).map(|(id, block)| {
        let mut request = request(id, R, block, 1);
        change(&mut request);
        (id as f64 * 0.1, request)
    });
    requests.collect()
}

#[test]
fn an_ordered_request_keeps_its_place() {
    let simple = five(|_| {});
    let ordered = five(|request| {
        if request.id == 2 {
            request.ordering = Ordering::Ordered;
        }
    });
    for device in [
        &mut drive(&queueing_spec()) as &mut dyn Device,
        &mut host(&queueing_spec()),
    ] {
        let done = run(device, &simple);
        assert_eq!(ids(&done), [0, 3, 2, 1, 4]);
    }
    for device in [
        &mut drive(&queueing_spec()) as &mut dyn Device,
        &mut host(&queueing_spec()),
    ] {
        let done = run(device, &ordered);
        assert_eq!(ids(&done), [0, 1, 2, 4, 3]);
    }
}

#[test]
fn ordered_requests_do_not_overlap_others() {
    // With this pre-seek level the arm moves on before the bus has transferred the data.
    let spec = tiny(
        "[queue]\ndepth = 8\npreseek = \"media-done\"\n[bus]\nread_sector = \"2 ms\"\n\
         hold_read = true\n",
    );
    let ordered = five(|request| request.ordering = Ordering::Ordered);
    let done = run(&mut drive(&spec), &ordered);
    assert_eq!(ids(&done), [0, 1, 2, 3, 4]);
    for pair in done.windows(2) {
        let began = pair[1].arrived + pair[1].breakdown.queue;
        assert!(began >= pair[0].at, "{pair:?}");
    }
    let overlapping = run(&mut drive(&spec), &five(|_| {}));
    let began = overlapping[1].arrived + overlapping[1].breakdown.queue;
    assert!(began < overlapping[0].at, "else nothing was shown");
}

#[test]
fn the_newest_head_of_queue_request_is_next() {
    let heads = five(|request| {
        if [1, 4].contains(&request.id) {
            request.ordering = Ordering::HeadOfQueue;
        }
    });
    for device in [
        &mut drive(&queueing_spec()) as &mut dyn Device,
        &mut host(&queueing_spec()),
    ] {
        assert_eq!(ids(&run(device, &heads)), [0, 4, 1, 3, 2]);
    }
}

#[test]
fn a_flush_does_not_wait_for_the_policy() {
    let mut requests = five(|_| {});
    requests.insert(3, (0.25, Request::flush(9)));
    for device in [
        &mut drive(&queueing_spec()) as &mut dyn Device,
        &mut host(&queueing_spec()),
    ] {
        assert_eq!(ids(&run(device, &requests)), [0, 9, 3, 2, 1, 4]);
    }
}

#[test]
fn a_waiting_request_can_be_aborted_and_one_under_way_cannot() {
    for device in [
        &mut drive(&queueing_spec()) as &mut dyn Device,
        &mut host(&queueing_spec()),
    ] {
        for (at, request) in five(|_| {}) {
            assert_eq!(device.submit(at_ms(at), request), Ok(()));
        }
        let now = at_ms(0.5);
        assert!(!device.abort(now, 0), "it has begun");
        assert!(!device.abort(now, 7), "there is none");
        assert!(device.abort(now, 3));
        assert!(!device.abort(now, 3), "it is aborted already");
        let aborted = device.advance(now).expect("the aborted request");
        assert_eq!(aborted.request.id, 3);
        assert_eq!(aborted.status, Status::Aborted);
        assert_eq!(aborted.response(), Span::from_ms(0.2));
        assert_eq!(aborted.breakdown.queue, Span::from_ms(0.2));
        assert_eq!(ids(&run(device, &[])), [0, 2, 1, 4]);
    }
}

#[test]
fn an_aborted_ordered_request_lets_the_others_through() {
    let ordered = five(|request| {
        if request.id == 2 {
            request.ordering = Ordering::Ordered;
        }
    });
    for device in [
        &mut drive(&queueing_spec()) as &mut dyn Device,
        &mut host(&queueing_spec()),
    ] {
        for &(at, request) in &ordered {
            assert_eq!(device.submit(at_ms(at), request), Ok(()));
        }
        assert!(device.abort(at_ms(0.5), 2));
        let done = run(device, &[]);
        assert_eq!(ids(&done), [2, 0, 3, 1, 4]);
    }
}

/// Requests after an ordered one are not merged with those before it.
#[test]
fn merging_stops_at_an_ordered_request() {
    let mut spec = queueing_spec();
    spec.queue.depth = 1;
    let drive = drive(&spec);
    let fcfs: PolicyConfig = "fcfs".parse().expect("a policy");
    let policy = fcfs.policy(&drive);
    let mut host = Host::new(drive, policy).merging(SectorCount(64));
    let mut ordered = request(2, R, 100, 1);
    ordered.ordering = Ordering::Ordered;
    let requests = [
        (0.0, request(0, R, 50, 1)),
        (0.1, request(1, R, 0, 4)),
        (0.2, ordered),
        (0.3, request(3, R, 4, 4)),
    ];
    let done = run(&mut host, &requests);
    assert_eq!(ids(&done), [0, 1, 2, 3]);
    assert!(done[3].at > done[1].at, "one command: {done:?}");
}

/// Aborting an ordered request ends the wait that it imposed on the arm.
#[test]
fn an_aborted_ordered_request_leaves_no_gap() {
    let spec = tiny(
        "[queue]\ndepth = 8\npreseek = \"media-done\"\n[bus]\nread_sector = \"2 ms\"\n\
         hold_read = true\n",
    );
    let simple = [(0.0, request(0, R, 23, 4)), (0.2, request(2, R, 60, 1))];
    let expected = run(&mut drive(&spec), &simple)[1].at;
    let mut ordered = request(1, R, 100, 1);
    ordered.ordering = Ordering::Ordered;
    let mut drive = drive(&spec);
    for (at, request) in [(0.0, simple[0].1), (0.1, ordered), (0.2, simple[1].1)] {
        assert_eq!(drive.submit(at_ms(at), request), Ok(()));
    }
    // The media are done at 13 ms; the bus at 18.
    let now = at_ms(12.9);
    while let Some(event) = drive.next_event().filter(|event| *event <= now) {
        assert!(drive.advance(event).is_none());
    }
    assert!(drive.abort(now, 1));
    let done = run(&mut drive, &[]);
    assert_eq!(ids(&done), [1, 0, 2]);
    assert_eq!(done[2].at, expected);
}

/// Requests held back by an aborted ordered request begin at the abort, even if the arm was free.
#[test]
fn no_request_begins_before_the_abort_that_releases_it() {
    let spec = tiny(
        "[queue]\ndepth = 8\npreseek = \"media-done\"\n[bus]\nread_sector = \"2 ms\"\n\
         hold_read = true\n",
    );
    let mut ordered = request(1, R, 100, 1);
    ordered.ordering = Ordering::Ordered;
    let mut drive = drive(&spec);
    for request in [request(0, R, 23, 4), ordered, request(2, R, 60, 1)] {
        assert_eq!(drive.submit(Instant::START, request), Ok(()));
    }
    // The media are done at 13 ms; the bus at 18.
    let now = at_ms(16.0);
    while let Some(event) = drive.next_event().filter(|event| *event <= now) {
        assert!(drive.advance(event).is_none());
    }
    assert!(drive.abort(now, 1));
    let done = run(&mut drive, &[]);
    assert_eq!(ids(&done), [1, 0, 2]);
    assert_eq!(done[2].arrived + done[2].breakdown.queue, now);
}

/// A request that the device does not accept yet stays unchanged.
#[test]
fn an_ordered_request_that_is_put_back_is_still_ordered() {
    let drive = drive(&queueing_spec());
    let fcfs: PolicyConfig = "fcfs".parse().expect("a policy");
    let mut queue = CommandQueue::new(fcfs.policy(&drive));
    let pending = |id, ordering| Pending {
        request: Request {
            ordering,
            ..request(id, R, 0, 1)
        },
        arrived: Instant::START,
    };
    queue.add_special(pending(0, Ordering::Ordered), &drive);
    queue.add(pending(1, Ordering::default()), &drive);
    let taken = queue.next(Instant::START, &drive).expect("two wait");
    queue.put_back(taken);
    assert!(queue.next_is_ordered());
    queue.add_special(pending(2, Ordering::HeadOfQueue), &drive);
    let mut order = Vec::new();
    while !queue.is_empty() {
        let is_ordered = queue.next_is_ordered();
        let next = queue.next(Instant::START, &drive).expect("not empty");
        order.push((next.request.id, is_ordered));
    }
    assert_eq!(order, [(2, false), (0, true), (1, false)]);
}

#[test]
fn hol_can_use_priorities() {
    let requests = five(|request| {
        request.priority = match request.id {
            1 => Priority::Low,
            4 => Priority::High,
            _ => Priority::Normal,
        };
    });
    let mut spec = queueing_spec();
    spec.queue.policy = "hol(by=priority)".parse().expect("a policy");
    assert_eq!(ids(&run(&mut drive(&spec), &requests)), [0, 4, 2, 3, 1]);
}
