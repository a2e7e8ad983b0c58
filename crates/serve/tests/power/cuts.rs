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
/// Capacity for everything that a run writes.
const CAPACITY: SectorCount = SectorCount(1 << 20);

/// A request in progress.
struct Under {
    write: WriteId,
    number: usize,
    mark: u64,
    /// The writes that had been acknowledged when it, a flush, arrived.
    before: Vec<usize>,
}

pub type Make = Rc<dyn Fn() -> Box<dyn Device>>;

/// Returns a function that builds equal drives.
pub fn maker(drive: &str, policy: &str) -> Make {
    with_changes(drive, policy, Vec::new())
}

/// A drive whose cache of `room` sectors chooses what to destage, perhaps between commands too.
pub fn deferring(room: u64, in_gaps: bool) -> Make {
    let changes = [
        "buffer.write_cache=deferred".to_owned(),
        format!("buffer.dirty_max={room} sectors"),
        format!("buffer.destage_in_gaps={in_gaps}"),
    ];
    let changes = changes.map(|change| Edit::parse(&change, "a change").expect("a change"));
    with_changes("sata-4tb-7200", "fcfs", changes.to_vec())
}

fn with_changes(drive: &str, policy: &str, changes: Vec<Edit>) -> Make {
    let text = format!("x(drive={drive}, policy={policy})");
    let mut setting = ExportSpec::parse(&text, "--export").expect("a setting");
    setting.changes = changes;
    let pace = Pace {
        speed: Some(Speed::REAL),
        spins: false,
        bound: Span::ZERO,
    };
    let power = setting.build(pace, 1).expect("an export").power;
    let make = power.and_then(|power| power.device).expect("a drive");
    Rc::new(make)
}

/// A drive, its data, and the model of them.
struct Bench {
    make: Make,
    device: Box<dyn Device>,
    data: DataPath,
    model: Model,
    under: BTreeMap<u64, Under>,
    now: Instant,
    chance: Pcg64Mcg,
    next: u64,
    /// Concurrent writes may overlap.
    overlaps: bool,
}

impl Bench {
    fn new(make: &Make, seed: u64) -> Self {
        let make = Rc::clone(make);
        let store = Box::new(SparseStore::empty(SECTORS * SECTOR));
        let mut device = make();
        assert_eq!(device.persisted(Instant::START), Some(vec![]));
        Self {
            make,
            device,
            data: DataPath::new(store, Bytes(SECTOR), Some(CAPACITY), true),
            model: Model::default(),
            under: BTreeMap::new(),
            now: Instant::START,
            chance: Pcg64Mcg::seed_from_u64(seed),
            next: 0,
            overlaps: false,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.chance.next_u64() % bound
    }

    /// Submits a random request.
    fn submit(&mut self) {
        let id = self.next;
        self.next += 1;
        let first = self.below(SECTORS);
        let sectors = 1 + self.below(24).min(SECTORS - first - 1);
        let kind = self.below(8);
        let held = |under: &Under| {
            let write = self.model.writes.get(under.number);
            let is_write = under.write != WriteId::NONE;
            let write = write.filter(|_| is_write);
            write.is_some_and(|write| (first..first + sectors).any(|sector| write.holds(sector)))
        };
        if kind > 1 && !self.overlaps && self.under.values().any(held) {
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
        let mut under = Under {
            write: WriteId::NONE,
            number: 0,
            mark: self.data.flush_mark(),
            before: acknowledged.map(|(number, _)| number).collect(),
        };
        if request.op == Op::Write {
            let fill = (id % 251 + 1) as u8;
            under.number = self.model.write(first, sectors, fill);
            let (offset, length) = (first * SECTOR, sectors * SECTOR);
            under.write = self.data.open(offset, length);
            // In two parts, as data arrive.
            let half = sectors / 2 * SECTOR;
            for (at, length) in [(offset, half), (offset + half, length - half)] {
                let data = vec![fill; length as usize];
                let written = self.data.write_part(under.write, at, &data);
                written.expect("memory");
            }
            self.data.mark_submitted(under.write);
        }
        self.under.insert(id, under);
        assert_eq!(self.device.submit(self.now, request), Ok(()));
    }

    fn pass(&mut self, until: Instant) {
        loop {
            let event = self.device.next_event().filter(|event| *event <= until);
            let at = event.unwrap_or(until);
            let mut ended = Vec::new();
            while let Some(completion) = self.device.advance(at) {
                ended.push(completion);
            }
            let persisted = self.device.persisted(at).expect("a drive reports");
            self.data.mark_persisted(&persisted);
            self.model.persisted(&persisted);
            for completion in ended {
                assert_eq!(completion.status, Status::Good);
                self.ended(&completion.request);
            }
            if event.is_none() {
                break;
            }
        }
        self.now = until;
    }

    fn ended(&mut self, request: &Request) {
        let under = self.under.remove(&request.id).expect("under way");
        match request.op {
            Op::Read => {}
            Op::Write => {
                let is_safe = request.force_unit_access;
                self.data.mark_acknowledged(under.write, is_safe);
                let write = &mut self.model.writes[under.number];
                write.is_acknowledged = true;
                write.is_safe |= is_safe;
            }
            Op::Flush => {
                self.data.complete_flush(under.mark);
                for number in under.before {
                    let write = &mut self.model.writes[number];
                    let is_there = write.is_on_media() || self.overlaps;
                    assert!(is_there, "a flush missed a write");
                    write.is_safe = true;
                }
            }
        }
    }

    /// Submits random requests for a while.
    fn run(&mut self, requests: u64, longest_us: u64) {
        for _ in 0..requests {
            self.submit();
            let pause = self.below(longest_us * 1000);
            self.pass(self.now + Span::from_ns(pause as i64));
        }
    }

    /// Cuts the power; returns the content of every sector.
    fn cut(&mut self, cut: &PowerCut) -> Vec<u8> {
        self.data.cut(cut).expect("memory");
        assert_eq!(self.data.version_count(), 0);
        self.under.clear();
        self.device = (self.make)();
        assert_eq!(self.device.persisted(self.now), Some(vec![]));
        let mut all = vec![0; (SECTORS * SECTOR) as usize];
        self.data.store.read(0, &mut all).expect("memory");
        let sectors = all.chunks_exact(SECTOR as usize);
        let fill = |sector: &[u8]| {
            assert!(
                sector.iter().all(|byte| *byte == sector[0]),
                "half a sector"
            );
            sector[0]
        };
        sectors.map(fill).collect()
    }

    /// Continues with this content of the sectors.
    fn restart(&mut self, held: &[u8]) {
        self.model = Model::default();
        self.model.base = (0..).zip(held.iter().copied()).collect();
    }
}

/// Drives without a write cache, with one for streams, and with one for all writes, of which two
/// begin a write where the head lands.
const DRIVES: [(&str, &str); 5] = [
    ("hp-c2247", "fcfs"),
    ("seagate-cheetah-st34501n", "sptf"),
    ("sata-4tb-7200", "fcfs"),
    ("quantum-atlas-10k", "sptf"),
    ("throttle(rate=1000/s, drive=ibm-18es)", "fcfs"),
];

/// Checks power cuts against the model; returns the number of sectors that held older data.
fn check(cut: &PowerCut, overlaps: bool, expected: impl Fn(&Model, u64, u8)) -> usize {
    let mut reverted = 0;
    let drives = DRIVES.map(|(drive, policy)| maker(drive, policy));
    let deferring =
        [(24, false), (1000, false), (1000, true)].map(|(room, in_gaps)| deferring(room, in_gaps));
    for make in drives.into_iter().chain(deferring) {
        for seed in 0..40 {
            let mut bench = Bench::new(&make, seed);
            bench.overlaps = overlaps;
            for round in 0..3 {
                let (requests, longest_us) = (1 + bench.below(20), 1 + bench.below(30_000));
                bench.run(requests, longest_us);
                let held = bench.cut(&PowerCut {
                    seed: seed + round,
                    ..*cut
                });
                for (sector, held) in (0..).zip(&held) {
                    expected(&bench.model, sector, *held);
                    reverted += usize::from(bench.model.after(sector, |_| true) != *held);
                }
                bench.restart(&held);
            }
        }
    }
    reverted
}

#[test]
fn what_is_on_the_media_as_a_whole_survives_and_nothing_else() {
    let reverted = check(&PowerCut::default(), false, |model, sector, held| {
        assert_eq!(held, model.after_plain(sector), "sector {sector}");
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
    let reverted = check(&torn, false, |model, sector, held| {
        assert_eq!(held, model.after_torn(sector), "sector {sector}");
        differ.set(differ.get() + usize::from(held != model.after_plain(sector)));
    });
    assert!(
        reverted > 1000 && differ.get() > 100,
        "{reverted} {differ:?}"
    );
}

#[test]
fn the_worst_cut_takes_only_what_was_not_safe() {
    let worst = PowerCut {
        worst: true,
        ..PowerCut::default()
    };
    let reordered = std::cell::Cell::new(0);
    let reverted = check(&worst, true, |model, sector, held| {
        let allowed = model.allowed(sector);
        assert!(
            allowed.contains(&held),
            "sector {sector}: {held} of {allowed:?}"
        );
        // Older than what the model had on the media: the adversary chose another order.
        let is_older = held != model.after_plain(sector);
        reordered.set(reordered.get() + usize::from(is_older));
    });
    assert!(
        reverted > 1000 && reordered.get() > 1000,
        "{reverted} {reordered:?}"
    );
}

/// A drive may write those in any order, but what was flushed stays.
#[test]
fn writes_of_the_same_sectors_may_be_under_way_at_once() {
    let torn = PowerCut {
        torn: true,
        ..PowerCut::default()
    };
    for cut in [PowerCut::default(), torn] {
        check(&cut, true, |model, sector, held| {
            let allowed = model.allowed(sector);
            assert!(
                allowed.contains(&held),
                "sector {sector}: {held} of {allowed:?}"
            );
        });
    }
}

#[test]
fn equal_seeds_choose_equally() {
    let make = maker("sata-4tb-7200", "fcfs");
    let held = |seed| {
        let mut bench = Bench::new(&make, 7);
        bench.run(30, 2000);
        let worst = PowerCut {
            worst: true,
            torn: true,
            seed,
        };
        bench.cut(&worst)
    };
    assert_eq!(held(1), held(1));
    let different = (2..12).filter(|seed| held(*seed) != held(1)).count();
    assert!(different > 5, "{different}");
}

#[test]
fn what_is_flushed_is_kept_no_longer() {
    let mut bench = Bench::new(&maker("sata-4tb-7200", "fcfs"), 3);
    bench.run(20, 100);
    bench.pass(bench.now + Span::from_s(10.0));
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
    let byte = |data: &mut DataPath| {
        let mut sector = [0; SECTOR as usize];
        data.store.read(0, &mut sector).expect("memory");
        sector[0]
    };
    let write = |data: &mut DataPath, fill: u8| {
        let write = data.open(0, SECTOR);
        data.write_part(write, 0, &[fill; SECTOR as usize])
            .expect("memory");
        data.mark_submitted(write);
        data.mark_acknowledged(write, false);
    };
    let persisted = [Persisted {
        first: Lbn(0),
        sectors: SectorCount(1),
    }];
    write(&mut data, 1);
    data.trim(0, SECTOR).expect("memory");
    write(&mut data, 2);
    // The first write lands, and the trim with it.
    data.mark_persisted(&persisted);
    data.cut(&PowerCut::default()).expect("memory");
    assert_eq!(byte(&mut data), 0);
    write(&mut data, 3);
    data.trim(0, SECTOR).expect("memory");
    data.cut(&PowerCut::default()).expect("memory");
    assert_eq!(byte(&mut data), 0);
    write(&mut data, 4);
    data.mark_persisted(&persisted);
    write(&mut data, 5);
    data.cut(&PowerCut::default()).expect("memory");
    assert_eq!(byte(&mut data), 4);
}
