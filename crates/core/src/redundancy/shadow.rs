//! Pairs and arrays with two copies of all data on real bytes: devices that end commands after
//! random times, and what would have been read and written.

use std::collections::{BTreeMap, BTreeSet};

use super::Failure;
use crate::device::slow::Log;
use crate::device::{Completion, Device, Lost, Work};
use crate::random::{Generator, Purpose, below, generator};
use crate::request::{Op, Ordering, Request};
use crate::units::{Instant, Lbn, SectorCount, Span};

/// What a test sees of a pair or an array with copies.
pub(crate) trait Copies: Device {
    /// Of each command that waits or is inside the request, by what of its id names it; `None` if
    /// it is of a rebuild.
    fn commands(&self) -> BTreeMap<u64, Option<Request>>;

    /// What names the request of a command.
    fn key(command: u64) -> u64;

    /// The numbers of the devices in the places, the number of the spare being the last.
    fn numbers(&self) -> Vec<usize>;

    /// The block at a place of the device in the place `member`, if it is one of the array.
    fn block(&self, member: usize, place: u64) -> Option<Lbn>;

    /// Whether the device in the place `member` has the copy of the block at a place.
    fn has(&self, member: usize, place: u64) -> bool;

    fn has_lost_data(&self) -> bool;

    /// Serves also what waits for more to come.
    fn empty(&mut self, _now: Instant) {}

    /// Whether nothing is inside.
    fn is_empty(&self) -> bool;

    /// Whether requests wait for others before they begin.
    fn has_held(&self) -> bool;

    /// The steps of the rebuild that have ended, and all.
    fn steps(&self) -> Option<(u64, u64)>;
}

/// What random runs have met.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// Blocks that have been read.
    pub checked: u64,
    pub rebuilt: u64,
    pub lost: u64,
    pub held: u64,
}

/// An array of slow devices.
pub(crate) struct Made<C> {
    pub array: C,
    pub members: usize,
    /// Whether there is a spare behind them.
    pub has_spare: bool,
    pub sectors: SectorCount,
    pub failures: Vec<Failure>,
}

/// An array and what is on its devices: for each block which request wrote it.
struct Shadow<C> {
    array: C,
    log: Log,
    members: usize,
    devices: Vec<Vec<u64>>,
    failures: Vec<Failure>,
    /// Those that have been.
    failed: usize,
    /// The places of the spare that the rebuild has written in steps that have ended.
    restored: BTreeSet<u64>,
    /// Those of the step that is under way: a part of a step is of no use.
    restoring: BTreeSet<u64>,
    steps: Option<(u64, u64)>,
    lost: Option<Lost>,
    /// What the steps of the rebuild have read, by block of the array.
    read: BTreeMap<Lbn, u64>,
    commands: BTreeMap<u64, Option<Request>>,
    /// The writes to each block, in order.
    history: Vec<Vec<u64>>,
    /// Of each block, the number of the last write that was acknowledged.
    settled: Vec<usize>,
    /// The same when a read was submitted, for its blocks.
    settled_before: BTreeMap<u64, Vec<usize>>,
    /// The requests that have not completed.
    inside: BTreeMap<u64, Request>,
    /// The blocks of each read that have been read for it.
    found: BTreeMap<u64, BTreeSet<Lbn>>,
    checked: u64,
}

/// None, or some before the requests or among them, each of another one of `members`.
pub(crate) fn random_failures(members: usize, dice: &mut Generator) -> Vec<Failure> {
    let count = [0, 1, 1, 2][below(dice, 4) as usize];
    let mut failures: Vec<Failure> = Vec::new();
    let mut at = 0;
    while failures.len() < count {
        at += [0, 300, 5_000, 40_000][below(dice, 4) as usize];
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

fn overlap(one: &Request, other: &Request) -> bool {
    one.start.0 < other.end().0 && other.start.0 < one.end().0
}

/// What an array says that failures have lost.
pub(crate) fn told(array: &impl Device) -> Option<Lost> {
    let mut parts = array.parts(Instant::START).into_iter();
    parts.find_map(|part| match part.work {
        Work::Redundancy(work) => work.lost,
        _ => None,
    })
}

impl<C: Copies> Shadow<C> {
    /// Of an array whose devices write `log`.
    fn new(made: Made<C>, log: Log) -> Self {
        let Made {
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
            commands: BTreeMap::new(),
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

    /// Lets those devices fail that do by now, and notes what no other has.
    fn fail_by(&mut self, now: Instant) {
        let due = |failure: &&Failure| failure.at <= now;
        while let Some(failure) = self.failures.get(self.failed).filter(due) {
            self.failed += 1;
            self.lost = self.lost.or(self.lost(failure.at));
        }
    }

    fn has_failed(&self, device: usize) -> bool {
        let failed = &self.failures[..self.failed];
        failed.iter().any(|failure| failure.member == device)
    }

    /// The blocks that no device has which is left: a spare has what was rebuilt.
    fn lost(&self, at: Instant) -> Option<Lost> {
        let mut left = BTreeSet::new();
        for (device, stored) in self.devices.iter().enumerate() {
            let is_spare = device == self.members;
            let member = match is_spare {
                true => self.failures[0].member,
                false => device,
            };
            let places = (0..stored.len() as u64).filter(|place| match is_spare {
                true => self.restored.contains(place),
                false => !self.has_failed(device),
            });
            left.extend(places.filter_map(|place| self.array.block(member, place)));
        }
        let blocks = SectorCount(self.array.capacity().0 - left.len() as u64);
        let mut all = (0..self.array.capacity().0).map(Lbn);
        let first = all.find(|block| !left.contains(block))?;
        Some(Lost { at, first, blocks })
    }

    /// Submits a request, unless it is a write to blocks that are being written: its sender could
    /// not know which is the last.
    fn submit(&mut self, now: Instant, request: Request) {
        if request.op == Op::Write {
            let mut writes = self.inside.values().filter(|other| other.op == Op::Write);
            if writes.any(|other| overlap(&request, other)) {
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
        self.commands = self.array.commands();
    }

    /// Continues to the next event.
    fn step(&mut self, at: Instant) {
        self.fail_by(at);
        let numbers = self.array.numbers();
        let done = self.array.advance(at);
        let ended = std::mem::take(&mut *self.log.lock().expect("no other has failed"));
        for (device, command) in ended {
            self.carry_out(&numbers, device, &command);
        }
        self.commands = self.array.commands();
        let steps = self.array.steps();
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
        let member = numbers.iter().position(|number| *number == device);
        let member = member.expect("a device in its place");
        let request = self.commands[&C::key(command.id)];
        for place in command.start.0..command.end().0 {
            let block = self.array.block(member, place);
            let block = block.expect("a block of the array");
            let stored = self.devices[device][place as usize];
            let Some(request) = request else {
                if command.op == Op::Read {
                    self.read.insert(block, stored);
                } else {
                    assert_eq!(device, self.members, "the spare");
                    self.restoring.insert(place);
                    self.devices[device][place as usize] = self.read[&block];
                }
                continue;
            };
            assert!((request.start..request.end()).contains(&block));
            if command.op == Op::Write {
                self.devices[device][place as usize] = request.id;
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

    /// What is on the devices in the end: the last write of each block.
    fn check_all(&self) {
        for (member, number) in self.array.numbers().into_iter().enumerate() {
            let stored = self.devices[number].iter();
            for (place, stored) in (0..).zip(stored) {
                let block = self.array.block(member, place);
                if let Some(block) = block.filter(|_| self.array.has(member, place)) {
                    let last = self.history[block.0 as usize].last();
                    assert_eq!(Some(stored), last, "{block:?} of {member}");
                }
            }
        }
    }
}

/// Runs as many arrays, whole, degraded, while a member fails and while it is rebuilt, under
/// requests that overlap: reads find what was acknowledged or is being written, and in the end each
/// member has the last write of each block. Each request completes once, a read with all its
/// blocks, and no device ends anything after it has failed. Requests fail only where a second
/// failure has lost data, which are what no device has that is left, and then nothing is served any
/// more.
///
/// `random` makes an array of devices that write a log.
pub(crate) fn check<C: Copies>(runs: u64, random: impl Fn(&mut Generator, &Log) -> Made<C>) -> Met {
    let mut met = Met::default();
    for seed in 0..runs {
        let dice = &mut generator(seed, 0, Purpose::Requests);
        let log = Log::default();
        let made = random(dice, &log);
        let mut shadow = Shadow::new(made, log);
        run(&mut shadow, dice, &mut met);
        met.checked += shadow.checked;
        assert_eq!(told(&shadow.array), shadow.lost, "seed {seed}");
        assert_eq!(shadow.array.has_lost_data(), shadow.lost.is_some());
        if shadow.array.has_lost_data() {
            met.lost += 1;
            continue;
        }
        if let Some((steps, all)) = shadow.array.steps() {
            assert_eq!(steps, all);
            met.rebuilt += 1;
        }
        shadow.check_all();
    }
    met
}

/// Random requests, until all have completed and the rebuild has ended.
fn run<C: Copies>(shadow: &mut Shadow<C>, dice: &mut Generator, met: &mut Met) {
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
        met.held += u64::from(shadow.array.has_held());
    }
    shadow.array.empty(at);
    while let Some(event) = shadow.array.next_event() {
        shadow.step(event);
    }
    assert!(shadow.array.is_empty() && !shadow.array.has_held());
    assert!(shadow.inside.is_empty(), "{:?}", shadow.inside);
}
