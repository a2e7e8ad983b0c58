//! Random concurrent commands to logical units in virtual time, and power cuts at random times.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use diskarm_core::device::{Device, Persisted};
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use diskarm_emulate::{Attribute, Status, Store as _, Task, Unit};
use diskarm_serve::iscsi::{Disk, UnitStore};
use diskarm_serve::power::{DataPath, PowerCut};
use diskarm_serve::store::SparseStore;
use diskarm_wire::command::{Blocks as Range, Caching, Command, Size};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::cuts::{DriveFactory, deferring_drive, drive_factory};
use super::model::Model;

const SECTOR: u64 = 512;
/// Few sectors, so that commands often overwrite each other's data.
const SECTORS: u64 = 96;
/// The result of ORWRITE, which no other command writes.
const ONES: u8 = 0xff;

/// A device that also reports to the test what has reached the media.
struct ReportingDevice {
    device: Box<dyn Device>,
    persisted: Arc<Mutex<Vec<Persisted>>>,
}

impl Device for ReportingDevice {
    diskarm_core::forward!(device: capacity sector_size has_room submit next_event advance abort);

    fn persisted(&mut self, now: Instant) -> Option<Vec<Persisted>> {
        let persisted = self.device.persisted(now)?;
        self.persisted
            .lock()
            .expect("no other panic")
            .extend(&persisted);
        Some(persisted)
    }
}

/// A command in progress.
enum Pending {
    /// A write: its number in the model, and whether it is safe from power cuts once it is
    /// answered.
    Write(usize, bool),
    /// A flush: it makes the writes safe that were answered when it arrived.
    Flush(Vec<usize>),
    Read,
}

struct Bench {
    make: DriveFactory,
    unit: Unit<Disk>,
    blocks: UnitStore,
    persisted: Arc<Mutex<Vec<Persisted>>>,
    model: Model,
    pending: BTreeMap<u64, Pending>,
    now: Instant,
    random: Pcg64Mcg,
    next: u64,
    /// Number of aborted writes.
    aborted: usize,
}

impl Bench {
    fn new(make: &DriveFactory, seed: u64) -> Self {
        let persisted = Arc::default();
        let store = Box::new(SparseStore::empty(SECTORS * SECTOR));
        let data = DataPath::new(store, Bytes(SECTOR), Some(SectorCount(1 << 20)), true);
        let blocks = UnitStore::new(data, SECTOR, SECTORS * SECTOR);
        let disk = disk(make, &persisted);
        Self {
            make: make.clone(),
            unit: Unit::with_store(disk, Box::new(blocks.clone())),
            blocks,
            persisted,
            model: Model::default(),
            pending: BTreeMap::new(),
            now: Instant::START,
            random: Pcg64Mcg::seed_from_u64(seed),
            next: 0,
            aborted: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    /// Submits a random command, unless it overlaps a pending write; or aborts a write.
    fn submit(&mut self) {
        let id = self.next;
        self.next += 1;
        let at = self.below(SECTORS);
        let count = 1 + self.below(24).min(SECTORS - at - 1);
        let kind = self.below(10);
        let fill = (id % 251 + 1) as u8;
        let data = vec![fill; (count * SECTOR) as usize];
        let range = Range {
            at,
            count: count as u32,
        };
        let caching = |force_unit_access| Caching {
            disable_page_out: false,
            force_unit_access,
        };
        let size = Size::Ten;
        let (command, data, fill, is_safe) = match kind {
            0 => return self.flush(id),
            1 => {
                let blocks = range;
                let caching = caching(false);
                let read = Command::Read {
                    size,
                    blocks,
                    caching,
                };
                self.pending.insert(id, Pending::Read);
                return self.send(id, &read, &[]);
            }
            2 => return self.abort(),
            3 => {
                let same = Command::WriteSame {
                    size,
                    blocks: range,
                    no_data: false,
                };
                (same, data[..SECTOR as usize].to_vec(), fill, false)
            }
            4 => {
                let ones = Command::OrWrite {
                    blocks: range,
                    caching: caching(false),
                };
                (ones, vec![ONES; data.len()], ONES, false)
            }
            kind => {
                let caching = caching(kind == 5);
                let write = Command::Write {
                    size,
                    blocks: range,
                    caching,
                };
                (write, data, fill, kind == 5)
            }
        };
        let holds = |number: usize| {
            let write = &self.model.writes[number];
            (at..at + count).any(|sector| write.holds(sector))
        };
        let mut pending = self.pending.values();
        if pending.any(|pending| matches!(pending, Pending::Write(number, _) if holds(*number))) {
            return;
        }
        let number = self.model.write(at, count, fill);
        self.pending.insert(id, Pending::Write(number, is_safe));
        self.send(id, &command, &data);
    }

    fn flush(&mut self, id: u64) {
        let writes = self.model.writes.iter().enumerate();
        let answered = writes.filter(|(_, write)| write.is_acknowledged);
        let answered = answered.map(|(number, _)| number).collect();
        self.pending.insert(id, Pending::Flush(answered));
        let flush = Command::SynchronizeCache {
            size: Size::Ten,
            blocks: Range { at: 0, count: 0 },
            immediate: false,
        };
        self.send(id, &flush, &[]);
    }

    /// Aborts the newest write, which then has no response and no effect. Does not abort ORWRITE,
    /// which changes its blocks before the drive writes them.
    fn abort(&mut self) {
        let newest = self.model.writes.len().wrapping_sub(1);
        if self
            .model
            .writes
            .last()
            .is_some_and(|write| write.fill == ONES)
        {
            return;
        }
        let pending = self.pending.iter();
        let mut pending = pending.map(|(id, pending)| (*id, pending));
        let found = pending
            .find(|(_, pending)| matches!(pending, Pending::Write(number, _) if *number == newest));
        let Some((id, _)) = found else { return };
        assert!(self.unit.abort(self.now, 1, id));
        self.pending.remove(&id);
        self.aborted += 1;
        self.advance(self.now);
        if self.unit.tasks() > self.pending.len() {
            // The drive finishes the current write before the next command.
            self.advance(self.now + Span::from_s(1.0));
        }
        self.model.writes.pop();
    }

    fn send(&mut self, id: u64, command: &Command, data: &[u8]) {
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        let task = Task {
            id,
            initiator: 1,
            attribute: Attribute::Simple,
            command: &block[..length],
            data_out: data,
        };
        self.unit.submit(self.now, task);
    }

    fn advance(&mut self, until: Instant) {
        loop {
            let event = self.unit.next_event().filter(|event| *event <= until);
            let response = self.unit.advance(event.unwrap_or(until));
            self.unit.follow(event.unwrap_or(until));
            let persisted = std::mem::take(&mut *self.persisted.lock().expect("no other panic"));
            self.model.mark_persisted(&persisted);
            if let Some(response) = response {
                self.handle_response(response.id, response.status);
            } else if event.is_none() {
                break;
            }
        }
        self.now = until;
    }

    fn handle_response(&mut self, id: u64, status: Status) {
        let pending = self.pending.remove(&id).expect("a command in progress");
        if status == Status::CheckCondition {
            // The unit attention for the power-on.
            assert!(matches!(pending, Pending::Read));
            return;
        }
        match pending {
            Pending::Read => {}
            Pending::Write(number, is_safe) => {
                let write = &mut self.model.writes[number];
                write.is_acknowledged = true;
                write.is_safe = is_safe;
            }
            Pending::Flush(numbers) => {
                for number in numbers {
                    self.model.writes[number].is_safe = true;
                }
            }
        }
    }

    /// Clears the unit attention for the power-on, and submits random commands, with pauses of up
    /// to `longest_us` microseconds.
    fn run(&mut self, commands: u64, longest_us: u64) {
        self.pending.insert(self.next, Pending::Read);
        self.send(self.next, &Command::TestUnitReady, &[]);
        self.next += 1;
        for _ in 0..commands {
            let pause = self.below(longest_us * 1000);
            self.advance(self.now + Span::from_ns(pause as i64));
            self.submit();
        }
    }

    /// Cuts the power; returns the content of every sector.
    fn cut(&mut self, cut: &PowerCut) -> Vec<u8> {
        self.unit.follow(self.now);
        self.blocks.cut(cut).expect("memory");
        self.persisted.lock().expect("no other panic").clear();
        self.pending.clear();
        let disk = disk(&self.make, &self.persisted);
        self.unit.power_cycle(self.now, disk);
        let mut all = vec![0; (SECTORS * SECTOR) as usize];
        self.blocks.read(Lbn(0), &mut all).expect("memory");
        let sectors = all.chunks_exact(SECTOR as usize);
        let fill = |sector: &[u8]| {
            let is_whole = sector.iter().all(|byte| *byte == sector[0]);
            assert!(is_whole, "a sector was torn");
            sector[0]
        };
        sectors.map(fill).collect()
    }
}

fn disk(make: &DriveFactory, persisted: &Arc<Mutex<Vec<Persisted>>>) -> Disk {
    let device = ReportingDevice {
        device: make(),
        persisted: Arc::clone(persisted),
    };
    Disk::from_device(Box::new(device), SectorCount(SECTORS))
}

/// Drives without a write cache, and with one.
const DRIVES: [(&str, &str); 3] = [
    ("hp-c2247", "fcfs"),
    ("seagate-cheetah-st34501n", "sptf"),
    ("sata-4tb-7200", "fcfs"),
];

/// Checks power cuts; returns the numbers of sectors with older data and of aborted commands.
fn check(cut: &PowerCut, expected: impl Fn(&Model, u64, u8)) -> (usize, usize) {
    let (mut reverted, mut aborted) = (0, 0);
    let drives = DRIVES.map(|(drive, policy)| drive_factory(drive, policy));
    for make in drives.into_iter().chain([deferring_drive(24, true)]) {
        for seed in 0..40 {
            let mut bench = Bench::new(&make, seed);
            for round in 0..3 {
                let (commands, longest_us) = (1 + bench.below(20), 1 + bench.below(30_000));
                bench.run(commands, longest_us);
                let seed = seed + round;
                let content = bench.cut(&PowerCut { seed, ..*cut });
                for (sector, content) in (0..).zip(&content) {
                    expected(&bench.model, sector, *content);
                    reverted += usize::from(bench.model.after(sector, |_| true) != *content);
                }
                bench.model = Model::default();
                bench.model.base = (0..).zip(content).collect();
            }
            aborted += bench.aborted;
        }
    }
    (reverted, aborted)
}

#[test]
fn only_writes_entirely_on_the_media_of_a_unit_survive() {
    let (reverted, aborted) = check(&PowerCut::default(), |model, sector, content| {
        assert_eq!(content, model.after_plain(sector), "sector {sector}");
    });
    assert!(reverted > 1000 && aborted > 50, "{reverted} {aborted}");
}

#[test]
fn torn_writes_of_a_unit_survive_sector_by_sector() {
    let torn = PowerCut {
        torn: true,
        ..PowerCut::default()
    };
    let differ = std::cell::Cell::new(0);
    let (reverted, _) = check(&torn, |model, sector, content| {
        assert_eq!(content, model.after_torn(sector), "sector {sector}");
        differ.set(differ.get() + usize::from(content != model.after_plain(sector)));
    });
    let differ = differ.get();
    assert!(reverted > 1000 && differ > 100, "{reverted} {differ}");
}

#[test]
fn the_worst_cut_of_a_unit_loses_only_writes_that_are_not_safe() {
    let worst = PowerCut {
        worst: true,
        ..PowerCut::default()
    };
    let older = std::cell::Cell::new(0);
    check(&worst, |model, sector, content| {
        let allowed = model.allowed(sector);
        assert!(
            allowed.contains(&content),
            "sector {sector}: {content} of {allowed:?}"
        );
        older.set(older.get() + usize::from(content != model.after_plain(sector)));
    });
    assert!(older.get() > 1000, "{older:?}");
}
