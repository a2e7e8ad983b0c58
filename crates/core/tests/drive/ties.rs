//! Identical and overlapping requests, as the documentation of `sched` describes for all policies.

use diskarm_core::device::Completion;
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, OpenLoop};
use diskarm_core::host::Host;
use diskarm_core::request::Request;
use diskarm_core::sched::{INFOS, PolicyConfig};
use diskarm_core::spec::{Queue, Spec};
use diskarm_core::units::{Angle, Instant, SectorCount, Span};
use proptest::prelude::*;

use super::random::{Raw, cases, drive, fitted, requests};
use super::tiny::{Arrival, CompletionLog, R, W, request, tiny};

/// Returns the policies of the table, and some with other parameters.
pub fn policies() -> Vec<String> {
    let plain = INFOS.iter().map(|info| info.name.to_owned());
    let sweeps = [
        "sstf", "scan", "look", "cscan", "clook", "vscan", "cvscan", "wscan", "cscan-la",
    ];
    let swept = sweeps.iter().flat_map(|name| {
        ["by=map", "by=8", "from=last", "by=map, from=last"].map(|with| format!("{name}({with})"))
    });
    let others = [
        "asptf(w=1000)",
        "saptf(t=0.1)",
        "wstf(m=10 ms)",
        "satfuf(n=4)",
        "satfdf(n=3)",
        "sw-sptf(n=3)",
        "wb-sptf(t=5 ms)",
        "satf-la(i=3, strict=yes)",
        "limited(wait=5 ms, policy=clook)",
        "mq-deadline(reads=5 ms, writes=20 ms, batch=2)",
    ];
    plain
        .chain(swept)
        .chain(others.map(str::to_owned))
        .collect()
}

/// The block that the policy serves.
#[derive(Clone, Copy, Debug)]
enum QueueLevel {
    Host,
    /// The host's queue, merging up to this many blocks.
    Merging(u64),
    Drive,
}

/// Returns the completions of requests, in order.
fn through(
    spec: &Spec,
    policy: &str,
    place: QueueLevel,
    arrivals: Vec<(Instant, Request)>,
) -> Vec<Completion> {
    let choice: PolicyConfig = policy.parse().expect("a policy");
    let mut seen = CompletionLog::default();
    let mut spec = spec.clone();
    spec.queue = match place {
        QueueLevel::Drive => Queue {
            depth: arrivals.len().max(1) as u32,
            policy: choice.clone(),
            ..spec.queue
        },
        QueueLevel::Host | QueueLevel::Merging(_) => Queue {
            depth: 1,
            ..spec.queue
        },
    };
    let mut drive = Drive::new(&spec, Angle::from_fraction(2, 7)).expect("a valid layout");
    let mut load = OpenLoop::new(arrivals.into_iter());
    let run = match place {
        QueueLevel::Drive => engine::run(&mut drive, &mut load, &mut seen),
        QueueLevel::Host | QueueLevel::Merging(_) => {
            let policy = choice.policy(&drive);
            let host = Host::new(drive, policy);
            let mut host = match place {
                QueueLevel::Merging(max) => host.merging(SectorCount(max)),
                _ => host,
            };
            engine::run(&mut host, &mut load, &mut seen)
        }
    };
    run.expect("accepted requests");
    seen.0
}

/// Requests close together, half of which repeat an earlier one.
fn repeated(
    spec: &Spec,
    raw: &[Raw],
    again: &[Option<prop::sample::Index>],
) -> Vec<(Instant, Request)> {
    let mut now = Instant::START;
    let mut all: Vec<(Instant, Request)> = Vec::new();
    for ((pause, op, start, n), again) in
        fitted(raw, spec.geometry.sectors.0).into_iter().zip(again)
    {
        now += Span::from_ns(pause.as_ns() / 64);
        let id = all.len() as u64;
        let own = request(id, op, start, n);
        let asked = match again {
            Some(index) if id > 0 => Request {
                id,
                ..index.get(&all).1
            },
            _ => own,
        };
        all.push((now, asked));
    }
    all
}

/// Asserts that identical requests completed in order of id, which is the order of arrival.
fn in_order(done: &[Completion]) -> Result<(), TestCaseError> {
    for (index, later) in done.iter().enumerate() {
        for earlier in &done[..index] {
            let (a, b) = (earlier.request, later.request);
            let is_same = Request { id: b.id, ..a } == b;
            prop_assert!(!is_same || a.id < b.id, "{a:?} before {b:?}");
        }
    }
    Ok(())
}

fn places() -> impl Strategy<Value = QueueLevel> {
    prop_oneof![
        Just(QueueLevel::Host),
        (1..60u64).prop_map(QueueLevel::Merging),
        Just(QueueLevel::Drive),
    ]
}

proptest! {
    #![proptest_config(cases(60))]

    // Each case runs under every policy.
    #[test]
    fn identical_requests_complete_in_order_of_arrival(
        spec in drive(), raw in requests(40), place in places(),
        again in prop::collection::vec(proptest::option::of(any::<prop::sample::Index>()), 40),
    ) {
        let asked = repeated(&spec, &raw, &again);
        // A request that did not fit a batch waits for the next, while a younger identical one may
        // fit when less of the batch is left.
        let postponing = |policy: &String| policy.starts_with("lbsatf");
        for policy in policies().into_iter().filter(|policy| !postponing(policy)) {
            let done = through(&spec, &policy, place, asked.clone());
            prop_assert_eq!(done.len(), asked.len());
            in_order(&done).map_err(|e| TestCaseError::fail(format!("{policy}: {e}")))?;
        }
    }
}

/// Ids of requests at the tiny drive, in order of completion.
fn order(policy: &str, asked: &[Arrival]) -> Vec<u64> {
    let arrivals = (0..).zip(asked).map(|(id, &(at, op, start, n))| {
        (
            Instant::START + Span::from_ms(at),
            request(id, op, start, n),
        )
    });
    let done = through(&tiny(""), policy, QueueLevel::Host, arrivals.collect());
    done.iter().map(|c| c.request.id).collect()
}

/// While block 9 is read, a write of blocks 45 to 54 arrives, then an overlapping request that is
/// nearer by number, by cylinder and by angle: 40 to 49.
#[test]
fn overlapping_requests_may_overtake_a_write() {
    for op in [W, R] {
        let asked = [(0.0, R, 9, 1), (1.0, W, 45, 10), (2.0, op, 40, 10)];
        assert_eq!(order("fcfs", &asked), [0, 1, 2]);
        for policy in ["sstf", "clook", "look", "clook(by=map)"] {
            assert_eq!(order(policy, &asked), [0, 2, 1], "{policy} {op:?}");
        }
    }
}

/// Blocks 20 and 21 are requested three times, with different lengths: policies that order by the
/// first block see no difference.
#[test]
fn requests_with_one_first_block_are_ties_by_block() {
    let asked = [
        (0.0, R, 9, 1),
        (1.0, R, 20, 2),
        (2.0, W, 20, 1),
        (3.0, R, 20, 1),
    ];
    for policy in ["fcfs", "sstf", "clook", "look", "scan", "cscan", "vscan"] {
        assert_eq!(order(policy, &asked), [0, 1, 2, 3], "{policy}");
    }
}
