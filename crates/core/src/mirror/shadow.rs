//! A pair on real bytes: devices that end commands after random times, and what the pair would have
//! read and written.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::device::slow::{Log, Slow};
use crate::random::{Generator, below};
use crate::redundancy::Failure;
use crate::units::{Lbn, Span};

/// The pair and what is on its devices: for each block which request wrote it.
struct Shadow {
    pair: Mirror,
    log: Log,
    devices: [Vec<u64>; 3],
    /// What the steps of the rebuild have read, by block of the pair.
    read: BTreeMap<u64, u64>,
    /// The requests that commands are of.
    requests: BTreeMap<u64, (Request, bool)>,
    /// The writes to each block, in order.
    history: Vec<Vec<u64>>,
    /// Of each block, the number of the last write that was acknowledged.
    settled: Vec<usize>,
    /// The same when a read was submitted, for its blocks.
    settled_before: BTreeMap<u64, Vec<usize>>,
    /// The writes that have not completed.
    writing: Vec<Request>,
    checked: u64,
}

/// None, or one before the requests or among them, and sometimes the other later.
fn random_failures(dice: &mut Generator) -> Vec<Failure> {
    let first = below(dice, 2) as usize;
    let count = [0, 1, 1, 2][below(dice, 4) as usize];
    let mut at = 0;
    let members = [first, 1 - first].into_iter().take(count);
    let failures = members.map(|member| {
        at += [0, 300, 5_000, 40_000][below(dice, 4) as usize];
        let at = Instant::from_ns(at + u64::from(at > 0) * below(dice, 1_000));
        Failure { member, at }
    });
    failures.collect()
}

fn random_mirroring(dice: &mut Generator) -> Mirroring {
    let failures = random_failures(dice);
    let rebuilds = !failures.is_empty() && below(dice, 3) > 0;
    let shares = [0.2, 0.7, 1.0];
    Mirroring {
        policy: ["fcfs", "vscan(r=0)", "sstf", "clook"][below(dice, 4) as usize]
            .parse()
            .expect("a policy"),
        reads: match below(dice, 3) {
            0 => Reads::Shared,
            1 => Reads::Routed(Routing::Uniform),
            _ => Reads::Routed(Routing::ShortestQueue),
        },
        writes: [Writes::Both, Writes::First][below(dice, 2) as usize],
        transposed: (below(dice, 2) == 0).then(|| SectorCount(1 + below(dice, 5))),
        destaging: None,
        rebuild: rebuilds.then(|| Rebuilding {
            share_fraction: shares[below(dice, 3) as usize],
            unit: SectorCount(1 + below(dice, 6)),
        }),
        failures,
        seed: below(dice, 1 << 40),
    }
}

impl Shadow {
    fn new(dice: &mut Generator) -> Self {
        let mirroring = random_mirroring(dice);
        let log = Log::default();
        let sectors = SectorCount(1 + below(dice, 40));
        let mut slow = |number| BoxedDevice::opaque(Slow::new(number, sectors, dice, &log));
        let members = [slow(0), slow(1)];
        let spare = mirroring.rebuild.map(|_| slow(2));
        let blind = Mirroring {
            policy: "fcfs".parse().expect("a policy"),
            ..mirroring.clone()
        };
        // Positions are unknown here, so that some policies are refused.
        let pair = Mirror::with_spare(members, spare, &mirroring).unwrap_or_else(|_| {
            let members = [slow(0), slow(1)];
            let spare = mirroring.rebuild.map(|_| slow(2));
            Mirror::with_spare(members, spare, &blind).expect("order of arrival")
        });
        let blocks = sectors.0 as usize;
        Self {
            pair,
            log: Arc::clone(&log),
            devices: [0, 1, 2].map(|_| vec![0; blocks]),
            read: BTreeMap::new(),
            requests: BTreeMap::new(),
            history: vec![vec![0]; blocks],
            settled: vec![0; blocks],
            settled_before: BTreeMap::new(),
            writing: Vec::new(),
            checked: 0,
        }
    }

    /// Looks which requests there are now.
    fn look(&mut self) {
        let parents = self.pair.parents.iter();
        let parents = parents.map(|(id, parent)| (id, (parent.request, parent.rebuilds)));
        self.requests = parents.collect();
    }

    /// Submits a request, unless it is a write to blocks that are being written: its sender could
    /// not know which is the last.
    fn submit(&mut self, now: Instant, request: Request) {
        if request.op == Op::Write {
            let meets = |other: &Request| {
                request.start.0 < other.end().0 && other.start.0 < request.end().0
            };
            if self.writing.iter().any(meets) {
                return;
            }
            self.writing.push(request);
            for block in request.start.0..request.end().0 {
                self.history[block as usize].push(request.id);
            }
        }
        let blocks = request.start.0 as usize..request.end().0 as usize;
        let settled = self.settled[blocks].to_vec();
        self.settled_before.insert(request.id, settled);
        assert_eq!(self.pair.submit(now, request), Ok(()));
        self.look();
    }

    /// Goes on to the next event.
    fn step(&mut self, at: Instant) {
        let numbers = self.numbers();
        let done = self.pair.advance(at);
        let ended = std::mem::take(&mut *self.log.lock().expect("no other has failed"));
        for (device, command) in ended {
            self.carry_out(numbers, device, &command);
        }
        self.look();
        let Some(done) = done else {
            return;
        };
        if !done.status.is_success() {
            assert!(self.pair.has_lost_data(), "{done:?}");
            return;
        }
        self.writing.retain(|write| write.id != done.request.id);
        if done.request.op == Op::Write {
            // Reads from now on may not find what this write has replaced.
            for block in done.request.start.0..done.request.end().0 {
                let history = &self.history[block as usize];
                let number = history.iter().position(|value| *value == done.request.id);
                self.settled[block as usize] = number.expect("a write in the history");
            }
        }
    }

    /// The devices in the two places.
    fn numbers(&self) -> [usize; 2] {
        self.pair.numbers()
    }

    /// The block of the pair at `place` of a member.
    fn block(&self, member: usize, place: u64) -> u64 {
        let all = 0..self.devices[0].len() as u64;
        let mut all = all.map(|block| Request::new(0, Op::Read, Lbn(block), SectorCount(1)));
        let here = |request: &Request| {
            let piece = self.pair.layout.piece(request, member, 0);
            piece.is_some_and(|(_, piece)| piece.start.0 == place)
        };
        all.find(here).expect("a block at each place").start.0
    }

    fn carry_out(&mut self, numbers: [usize; 2], device: usize, command: &Request) {
        let (id, _) = parent_of(command.id);
        let member = numbers.iter().position(|number| *number == device);
        let member = member.expect("a device in its place");
        let (request, rebuilds) = self.requests[&id];
        for place in command.start.0..command.end().0 {
            let block = self.block(member, place);
            assert!((request.start.0..request.end().0).contains(&block));
            let stored = self.devices[device][place as usize];
            match (command.op, rebuilds) {
                (Op::Read, true) => {
                    self.read.insert(block, stored);
                }
                (Op::Read, false) => {
                    let settled = &self.settled_before[&request.id];
                    let settled = settled[(block - request.start.0) as usize];
                    let allowed = &self.history[block as usize][settled..];
                    assert!(allowed.contains(&stored), "{block} of {request:?}");
                    self.checked += 1;
                }
                (_, true) => self.devices[device][place as usize] = self.read[&block],
                (_, false) => self.devices[device][place as usize] = request.id,
            }
        }
    }

    /// What is on the devices in the end: the last write of each block.
    fn check_all(&self) {
        let devices = self.numbers().map(|number| &self.devices[number]);
        for (member, device) in devices.into_iter().enumerate() {
            for (place, stored) in (0..).zip(device) {
                let block = self.block(member, place);
                let read = Request::new(0, Op::Read, Lbn(block), SectorCount(1));
                if self.pair.serves(member, &read) {
                    let last = self.history[block as usize].last();
                    assert_eq!(Some(stored), last, "block {block} of {member}");
                }
            }
        }
    }
}

/// Thousands of pairs, whole, degraded, while a member fails and while it is rebuilt, in both
/// layouts, with completion by the later and by the first copy, under requests that overlap: reads
/// find what was acknowledged or is being written, and in the end each member has the last write of
/// each block. Requests fail only where a second failure has come too early, and then nothing is
/// served any more.
#[test]
fn what_is_read_is_what_was_written() {
    let (mut checked, mut rebuilt, mut lost, mut held) = (0, 0, 0, 0);
    for seed in 0..4_000 {
        let dice = &mut generator(seed, 0, Purpose::Requests);
        let mut shadow = Shadow::new(dice);
        let blocks = shadow.pair.capacity().0;
        let pause = [1, 300, 3_000][below(dice, 3) as usize];
        let mut at = Instant::START;
        for id in 1..=30 {
            at += Span::from_ns(below(dice, pause) as i64);
            while let Some(event) = shadow.pair.next_event().filter(|event| *event <= at) {
                shadow.step(event);
            }
            let first = below(dice, blocks);
            let sectors = 1 + below(dice, 6.min(blocks - first));
            let op = if below(dice, 3) == 0 {
                Op::Write
            } else {
                Op::Read
            };
            let mut request = Request::new(id, op, Lbn(first), SectorCount(sectors));
            if below(dice, 20) == 0 {
                request.ordering = Ordering::Ordered;
            }
            shadow.submit(at, request);
            held += u64::from(!shadow.pair.held.is_empty());
        }
        while let Some(event) = shadow.pair.next_event() {
            shadow.step(event);
        }
        assert!(shadow.pair.parents.is_empty() && shadow.pair.held.is_empty());
        assert_eq!(shadow.pair.reported, 0);
        checked += shadow.checked;
        if shadow.pair.has_lost_data() {
            lost += 1;
            continue;
        }
        if let Some(progress) = shadow.pair.rebuilt() {
            assert_eq!(progress.steps, progress.of, "{progress:?}");
            rebuilt += 1;
        }
        shadow.check_all();
    }
    assert!(checked > 100_000 && rebuilt > 1_000, "{checked}, {rebuilt}");
    assert!(lost > 300 && held > 1_000, "{lost}, {held}");
}
