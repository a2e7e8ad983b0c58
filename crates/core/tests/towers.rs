//! Random towers of wrappers, queues and drives under random requests and faults, each made from
//! one seed.
//!
//! In any tower, every request must complete exactly once with a status, its parts must add up to
//! its response, completions must come in order of time, and ordered requests and flushes must keep
//! their guarantees. A failure prints the command that runs its seed again.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use diskarm_core::array::SideBySide;
use diskarm_core::device::{Completion, Device, Outcome, Refused, Status};
use diskarm_core::drive::Drive;
use diskarm_core::host::Host;
use diskarm_core::mirror::{Mirror, Mirroring, Reads, Routing, Writes};
use diskarm_core::request::{Op, Ordering, Priority, Request};
use diskarm_core::sched::{INFOS, PolicyConfig};
use diskarm_core::spec::{self, PreSeek, ReadAhead, Spec, WriteCache};
use diskarm_core::tower::{self, BoxedDevice};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{
    Affected, BadBlocks, FaultPlan, Faults, Limits, Observed, Outage, RandomErrors, Recalibration,
    Recording, Spikes, Throttle,
};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Towers that each run of the test builds.
const SEEDS: u64 = 10_000;

/// The tiny drive of the examples worked by hand.
const MECHANISM: &str = include_str!("drive/tiny.toml");
/// What takes it time besides.
const OVERHEADS: &str = r#"
[buffer]
segments = 3
segment = "12 KiB"
[overheads]
read_hit_after_read = "0.1 ms"
read_miss_after_read = "0.3 ms"
read_miss_after_write = "0.3 ms"
write_hit_after_write = "0.2 ms"
write_miss_after_read = "0.4 ms"
write_completion = "0.05 ms"
[bus]
read_sector = "0.05 ms"
write_sector = "0.05 ms"
"#;
const BLOCKS: u64 = 200;
const REVOLUTION: Span = Span::from_ns(10_000_000);
const SECTOR: Span = Span::from_ns(1_000_000);
/// The clock of a drive is off by no more for each request.
const ROUNDING: Span = Span::from_ns(1_000);

/// Random numbers for one tower.
struct Dice(Pcg64Mcg);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len() as u64) as usize]
    }

    fn us(&mut self, bound: u64) -> Span {
        Span::from_ns(self.below(bound * 1_000) as i64)
    }
}

/// The plan of a tower. The same plan always builds the same device.
#[derive(Clone, Debug)]
struct Tower {
    spec: Spec,
    /// The devices in front of each drive, starting at the drive.
    levels: Vec<Level>,
    /// Each disk is a pair of such drives.
    mirroring: Option<Mirroring>,
    disks: u16,
    /// The devices in front of all drives.
    above: Vec<Level>,
}

#[derive(Clone, Debug)]
enum Level {
    Faults(FaultPlan),
    Throttle(Limits),
    Observed,
    Queue(PolicyConfig, Option<SectorCount>),
}

fn policy(dice: &mut Dice) -> PolicyConfig {
    let text = dice.of(INFOS).name;
    text.parse().expect("a policy with its defaults")
}

fn random_spec(dice: &mut Dice) -> Spec {
    let text = format!("{MECHANISM}{OVERHEADS}");
    let mut spec = spec::parse(&text, "tower.toml").expect("a sound specification");
    spec.buffer.caching = !dice.one_in(4);
    if spec.buffer.caching {
        let caches = [WriteCache::Off, WriteCache::Streams, WriteCache::Always];
        spec.buffer.write_cache = dice.of(&caches);
        spec.buffer.combine_writes = dice.one_in(2);
        let aheads = [ReadAhead::None, ReadAhead::TrackEnd, ReadAhead::UntilFull];
        spec.buffer.read_ahead = dice.of(&aheads);
        spec.buffer.arriving_hits = dice.one_in(2);
    }
    spec.bus.hold_read = dice.one_in(2);
    spec.queue.depth = 1 + dice.below(4) as u32;
    spec.queue.policy = policy(dice);
    let levels = [
        PreSeek::Acknowledged,
        PreSeek::CompletionReady,
        PreSeek::MediaDone,
    ];
    spec.queue.preseek = dice.of(&levels);
    spec
}

fn random_faults(dice: &mut Dice) -> FaultPlan {
    let mut plan = FaultPlan {
        seed: dice.below(1 << 40),
        ..FaultPlan::default()
    };
    let errors = |dice: &mut Dice| RandomErrors {
        share: dice.of(&[0.01, 0.2, 1.0]),
        retries: 1 + dice.below(3) as u16,
    };
    for blocks in [&mut plan.medium_errors, &mut plan.recovered_errors] {
        if dice.one_in(3) {
            let first = dice.below(BLOCKS);
            blocks.push(BadBlocks {
                first: Lbn(first),
                end: Lbn(first + 1 + dice.below(20)),
                affected: dice.of(&[Affected::Reads, Affected::Writes, Affected::Both]),
                retries: 1 + dice.below(3) as u16,
            });
        }
    }
    plan.random_medium_errors = dice.one_in(4).then(|| errors(dice));
    plan.random_recovered_errors = dice.one_in(4).then(|| errors(dice));
    plan.spikes = dice.one_in(4).then(|| Spikes {
        share: 0.3,
        delay: dice.us(5_000) + Span::from_ns(1),
    });
    plan.recalibration = dice.one_in(4).then(|| {
        let lasts = dice.us(10_000) + Span::from_ns(1);
        let every = lasts + dice.us(40_000) + Span::from_ns(1);
        Recalibration { every, lasts }
    });
    let mut at = Instant::START;
    for _ in 0..dice.of(&[0, 0, 1, 3]) {
        let from = at + dice.us(50_000);
        at = from + dice.us(10_000) + Span::from_ns(1);
        plan.outages.push(Outage { from, until: at });
    }
    plan
}

fn random_levels(dice: &mut Dice) -> Vec<Level> {
    let count = dice.of(&[0, 1, 2, 3, 4]);
    let level = |dice: &mut Dice| match dice.below(4) {
        0 => Level::Faults(random_faults(dice)),
        1 => Level::Throttle(Limits {
            requests_per_s: dice.one_in(2).then(|| dice.of(&[40.0, 150.0, 3_000.0])),
            bytes_per_s: dice.one_in(2).then(|| dice.of(&[30e3, 300e3, 4e6])),
            burst: dice.us(20_000),
        }),
        2 => Level::Observed,
        _ => queue(dice),
    };
    (0..count).map(|_| level(dice)).collect()
}

fn random_mirroring(dice: &mut Dice) -> Mirroring {
    let affinity = Routing::Affinity {
        pivot: Lbn(dice.below(BLOCKS)),
        relaxed: dice.one_in(2).then(|| dice.below(4)),
    };
    let routings = [
        Routing::Uniform,
        Routing::Cyclic,
        affinity,
        Routing::ShortestQueue,
        Routing::ShortestResponse,
        Routing::LastRequest,
        Routing::LeastResponse,
        Routing::LeastService,
    ];
    let routing = dice.of(&routings);
    let reads = match dice.one_in(2) {
        true => Reads::Shared,
        false => Reads::Routed(routing),
    };
    let tried = routing.tried().filter(|_| reads != Reads::Shared);
    let needed = tried.and_then(|(needed, _)| needed.parse().ok());
    Mirroring {
        policy: needed.unwrap_or_else(|| policy(dice)),
        reads,
        writes: dice.of(&[Writes::Both, Writes::Both, Writes::First]),
        transposed: dice.one_in(2).then(|| SectorCount(1 + dice.below(60))),
        seed: dice.below(1 << 40),
    }
}

fn queue(dice: &mut Dice) -> Level {
    let merge = dice.one_in(3).then(|| SectorCount(1 + dice.below(64)));
    Level::Queue(policy(dice), merge)
}

impl Tower {
    fn random(dice: &mut Dice) -> Self {
        let mut tower = Self {
            spec: random_spec(dice),
            levels: random_levels(dice),
            mirroring: None,
            disks: dice.of(&[1, 1, 2, 3]),
            above: random_levels(dice),
        };
        // Without a queue of the host a full drive refuses requests.
        if !dice.one_in(4) {
            tower.levels.push(queue(dice));
        }
        tower.mirroring = dice.one_in(2).then(|| random_mirroring(dice));
        tower
    }

    /// A drive with its levels, or a pair of them.
    fn disk(&self) -> BoxedDevice {
        let Some(mirroring) = &self.mirroring else {
            return self.member(0);
        };
        let pair = || [self.member(0), self.member(1)];
        BoxedDevice::opaque(Mirror::new(pair(), mirroring).unwrap_or_else(|_| {
            let policy = PolicyConfig::default();
            let mirroring = Mirroring {
                policy,
                reads: Reads::default(),
                ..mirroring.clone()
            };
            Mirror::new(pair(), &mirroring).expect("order of arrival needs no knowledge")
        }))
    }

    /// A drive with its levels, which does not do the same as its twin.
    fn member(&self, index: u64) -> BoxedDevice {
        let drive = Drive::new(&self.spec, Angle::of(3 * index, 10)).expect("a sound layout");
        let mut levels = self.levels.clone();
        for level in &mut levels {
            if let Level::Faults(plan) = level {
                plan.seed += index;
            }
        }
        behind(BoxedDevice::new(drive), &levels)
    }

    /// Whether a flush waits for all that has been acknowledged.
    fn has_late_copies(&self) -> bool {
        let mut mirroring = self.mirroring.iter();
        mirroring.any(|mirroring| mirroring.writes == Writes::First)
    }

    fn build(&self) -> BoxedDevice {
        let device = if self.disks == 1 {
            self.disk()
        } else {
            let tower = self.clone();
            BoxedDevice::opaque(SideBySide::new(self.disks, move || tower.disk()))
        };
        behind(device, &self.above)
    }

    /// Whether one queue holds the requests for all disks, and so keeps their order.
    fn has_common_queue(&self) -> bool {
        let mut above = self.above.iter();
        above.any(|level| matches!(level, Level::Queue(..)))
    }

    fn has_faults(&self) -> bool {
        let mut levels = self.levels.iter().chain(&self.above);
        levels.any(|level| matches!(level, Level::Faults(_)))
    }
}

/// `device` behind `levels`. A policy that needs to know more than the device does is replaced by
/// the default.
fn behind(mut device: BoxedDevice, levels: &[Level]) -> BoxedDevice {
    for level in levels {
        device = match level {
            Level::Faults(plan) => device.wrapped(|inner| Faults::new(inner, plan, REVOLUTION)),
            Level::Throttle(limits) => device.wrapped(|inner| Throttle::new(inner, *limits)),
            Level::Observed => device.wrapped(|inner| Observed::new(inner, Recording::default())),
            Level::Queue(config, merge) => {
                let policy = tower::policy(config, &device);
                let policy = policy.unwrap_or_else(|_| PolicyConfig::default().policy(&device));
                let host = Host::new(device, policy);
                BoxedDevice::opaque(match merge {
                    Some(max) => host.merging(*max),
                    None => host,
                })
            }
        };
    }
    device
}

/// An action on a tower, and its time.
#[derive(Clone, Copy, Debug)]
enum Step {
    Submit(Request),
    Abort(u64),
}

fn random_steps(dice: &mut Dice, tower: &Tower) -> Vec<(Instant, Step)> {
    let count = 1 + dice.below(24);
    let pause = dice.of(&[1, 1_000, 10_000, 60_000]);
    let has_aborts = dice.one_in(3);
    let (mut at, mut end) = (Instant::START, 0);
    let mut steps = Vec::new();
    for id in 0..count {
        at += if dice.one_in(4) {
            Span::ZERO
        } else {
            dice.us(pause)
        };
        let op = dice.of(&[
            Op::Read,
            Op::Read,
            Op::Write,
            Op::Write,
            Op::Write,
            Op::Flush,
        ]);
        // Some continue the previous one, for mergers and caches.
        let start = if dice.one_in(3) {
            end
        } else {
            dice.below(BLOCKS)
        };
        let sectors = (1 + dice.below(16)).min(BLOCKS - start);
        end = (start + sectors) % BLOCKS;
        let mut request = match op {
            Op::Flush => Request::flush(1_000 + id),
            _ => Request::new(1_000 + id, op, Lbn(start), SectorCount(sectors)),
        };
        request.force_unit_access = dice.one_in(5);
        if dice.one_in(4) {
            request.ordering = dice.of(&[Ordering::Ordered, Ordering::HeadOfQueue]);
        }
        request.priority = dice.of(&[Priority::High, Priority::Normal, Priority::Low]);
        request.unit = dice.below(tower.disks.into()) as u16;
        steps.push((at, Step::Submit(request)));
        if has_aborts && dice.one_in(3) {
            // Of one that may be waiting, under way, done, or never submitted.
            steps.push((
                at + dice.us(20_000),
                Step::Abort(1_000 + dice.below(id + 2)),
            ));
        }
    }
    steps.sort_by_key(|(at, _)| *at);
    steps
}

/// What happens to a tower, and its invariants.
struct Run {
    device: BoxedDevice,
    /// Requests that were submitted, in order, and when.
    submitted: Vec<(Instant, Request)>,
    /// Their completions by id.
    done: BTreeMap<u64, Completion>,
    aborted: Vec<u64>,
    now: Instant,
    events: usize,
}

impl Run {
    /// Takes completions up to `until` without asking for the events in between.
    fn leap(&mut self, until: Instant) {
        while let Some(completion) = self.device.advance(until) {
            assert!(completion.at <= until, "{completion:?} by {until:?}");
            assert!(
                completion.at >= self.now,
                "{completion:?} after {:?}",
                self.now
            );
            self.now = completion.at;
            self.complete(completion);
        }
    }

    /// Takes completions up to `until`, event by event.
    fn advance(&mut self, until: Instant) {
        while let Some(at) = self.device.next_event().filter(|at| *at <= until) {
            self.events += 1;
            let bound = 1_000 + 100 * self.submitted.len();
            assert!(self.events < bound, "{} events by {at:?}", self.events);
            assert!(at >= self.now, "an event at {at:?} after {:?}", self.now);
            self.now = at;
            if let Some(completion) = self.device.advance(at) {
                self.complete(completion);
            }
        }
    }

    fn complete(&mut self, completion: Completion) {
        let id = completion.request.id;
        let submitted = self.submitted.iter().find(|(_, request)| request.id == id);
        let Some(&(arrived, request)) = submitted else {
            panic!("never submitted: {completion:?}");
        };
        assert_eq!((completion.request, completion.arrived), (request, arrived));
        assert_eq!(completion.at, self.now, "{completion:?}");
        let total = completion.breakdown.total();
        assert_eq!(total, completion.response(), "{completion:?}");
        for part in [completion.breakdown.queue, completion.breakdown.owed] {
            assert!(part >= Span::ZERO, "{completion:?}");
        }
        let twice = self.done.insert(id, completion);
        assert_eq!(twice, None, "completed again: {completion:?}");
    }

    fn step(&mut self, at: Instant, step: Step) {
        self.now = at;
        match step {
            Step::Submit(request) => {
                let has_room = self.device.has_room() && self.device.accepts(&request);
                // A throttle holds what it has no room for.
                match self.device.submit(at, request) {
                    Ok(()) => self.submitted.push((at, request)),
                    Err(why) => assert_eq!((has_room, why), (false, Refused::Full)),
                }
            }
            Step::Abort(id) => {
                if self.device.abort(at, id) {
                    assert!(!self.done.contains_key(&id), "{id} was aborted when done");
                    self.aborted.push(id);
                }
            }
        }
    }

    fn finish(&mut self) {
        self.advance(Instant::NEVER);
        assert_eq!(self.done.len(), self.submitted.len(), "requests were lost");
        for completion in self.done.values() {
            let is_aborted = self.aborted.contains(&completion.request.id);
            if is_aborted {
                assert_eq!(completion.status, Status::Aborted, "{completion:?}");
            }
        }
    }

    /// All requests in order of arrival, with their completions.
    fn of_all(&self) -> Vec<Completion> {
        let submitted = self.submitted.iter();
        submitted
            .map(|(_, request)| self.done[&request.id])
            .collect()
    }

    /// The same of one disk.
    fn of_disk(&self, unit: u16) -> Vec<Completion> {
        let mut own = self.of_all();
        own.retain(|done| done.request.unit == unit);
        own
    }
}

/// No request overtakes an ordered one, and that one overtakes none, but for those at the head of
/// the queue.
fn check_order(requests: &[Completion]) {
    let is_head = |done: &Completion| done.request.ordering == Ordering::HeadOfQueue;
    let requests: Vec<_> = requests.iter().filter(|done| !is_head(done)).collect();
    for (place, ordered) in requests.iter().enumerate() {
        if ordered.request.ordering != Ordering::Ordered {
            continue;
        }
        for earlier in &requests[..place] {
            assert!(earlier.at <= ordered.at, "{earlier:?} after {ordered:?}");
        }
        for later in &requests[place + 1..] {
            assert!(later.at >= ordered.at, "{later:?} before {ordered:?}");
        }
    }
}

/// After a flush the media have had the time to take what was absorbed before it came.
fn check_flushes(requests: &[Completion]) {
    let is_good = |done: &&Completion| done.status.is_success();
    let flushes = requests.iter().filter(|done| done.request.op == Op::Flush);
    for flush in flushes.filter(is_good) {
        let absorbed =
            |done: &&Completion| done.outcome == Outcome::Absorbed && done.at < flush.arrived;
        let mut writes: Vec<_> = requests.iter().filter(absorbed).collect();
        writes.sort_by_key(|done| std::cmp::Reverse(done.arrived));
        let mut needs = Span::ZERO;
        for write in writes {
            // Requests of one merged command are absorbed together, so each is counted once.
            needs += SECTOR * write.request.sectors.0 - ROUNDING;
            let took = flush.at - write.arrived;
            assert!(
                took >= needs,
                "{flush:?} within {took} of {write:?}, which needs {needs}"
            );
        }
    }
}

/// With a drive that nobody asks for anything else, the second of two flushes has nothing to do.
fn check_flushed(run: &mut Run, disks: u16) {
    for unit in 0..disks {
        let mut flush = |id| {
            let flush = Request {
                unit,
                ..Request::flush(id)
            };
            let at = run.now;
            run.step(at, Step::Submit(flush));
            run.advance(Instant::NEVER);
            run.done[&id]
        };
        let first = flush(u64::from(unit) * 2);
        let second = flush(u64::from(unit) * 2 + 1);
        assert_eq!(
            second.breakdown.owed,
            Span::ZERO,
            "{second:?} after {first:?}"
        );
    }
}

/// Runs `steps` on `tower`.
fn serve(dice: &mut Dice, tower: &Tower, steps: &[(Instant, Step)]) -> Run {
    let mut run = Run {
        device: tower.build(),
        submitted: Vec::new(),
        done: BTreeMap::new(),
        aborted: Vec::new(),
        now: Instant::START,
        events: 0,
    };
    let leaps = dice.one_in(3);
    for &(at, step) in steps {
        // At one instant completions come first, or what the tower is asked for.
        let before = run
            .now
            .max(at.shifted(-Span::from_ns(dice.below(2) as i64)));
        if leaps {
            run.leap(before);
        } else {
            run.advance(before);
        }
        run.step(at, step);
    }
    run.finish();
    run
}

/// Runs the tower of `seed`; the completions of its requests.
fn run(seed: u64) -> Vec<Completion> {
    let dice = &mut Dice::new(seed);
    let tower = Tower::random(dice);
    let steps = random_steps(dice, &tower);
    let mut run = serve(dice, &tower, &steps);
    let has_faults = tower.has_faults();
    for unit in 0..tower.disks {
        let requests = run.of_disk(unit);
        if !tower.has_late_copies() {
            check_flushes(&requests);
        }
        if !has_faults {
            assert!(
                requests
                    .iter()
                    .all(|done| { matches!(done.status, Status::Good | Status::Aborted) })
            );
            if run.aborted.is_empty() {
                check_order(&requests);
            }
        }
    }
    if !has_faults && run.aborted.is_empty() && tower.has_common_queue() {
        check_order(&run.of_all());
    }
    if !has_faults {
        check_flushed(&mut run, tower.disks);
    }
    run.done.into_values().collect()
}

/// What the towers must have met, or the test shows nothing.
#[derive(Debug, Default)]
struct Met {
    recovered: u64,
    medium_errors: u64,
    not_ready: u64,
    aborted: u64,
    absorbed: u64,
    ordered: u64,
}

impl Met {
    fn note(&mut self, done: &Completion) {
        match done.status {
            Status::Good => {}
            Status::Recovered { .. } => self.recovered += 1,
            Status::MediumError { .. } => self.medium_errors += 1,
            Status::NotReady => self.not_ready += 1,
            Status::Aborted => self.aborted += 1,
        }
        self.absorbed += u64::from(done.outcome == Outcome::Absorbed);
        self.ordered += u64::from(done.request.ordering == Ordering::Ordered);
    }
}

#[test]
fn every_tower_keeps_its_promises() {
    let one = std::env::var("DISKARM_TOWER_SEED").ok();
    let one: Option<u64> = one.map(|seed| seed.parse().expect("a whole number as the seed"));
    let seeds = one.map_or(0..SEEDS, |seed| seed..seed + 1);
    let mut met = Met::default();
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| run(seed))) {
            Ok(done) => done.iter().for_each(|done| met.note(done)),
            Err(panic) => {
                eprintln!("DISKARM_TOWER_SEED={seed} cargo test -p diskarm-core --test towers");
                resume_unwind(panic);
            }
        }
    }
    let Met {
        recovered,
        medium_errors,
        not_ready,
        aborted,
        absorbed,
        ordered,
    } = met;
    let least = [
        recovered,
        medium_errors,
        not_ready,
        aborted,
        absorbed,
        ordered,
    ];
    let is_enough = least.into_iter().all(|count| count >= SEEDS / 10);
    assert!(is_enough || one.is_some(), "{met:?}");
}

/// Without faults and limits, a tower with wrappers does what it does without them.
#[test]
fn wrappers_with_nothing_to_do_change_nothing() {
    let idle = || {
        let faults = Level::Faults(FaultPlan::default());
        [faults, Level::Throttle(Limits::default()), Level::Observed]
    };
    for seed in 0..SEEDS / 4 {
        let dice = &mut Dice::new(seed);
        let (spec, policy) = (random_spec(dice), policy(dice));
        let tower = |disks, wrappers: fn() -> [Level; 3], is_wrapped: bool| {
            let wrappers = || wrappers().into_iter().filter(|_| is_wrapped);
            let queue = Level::Queue(policy.clone(), None);
            Tower {
                spec: spec.clone(),
                levels: wrappers().chain([queue]).chain(wrappers()).collect(),
                mirroring: None,
                disks,
                above: wrappers().collect(),
            }
        };
        let disks = dice.of(&[1, 2]);
        let [plain, wrapped] = [false, true].map(|is_wrapped| tower(disks, idle, is_wrapped));
        let steps = random_steps(dice, &plain);
        let expected = serve(&mut Dice::new(seed), &plain, &steps).done;
        let found = serve(&mut Dice::new(seed), &wrapped, &steps).done;
        assert_eq!(expected, found, "seed {seed}");
    }
}
