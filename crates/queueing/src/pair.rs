//! Compares simulated mirrored pairs with the closed forms.

use diskarm_core::device::{Breakdown, Completion, Device, Outcome, Status, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::mirror::{Mirror, MirrorConfig, ReadDispatch, Routing, starting_angle};
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{self, Spec};
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Angle, Bytes, Instant, Lbn, SectorCount, Span};

use crate::queue::{Mean, Random, means};
use crate::{exponential, mirrored};

/// A server whose services are exponential with a mean of one second.
struct Server {
    random: Random,
    under_way: Option<Completion>,
}

impl Device for Server {
    fn capacity(&self) -> SectorCount {
        SectorCount(1_000)
    }

    fn sector_size(&self) -> Bytes {
        Bytes(512)
    }

    fn has_room(&self) -> bool {
        self.under_way.is_none()
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        assert!(self.has_room());
        let transfer = Span::from_s(self.random.exponential(1.0));
        self.under_way = Some(Completion {
            request,
            arrived: now,
            at: now + transfer,
            breakdown: Breakdown {
                transfer,
                ..Breakdown::default()
            },
            outcome: Outcome::Miss,
            status: Status::Good,
        });
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        self.under_way.map(|completion| completion.at)
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.under_way.take_if(|completion| completion.at <= now)
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

const WARM_UP: usize = 2_000;
const COUNTED: usize = 20_000;

/// The mean response of requests at a pair of servers, with Poisson arrivals that load each server
/// by `load` if they are reads.
fn response(seed: u64, reads: ReadDispatch, op: Op, load: f64) -> f64 {
    let server = |index: u64| {
        let random = Random::new(seed * 10 + index);
        let under_way = None;
        BoxedDevice::opaque(Server { random, under_way })
    };
    let mirroring = MirrorConfig {
        reads,
        seed,
        ..MirrorConfig::default()
    };
    let mut pair = Mirror::new([server(1), server(2)], &mirroring).unwrap();
    let mut random = Random::new(seed * 10);
    let (mut now, mut sum, mut ended) = (Instant::START, Span::ZERO, 0);
    let mut take = |pair: &mut Mirror, until| {
        while let Some(done) = pair.advance(until) {
            assert_eq!(done.breakdown.total(), done.response());
            if done.request.id >= WARM_UP as u64 {
                sum += done.response();
            }
            ended += 1;
        }
    };
    for id in 0..WARM_UP + COUNTED {
        now += Span::from_s(random.exponential(2.0 * load));
        take(&mut pair, now);
        let request = Request::new(id as u64, op, Lbn(id as u64 % 1_000), SectorCount(1));
        pair.submit(now, request).unwrap();
    }
    take(&mut pair, Instant::NEVER);
    assert_eq!(ended, WARM_UP + COUNTED);
    sum.as_s() / COUNTED as f64
}

fn mean(reads: ReadDispatch, op: Op, load: f64) -> Mean {
    let [mean] = means((1..=20).map(|seed| [response(seed, reads, op, load)]));
    mean
}

#[test]
fn a_shared_queue_of_reads_is_m_m_2() {
    let expected = exponential::mmc_response(2, 1.2, 1.0).unwrap();
    mean(ReadDispatch::Shared, Op::Read, 0.6).assert_near(expected);
}

#[test]
fn uniform_routing_is_m_m_1_and_cyclic_routing_e2_m_1() {
    let routed = |routing| mean(ReadDispatch::Routed(routing), Op::Read, 0.6);
    routed(Routing::Uniform).assert_near(exponential::mmc_response(1, 0.6, 1.0).unwrap());
    routed(Routing::Cyclic).assert_near(exponential::e2m1_response(0.6, 1.0).unwrap());
    // All addresses are in front of the pivot, so that one member has all arrivals.
    let pivot = Lbn(1_000);
    let relaxed = None;
    let one = mean(
        ReadDispatch::Routed(Routing::Affinity { pivot, relaxed }),
        Op::Read,
        0.3,
    );
    one.assert_near(exponential::mmc_response(1, 0.6, 1.0).unwrap());
}

/// Both copies of a write begin together if writes are rare, and the later of two exponential times
/// takes 3/2 of their mean.
#[test]
fn a_write_alone_takes_the_longer_of_two_services() {
    let alone = mean(ReadDispatch::Shared, Op::Write, 0.000_05);
    alone.assert_near(1.5);
}

/// One cylinder with one track: no seeks, and a wait for the block alone.
const TRACK: &str = r#"
name = "track"
summary = "one track"
[source]
origin = "for the test"
[geometry]
surfaces = 1
cylinders = 2
sectors = 2000
sector_bytes = 512
[[geometry.zones]]
cylinders = [0, 2]
sectors_per_track = 1000
[mechanics]
rotation = "10 ms"
head_switch = "1 ms"
[mechanics.seek]
form = "table"
cylinders_ms = [[1, 1]]
"#;

/// A seek of a millisecond a cylinder, and a platter too fast to matter.
const STROKE: &str = r#"
name = "stroke"
summary = "seeks alone"
[source]
origin = "for the test"
[geometry]
surfaces = 1
cylinders = 1000
sectors = 1000
sector_bytes = 512
[[geometry.zones]]
cylinders = [0, 1000]
sectors_per_track = 1
[mechanics]
rotation = "0.001 ms"
head_switch = "1 ms"
[mechanics.seek]
form = "table"
cylinders_ms = [[1, 1], [999, 999]]
"#;

fn parsed(text: &str) -> Spec {
    spec::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// A pair of drives whose spindles are where they are.
fn pair_of(spec: &Spec, seed: u64) -> Mirror {
    let drive = |index| {
        let angle: Angle = starting_angle(2 * seed + index);
        BoxedDevice::new(Drive::new(spec, angle).unwrap())
    };
    let mirroring = MirrorConfig {
        reads: ReadDispatch::Shared,
        ..MirrorConfig::default()
    };
    Mirror::new([drive(0), drive(1)], &mirroring).unwrap()
}

/// The last of these requests, one at a time except for those that `begin` together.
fn last(mut pair: Mirror, begin: &[Request], last: Request) -> Completion {
    for &request in begin {
        pair.submit(Instant::START, request).unwrap();
    }
    let mut now = Instant::START;
    while let Some(done) = pair.advance(Instant::NEVER) {
        now = done.at;
    }
    pair.submit(now, last).unwrap();
    pair.advance(Instant::NEVER).unwrap()
}

fn at(block: f64, op: Op) -> Request {
    Request::new(9, op, Lbn(block as u64), SectorCount(1))
}

const RUNS: u64 = 20;
const PAIRS: u64 = 400;

#[test]
fn rotational_waits_of_two_copies() {
    let spec = parsed(TRACK);
    let wait = |op, seed| {
        let done = last(pair_of(&spec, seed), &[], at(500.0, op));
        done.breakdown.rotation.as_ms() / 10.0
    };
    let run = |run: u64| {
        let of = |op| (0..PAIRS).map(|n| wait(op, run * PAIRS + n)).sum::<f64>() / PAIRS as f64;
        [of(Op::Read), of(Op::Write)]
    };
    let [read, write] = means((0..RUNS).map(run));
    read.assert_near(mirrored::read_wait(2));
    write.assert_near(mirrored::write_wait(2));
}

/// Two reads at once place the arms, independently.
#[test]
fn the_nearer_arm_reads_and_the_farther_ends_a_write() {
    let spec = parsed(STROKE);
    let distance = |op, random: &mut Random| {
        let [one, other, target] = [0; 3].map(|_: i32| random.uniform() * 1_000.0);
        let other = Request {
            id: 8,
            ..at(other, Op::Read)
        };
        let done = last(
            pair_of(&spec, 0),
            &[at(one, Op::Read), other],
            at(target, op),
        );
        done.breakdown.seek.as_s()
    };
    let run = |run: u64| {
        let random = &mut Random::new(run);
        let mut of = |op| (0..PAIRS).map(|_| distance(op, random)).sum::<f64>() / PAIRS as f64;
        [of(Op::Read), of(Op::Write)]
    };
    let [read, write] = means((0..RUNS).map(run));
    read.assert_near(mirrored::READ);
    write.assert_near(mirrored::WRITE);
}
