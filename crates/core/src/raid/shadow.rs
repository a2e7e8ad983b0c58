//! A RAID 5 on real bytes: devices that complete commands after random times, and a model of the
//! data that the array reads and writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::*;
use crate::array::part_of;
use crate::array::shadow::{random_failures, reported_loss};
use crate::device::DataLoss;
use crate::device::slow::{Log, Slow};
use crate::random::{Generator, Purpose, below, generator};
use crate::request::{Ordering, Request};
use crate::units::Span;

/// A part of a request, and the data that it has read.
struct PartRecord {
    /// The id and the blocks of the request; `None` for a rebuild.
    request: Option<(u64, Range<u64>)>,
    rows: Range<u64>,
    known: BTreeMap<(usize, u64), u64>,
}

/// The array and the contents of its devices: for each block the request that wrote it.
struct Shadow {
    raid: Raid,
    log: Log,
    devices: Vec<Vec<u64>>,
    failures: Vec<Failure>,
    /// The number of past failures.
    failed: usize,
    /// The blocks of the spare that the rebuild has written.
    restored: BTreeSet<u64>,
    lost: Option<DataLoss>,
    seen: BTreeMap<u64, PartRecord>,
    /// The values of each block that a read may find.
    allowed: Vec<Vec<u64>>,
    /// The requests that write.
    writes: BTreeSet<u64>,
    /// The requests that have not completed.
    inside: BTreeMap<u64, Request>,
    /// The blocks that have been read for each read, or follow from such blocks.
    found: BTreeMap<u64, BTreeSet<u64>>,
    /// Blocks that were read.
    checked: u64,
}

/// Returns the value that a request writes to a block.
fn value(request: u64, block: u64) -> u64 {
    (request * 1_000_003 + block).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Shadow {
    fn new(dice: &mut Generator) -> Self {
        let count = 3 + below(dice, 4) as usize;
        let mut failures = random_failures(count, &[0, 1, 1, 2, 3], [0, 200, 5_000, 20_000], dice);
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

    /// Applies failures that are due, and records the blocks that are lost.
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

    /// Returns the missing blocks with another missing block in their row; a spare has the rebuilt
    /// ones.
    fn lost_blocks(&self, at: Instant) -> Option<DataLoss> {
        let layout = self.raid.placement.layout;
        let mut lost = BTreeSet::new();
        for start in 0..self.devices[0].len() as u64 {
            let is_restored =
                |member| member == self.failures[0].member && self.restored.contains(&start);
            let missing = (0..layout.members())
                .filter(|member| self.has_failed(*member) && !is_restored(*member));
            if missing.clone().count() > 1 {
                lost.extend(missing.filter_map(|member| layout.block(member, Lbn(start))));
            }
        }
        let (first, blocks) = (*lost.first()?, SectorCount(lost.len() as u64));
        Some(DataLoss { at, first, blocks })
    }

    /// Records the current parts of requests.
    fn record_parts(&mut self) {
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
                let seen = PartRecord {
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
        self.record_parts();
    }

    /// Continues to the next event.
    fn step(&mut self, at: Instant) {
        self.fail_by(at);
        let done = self.raid.advance(at);
        let ended = std::mem::take(&mut *self.log.lock().expect("no other has failed"));
        for (device, command) in ended {
            self.carry_out(device, &command);
        }
        self.record_parts();
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
            // Values that this write has replaced may no longer be found.
            for block in done.request.start.0..done.request.end().0 {
                let allowed = &mut self.allowed[block as usize];
                let own = value(done.request.id, block);
                if let Some(start) = allowed.iter().position(|value| *value == own) {
                    allowed.drain(..start);
                }
            }
        }
    }

    fn carry_out(&mut self, device: usize, command: &Request) {
        let layout = self.raid.placement.layout;
        let member = self.raid.placement.member_of(device);
        let (id, _) = part_of(command.id);
        if self.has_failed(device) {
            // Completions of a failed device are lost: they must make no difference.
            return;
        }
        for start in command.start.0..command.end().0 {
            let stored = self.devices[device][start as usize];
            let seen = self.seen.get_mut(&id).expect("a part that was seen");
            if command.op == Op::Read {
                seen.known.insert((member, start), stored);
                continue;
            }
            let block = layout.block(member, Lbn(start));
            let new = seen.written_value(&layout, member, start, block);
            if seen.request.is_none() {
                assert_eq!(device, layout.members(), "the spare");
                self.restored.insert(start);
            }
            self.devices[device][start as usize] = new;
        }
        if command.op == Op::Read {
            self.check(id, member, command);
        }
    }

    /// Checks the blocks of a read that this command makes known.
    fn check(&mut self, id: u64, reader: usize, command: &Request) {
        let layout = self.raid.placement.layout;
        let seen = &self.seen[&id];
        let Some((request, blocks)) = &seen.request else {
            return;
        };
        if self.writes.contains(request) {
            return;
        }
        // Only a read of a missing block reads all others of a row, with the parity.
        let failed = self.raid.placement.health.failed;
        for start in command.start.0..command.end().0 {
            let others = (0..layout.members())
                .filter(|other| Some(*other) != failed)
                .map(|other| seen.known.get(&(other, start)).copied());
            let sum = others.reduce(|sum, next| Some(sum? ^ next?)).flatten();
            let found = [
                Some((reader, seen.known[&(reader, start)])),
                failed.zip(sum),
            ];
            for (member, found) in found.into_iter().flatten() {
                let block = layout.block(member, Lbn(start));
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

    /// Checks the final contents of the devices: the last write of each block, and the parity.
    fn check_all(&self) {
        let layout = self.raid.placement.layout;
        let rebuilt = layout.row(self.raid.placement.health.rebuilt).start;
        for start in 0..self.devices[0].len() as u64 {
            let mut sum = 0;
            for member in 0..layout.members() {
                let is_failed = Some(member) == self.raid.placement.health.failed;
                let device = Stripes::device_of(&self.raid, member);
                let stored = self.devices.get(device);
                let stored = stored.map_or(0, |stored| stored[start as usize]);
                let is_missing = is_failed && start >= rebuilt;
                let Some(block) = layout.block(member, Lbn(start)) else {
                    sum ^= stored;
                    if is_missing {
                        // This row has no parity to check.
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
                let is_parity = layout.block(member, Lbn(start)).is_none();
                is_parity
                    && !(Some(member) == self.raid.placement.health.failed && start >= rebuilt)
            });
            assert!(sum == 0 || !has_parity, "parity at {start}");
        }
    }
}

impl PartRecord {
    /// Returns the value that the part writes to a block of a member.
    fn written_value(&self, layout: &Layout, member: usize, start: u64, block: Option<Lbn>) -> u64 {
        let others = (0..layout.members()).filter(|other| *other != member);
        let Some((id, blocks)) = &self.request else {
            let others = others.map(|other| self.known[&(other, start)]);
            return others.fold(0, |one, other| one ^ other);
        };
        let own = |block: Option<Lbn>| {
            let block = block.filter(|block| blocks.contains(&block.0))?;
            Some(value(*id, block.0))
        };
        if block.is_some() {
            return own(block).expect("a block of the request");
        }
        // The parity is computed from all data if they are known, or from the old parity.
        let all: Option<Vec<u64>> = others
            .clone()
            .map(|other| {
                own(layout.block(other, Lbn(start)))
                    .or_else(|| self.known.get(&(other, start)).copied())
            })
            .collect();
        if let Some(all) = all {
            return all.into_iter().fold(0, |one, other| one ^ other);
        }
        let mut parity = self.known[&(member, start)];
        for other in others {
            if let Some(new) = own(layout.block(other, Lbn(start))) {
                parity ^= new ^ self.known[&(other, start)];
            }
        }
        parity
    }
}

/// Runs arrays, whole, degraded, while a member fails and while it is rebuilt, under requests that
/// overlap: reads return data that were acknowledged or are being written, and finally each block
/// has its last write and the parity is right. Each request completes once, a read with all its
/// blocks, none of which comes from a failed device. Requests fail only after a second failure came
/// too early and lost the data that the remaining devices do not determine, and then nothing is
/// served.
#[test]
fn reads_return_what_was_written() {
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
        assert_eq!(reported_loss(&shadow.raid), shadow.lost, "seed {seed}");
        checked += shadow.checked;
        if shadow.raid.failures.lost.is_some() {
            lost += 1;
            continue;
        }
        if let Some(progress) = shadow.raid.rebuilt() {
            assert_eq!(progress.steps, progress.of, "{progress:?}");
            rebuilt += 1;
        }
        replaced += u64::from(shadow.raid.placement.replaced.is_some());
        shadow.check_all();
    }
    assert!(checked > 100_000 && rebuilt > 1_000, "{checked}, {rebuilt}");
    assert!(lost > 300 && replaced > 50, "{lost}, {replaced}");
}
