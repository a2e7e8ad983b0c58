//! Seeded simulations to test the formulas: a queue, and mirrored pairs of devices.

use diskarm_core::device::{Breakdown, Completion, Device, Outcome, Status, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::mirror::{Mirror, MirrorConfig, ReadDispatch, Routing, starting_angle};
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{self, Spec};
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};

use crate::mirrored;
use crate::queues::{e2m1_response, mmc_response};

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a uniform number from 0 to 1, but never 0.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / 2f64.powi(53) + 2f64.powi(-54)
    }

    pub fn exponential(&mut self, rate: f64) -> f64 {
        -self.uniform().ln() / rate
    }
}

const WARM_UP: usize = 2_000;
const COUNTED: usize = 40_000;

/// Returns the waiting times after the warm-up, in order of arrival, by Lindley's recursion.
pub fn serve(
    random: &mut Random,
    servers: usize,
    mut pause: impl FnMut(&mut Random) -> f64,
    mut service: impl FnMut(&mut Random) -> f64,
) -> Vec<f64> {
    let (mut free, mut now) = (vec![0.0_f64; servers], 0.0);
    let mut waits = Vec::new();
    for _ in 0..WARM_UP + COUNTED {
        now += pause(random);
        free.sort_by(f64::total_cmp);
        let begin = now.max(free[0]);
        free[0] = begin + service(random);
        waits.push(begin - now);
    }
    waits.split_off(WARM_UP)
}

#[derive(Debug)]
pub struct Mean {
    mean: f64,
    error: f64,
}

impl Mean {
    /// Asserts that `expected` is within four standard errors. With 20 runs, a correct expectation
    /// fails for about one seed in a thousand (Student's t with 19 degrees of freedom).
    pub fn assert_near(&self, expected: f64) {
        let off = (self.mean - expected).abs();
        assert!(off < 4.0 * self.error, "{self:?}, expected {expected}");
        // The test can detect an error of 10 %.
        assert!(4.0 * self.error < 0.1 * expected, "{self:?}");
    }
}

pub fn means<const N: usize>(runs: impl Iterator<Item = [f64; N]>) -> [Mean; N] {
    let runs: Vec<[f64; N]> = runs.collect();
    let count = runs.len() as f64;
    std::array::from_fn(|at| {
        let mean = runs.iter().map(|run| run[at]).sum::<f64>() / count;
        let squares: f64 = runs.iter().map(|run| (run[at] - mean).powi(2)).sum();
        Mean {
            mean,
            error: (squares / (count - 1.0) / count).sqrt(),
        }
    })
}

/// A server with exponential service times with a mean of one second.
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

/// Returns the mean response at a pair of servers, with Poisson arrivals at a load of `load` each.
fn response(seed: u64, reads: ReadDispatch, op: Op, load: f64) -> f64 {
    let server = |index: u64| {
        BoxedDevice::opaque(Server {
            random: Random::new(seed * 10 + index),
            under_way: None,
        })
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
    for id in 0..WARM_UP + COUNTED / 2 {
        now += Span::from_s(random.exponential(2.0 * load));
        take(&mut pair, now);
        let request = Request::new(id as u64, op, Lbn(id as u64 % 1_000), SectorCount(1));
        pair.submit(now, request).unwrap();
    }
    take(&mut pair, Instant::NEVER);
    assert_eq!(ended, WARM_UP + COUNTED / 2);
    sum.as_s() / (COUNTED / 2) as f64
}

fn mean(reads: ReadDispatch, op: Op, load: f64) -> Mean {
    let [mean] = means((1..=20).map(|seed| [response(seed, reads, op, load)]));
    mean
}

#[test]
fn a_shared_queue_of_reads_matches_m_m_2() {
    let pair = mean(ReadDispatch::Shared, Op::Read, 0.6);
    pair.assert_near(mmc_response(2, 1.2, 1.0).unwrap());
}

#[test]
fn uniform_routing_matches_m_m_1_and_cyclic_routing_e2_m_1() {
    let routed = |routing, load| mean(ReadDispatch::Routed(routing), Op::Read, load);
    let m_m_1 = mmc_response(1, 0.6, 1.0).unwrap();
    routed(Routing::Uniform, 0.6).assert_near(m_m_1);
    routed(Routing::Cyclic, 0.6).assert_near(e2m1_response(0.6, 1.0).unwrap());
    // All addresses are before the pivot, so one member gets all requests.
    let affinity = Routing::Affinity {
        pivot: Lbn(1_000),
        relaxed: None,
    };
    routed(affinity, 0.3).assert_near(m_m_1);
}

/// Both copies of a write begin together if writes are rare, and the mean of the longer of two
/// exponential times is 3/2 of their mean.
#[test]
fn a_single_write_takes_the_longer_of_two_services() {
    let alone = mean(ReadDispatch::Shared, Op::Write, 0.000_05);
    alone.assert_near(1.5);
}

/// Returns a drive with one surface and these lines in its geometry and mechanics.
fn drive(geometry: &str, mechanics: &str) -> Spec {
    let text = format!(
        r#"
        name = "one-surface"
        summary = "one surface"
        [source]
        origin = "for the test"
        [geometry]
        surfaces = 1
        sector_bytes = 512
        {geometry}
        [mechanics]
        head_switch = "1 ms"
        {mechanics}
        "#
    );
    spec::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a mirrored pair of drives whose starting angles depend on `seed`.
fn pair_of(spec: &Spec, seed: u64) -> Mirror {
    let drive =
        |index| BoxedDevice::new(Drive::new(spec, starting_angle(2 * seed + index)).unwrap());
    let mirroring = MirrorConfig {
        reads: ReadDispatch::Shared,
        ..MirrorConfig::default()
    };
    Mirror::new([drive(0), drive(1)], &mirroring).unwrap()
}

/// Serves the requests `begin` together, then `last`, and returns the completion of `last`.
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
fn rotational_waits_of_two_copies_match_simulated_pairs() {
    // No seeks: all requests are to the first of two tracks.
    let spec = drive(
        "cylinders = 2
        sectors = 2000
        zones = [{ cylinders = [0, 2], sectors_per_track = 1000 }]",
        r#"rotation = "10 ms"
        seek = { form = "table", cylinders_ms = [[1, 1]] }"#,
    );
    let wait = |op, seed| {
        let done = last(pair_of(&spec, seed), &[], at(500.0, op));
        done.breakdown.rotation.as_ms() / 10.0
    };
    let [read, write] = means((0..RUNS).map(|run| {
        let mean = |op| (0..PAIRS).map(|n| wait(op, run * PAIRS + n)).sum::<f64>() / PAIRS as f64;
        [Op::Read, Op::Write].map(mean)
    }));
    read.assert_near(mirrored::read_wait(2));
    write.assert_near(mirrored::write_wait(2));
}

/// Two simultaneous reads position the arms independently.
#[test]
fn seek_distances_of_two_copies_match_simulated_pairs() {
    // A seek takes a millisecond per cylinder, and the platter is too fast to matter.
    let spec = drive(
        "cylinders = 1000
        sectors = 1000
        zones = [{ cylinders = [0, 1000], sectors_per_track = 1 }]",
        r#"rotation = "0.001 ms"
        seek = { form = "table", cylinders_ms = [[1, 1], [999, 999]] }"#,
    );
    let distance = |op, random: &mut Random| {
        let [first, second, target] = [0; 3].map(|_: i32| random.uniform() * 1_000.0);
        let mut begin = [first, second].map(|block| at(block, Op::Read));
        begin[1].id = 8;
        let done = last(pair_of(&spec, 0), &begin, at(target, op));
        done.breakdown.seek.as_s()
    };
    let [read, write] = means((0..RUNS).map(|run| {
        let random = &mut Random::new(run);
        let mut mean = |op| (0..PAIRS).map(|_| distance(op, random)).sum::<f64>() / PAIRS as f64;
        [mean(Op::Read), mean(Op::Write)]
    }));
    read.assert_near(mirrored::READ_DISTANCE);
    write.assert_near(mirrored::WRITE_DISTANCE);
}
