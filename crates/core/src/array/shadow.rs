//! Arrays with two copies of all data on real bytes: devices that end commands after random times,
//! and a model of the data that were read and written.

use std::collections::{BTreeMap, BTreeSet};

use super::{Array, Part, Placement, blocks_of, overlaps, part_of};
use crate::device::slow::Log;
use crate::device::{Completion, DataLoss, Device, Failure, Work};
use crate::random::{Generator, Purpose, below, generator};
use crate::request::{Op, Ordering, Request};
use crate::units::{Instant, Lbn, SectorCount, Span};

/// The knowledge of a test about the placement of copies.
pub(crate) trait Copies: Placement {
    /// Returns true if the device in the slot `member` has the copy of the block at `start`.
    fn has(array: &Array<Self>, member: usize, start: u64) -> bool;

    /// Serves also requests that wait for more to arrive.
    fn empty(_array: &mut Array<Self>, _now: Instant) {}
}

/// Counts over random runs.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// Blocks that were read.
    pub checked: u64,
    pub rebuilt: u64,
    pub lost: u64,
    pub held: u64,
}

/// An array of slow devices.
pub(crate) struct TestArray<P: Placement> {
    pub array: Array<P>,
    pub members: usize,
    pub has_spare: bool,
    pub sectors: SectorCount,
    pub failures: Vec<Failure>,
}

/// An array and the contents of its devices: for each block the request that wrote it.
struct Shadow<P: Placement> {
    array: Array<P>,
    log: Log,
    members: usize,
    devices: Vec<Vec<u64>>,
    failures: Vec<Failure>,
    /// The number of past failures.
    failed: usize,
    /// The blocks of the spare that the rebuild has written in steps that have ended.
    restored: BTreeSet<u64>,
    /// The blocks that the current step has written: a partial step counts for nothing.
    restoring: BTreeSet<u64>,
    steps: Option<(u64, u64)>,
    lost: Option<DataLoss>,
    /// The data that the rebuild has read, by block of the array.
    read: BTreeMap<Lbn, u64>,
    /// The request of each part; `None` for the rebuild.
    requests: BTreeMap<u64, Option<Request>>,
    /// The writes to each block, in order.
    history: Vec<Vec<u64>>,
    /// The number of the last acknowledged write of each block.
    settled: Vec<usize>,
    /// The value of `settled` for the blocks of a request when it was submitted.
    settled_before: BTreeMap<u64, Vec<usize>>,
    /// The requests that have not completed.
    inside: BTreeMap<u64, Request>,
    /// The blocks that have been read for each read.
    found: BTreeMap<u64, BTreeSet<Lbn>>,
    checked: u64,
}

/// Returns failures of different members, before the requests or among them. `counts` are possible
/// numbers of failures, and `pauses_ns` possible times between them.
pub(crate) fn random_failures(
    members: usize,
    counts: &[usize],
    pauses_ns: [u64; 4],
    dice: &mut Generator,
) -> Vec<Failure> {
    let count = counts[below(dice, counts.len() as u64) as usize];
    let mut failures: Vec<Failure> = Vec::new();
    let mut at = 0;
    while failures.len() < count {
        at += pauses_ns[below(dice, 4) as usize];
        let failure = Failure {
            member: below(dice, members as u64) as usize,
            at: Instant::from_ns(at + u64::from(at > 0) * below(dice, 1_000)),
        };
        if failures.iter().all(|other| other.member != failure.member) {
            failures.push(failure);
        }
    }
    failures
}

/// Returns up to two failures of a pair or an array with two copies.
pub(crate) fn random_failures_of_copies(members: usize, dice: &mut Generator) -> Vec<Failure> {
    random_failures(members, &[0, 1, 1, 2], [0, 300, 5_000, 40_000], dice)
}

/// Returns the data that an array reports as lost.
pub(crate) fn reported_loss(array: &impl Device) -> Option<DataLoss> {
    let mut parts = array.components(Instant::START).into_iter();
    parts.find_map(|part| match part.work {
        Work::Redundancy(work) => work.lost,
        _ => None,
    })
}

impl<P: Copies> Shadow<P> {
    /// Follows an array whose devices write `log`.
    fn new(made: TestArray<P>, log: Log) -> Self {
        let TestArray {
            array,
            members,
            has_spare,
            sectors,
            mut failures,
        } = made;
        failures.sort_by_key(|failure| (failure.at, failure.member));
        let blocks = array.capacity().0 as usize;
        let devices = members + usize::from(has_spare);
        let mut shadow = Self {
            array,
            log,
            members,
            devices: vec![vec![0; sectors.0 as usize]; devices],
            failures,
            failed: 0,
            restored: BTreeSet::new(),
            restoring: BTreeSet::new(),
            steps: None,
            lost: None,
            read: BTreeMap::new(),
            requests: BTreeMap::new(),
            history: vec![vec![0]; blocks],
            settled: vec![0; blocks],
            settled_before: BTreeMap::new(),
            inside: BTreeMap::new(),
            found: BTreeMap::new(),
            checked: 0,
        };
        shadow.fail_by(Instant::START);
        shadow
    }

    /// Applies failures that are due, and records the blocks that no other device has.
    fn fail_by(&mut self, now: Instant) {
        let due = |failure: &&Failure| failure.at <= now;
        while let Some(failure) = self.failures.get(self.failed).filter(due) {
            self.failed += 1;
            self.lost = self.lost.or(self.lost_blocks(failure.at));
        }
    }

    fn has_failed(&self, device: usize) -> bool {
        let failed = &self.failures[..self.failed];
        failed.iter().any(|failure| failure.member == device)
    }

    /// Returns the blocks that no remaining device has: a spare has the rebuilt ones.
    fn lost_blocks(&self, at: Instant) -> Option<DataLoss> {
        let mut left = BTreeSet::new();
        for (device, stored) in self.devices.iter().enumerate() {
            let is_spare = device == self.members;
            let (member, has_failed) = if is_spare {
                (self.failures[0].member, false)
            } else {
                (device, self.has_failed(device))
            };
            let blocks = (0..stored.len() as u64)
                .filter(|start| !has_failed && (!is_spare || self.restored.contains(start)));
            left.extend(blocks.filter_map(|start| self.block(member, start)));
        }
        let blocks = SectorCount(self.array.capacity().0 - left.len() as u64);
        let mut all = (0..self.array.capacity().0).map(Lbn);
        let first = all.find(|block| !left.contains(block))?;
        Some(DataLoss { at, first, blocks })
    }

    /// Submits a request, unless it is a write to blocks that are being written: the order of the
    /// two would be undefined.
    fn submit(&mut self, now: Instant, request: Request) {
        if request.op == Op::Write {
            let mut writes = self.inside.values().filter(|other| other.op == Op::Write);
            if writes.any(|other| overlaps(&blocks_of(&request), &blocks_of(other))) {
                return;
            }
            for block in request.start.0..request.end().0 {
                self.history[block as usize].push(request.id);
            }
        }
        let blocks = request.start.0 as usize..request.end().0 as usize;
        let settled = self.settled[blocks].to_vec();
        self.settled_before.insert(request.id, settled);
        self.inside.insert(request.id, request);
        assert_eq!(self.array.submit(now, request), Ok(()));
        self.requests = self.requests();
    }

    /// Returns the request of each part; `None` for the rebuild.
    fn requests(&self) -> BTreeMap<u64, Option<Request>> {
        let parents = &self.array.parents;
        let request = |part: &Part| Some(parents.get(part.parent?)?.request);
        let parts = self.array.parts.iter();
        parts.map(|(id, part)| (id, request(part))).collect()
    }

    fn block(&self, member: usize, start: u64) -> Option<Lbn> {
        P::block_at(&self.array, member, Lbn(start))
    }

    /// Returns the steps of the rebuild that have ended, and all.
    fn steps(&self) -> Option<(u64, u64)> {
        let progress = self.array.rebuilt()?;
        Some((progress.steps, progress.of))
    }

    /// Continues to the next event.
    fn step(&mut self, at: Instant) {
        self.fail_by(at);
        let numbers = self.array.slots.numbers();
        let done = self.array.advance(at);
        let ended = std::mem::take(&mut *self.log.lock().expect("no other has failed"));
        for (device, command) in ended {
            self.carry_out(&numbers, device, &command);
        }
        self.requests = self.requests();
        let steps = self.steps();
        if std::mem::replace(&mut self.steps, steps) != steps {
            self.restored.append(&mut self.restoring);
        }
        if let Some(done) = done {
            self.complete(&done);
        }
    }

    fn complete(&mut self, done: &Completion) {
        let submitted = self.inside.remove(&done.request.id);
        assert_eq!(submitted, Some(done.request), "completed once");
        let found = self.found.remove(&done.request.id).unwrap_or_default();
        if !done.status.is_success() {
            assert!(self.lost.is_some(), "{done:?}");
            return;
        }
        if done.request.op == Op::Read {
            let blocks = done.request.start.0..done.request.end().0;
            assert!(found.into_iter().eq(blocks.map(Lbn)), "{done:?}");
        } else {
            // Reads from now on may not find what this write has replaced.
            for block in done.request.start.0..done.request.end().0 {
                let history = &self.history[block as usize];
                let number = history.iter().position(|value| *value == done.request.id);
                self.settled[block as usize] = number.expect("a write in the history");
            }
        }
    }

    fn carry_out(&mut self, numbers: &[usize], device: usize, command: &Request) {
        assert!(
            !self.has_failed(device),
            "{command:?} of {device}: too late"
        );
        let member = numbers
            .iter()
            .position(|number| *number == device)
            .expect("a device in its place");
        let request = self.requests[&part_of(command.id).0];
        for start in command.start.0..command.end().0 {
            let block = self.block(member, start).expect("a block of the array");
            let stored = self.devices[device][start as usize];
            let Some(request) = request else {
                if command.op == Op::Read {
                    self.read.insert(block, stored);
                } else {
                    assert_eq!(device, self.members, "the spare");
                    self.restoring.insert(start);
                    self.devices[device][start as usize] = self.read[&block];
                }
                continue;
            };
            assert!((request.start..request.end()).contains(&block));
            if command.op == Op::Write {
                self.devices[device][start as usize] = request.id;
                continue;
            }
            let settled = &self.settled_before[&request.id];
            let settled = settled[(block.0 - request.start.0) as usize];
            let allowed = &self.history[block.0 as usize][settled..];
            assert!(allowed.contains(&stored), "{block:?} of {request:?}");
            self.found.entry(request.id).or_default().insert(block);
            self.checked += 1;
        }
    }

    /// Checks the final contents of the devices: the last write of each block.
    fn check_all(&self) {
        for (member, number) in self.array.slots.numbers().into_iter().enumerate() {
            let stored = self.devices[number].iter();
            for (start, stored) in (0..).zip(stored) {
                let block = self.block(member, start);
                if let Some(block) = block.filter(|_| P::has(&self.array, member, start)) {
                    let last = self.history[block.0 as usize].last();
                    assert_eq!(Some(stored), last, "{block:?} of {member}");
                }
            }
        }
    }
}

/// Runs arrays, whole, degraded, while a member fails and while it is rebuilt, under requests that
/// overlap: reads return data that were acknowledged or are being written, and finally each member
/// has the last write of each block. Each request completes once, a read with all its blocks, and
/// no device completes anything after it has failed. Requests fail only after a second failure has
/// lost data, which are the blocks that no remaining device has, and then nothing is served.
///
/// `random` creates an array of devices that write a log.
pub(crate) fn check<P: Copies>(
    runs: u64,
    random: impl Fn(&mut Generator, &Log) -> TestArray<P>,
) -> Met {
    let mut met = Met::default();
    for seed in 0..runs {
        let dice = &mut generator(seed, 0, Purpose::Requests);
        let log = Log::default();
        let made = random(dice, &log);
        let mut shadow = Shadow::new(made, log);
        run(&mut shadow, dice, &mut met);
        met.checked += shadow.checked;
        assert_eq!(reported_loss(&shadow.array), shadow.lost, "seed {seed}");
        assert_eq!(shadow.array.has_lost_data(), shadow.lost.is_some());
        if shadow.array.has_lost_data() {
            met.lost += 1;
            continue;
        }
        if let Some((steps, all)) = shadow.steps() {
            assert_eq!(steps, all);
            met.rebuilt += 1;
        }
        shadow.check_all();
    }
    met
}

/// Random requests, until all have completed and the rebuild has ended.
fn run<P: Copies>(shadow: &mut Shadow<P>, dice: &mut Generator, met: &mut Met) {
    let blocks = shadow.array.capacity().0;
    let pause = [1, 300, 3_000][below(dice, 3) as usize];
    let mut at = Instant::START;
    for id in 1..=30 {
        at += Span::from_ns(below(dice, pause) as i64);
        while let Some(event) = shadow.array.next_event().filter(|event| *event <= at) {
            shadow.step(event);
        }
        let first = below(dice, blocks);
        let sectors = 1 + below(dice, 6.min(blocks - first));
        let is_write = below(dice, 3) == 0;
        let op = if is_write { Op::Write } else { Op::Read };
        let mut request = Request::new(id, op, Lbn(first), SectorCount(sectors));
        if below(dice, 20) == 0 {
            request.ordering = Ordering::Ordered;
        }
        shadow.submit(at, request);
        met.held += u64::from(!shadow.array.held.is_empty());
    }
    P::empty(&mut shadow.array, at);
    while let Some(event) = shadow.array.next_event() {
        shadow.step(event);
    }
    let array = &shadow.array;
    assert!(array.parents.is_empty() && array.parts.is_empty() && array.held.is_empty());
    assert!(shadow.inside.is_empty(), "{:?}", shadow.inside);
}
