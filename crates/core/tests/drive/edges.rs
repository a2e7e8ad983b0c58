//! SCAN and C-SCAN that continue to the edge of the disk, on the tiny drive by hand.

use diskarm_core::device::{Completion, Device};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, OpenLoop};
use diskarm_core::host::Host;
use diskarm_core::stack::{self, BoxedDevice};
use diskarm_core::units::{Angle, Instant, Span};
use diskarm_core::wrap::{Limits, Throttle};

use super::policies::policy_maker;
use super::tiny::{CompletionLog, R, check, request, tiny};

/// The cylinders are 4, then 2, which waits on the far side of the arm, and 3, which arrives too
/// late for the stroke that serves the second.
const ASKED: [(f64, u64); 3] = [(0.0, 80), (1.0, 40), (16.0, 60)];

fn arrivals() -> OpenLoop<impl Iterator<Item = (Instant, diskarm_core::request::Request)>> {
    OpenLoop::new((0..).zip(ASKED).map(|(id, (at, start))| {
        let at = Instant::START + Span::from_ms(at);
        (at, request(id, R, start, 1))
    }))
}

fn host(policy: &str, sections: &str) -> Host<Drive> {
    let drive = Drive::new(&tiny(sections), Angle::ZERO).expect("a valid layout");
    let policy = policy_maker(policy)(&drive);
    Host::new(drive, policy)
}

fn serve_all(policy: &str) -> Vec<Completion> {
    let mut host = host(policy, "");
    let mut seen = CompletionLog::default();
    engine::run(&mut host, &mut arrivals(), &mut seen).expect("accepted requests");
    seen.0
}

#[test]
fn without_strokes_the_arm_turns_at_the_last_request() {
    for policy in ["scan(by=map)", "scan(by=map, to=request)", "look(by=map)"] {
        let [first, second, third] = serve_all(policy)[..] else {
            panic!("three completions");
        };
        check(&first, 15.0, [0.0, 0.0, 5.0, 0.0, 9.0, 1.0, 0.0]);
        // Over two cylinders at 18 ms, tenth 8; its sector begins at tenth 2.
        check(&second, 23.0, [14.0, 0.0, 3.0, 0.0, 4.0, 1.0, 0.0]);
        check(&third, 29.0, [7.0, 0.0, 2.0, 0.0, 3.0, 1.0, 0.0]);
    }
}

#[test]
fn scan_goes_to_the_edge_before_it_turns() {
    let [first, second, third] = serve_all("scan(by=map, to=edge)")[..] else {
        panic!("three completions");
    };
    // Served immediately: the drive was idle.
    check(&first, 15.0, [0.0, 0.0, 5.0, 0.0, 9.0, 1.0, 0.0]);
    // From cylinder 4 to 9 until 21 ms, to 2 until 29 ms, tenth 9; its sector begins at tenth 2.
    check(&second, 33.0, [14.0 + 6.0, 0.0, 8.0, 0.0, 3.0, 1.0, 0.0]);
    // From 2 to 0 until 36 ms, to 3 until 40 ms, tenth 0; its sector begins at tenth 8.
    check(&third, 49.0, [17.0 + 3.0, 0.0, 4.0, 0.0, 8.0, 1.0, 0.0]);
}

#[test]
fn cscan_goes_to_the_last_cylinder_and_returns_to_the_first() {
    let [first, second, third] = serve_all("cscan(by=map, to=edge)")[..] else {
        panic!("three completions");
    };
    check(&first, 15.0, [0.0, 0.0, 5.0, 0.0, 9.0, 1.0, 0.0]);
    // To 9 until 21 ms, to 0 until 31 ms, to 2 until 34 ms, tenth 4; its sector at tenth 2.
    check(&second, 43.0, [14.0 + 16.0, 0.0, 3.0, 0.0, 8.0, 1.0, 0.0]);
    // Ahead on its way up.
    check(&third, 49.0, [27.0, 0.0, 2.0, 0.0, 3.0, 1.0, 0.0]);
}

#[test]
fn strokes_pass_through_wrappers_and_boxes() {
    let drive = Drive::new(&tiny(""), Angle::ZERO).expect("a valid layout");
    let throttle = |inside| Throttle::new(inside, Limits::default());
    let device = BoxedDevice::new(drive).wrap(throttle);
    let config = "scan(by=lbn, to=edge)".parse().expect("a policy");
    let policy = stack::policy(&config, &device).expect("a device that knows positions");
    let mut host = Host::new(device, policy);
    let mut seen = CompletionLog::default();
    engine::run(&mut host, &mut arrivals(), &mut seen).expect("accepted requests");
    assert_eq!(seen.0, serve_all("scan(by=map, to=edge)"));
}

#[test]
fn strokes_need_a_device_that_knows_its_cylinders() {
    let drive = Drive::new(&tiny(""), Angle::ZERO).expect("a valid layout");
    let device = BoxedDevice::opaque(drive);
    let config = "scan(to=edge)".parse().expect("a policy");
    assert!(stack::policy(&config, &device).is_err());
}

/// Returns a host whose drive takes three commands and serves them in order of arrival: on
/// cylinders 4, 5 and 6, then the one on 2, to which the arm goes by the edge.
fn with_a_queue_inside() -> Host<Drive> {
    let mut host = host("scan(by=map, to=edge)", "[queue]\ndepth = 3\n");
    for (id, start) in (0..).zip([80, 100, 120, 40]) {
        let taken = host.submit(Instant::START, request(id, R, start, 1));
        taken.expect("a queue without a limit");
    }
    host
}

fn completions(host: &mut Host<Drive>, until_ms: f64) -> Vec<Completion> {
    let until = Instant::START + Span::from_ms(until_ms);
    std::iter::from_fn(|| host.advance(until)).collect()
}

#[test]
fn the_request_for_which_the_arm_turned_waits_for_the_stroke() {
    let [_, second, third, last] = completions(&mut with_a_queue_inside(), 99.0)[..] else {
        panic!("four completions");
    };
    check(&second, 21.0, [15.0, 0.0, 2.0, 0.0, 3.0, 1.0, 0.0]);
    check(&third, 27.0, [21.0, 0.0, 2.0, 0.0, 3.0, 1.0, 0.0]);
    // From cylinder 6 to 9 until 31 ms, to 2 until 39 ms, tenth 9; its sector begins at tenth 2.
    check(&last, 43.0, [27.0 + 4.0, 0.0, 8.0, 0.0, 3.0, 1.0, 0.0]);
}

#[test]
fn the_stroke_of_an_aborted_request_does_not_happen() {
    let mut host = with_a_queue_inside();
    assert_eq!(completions(&mut host, 16.0).len(), 1);
    let now = Instant::START + Span::from_ms(16.0);
    assert!(host.abort(now, 3));
    host.submit(now, request(4, R, 20, 1)).expect("room");
    let [aborted, .., last] = completions(&mut host, 99.0)[..] else {
        panic!("four completions");
    };
    assert_eq!((aborted.request.id, aborted.at), (3, now));
    // From cylinder 6 to 1 until 33 ms, tenth 3; its sector begins at tenth 6.
    check(&last, 37.0, [11.0, 0.0, 6.0, 0.0, 3.0, 1.0, 0.0]);
}
