//! A shadow copy of the data under a non-volatile cache: all acknowledged data are in the cache or
//! on every disk, at any time, and on the disks once the cache has been emptied. Disks of pairs
//! fail, and are rebuilt on a spare.
//!
//! Requests carry no data, so each write has a number instead. A disk records the newest numbers of
//! the blocks that it is about to write, as a controller sends what the cache holds. A rebuild
//! writes to the spare what it has read from the surviving disk.

use std::sync::{Arc, Mutex};

use diskarm_core::device::Failure;
use diskarm_core::device::{
    Completion, Device, Outcome, RedundancyWork, Status, SubmitError, Work,
};
use diskarm_core::mirror::{
    BatchOrder, DestageConfig, DestageScheme, Mirror, MirrorConfig, ReadDispatch, RebuildConfig,
};
use diskarm_core::nvcache::{CacheBacking, NvCache, NvCacheConfig};
use diskarm_core::request::{Op, Ordering, Priority, Request};
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const BLOCKS: u64 = 60;
const RUNS: u64 = 4_000;

/// The numbers of the last writes of each block.
#[derive(Default)]
struct Data {
    newest: Vec<u64>,
    /// The numbers on each disk; the last disk is a spare.
    disks: Vec<Vec<u64>>,
    /// The numbers that the rebuild has read.
    read: Vec<u64>,
}

struct Disk {
    data: Arc<Mutex<Data>>,
    index: usize,
    /// Number of commands that it accepts.
    depth: usize,
    random: Pcg64Mcg,
    waiting: Vec<(Instant, Request)>,
    busy: Option<ActiveCommand>,
    due: Vec<Completion>,
}

struct ActiveCommand {
    until: Instant,
    arrived: Instant,
    request: Request,
    numbers: Vec<u64>,
}

fn blocks(request: &Request) -> std::ops::Range<usize> {
    request.start.0 as usize..request.end().0 as usize
}

impl Disk {
    fn inside(&self) -> usize {
        self.waiting.len() + usize::from(self.busy.is_some())
    }

    /// Starts one of the waiting commands.
    fn begin(&mut self, now: Instant) {
        if self.busy.is_some() || self.waiting.is_empty() {
            return;
        }
        let chosen = self.random.next_u64() % self.waiting.len() as u64;
        let (arrived, request) = self.waiting.swap_remove(chosen as usize);
        let data = self.data.lock().expect("one thread");
        let numbers = match (request.op, request.priority) {
            (Op::Read, _) => data.disks[self.index][blocks(&request)].to_vec(),
            (_, Priority::Low) => data.read.clone(),
            _ => data.newest[blocks(&request)].to_vec(),
        };
        drop(data);
        let takes = Span::from_ns(1 + (self.random.next_u64() % 10_000) as i64);
        let until = now + takes;
        self.busy = Some(ActiveCommand {
            until,
            arrived,
            request,
            numbers,
        });
    }
}

impl Device for Disk {
    fn capacity(&self) -> SectorCount {
        SectorCount(BLOCKS)
    }

    fn sector_size(&self) -> Bytes {
        Bytes(512)
    }

    fn has_room(&self) -> bool {
        self.inside() < self.depth
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        assert!(self.has_room());
        let inside = self.busy.iter().map(|busy| busy.request);
        let others = inside.chain(self.waiting.iter().map(|(_, request)| *request));
        for other in others.filter(|other| other.op == Op::Write && request.op == Op::Write) {
            let is_disjoint = request.end() <= other.start || other.end() <= request.start;
            assert!(is_disjoint, "{request:?} while {other:?} is under way");
        }
        self.waiting.push((now, request));
        self.begin(now);
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        let due = self.due.first().map(|done| done.at);
        due.or(self.busy.as_ref().map(|busy| busy.until))
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        if !self.due.is_empty() {
            return Some(self.due.remove(0));
        }
        let ActiveCommand {
            until,
            arrived,
            request,
            numbers,
        } = self.busy.take_if(|busy| busy.until <= now)?;
        let mut data = self.data.lock().expect("one thread");
        match (request.op, request.priority) {
            (Op::Write, _) => {
                data.disks[self.index][blocks(&request)].copy_from_slice(&numbers);
            }
            (_, Priority::Low) => data.read = numbers,
            _ => {}
        }
        drop(data);
        self.begin(until);
        let good = Status::Good;
        Some(Completion::unserved(request, arrived, until, good))
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        let waits = |(_, request): &(Instant, Request)| request.id == id;
        let Some(index) = self.waiting.iter().position(waits) else {
            return false;
        };
        let (arrived, request) = self.waiting.remove(index);
        let aborted = Status::Aborted;
        self.due
            .push(Completion::unserved(request, arrived, now, aborted));
        true
    }
}

/// A run of one seed.
struct Run {
    data: Arc<Mutex<Data>>,
    cache: NvCache,
    caching: NvCacheConfig,
    mirroring: Option<MirrorConfig>,
    /// The numbers of the last writes of each block that were acknowledged.
    acknowledged: Vec<u64>,
    /// The arrival and the write number of each request, by id.
    writes: Vec<(Instant, u64)>,
    /// The acknowledged numbers before each request, by id.
    flushed: Vec<Vec<u64>>,
    counts: Counts,
}

/// Counts over all runs.
#[derive(Debug, Default)]
struct Counts {
    /// Reads of data in the cache.
    hits: u64,
    rebuilt: u64,
    lost: u64,
}

/// Returns a shared queue, with or without batches, of disks that may fail.
fn random_mirroring(random: &mut Pcg64Mcg) -> MirrorConfig {
    let mut below = |bound: u64| random.next_u64() % bound;
    let reads = 1 + below(4) as usize;
    let scheme = match below(3) {
        0 => Some(DestageScheme::Alternating),
        1 => Some(DestageScheme::Conditional { reads }),
        _ => None,
    };
    let batch = 1 + below(5) as usize;
    let order = BatchOrder::Ascending;
    let mut failures = Vec::new();
    let first = below(2) as usize;
    for member in [first, 1 - first] {
        if below(3) > 0 {
            break;
        }
        let at = Instant::from_ns([0, below(100_000), below(500_000)][below(3) as usize]);
        failures.push(Failure { member, at });
    }
    let rebuild = (!failures.is_empty() && below(4) > 0).then(|| RebuildConfig {
        share_fraction: [0.1, 0.5, 1.0][below(3) as usize],
        unit: SectorCount(1 + below(BLOCKS)),
    });
    MirrorConfig {
        reads: ReadDispatch::Shared,
        destaging: scheme.map(|scheme| DestageConfig {
            scheme,
            batch,
            order,
        }),
        failures,
        rebuild,
        ..MirrorConfig::default()
    }
}

impl Run {
    fn new(random: &mut Pcg64Mcg) -> Self {
        let is_pair = random.next_u64().is_multiple_of(2);
        let mirroring = is_pair.then(|| random_mirroring(random));
        let mut below = |bound: u64| random.next_u64() % bound;
        let data = Arc::new(Mutex::new(Data {
            newest: vec![0; BLOCKS as usize],
            disks: vec![vec![0; BLOCKS as usize]; 3],
            read: Vec::new(),
        }));
        let disk = |index: usize, depth, seed| {
            BoxedDevice::opaque(Disk {
                data: Arc::clone(&data),
                index,
                depth,
                random: Pcg64Mcg::seed_from_u64(seed),
                waiting: Vec::new(),
                busy: None,
                due: Vec::new(),
            })
        };
        let backing = if let Some(mirroring) = &mirroring {
            let members = [disk(0, 1, below(1 << 40)), disk(1, 1, below(1 << 40))];
            let spare = mirroring.rebuild.map(|_| disk(2, 1, below(1 << 40)));
            let pair = Mirror::with_spare(members, spare, mirroring);
            CacheBacking::Pair(Box::new(pair.expect("fcfs")))
        } else {
            CacheBacking::Device(disk(0, 1 + below(8) as usize, below(1 << 40)))
        };
        let has_battery_failure = below(2) == 0;
        let battery_fails =
            has_battery_failure.then(|| Instant::START + Span::from_ns(below(300_000) as i64));
        let caching = NvCacheConfig {
            size: SectorCount(1 + below(BLOCKS)),
            merge: (below(2) == 0).then(|| SectorCount(1 + below(20))),
            battery_fails,
        };
        Self {
            cache: NvCache::new(backing, caching),
            caching,
            mirroring,
            data,
            acknowledged: vec![0; BLOCKS as usize],
            writes: Vec::new(),
            flushed: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Returns the report on failures; `None` if none are possible.
    fn redundancy(&self) -> Option<RedundancyWork> {
        let parts = self.cache.components(Instant::START).into_iter();
        let mut works = parts.filter_map(|part| match part.work {
            Work::Redundancy(work) => Some(work),
            _ => None,
        });
        works.next()
    }

    /// Returns the disks, each with the number of blocks that it should have from the first on.
    fn disks(&self) -> Vec<(usize, usize)> {
        let all = BLOCKS as usize;
        let Some(mirroring) = &self.mirroring else {
            return vec![(0, all)];
        };
        let work = self.redundancy();
        let mut failures = mirroring.failures.clone();
        failures.sort_by_key(|failure| (failure.at, failure.member));
        failures.truncate(work.as_ref().map_or(0, |work| work.failed as usize));
        let is_left = |disk: &usize| failures.iter().all(|failure| failure.member != *disk);
        let mut disks: Vec<(usize, usize)> =
            (0..2).filter(is_left).map(|disk| (disk, all)).collect();
        let rebuilt = work.and_then(|work| work.rebuilt_fraction);
        if let (Some(rebuilt), Some(rebuild)) = (rebuilt, mirroring.rebuild) {
            let steps = BLOCKS.div_ceil(rebuild.unit.0) as f64;
            let blocks = (rebuilt * steps).round() as u64 * rebuild.unit.0;
            disks.push((2, all.min(blocks as usize)));
        }
        disks
    }

    fn has_lost_data(&self) -> bool {
        self.redundancy().is_some_and(|work| work.lost.is_some())
    }

    /// Handles the events up to `until`.
    fn advance(&mut self, until: Instant) {
        while let Some(at) = self.cache.next_event().filter(|at| *at <= until) {
            if let Some(done) = self.cache.advance(at) {
                self.complete(&done);
            }
            self.check();
        }
    }

    fn complete(&mut self, done: &Completion) {
        if self.has_lost_data() {
            return;
        }
        assert_eq!(done.status, Status::Good);
        let disks = self.disks();
        let id = done.request.id as usize;
        let (arrived, number) = self.writes[id];
        let has_failed = self.caching.battery_fails.is_some_and(|at| at <= arrived);
        let data = self.data.lock().expect("one thread");
        match done.request.op {
            Op::Read => self.counts.hits += u64::from(done.outcome == Outcome::Hit),
            Op::Write => {
                for block in blocks(&done.request) {
                    let newest = &mut self.acknowledged[block];
                    *newest = number.max(*newest);
                    let having = disks.iter().filter(|(_, has)| has_failed && block < *has);
                    for (disk, _) in having {
                        let on = data.disks[*disk][block];
                        assert!(on >= number, "{block} after {done:?}");
                    }
                }
            }
            Op::Flush => {
                for (disk, has) in disks.iter().filter(|_| has_failed) {
                    let mut newer = data.disks[*disk].iter().zip(&self.flushed[id]).take(*has);
                    assert!(newer.all(|(on, before)| on >= before));
                }
            }
        }
    }

    /// Checks that all acknowledged data are in the cache or on all disks.
    fn check(&self) {
        if self.has_lost_data() {
            return;
        }
        let disks = self.disks();
        let data = self.data.lock().expect("one thread");
        for (block, number) in self.acknowledged.iter().enumerate() {
            let is_safe = self.cache.holds(Lbn(block as u64))
                || disks
                    .iter()
                    .all(|(disk, has)| block >= *has || data.disks[*disk][block] >= *number);
            assert!(is_safe, "block {block}, write {number}");
        }
    }

    fn submit(&mut self, at: Instant, mut request: Request, number: u64) {
        request.id = self.writes.len() as u64;
        self.writes.push((at, number));
        self.flushed.push(self.acknowledged.clone());
        if request.op == Op::Write {
            let mut data = self.data.lock().expect("one thread");
            data.newest[blocks(&request)].fill(number);
        }
        assert_eq!(self.cache.submit(at, request), Ok(()));
        self.check();
    }
}

/// Runs random requests until the last has completed and the rebuild has ended.
fn run(seed: u64) -> Counts {
    let random = &mut Pcg64Mcg::seed_from_u64(seed);
    let mut run = Run::new(random);
    let mut below = |bound: u64| random.next_u64() % bound;
    let pause = [1, 3_000, 20_000][below(3) as usize];
    let mut at = Instant::START;
    for number in 1..=1 + below(60) {
        at += Span::from_ns(below(pause) as i64);
        let start = below(BLOCKS);
        let sectors = 1 + below(8.min(BLOCKS - start));
        let op = [Op::Read, Op::Write, Op::Write, Op::Write, Op::Flush][below(5) as usize];
        let mut request = match op {
            Op::Flush => Request::flush(0),
            _ => Request::new(0, op, Lbn(start), SectorCount(sectors)),
        };
        if below(20) == 0 {
            request.ordering = Ordering::Ordered;
        }
        run.advance(at);
        run.submit(at, request, number);
    }
    run.advance(Instant::NEVER);
    if run.has_lost_data() {
        return Counts {
            lost: 1,
            ..run.counts
        };
    }
    let redundancy = run.redundancy().filter(|work| work.failed > 0);
    if let Some(rebuilt) = redundancy.and_then(|work| work.rebuilt_fraction) {
        // The rebuild begins with the first request that the pair gets, and the pair gets all
        // writes.
        let has_begun = rebuilt > 0.0;
        let is_untouched = run.data.lock().expect("one thread").newest == [0; BLOCKS as usize];
        assert!(rebuilt == 1.0 || is_untouched && !has_begun, "{rebuilt}");
        run.counts.rebuilt += u64::from(has_begun);
    }
    let is_emptied = run.caching.battery_fails.is_some();
    if is_emptied {
        let data = run.data.lock().expect("one thread");
        for (disk, has) in run.disks() {
            let on = &data.disks[disk][..has];
            assert_eq!(
                on,
                &data.newest[..has],
                "the cache is empty after its battery failed"
            );
        }
    }
    run.counts
}

#[test]
fn acknowledged_data_are_never_lost() {
    let mut all = Counts::default();
    for seed in 0..RUNS {
        let counts = std::panic::catch_unwind(|| run(seed)).unwrap_or_else(|panic| {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic)
        });
        all.hits += counts.hits;
        all.rebuilt += counts.rebuilt;
        all.lost += counts.lost;
    }
    assert!(all.hits > RUNS / 4, "{all:?}");
    assert!(all.rebuilt > RUNS / 20 && all.lost > RUNS / 50, "{all:?}");
}
