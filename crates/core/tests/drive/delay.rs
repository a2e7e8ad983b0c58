//! A delay in front of the tiny drive shifts its completions exactly.

use diskarm_core::device::{Completion, Device, Status, Work};
use diskarm_core::drive::Drive;
use diskarm_core::host::Host;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, PolicyConfig};
use diskarm_core::units::Span;
use diskarm_core::wrap::{Delay, Latency};

use super::attributes::{at_ms, drive, ids, queueing_spec, run};
use super::tiny::{R, W, request};

fn delayed<D: Device>(device: D, reads_ms: f64, writes_ms: f64) -> Delay<D> {
    let latency = Latency {
        reads: Span::from_ms(reads_ms),
        writes: Span::from_ms(writes_ms),
    };
    Delay::new(device, latency)
}

fn queue<D: Device + Estimate>(device: D) -> Host<D> {
    let sptf: PolicyConfig = "sptf".parse().expect("a policy");
    let policy = sptf.policy(&device);
    Host::new(device, policy)
}

/// Reads and writes all over the drive, in bursts that fill its queue.
fn bursts(drive: &Drive) -> Vec<(f64, Request)> {
    let blocks = drive.capacity().0 - 1;
    let requests = (0..60_u64).map(|id| {
        let op = if id % 3 == 0 { W } else { R };
        let at = (id / 12) as f64 * 70.0 + (id % 12) as f64 * 0.5;
        (at, request(id, op, id * 7_919 * 131 % blocks, 1))
    });
    requests.collect()
}

/// Checks that each completion of `late` is the one of `plain`, `span` later, as overhead.
fn assert_shifted(plain: &[Completion], late: &[Completion], span: Span) {
    assert_eq!(plain.len(), late.len());
    for (plain, late) in plain.iter().zip(late) {
        let mut expected = *plain;
        expected.at += span;
        expected.breakdown.overhead += span;
        assert_eq!(*late, expected);
    }
}

#[test]
fn every_completion_is_shifted_by_the_latency() {
    for ms in [0.0, 0.3, 5.0, 1_000.0] {
        let plain = drive(&queueing_spec());
        let requests = bursts(&plain);
        let late = delayed(drive(&queueing_spec()), ms, ms);
        let (plain, late) = (
            run(&mut queue(plain), &requests),
            run(&mut queue(late), &requests),
        );
        assert_eq!(plain.len(), requests.len());
        assert_shifted(&plain, &late, Span::from_ms(ms));
    }
}

#[test]
fn reads_and_writes_are_shifted_by_their_own_latencies() {
    let plain = drive(&queueing_spec());
    let requests = bursts(&plain);
    let plain = run(&mut queue(plain), &requests);
    let late = run(
        &mut queue(delayed(drive(&queueing_spec()), 1.0, 200.0)),
        &requests,
    );
    assert!(late.is_sorted_by_key(|completion| completion.at));
    for (is_read, ms) in [(true, 1.0), (false, 200.0)] {
        let only = |all: &[Completion]| -> Vec<Completion> {
            let is_kept = |c: &&Completion| c.request.op.is_read() == is_read;
            all.iter().filter(is_kept).copied().collect()
        };
        assert_shifted(&only(&plain), &only(&late), Span::from_ms(ms));
    }
    assert_ne!(ids(&plain), ids(&late), "reads overtake writes");
}

#[test]
fn an_abort_is_not_delayed_and_a_late_request_is_not_aborted() {
    let mut device = delayed(drive(&queueing_spec()), 500.0, 500.0);
    for id in 0..3 {
        let request = request(id, R, id * 50, 1);
        device.submit(at_ms(0.0), request).expect("room for three");
    }
    // The last of three waits: the drive serves them by address.
    assert!(device.abort(at_ms(0.0), 2));
    let aborted = device.advance(at_ms(0.0)).expect("an aborted request");
    assert_eq!(
        (aborted.request.id, aborted.status, aborted.at),
        (2, Status::Aborted, at_ms(0.0))
    );
    // Both others have been served after 400 ms, but are late.
    assert_eq!(device.advance(at_ms(400.0)), None);
    assert!(!device.abort(at_ms(400.0), 0));
    let all = device.components(at_ms(400.0));
    let is_own = |work: &&Work| work.kind() == "delay";
    let own = all
        .iter()
        .map(|part| &part.work)
        .find(is_own)
        .expect("a part");
    assert_eq!(
        (own.named_number("delayed"), own.named_number("late_max")),
        (Some(2.0), Some(2.0))
    );
    let mut late = Vec::new();
    while let Some(completion) = device.advance(at_ms(1_000.0)) {
        late.push(completion);
    }
    assert_eq!(ids(&late), [0, 1]);
    assert!(late.iter().all(|late| late.at >= at_ms(500.0)));
}
