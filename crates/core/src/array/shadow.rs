//! Tests of the data in redundant arrays, with devices that complete commands after random times
//! and a model of what is read and written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::{Array, Placement, blocks_of, overlaps, part_of};
use crate::device::{
    Breakdown, Completion, DataLoss, Device, Failure, Outcome, Status, SubmitError, Work,
};
use crate::random::{Generator, Purpose, below, generator};
use crate::request::{Op, Ordering, Request};
use crate::stack::BoxedDevice;
use crate::units::{Bytes, Instant, Lbn, SectorCount, Span};

/// A model of a placement for tests. The defaults are for placements with two copies of all data.
pub(crate) trait Model: Placement {
    /// True if complete writes to a block are on all members and took effect in order of arrival.
    const IS_SERIAL: bool = false;

    /// True if a failed member still completes the commands that it is serving, without effect.
    const FAILED_COMPLETE: bool = false;

    /// Number of writes among three requests.
    const WRITES: u64 = 1;

    fn max_sectors(_: &mut Generator, _blocks: u64) -> u64 {
        6
    }

    fn device_in(array: &Array<Self>, member: usize) -> usize {
        array.slots.numbers()[member]
    }

    fn slot_of(array: &Array<Self>, device: usize) -> Option<usize> {
        let numbers = array.slots.numbers();
        numbers.iter().position(|number| *number == device)
    }

    /// Returns true if the device in the slot `member` has its data at `start`.
    fn has(array: &Array<Self>, member: usize, start: u64) -> bool;

    /// Returns the value that a part writes to block `start` of a member.
    fn write_value(array: &Array<Self>, part: &PartRecord, member: usize, start: u64) -> u64 {
        let block = Self::block_at(array, member, Lbn(start)).expect("a block of the array");
        if let Some(value) = part.new_value(Some(block)) {
            return value;
        }
        let is_same = |at: &(usize, u64)| Self::block_at(array, at.0, Lbn(at.1)) == Some(block);
        let mut known = part.known.iter();
        let found = known.find(|(at, _)| part.request.is_none() && is_same(at));
        *found.expect("a block of the request or the rebuild").1
    }

    /// Returns the blocks that become known once `start` has been read, with their values.
    fn read_values(
        array: &Array<Self>,
        part: &PartRecord,
        member: usize,
        start: u64,
    ) -> Vec<(Lbn, u64)> {
        let block = Self::block_at(array, member, Lbn(start)).expect("a block of the array");
        vec![(block, part.known[&(member, start)])]
    }

    /// Returns the blocks that can no longer be reconstructed from members of `sectors` blocks.
    fn lost_blocks(
        array: &Array<Self>,
        sectors: u64,
        is_missing: &dyn Fn(usize, u64) -> bool,
    ) -> BTreeSet<Lbn> {
        let mut lost: BTreeSet<Lbn> = (0..array.capacity().0).map(Lbn).collect();
        for member in 0..array.members.len() {
            for start in (0..sectors).filter(|start| !is_missing(member, *start)) {
                if let Some(block) = Self::block_at(array, member, Lbn(start)) {
                    lost.remove(&block);
                }
            }
        }
        lost
    }

    fn check_parity(_: &Array<Self>, _start: u64, _stored: &dyn Fn(usize) -> u64) {}

    fn has_replaced(_: &Array<Self>) -> bool {
        false
    }

    /// Makes the array serve requests that would otherwise wait for further arrivals.
    fn serve_waiting(_: &mut Array<Self>, _now: Instant) {}
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Blocks that were read.
    pub checked: u64,
    pub rebuilt: u64,
    pub replaced: u64,
    pub lost: u64,
    pub held: u64,
}

pub(crate) struct TestArray<P: Placement> {
    pub array: Array<P>,
    pub members: usize,
    pub has_spare: bool,
    pub sectors: SectorCount,
    pub failures: Vec<Failure>,
}

/// A part of a request, and the data that it has read.
pub(crate) struct PartRecord {
    /// The id and the blocks of the request; `None` for a rebuild.
    pub request: Option<(u64, Range<u64>)>,
    rows: Range<u64>,
    /// Values by member and block of the member.
    pub known: BTreeMap<(usize, u64), u64>,
}

impl PartRecord {
    /// Returns the value that the request writes to a block, if that is one of its blocks.
    pub fn new_value(&self, block: Option<Lbn>) -> Option<u64> {
        let (id, blocks) = self.request.as_ref()?;
        let block = block.filter(|block| blocks.contains(&block.0))?;
        Some(value(*id, block.0))
    }
}

fn value(request: u64, block: u64) -> u64 {
    (request * 1_000_003 + block).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// An array and the contents of its devices.
struct Shadow<P: Placement> {
    array: Array<P>,
    log: Log,
    members: usize,
    devices: Vec<Vec<u64>>,
    failures: Vec<Failure>,
    failed: usize,
    /// The blocks of the spare that were written by completed steps of the rebuild.
    restored: BTreeSet<u64>,
    /// The blocks that the current step has written. They do not count until the step is complete.
    restoring: BTreeSet<u64>,
    steps: Option<(u64, u64)>,
    lost: Option<DataLoss>,
    parts: BTreeMap<u64, PartRecord>,
    /// The values written to each block, in order.
    history: Vec<Vec<u64>>,
    /// The number of the last acknowledged write to each block.
    settled: Vec<usize>,
    /// The value of `settled` for the blocks of a request when it was submitted.
    settled_before: BTreeMap<u64, Vec<usize>>,
    writes: BTreeSet<u64>,
    outstanding: BTreeMap<u64, Request>,
    /// For each read, the blocks that have been read or can be computed.
    found: BTreeMap<u64, BTreeSet<Lbn>>,
    checked: u64,
}

/// Returns failures of different members, before or during the requests. `counts` are possible
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

/// Returns the rebuild's share of the time after `failures`; `None` for no rebuild.
pub(crate) fn random_share(failures: &[Failure], dice: &mut Generator) -> Option<f64> {
    let has_rebuild = !failures.is_empty() && below(dice, 3) > 0;
    has_rebuild.then(|| [0.2, 0.7, 1.0][below(dice, 3) as usize])
}

fn reported_loss(array: &impl Device) -> Option<DataLoss> {
    let mut parts = array.components(Instant::START).into_iter();
    parts.find_map(|part| match part.work {
        Work::Redundancy(work) => work.lost,
        _ => None,
    })
}

impl<P: Model> Shadow<P> {
    /// Creates the model of an array whose devices write to `log`.
    fn new(test: TestArray<P>, log: Log) -> Self {
        let mut failures = test.failures;
        failures.sort_by_key(|failure| (failure.at, failure.member));
        let blocks = test.array.capacity().0 as usize;
        let devices = test.members + usize::from(test.has_spare);
        let mut shadow = Self {
            array: test.array,
            log,
            members: test.members,
            devices: vec![vec![0; test.sectors.0 as usize]; devices],
            failures,
            failed: 0,
            restored: BTreeSet::new(),
            restoring: BTreeSet::new(),
            steps: None,
            lost: None,
            parts: BTreeMap::new(),
            history: vec![vec![0]; blocks],
            settled: vec![0; blocks],
            settled_before: BTreeMap::new(),
            writes: BTreeSet::new(),
            outstanding: BTreeMap::new(),
            found: BTreeMap::new(),
            checked: 0,
        };
        shadow.fail_by(Instant::START);
        shadow
    }

    /// Applies the failures that are due, and records the lost blocks that are not rebuilt.
    fn fail_by(&mut self, now: Instant) {
        let due = |failure: &&Failure| failure.at <= now;
        while let Some(&Failure { at, .. }) = self.failures.get(self.failed).filter(due) {
            self.failed += 1;
            let is_restored = |member: usize, start: u64| {
                member == self.failures[0].member && self.restored.contains(&start)
            };
            let is_missing = |member, start| self.has_failed(member) && !is_restored(member, start);
            let lost = P::lost_blocks(&self.array, self.devices[0].len() as u64, &is_missing);
            let blocks = SectorCount(lost.len() as u64);
            let loss = lost.first().map(|&first| DataLoss { at, first, blocks });
            self.lost = self.lost.or(loss);
        }
    }

    fn has_failed(&self, device: usize) -> bool {
        let failed = &self.failures[..self.failed];
        failed.iter().any(|failure| failure.member == device)
    }

    /// Submits a request, unless it is a write to blocks that are being written and the order of
    /// the two would be undefined.
    fn submit(&mut self, now: Instant, request: Request) {
        if request.op == Op::Write {
            let mut writes = self
                .outstanding
                .values()
                .filter(|other| other.op == Op::Write);
            let has_overlap = |other: &Request| overlaps(&blocks_of(&request), &blocks_of(other));
            if !P::IS_SERIAL && writes.any(has_overlap) {
                return;
            }
            self.writes.insert(request.id);
            for block in blocks_of(&request) {
                self.history[block as usize].push(value(request.id, block));
            }
        }
        let blocks = request.start.0 as usize..request.end().0 as usize;
        let settled = self.settled[blocks].to_vec();
        self.settled_before.insert(request.id, settled);
        self.outstanding.insert(request.id, request);
        assert_eq!(self.array.submit(now, request), Ok(()));
        self.record_parts();
    }

    fn record_parts(&mut self) {
        let array = &self.array;
        self.parts.retain(|id, _| array.parts.get(*id).is_some());
        for (id, part) in array.parts.iter() {
            let request = array.request_of(part);
            let request = request.map(|request| (request.id, blocks_of(request)));
            let known = self.parts.get(&id);
            if known.is_none_or(|known| (&known.request, &known.rows) != (&request, &part.rows)) {
                let record = PartRecord {
                    request,
                    rows: part.rows.clone(),
                    known: BTreeMap::new(),
                };
                self.parts.insert(id, record);
            }
        }
    }

    /// Returns the number of completed rebuild steps, and the total number.
    fn steps(&self) -> Option<(u64, u64)> {
        let progress = self.array.rebuild_progress()?;
        Some((progress.steps, progress.total))
    }

    fn step(&mut self, at: Instant) {
        self.fail_by(at);
        let devices = 0..self.devices.len();
        let slots: Vec<_> = devices
            .map(|device| P::slot_of(&self.array, device))
            .collect();
        let done = self.array.advance(at);
        let ended = std::mem::take(&mut *self.log.lock().expect("not poisoned"));
        for (device, command) in ended {
            if P::FAILED_COMPLETE && self.has_failed(device) {
                continue;
            }
            assert!(
                !self.has_failed(device),
                "{command:?} of failed device {device}"
            );
            let slot = slots[device].expect("a device that completes commands has a slot");
            self.carry_out(device, slot, &command);
        }
        self.record_parts();
        let steps = self.steps();
        if std::mem::replace(&mut self.steps, steps) != steps {
            self.restored.append(&mut self.restoring);
        }
        if let Some(done) = done {
            self.complete(&done);
        }
    }

    fn complete(&mut self, done: &Completion) {
        let submitted = self.outstanding.remove(&done.request.id);
        assert_eq!(submitted, Some(done.request), "not outstanding");
        let found = self.found.remove(&done.request.id).unwrap_or_default();
        if !done.status.is_success() {
            assert!(self.lost.is_some(), "{done:?}");
            return;
        }
        let blocks = blocks_of(&done.request);
        if done.request.op == Op::Read {
            assert!(found.into_iter().eq(blocks.map(Lbn)), "{done:?}");
            return;
        }
        // Later reads must not return data that this write has replaced.
        for block in blocks {
            let written = value(done.request.id, block);
            let mut history = self.history[block as usize].iter();
            let number = history.position(|value| *value == written);
            let settled = &mut self.settled[block as usize];
            *settled = (*settled).max(number.expect("a write in the history"));
        }
    }

    fn carry_out(&mut self, device: usize, member: usize, command: &Request) {
        let (id, _) = part_of(command.id);
        let part = self.parts.get_mut(&id).expect("the part is recorded");
        for start in blocks_of(command) {
            let stored = &mut self.devices[device][start as usize];
            if command.op == Op::Read {
                part.known.insert((member, start), *stored);
                continue;
            }
            *stored = P::write_value(&self.array, part, member, start);
            if part.request.is_none() {
                assert_eq!(device, self.members, "only the spare is rebuilt");
                self.restoring.insert(start);
            }
        }
        let Some((request, blocks)) = &part.request else {
            return;
        };
        if command.op == Op::Write || self.writes.contains(request) {
            return;
        }
        for start in blocks_of(command) {
            for (block, found) in P::read_values(&self.array, part, member, start) {
                assert!(blocks.contains(&block.0), "{block:?} of {request}");
                let settled = if P::IS_SERIAL {
                    self.settled[block.0 as usize]
                } else {
                    self.settled_before[request][(block.0 - blocks.start) as usize]
                };
                let allowed = &self.history[block.0 as usize][settled..];
                assert!(allowed.contains(&found), "{block:?} of {request}");
                self.found.entry(*request).or_default().insert(block);
                self.checked += 1;
            }
        }
    }

    /// Checks the final contents of the devices: the last write to each block, and the parity.
    fn check_all(&self) {
        for start in 0..self.devices[0].len() as u64 {
            let stored = |member: usize| {
                let device = P::device_in(&self.array, member);
                self.devices
                    .get(device)
                    .map_or(0, |stored| stored[start as usize])
            };
            // The data of a missing member are those of the last write.
            let value = |member: usize| {
                let block = P::block_at(&self.array, member, Lbn(start));
                let last = block.and_then(|block| self.history[block.0 as usize].last());
                if let Some(&last) = last.filter(|_| P::has(&self.array, member, start)) {
                    assert_eq!(stored(member), last, "{block:?} of {member}");
                }
                last.copied().unwrap_or_else(|| stored(member))
            };
            let values: Vec<u64> = (0..self.members).map(value).collect();
            P::check_parity(&self.array, start, &|member| values[member]);
        }
    }
}

/// Submits overlapping requests to arrays that are intact, degraded, failing or being rebuilt.
/// Checks that reads return data that were acknowledged or are being written, and that each member
/// ends up with the last write to each block. Each request completes once, and each read returns
/// all its blocks, none of them from a failed device. Requests fail only after data have been lost,
/// because the remaining devices cannot reconstruct them. After that, nothing is served.
///
/// `random` creates an array of devices that write to a log.
pub(crate) fn check<P: Model>(
    runs: u64,
    random: impl Fn(&mut Generator, &Log) -> TestArray<P>,
) -> Counts {
    let mut counts = Counts::default();
    for seed in 0..runs {
        let dice = &mut generator(seed, 0, Purpose::Requests);
        let log = Log::default();
        let test = random(dice, &log);
        let mut shadow = Shadow::new(test, log);
        run(&mut shadow, dice, &mut counts);
        counts.checked += shadow.checked;
        assert_eq!(reported_loss(&shadow.array), shadow.lost, "seed {seed}");
        assert_eq!(shadow.array.has_lost_data(), shadow.lost.is_some());
        if shadow.array.has_lost_data() {
            counts.lost += 1;
            continue;
        }
        if let Some((steps, all)) = shadow.steps() {
            assert_eq!(steps, all);
            counts.rebuilt += 1;
        }
        counts.replaced += u64::from(P::has_replaced(&shadow.array));
        shadow.check_all();
    }
    counts
}

/// Submits random requests, and waits until all have completed and the rebuild has ended.
fn run<P: Model>(shadow: &mut Shadow<P>, dice: &mut Generator, counts: &mut Counts) {
    let blocks = shadow.array.capacity().0;
    let pause = [1, 300, 3_000][below(dice, 3) as usize];
    let mut at = Instant::START;
    for id in 1..=30 {
        at += Span::from_ns(below(dice, pause) as i64);
        while let Some(event) = shadow.array.next_event().filter(|event| *event <= at) {
            shadow.step(event);
        }
        let first = below(dice, blocks);
        let max = P::max_sectors(dice, blocks);
        let sectors = 1 + below(dice, max.min(blocks - first));
        let is_write = below(dice, 3) < P::WRITES;
        let op = if is_write { Op::Write } else { Op::Read };
        let mut request = Request::new(id, op, Lbn(first), SectorCount(sectors));
        if below(dice, 20) == 0 {
            request.ordering = Ordering::Ordered;
        }
        shadow.submit(at, request);
        counts.held += u64::from(!shadow.array.held.is_empty());
    }
    P::serve_waiting(&mut shadow.array, at);
    while let Some(event) = shadow.array.next_event() {
        shadow.step(event);
    }
    let array = &shadow.array;
    assert!(array.parents.is_empty() && array.parts.is_empty() && array.held.is_empty());
    assert!(shadow.outstanding.is_empty(), "{:?}", shadow.outstanding);
}

/// Commands in order of completion, each with the number of its device.
pub(crate) type Log = Arc<Mutex<Vec<(usize, Request)>>>;

/// A device that serves a few commands concurrently, each for a random time.
pub(crate) struct SlowDevice {
    number: usize,
    sectors: SectorCount,
    room: usize,
    dice: Generator,
    outstanding: Vec<Completion>,
    log: Log,
}

impl SlowDevice {
    fn new(number: usize, sectors: SectorCount, dice: &mut Generator, log: &Log) -> Self {
        Self {
            number,
            sectors,
            room: 1 + below(dice, 3) as usize,
            dice: generator(below(dice, 1 << 40), 0, Purpose::Requests),
            outstanding: Vec::new(),
            log: Arc::clone(log),
        }
    }

    /// Creates `count` devices that write to the same log.
    pub fn build_several(
        count: usize,
        sectors: SectorCount,
        dice: &mut Generator,
        log: &Log,
    ) -> Vec<BoxedDevice> {
        let slow = (0..count).map(|number| Self::new(number, sectors, dice, log));
        slow.map(BoxedDevice::opaque).collect()
    }
}

impl Device for SlowDevice {
    fn capacity(&self) -> SectorCount {
        self.sectors
    }

    fn sector_size(&self) -> Bytes {
        Bytes(512)
    }

    fn has_room(&self) -> bool {
        self.outstanding.len() < self.room
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.check(&request)?;
        let duration = Span::from_ns(1 + below(&mut self.dice, 1_000) as i64);
        self.outstanding.push(Completion {
            request,
            arrived: now,
            at: now + duration,
            breakdown: Breakdown {
                transfer: duration,
                ..Breakdown::default()
            },
            outcome: Outcome::Miss,
            status: Status::Good,
        });
        self.outstanding
            .sort_by_key(|done| std::cmp::Reverse(done.at));
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        self.outstanding.last().map(|done| done.at)
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        let done = self.outstanding.pop_if(|done| done.at <= now)?;
        let mut log = self.log.lock().expect("not poisoned");
        log.push((self.number, done.request));
        Some(done)
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}
