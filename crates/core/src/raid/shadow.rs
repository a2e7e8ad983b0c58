//! An array on real bytes: devices that end commands after random times, and what the array would
//! have read and written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::*;
use crate::device::Lost;
use crate::device::slow::{Log, Slow};
use crate::random::{Generator, Purpose, below, generator};
use crate::redundancy::shadow::told;
use crate::units::Span;

/// What a part of a request does, and what it has read.
struct Seen {
    /// The request's id and its blocks; `None` for a rebuild.
    request: Option<(u64, Range<u64>)>,
    rows: Range<u64>,
    known: BTreeMap<(usize, u64), u64>,
}

/// The array and what is on its devices: for each block which request wrote it.
struct Shadow {
    raid: Raid,
    log: Log,
    devices: Vec<Vec<u64>>,
    failures: Vec<Failure>,
    /// Those that have been.
    failed: usize,
    /// The places of the spare that the rebuild has written.
    restored: BTreeSet<u64>,
    lost: Option<Lost>,
    seen: BTreeMap<u64, Seen>,
    /// Of each block, the values that a read may find.
    allowed: Vec<Vec<u64>>,
    /// The requests that write.
    writes: BTreeSet<u64>,
    /// The requests that have not completed.
    inside: BTreeMap<u64, Request>,
    /// The blocks of each read that have been read for it, or follow from what has.
    found: BTreeMap<u64, BTreeSet<u64>>,
    /// Blocks that have been read.
    checked: u64,
}

/// What a request writes to a block.
fn value(request: u64, block: u64) -> u64 {
    (request * 1_000_003 + block).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Shadow {
    fn new(dice: &mut Generator) -> Self {
        let count = 3 + below(dice, 4) as usize;
        let mut failures = random_failures(count as u64, dice);
        let rebuilds = !failures.is_empty() && below(dice, 3) > 0;
        let shares = [0.2, 0.7, 1.0];
        let rebuild_share = rebuilds.then(|| shares[below(dice, 3) as usize]);
        let striping = RaidConfig {
            level: Level::Five,
            failures: failures.clone(),
            unit: SectorCount(1 + below(dice, 5)),
            policy: PolicyConfig::default(),
            rebuild_share,
        };
        let log = Log::default();
        let sectors = 1 + below(dice, 40);
        let slow = |number: usize| Slow::new(number, SectorCount(sectors), dice, &log);
        let devices = count + usize::from(rebuild_share.is_some());
        let slow: Vec<_> = (0..devices).map(slow).map(BoxedDevice::opaque).collect();
        let raid = Raid::new(slow, &striping).expect("order of arrival");
        let blocks = raid.capacity().0 as usize;
        failures.sort_by_key(|failure| (failure.at, failure.member));
        let mut shadow = Self {
            raid,
            log,
            devices: vec![vec![0; sectors as usize]; devices],
            failures,
            failed: 0,
            restored: BTreeSet::new(),
            lost: None,
            seen: BTreeMap::new(),
            allowed: vec![vec![0]; blocks],
            writes: BTreeSet::new(),
            inside: BTreeMap::new(),
            found: BTreeMap::new(),
            checked: 0,
        };
        shadow.fail_by(Instant::START);
        shadow
    }

    /// Lets those devices fail that do by now, and notes what is lost.
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

    /// The blocks of which at least one other is missing in their row; a spare has what was
    /// rebuilt.
    fn lost(&self, at: Instant) -> Option<Lost> {
        let layout = self.raid.layout;
        let mut lost = BTreeSet::new();
        for place in 0..self.devices[0].len() as u64 {
            let is_restored =
                |member| member == self.failures[0].member && self.restored.contains(&place);
            let missing = (0..layout.members())
                .filter(|member| self.has_failed(*member) && !is_restored(*member));
            if missing.clone().count() > 1 {
                lost.extend(missing.filter_map(|member| layout.block(member, Lbn(place))));
            }
        }
        let (first, blocks) = (*lost.first()?, SectorCount(lost.len() as u64));
        Some(Lost { at, first, blocks })
    }

    /// Looks which parts there are now.
    fn look(&mut self) {
        let now: BTreeMap<_, _> = self.raid.parts.iter().collect();
        self.seen.retain(|id, _| now.contains_key(id));
        for (id, part) in now {
            let parent = part.parent.and_then(|id| self.raid.parents.get(id));
            let request = parent.map(|parent| {
                let request = parent.request;
                (request.id, request.start.0..request.end().0)
            });
            let is_new = self
                .seen
                .get(&id)
                .is_none_or(|seen| (&seen.request, &seen.rows) != (&request, &part.rows));
            if is_new {
                let (rows, known) = (part.rows.clone(), BTreeMap::new());
                let seen = Seen {
                    request,
                    rows,
                    known,
                };
                self.seen.insert(id, seen);
            }
        }
    }

    fn submit(&mut self, now: Instant, request: Request) {
        if request.op == Op::Write {
            self.writes.insert(request.id);
            for block in request.start.0..request.end().0 {
                self.allowed[block as usize].push(value(request.id, block));
            }
        }
        self.inside.insert(request.id, request);
        assert_eq!(self.raid.submit(now, request), Ok(()));
        self.look();
    }

    /// Continues to the next event.
    fn step(&mut self, at: Instant) {
        self.fail_by(at);
        let done = self.raid.advance(at);
        let ended = std::mem::take(&mut *self.log.lock().expect("no other has failed"));
        for (device, command) in ended {
            self.carry_out(device, &command);
        }
        self.look();
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
            assert!(found.into_iter().eq(blocks), "{done:?}");
        } else {
            // What this write and none that came later has replaced may not be found any more.
            for block in done.request.start.0..done.request.end().0 {
                let allowed = &mut self.allowed[block as usize];
                let own = value(done.request.id, block);
                if let Some(place) = allowed.iter().position(|value| *value == own) {
                    allowed.drain(..place);
                }
            }
        }
    }

    fn carry_out(&mut self, device: usize, command: &Request) {
        let layout = self.raid.layout;
        let member = self.raid.place_of(device);
        let (id, _) = part_of(command.id);
        if self.has_failed(device) {
            // What a dead device ends is lost: it must make no difference.
            return;
        }
        for place in command.start.0..command.end().0 {
            let stored = self.devices[device][place as usize];
            let seen = self.seen.get_mut(&id).expect("a part that was seen");
            if command.op == Op::Read {
                seen.known.insert((member, place), stored);
                continue;
            }
            let block = layout.block(member, Lbn(place));
            let new = seen.written(&layout, member, place, block);
            if seen.request.is_none() {
                assert_eq!(device, layout.members(), "the spare");
                self.restored.insert(place);
            }
            self.devices[device][place as usize] = new;
        }
        if command.op == Op::Read {
            self.check(id, member, command);
        }
    }

    /// Checks the blocks of a read that are known with this command.
    fn check(&mut self, id: u64, reader: usize, command: &Request) {
        let layout = self.raid.layout;
        let seen = &self.seen[&id];
        let Some((request, blocks)) = &seen.request else {
            return;
        };
        if self.writes.contains(request) {
            return;
        }
        // Only a read of what is missing reads all others of a row, with the parity.
        let failed = self.raid.health.failed;
        for place in command.start.0..command.end().0 {
            let others = (0..layout.members()).filter(|other| Some(*other) != failed);
            let others = others.map(|other| seen.known.get(&(other, place)).copied());
            let sum = others.reduce(|sum, next| Some(sum? ^ next?)).flatten();
            let found = [
                Some((reader, seen.known[&(reader, place)])),
                failed.zip(sum),
            ];
            for (member, found) in found.into_iter().flatten() {
                let block = layout.block(member, Lbn(place));
                let Some(block) = block.filter(|block| blocks.contains(&block.0)) else {
                    continue;
                };
                let allowed = &self.allowed[block.0 as usize];
                assert!(allowed.contains(&found), "{block:?} of {request}");
                self.found.entry(*request).or_default().insert(block.0);
                self.checked += 1;
            }
        }
    }

    /// What is on the devices in the end: the last write of each block, and the parity.
    fn check_all(&self) {
        let layout = self.raid.layout;
        let rebuilt = layout.row(self.raid.health.rebuilt).place;
        for place in 0..self.devices[0].len() as u64 {
            let mut sum = 0;
            for member in 0..layout.members() {
                let is_failed = Some(member) == self.raid.health.failed;
                let device = self.raid.in_place(member);
                let stored = self.devices.get(device);
                let stored = stored.map_or(0, |stored| stored[place as usize]);
                let is_missing = is_failed && place >= rebuilt;
                let Some(block) = layout.block(member, Lbn(place)) else {
                    sum ^= stored;
                    if is_missing {
                        // There is no parity to check.
                        sum = 0;
                        break;
                    }
                    continue;
                };
                let allowed = &self.allowed[block.0 as usize];
                let last = *allowed.last().expect("a value");
                sum ^= last;
                assert!(is_missing || stored == last, "{block:?}");
            }
            let has_parity = (0..layout.members()).any(|member| {
                let is_parity = layout.block(member, Lbn(place)).is_none();
                is_parity && !(Some(member) == self.raid.health.failed && place >= rebuilt)
            });
            assert!(sum == 0 || !has_parity, "parity at {place}");
        }
    }
}

impl Seen {
    /// What the part writes to a place.
    fn written(&self, layout: &Layout, member: usize, place: u64, block: Option<Lbn>) -> u64 {
        let others = (0..layout.members()).filter(|other| *other != member);
        let Some((id, blocks)) = &self.request else {
            let others = others.map(|other| self.known[&(other, place)]);
            return others.fold(0, |one, other| one ^ other);
        };
        let own = |block: Option<Lbn>| {
            let block = block.filter(|block| blocks.contains(&block.0))?;
            Some(value(*id, block.0))
        };
        if block.is_some() {
            return own(block).expect("a block of the request");
        }
        // The parity: of all data if they are known, or from the old.
        let all: Option<Vec<u64>> = others
            .clone()
            .map(|other| {
                own(layout.block(other, Lbn(place)))
                    .or_else(|| self.known.get(&(other, place)).copied())
            })
            .collect();
        if let Some(all) = all {
            return all.into_iter().fold(0, |one, other| one ^ other);
        }
        let mut parity = self.known[&(member, place)];
        for other in others {
            if let Some(new) = own(layout.block(other, Lbn(place))) {
                parity ^= new ^ self.known[&(other, place)];
            }
        }
        parity
    }
}

/// None, or some before the requests or among them, each of another one of `members`.
fn random_failures(members: u64, dice: &mut Generator) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    let count = [0, 1, 1, 2, 3][below(dice, 5) as usize];
    let mut at = 0;
    while failures.len() < count {
        at += [0, 200, 5_000, 20_000][below(dice, 4) as usize];
        let failure = Failure {
            member: below(dice, members) as usize,
            at: Instant::from_ns(at + u64::from(at > 0) * below(dice, 1_000)),
        };
        if failures.iter().all(|other| other.member != failure.member) {
            failures.push(failure);
        }
    }
    failures
}

/// Thousands of arrays, whole, degraded, while a member fails and while it is rebuilt, under
/// requests that overlap: reads find what was acknowledged or is being written, and in the end the
/// last write of each block is there and the parity is right. Each request completes once, a read
/// with all its blocks, of which no device has read any after it failed. Requests fail only where
/// a second failure has come too early, which has lost what does not follow from the devices that
/// are left, and then nothing is served any more.
#[test]
fn what_is_read_is_what_was_written() {
    let (mut checked, mut rebuilt, mut lost, mut replaced) = (0, 0, 0, 0);
    for seed in 0..4_000 {
        let dice = &mut generator(seed, 0, Purpose::Requests);
        let mut shadow = Shadow::new(dice);
        let blocks = shadow.raid.capacity().0;
        let pause = [1, 300, 3_000][below(dice, 3) as usize];
        let mut at = Instant::START;
        for id in 1..=30 {
            at += Span::from_ns(below(dice, pause) as i64);
            while let Some(event) = shadow.raid.next_event().filter(|event| *event <= at) {
                shadow.step(event);
            }
            let first = below(dice, blocks);
            let max = if below(dice, 2) == 0 { 6 } else { blocks };
            let sectors = 1 + below(dice, max.min(blocks - first));
            let op = if below(dice, 3) == 0 {
                Op::Read
            } else {
                Op::Write
            };
            let mut request = Request::new(id, op, Lbn(first), SectorCount(sectors));
            if below(dice, 20) == 0 {
                request.ordering = Ordering::Ordered;
            }
            shadow.submit(at, request);
        }
        while let Some(event) = shadow.raid.next_event() {
            shadow.step(event);
        }
        assert!(shadow.raid.parts.is_empty() && shadow.raid.parents.is_empty());
        assert!(shadow.inside.is_empty(), "{:?}", shadow.inside);
        assert_eq!(told(&shadow.raid), shadow.lost, "seed {seed}");
        checked += shadow.checked;
        if shadow.raid.failures.lost.is_some() {
            lost += 1;
            continue;
        }
        if let Some(progress) = shadow.raid.rebuilt() {
            assert_eq!(progress.steps, progress.of, "{progress:?}");
            rebuilt += 1;
        }
        replaced += u64::from(shadow.raid.replaced.is_some());
        shadow.check_all();
    }
    assert!(checked > 100_000 && rebuilt > 1_000, "{checked}, {rebuilt}");
    assert!(lost > 300 && replaced > 50, "{lost}, {replaced}");
}
