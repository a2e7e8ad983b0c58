//! Random requests to drives in virtual time, and power cuts at random times.

use std::collections::BTreeMap;
use std::rc::Rc;

use diskarm_core::device::{Device, Persisted, Status};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use diskarm_drives::text::Edit;
use diskarm_serve::power::{DataPath, PowerCut, WriteId};
use diskarm_serve::store::SparseStore;
use diskarm_serve::{ExportSpec, Pace, Speed};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::model::Model;

const SECTOR: u64 = 512;
/// Few sectors, so that many requests overlap.
const SECTORS: u64 = 96;
/// Large enough for everything that a run writes.
const CAPACITY: SectorCount = SectorCount(1 << 20);

/// A request in progress.
struct Pending {
    write: WriteId,
    number: usize,
    mark: u64,
    /// For a flush, the writes that had been acknowledged when it arrived.
    before: Vec<usize>,
}

pub type DriveFactory = Rc<dyn Fn() -> Box<dyn Device>>;

/// Returns a function that builds identical drives.
pub fn drive_factory(drive: &str, policy: &str) -> DriveFactory {
    with_changes(drive, policy, Vec::new())
}

/// Like [`drive_factory`], for a drive that destages writes from a cache of `room` sectors when it
/// chooses, and with `in_gaps` also between commands.
pub fn deferring_drive(room: u64, in_gaps: bool) -> DriveFactory {
    let changes = [
        "buffer.write_cache=deferred".to_owned(),
        format!("buffer.dirty_max={room} sectors"),
        format!("buffer.destage_in_gaps={in_gaps}"),
    ];
    let changes = changes.map(|change| Edit::parse(&change, "a change").expect("a change"));
    with_changes("sata-4tb-7200", "fcfs", changes.to_vec())
}

fn with_changes(drive: &str, policy: &str, changes: Vec<Edit>) -> DriveFactory {
    let text = format!("x(drive={drive}, policy={policy})");
    let mut spec = ExportSpec::parse(&text, "--export").expect("a specification");
    spec.changes = changes;
    let pace = Pace {
        speed: Some(Speed::REAL),
        spins: false,
        bound: Span::ZERO,
    };
    let power = spec.build(pace, 1).expect("an export").power;
    let make = power.and_then(|power| power.device).expect("a drive");
    Rc::new(make)
}

/// A drive, its data, and the model of both.
struct Bench {
    make: DriveFactory,
    device: Box<dyn Device>,
    data: DataPath,
    model: Model,
    pending: BTreeMap<u64, Pending>,
    now: Instant,
    random: Pcg64Mcg,
    next: u64,
    /// True if concurrent writes may overlap.
    overlaps: bool,
}

impl Bench {
    fn new(make: &DriveFactory, seed: u64) -> Self {
        let make = Rc::clone(make);
        let store = Box::new(SparseStore::empty(SECTORS * SECTOR));
        let mut device = make();
        assert_eq!(device.persisted(Instant::START), Some(vec![]));
        Self {
            make,
            device,
            data: DataPath::new(store, Bytes(SECTOR), Some(CAPACITY), true),
            model: Model::default(),
            pending: BTreeMap::new(),
            now: Instant::START,
            random: Pcg64Mcg::seed_from_u64(seed),
            next: 0,
            overlaps: false,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    /// Submits a random request.
    fn submit(&mut self) {
        let id = self.next;
        self.next += 1;
        let first = self.below(SECTORS);
        let sectors = 1 + self.below(24).min(SECTORS - first - 1);
        let kind = self.below(8);
        let content = |pending: &Pending| {
            let write = self.model.writes.get(pending.number);
            let is_write = pending.write != WriteId::NONE;
            let write = write.filter(|_| is_write);
            write.is_some_and(|write| (first..first + sectors).any(|sector| write.holds(sector)))
        };
        if kind > 1 && !self.overlaps && self.pending.values().any(content) {
            return;
        }
        let mut request = match kind {
            0 => Request::flush(id),
            1 => Request::new(id, Op::Read, Lbn(first), SectorCount(sectors)),
            _ => Request::new(id, Op::Write, Lbn(first), SectorCount(sectors)),
        };
        request.force_unit_access = kind == 2;
        let acknowledged = self.model.writes.iter().enumerate();
        let acknowledged = acknowledged.filter(|(_, write)| write.is_acknowledged);
        let mut pending = Pending {
            write: WriteId::NONE,
            number: 0,
            mark: self.data.flush_mark(),
            before: acknowledged.map(|(number, _)| number).collect(),
        };
        if request.op == Op::Write {
            let fill = (id % 251 + 1) as u8;
            pending.number = self.model.write(first, sectors, fill);
            let (offset, length) = (first * SECTOR, sectors * SECTOR);
            pending.write = self.data.open(offset, length);
            // Data arrive in two parts.
            let half = sectors / 2 * SECTOR;
            for (at, length) in [(offset, half), (offset + half, length - half)] {
                let data = vec![fill; length as usize];
                let written = self.data.write_part(pending.write, at, &data);
                written.expect("memory");
            }
            self.data.mark_submitted(pending.write);
        }
        self.pending.insert(id, pending);
        assert_eq!(self.device.submit(self.now, request), Ok(()));
    }

    fn advance(&mut self, until: Instant) {
        loop {
            let event = self.device.next_event().filter(|event| *event <= until);
            let at = event.unwrap_or(until);
            let mut ended = Vec::new();
            while let Some(completion) = self.device.advance(at) {
                ended.push(completion);
            }
            let persisted = self
                .device
                .persisted(at)
                .expect("a drive that reports persistence");
            self.data.mark_persisted(&persisted);
            self.model.mark_persisted(&persisted);
            for completion in ended {
                assert_eq!(completion.status, Status::Good);
                self.handle_completion(&completion.request);
            }
            if event.is_none() {
                break;
            }
        }
        self.now = until;
    }

    fn handle_completion(&mut self, request: &Request) {
        let pending = self
            .pending
            .remove(&request.id)
            .expect("a request in progress");
        match request.op {
            Op::Read => {}
            Op::Write => {
                let is_safe = request.force_unit_access;
                self.data.mark_acknowledged(pending.write, is_safe);
                let write = &mut self.model.writes[pending.number];
                write.is_acknowledged = true;
                write.is_safe |= is_safe;
            }
            Op::Flush => {
                self.data.complete_flush(pending.mark);
                for number in pending.before {
                    let write = &mut self.model.writes[number];
                    let is_safe = write.is_on_media() || self.overlaps;
                    assert!(is_safe, "a flush missed a write");
                    write.is_safe = true;
                }
            }
        }
    }

    /// Submits random requests, with pauses of up to `longest_us` microseconds.
    fn run(&mut self, requests: u64, longest_us: u64) {
        for _ in 0..requests {
            self.submit();
            let pause = self.below(longest_us * 1000);
            self.advance(self.now + Span::from_ns(pause as i64));
        }
    }

    /// Cuts the power; returns the content of every sector.
    fn cut(&mut self, cut: &PowerCut) -> Vec<u8> {
        self.data.cut(cut).expect("memory");
        assert_eq!(self.data.version_count(), 0);
        self.pending.clear();
        self.device = (self.make)();
        assert_eq!(self.device.persisted(self.now), Some(vec![]));
        let mut all = vec![0; (SECTORS * SECTOR) as usize];
        self.data.store.read(0, &mut all).expect("memory");
        let sectors = all.chunks_exact(SECTOR as usize);
        let fill = |sector: &[u8]| {
            assert!(
                sector.iter().all(|byte| *byte == sector[0]),
                "a sector was torn"
            );
            sector[0]
        };
        sectors.map(fill).collect()
    }

    /// Restarts the model with this content of the sectors.
    fn restart(&mut self, content: &[u8]) {
        self.model = Model::default();
        self.model.base = (0..).zip(content.iter().copied()).collect();
    }
}

/// Drives without a write cache, with one for streams, and with one for all writes; two of the last
/// kind begin a write at the first of its sectors under the head.
const DRIVES: [(&str, &str); 5] = [
    ("hp-c2247", "fcfs"),
    ("seagate-cheetah-st34501n", "sptf"),
    ("sata-4tb-7200", "fcfs"),
    ("quantum-atlas-10k", "sptf"),
    ("throttle(rate=1000/s, drive=ibm-18es)", "fcfs"),
];

/// Checks power cuts against the model; returns the number of sectors reverted to older data.
fn check(cut: &PowerCut, overlaps: bool, expected: impl Fn(&Model, u64, u8)) -> usize {
    let mut reverted = 0;
    let drives = DRIVES.map(|(drive, policy)| drive_factory(drive, policy));
    let deferring_drive = [(24, false), (1000, false), (1000, true)]
        .map(|(room, in_gaps)| deferring_drive(room, in_gaps));
    for make in drives.into_iter().chain(deferring_drive) {
        for seed in 0..40 {
            let mut bench = Bench::new(&make, seed);
            bench.overlaps = overlaps;
            for round in 0..3 {
                let (requests, longest_us) = (1 + bench.below(20), 1 + bench.below(30_000));
                bench.run(requests, longest_us);
                let content = bench.cut(&PowerCut {
                    seed: seed + round,
                    ..*cut
                });
                for (sector, content) in (0..).zip(&content) {
                    expected(&bench.model, sector, *content);
                    reverted += usize::from(bench.model.after(sector, |_| true) != *content);
                }
                bench.restart(&content);
            }
        }
    }
    reverted
}

#[test]
fn only_writes_entirely_on_the_media_survive() {
    let reverted = check(&PowerCut::default(), false, |model, sector, content| {
        assert_eq!(content, model.after_plain(sector), "sector {sector}");
    });
    assert!(reverted > 1000, "{reverted}");
}

#[test]
fn torn_writes_survive_sector_by_sector() {
    let torn = PowerCut {
        torn: true,
        ..PowerCut::default()
    };
    let differ = std::cell::Cell::new(0);
    let reverted = check(&torn, false, |model, sector, content| {
        assert_eq!(content, model.after_torn(sector), "sector {sector}");
        differ.set(differ.get() + usize::from(content != model.after_plain(sector)));
    });
    assert!(
        reverted > 1000 && differ.get() > 100,
        "{reverted} {differ:?}"
    );
}

#[test]
fn the_worst_cut_loses_only_writes_that_are_not_safe() {
    let worst = PowerCut {
        worst: true,
        ..PowerCut::default()
    };
    let reordered = std::cell::Cell::new(0);
    let reverted = check(&worst, true, |model, sector, content| {
        let allowed = model.allowed(sector);
        assert!(
            allowed.contains(&content),
            "sector {sector}: {content} of {allowed:?}"
        );
        // Not the content of the media in the model: the cut chose another order.
        let is_older = content != model.after_plain(sector);
        reordered.set(reordered.get() + usize::from(is_older));
    });
    assert!(
        reverted > 1000 && reordered.get() > 1000,
        "{reverted} {reordered:?}"
    );
}

/// A drive may write overlapping writes in any order, but flushed data survive.
#[test]
fn overlapping_writes_may_be_in_progress() {
    let torn = PowerCut {
        torn: true,
        ..PowerCut::default()
    };
    for cut in [PowerCut::default(), torn] {
        check(&cut, true, |model, sector, content| {
            let allowed = model.allowed(sector);
            assert!(
                allowed.contains(&content),
                "sector {sector}: {content} of {allowed:?}"
            );
        });
    }
}

#[test]
fn equal_seeds_choose_the_same_survivors() {
    let make = drive_factory("sata-4tb-7200", "fcfs");
    let content = |seed| {
        let mut bench = Bench::new(&make, 7);
        bench.run(30, 2000);
        let worst = PowerCut {
            worst: true,
            torn: true,
            seed,
        };
        bench.cut(&worst)
    };
    assert_eq!(content(1), content(1));
    let different = (2..12).filter(|seed| content(*seed) != content(1)).count();
    assert!(different > 5, "{different}");
}

#[test]
fn flushed_writes_are_no_longer_kept() {
    let mut bench = Bench::new(&drive_factory("sata-4tb-7200", "fcfs"), 3);
    bench.run(20, 100);
    bench.advance(bench.now + Span::from_s(10.0));
    assert!(bench.data.version_count() > 0 && bench.data.pending_writes().is_empty());
    let mark = bench.data.flush_mark();
    bench.data.complete_flush(mark);
    assert_eq!(bench.data.version_count(), 0);
}

#[test]
fn a_drive_keeps_no_more_than_its_buffer_holds() {
    for is_timed in [false, true] {
        let store = Box::new(SparseStore::empty(1 << 20));
        let mut data = DataPath::new(store, Bytes(SECTOR), Some(SectorCount(10)), is_timed);
        for n in 0..100 {
            let write = data.open(n * 4 * SECTOR, 4 * SECTOR);
            let filled = vec![1; 4 * SECTOR as usize];
            data.write_part(write, n * 4 * SECTOR, &filled)
                .expect("memory");
            data.mark_submitted(write);
            if is_timed {
                data.mark_persisted(&[Persisted {
                    first: Lbn(n * 4),
                    sectors: SectorCount(4),
                }]);
            }
            data.mark_acknowledged(write, false);
            assert!(data.version_count() <= 10);
        }
        // The last two writes of four sectors.
        assert_eq!(data.version_count(), 8);
        let lost = data.cut(&PowerCut::default()).expect("memory");
        assert_eq!(lost.lost_writes, if is_timed { 0 } else { 2 });
    }
}

#[test]
fn a_trim_takes_effect_after_the_writes_before_it() {
    let store = Box::new(SparseStore::empty(1 << 20));
    let mut data = DataPath::new(store, Bytes(SECTOR), Some(CAPACITY), true);
    let cut = |data: &mut DataPath| {
        data.cut(&PowerCut::default()).expect("memory");
        let mut sector = [0; SECTOR as usize];
        data.store.read(0, &mut sector).expect("memory");
        sector[0]
    };
    let write = |data: &mut DataPath, fill: u8, is_safe: bool| {
        let write = data.open(0, SECTOR);
        data.write_part(write, 0, &[fill; SECTOR as usize])
            .expect("memory");
        data.mark_submitted(write);
        data.mark_acknowledged(write, is_safe);
    };
    let persisted = [Persisted {
        first: Lbn(0),
        sectors: SectorCount(1),
    }];
    write(&mut data, 9, true);
    write(&mut data, 1, false);
    data.trim(0, SECTOR).expect("memory");
    write(&mut data, 2, false);
    // The first write reaches the media, and with it the trim.
    data.mark_persisted(&persisted);
    assert_eq!(cut(&mut data), 0);
    // A write is lost, and with it the trim, even if it is repeated.
    write(&mut data, 8, true);
    write(&mut data, 3, false);
    data.trim(0, SECTOR).expect("memory");
    data.trim(0, SECTOR).expect("memory");
    assert_eq!(cut(&mut data), 8);
    // A flush makes the write safe, and with it the trim.
    write(&mut data, 4, false);
    data.trim(0, SECTOR).expect("memory");
    data.complete_flush(data.flush_mark());
    write(&mut data, 5, false);
    assert_eq!(cut(&mut data), 0);
    write(&mut data, 6, false);
    data.mark_persisted(&persisted);
    write(&mut data, 7, false);
    assert_eq!(cut(&mut data), 6);
    // Without writes before it, a trim cannot be lost.
    data.trim(0, SECTOR).expect("memory");
    let planned = data.plan(0, &[7; SECTOR as usize]);
    data.trim(0, SECTOR).expect("memory");
    data.carry_out(planned).expect("memory");
    assert_eq!(cut(&mut data), 0);
}
