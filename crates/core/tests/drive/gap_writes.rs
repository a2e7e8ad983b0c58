//! A write cache that writes dirty data to the media in the gaps between commands.

use std::collections::{BTreeSet, VecDeque};

use diskarm_core::device::{BufferWork, Completion, Device, Work};
use diskarm_core::drive::Drive;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{SeekCurve, Spec};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::deferred::persisted;
use super::tiny::{Arrival, R, W, request, serve_all, tiny, tiny_with};

const SECTIONS: &str = "[bus]\nwrite_sector = \"0.25 ms\"\n[queue]\ndepth = 20\n\
     [buffer]\ncaching = true\nsegments = 2\nsegment = \"8 sectors\"\n\
     write_cache = \"deferred\"\ndirty_max = \"20 sectors\"\ndestage_in_gaps = true\n";

/// Absorbed at 1.0; on the media from 9.0 until 13.0, cylinder 1.
const FIRST: Arrival = (0.0, W, 23, 4);
/// From 13.0 on, cylinder 5 is reached at 18.0; its block begins at tenth 0, 20.0.
const READ: Arrival = (3.0, R, 100, 1);

/// Returns the runs persisted between the first write and the last one: millisecond and blocks.
#[track_caller]
fn check(spec: &Spec, write: (u64, u64), expected: &[(u64, u64)]) {
    let asked = [FIRST, (0.0, W, write.0, write.1), READ];
    let persisted = persisted(spec, &asked);
    let behind: Vec<(u64, u64)> = persisted[4..]
        .iter()
        .flat_map(|(ms, blocks)| blocks.iter().map(|block| (*ms, *block)))
        .collect();
    assert_eq!(behind, expected);
    let read = serve_all(spec, &asked)[2];
    assert_eq!(read.request.op, R);
    assert!(
        ((read.at - Instant::START).as_ms() - 21.0).abs() < 1e-4,
        "{read:?}"
    );
}

#[test]
fn data_that_fit_in_a_gap_are_written_there() {
    // Cylinder 2 is reached from 1 at 15.0, tenth 5, and must be left at 16.0. Block 43 is at tenth
    // 5; from 21.0 on the arm is there at 25.0.
    let spec = tiny(SECTIONS);
    check(&spec, (43, 1), &[(15, 43)]);
    check(&spec, (43, 2), &[(15, 43), (26, 44)]);
    check(&spec, (44, 1), &[(26, 44)]);
    // A range in two is worth less.
    check(&spec, (42, 3), &[(34, 42), (35, 43), (36, 44)]);
    let off = tiny(&SECTIONS.replace("destage_in_gaps = true\n", ""));
    check(&off, (43, 1), &[(25, 43)]);
}

#[test]
fn a_write_in_a_gap_settles_as_a_write() {
    let settle = "write_settle = \"0.5 ms\"\nhead_switch";
    let spec = tiny_with(&[("head_switch", settle)], SECTIONS);
    // There at 15.5, and from 21.0 on at 25.5.
    check(&spec, (43, 1), &[(35, 43)]);
    check(&spec, (44, 1), &[(26, 44)]);
}

#[test]
fn conservatism_makes_the_gap_shorter() {
    let care = |ms: f64| tiny(&format!("{SECTIONS}destage_conservatism = \"{ms} ms\"\n"));
    check(&care(0.1), (43, 1), &[(25, 43)]);
    // Not on the cylinder of the read: head 1 is there at 18.0, tenth 8, and head 0 at 20.0.
    check(&care(0.1), (116, 1), &[(18, 116)]);
}

/// Returns a drive on which times are whole nanoseconds, of a sector 2^18 of them, and whose cache
/// has room for `room` blocks.
fn exact(room: u64) -> Spec {
    let mut spec = tiny(SECTIONS);
    let geometry = &mut spec.geometry;
    geometry.cylinders = 200;
    geometry.zones[0].end_cylinder = 200;
    geometry.zones[0].sectors_per_track = 64;
    geometry.sectors = SectorCount(200 * 2 * 64);
    spec.mechanics.period_ns = f64::from(1 << 24);
    spec.mechanics.seek =
        SeekCurve::Table(vec![(1, Span::from_ms(1.0)), (199, Span::from_ms(9.0))]);
    spec.mechanics.write_settle = Span::from_ms(0.6);
    spec.bus.write_sector = Span::from_us(20.0);
    spec.buffer.segment = SectorCount(64);
    spec.buffer.dirty_max = SectorCount(room);
    spec
}

const SECTOR: Span = Span::from_ns(1 << 18);

/// The activity of a drive.
struct Activity {
    reads: Vec<Completion>,
    /// Persisted blocks with their instants.
    persisted: Vec<(Instant, Lbn)>,
    /// Destaged blocks when the last read completed.
    destaged: BufferWork,
}

/// Returns the statistics of a drive's only component, its buffer.
fn destaged(drive: &Drive) -> BufferWork {
    let parts = drive.components(Instant::START);
    let [part] = &parts[..] else {
        panic!("{parts:?}");
    };
    let Work::Buffer(work) = part.work else {
        panic!("{part:?}");
    };
    work
}

/// Serves writes, one after the other, and then reads, six at a time.
fn run(spec: &Spec, writes: &[Request], reads: &[Request]) -> Activity {
    let mut drive = Drive::new(spec, Angle::ZERO).expect("a valid layout");
    drive.persisted(Instant::START);
    let mut waiting: VecDeque<Request> = [writes, reads].concat().into();
    let (mut outstanding, mut now) = (0, Instant::START);
    let mut done = Activity {
        reads: Vec::new(),
        persisted: Vec::new(),
        destaged: BufferWork::default(),
    };
    while done.reads.len() < reads.len() {
        let step = now + SECTOR;
        loop {
            let limit = if waiting.front().is_some_and(|next| next.op == W) {
                1
            } else {
                6
            };
            if let Some(next) = waiting.pop_front_if(|_| outstanding < limit) {
                assert_eq!(drive.submit(now, next), Ok(()));
                outstanding += 1;
                continue;
            }
            let Some(event) = drive.next_event().filter(|event| *event <= step) else {
                break;
            };
            now = event;
            while let Some(completion) = drive.advance(now) {
                outstanding -= 1;
                if completion.request.op == R {
                    done.reads.push(completion);
                }
            }
        }
        now = Instant::from_ns(step.as_ns() / SECTOR.as_ns() as u64 * SECTOR.as_ns() as u64);
        done.add_persisted(&mut drive, now);
    }
    done.destaged = destaged(&drive);
    while destaged(&drive).destaged.0 > done.persisted.len() as u64
        || done.persisted.len() < writes.iter().map(|of| of.sectors.0 as usize).sum()
    {
        now += SECTOR;
        assert!(drive.advance(now).is_none());
        done.add_persisted(&mut drive, now);
    }
    done
}

impl Activity {
    fn add_persisted(&mut self, drive: &mut Drive, now: Instant) {
        for run in drive.persisted(now).expect("a drive reports") {
            let blocks = run.first.0..run.first.0 + run.sectors.0;
            self.persisted.extend(blocks.map(|block| (now, Lbn(block))));
        }
    }
}

/// Requests of `sectors` blocks in one half of the disk; writes do not overlap.
fn requests(
    dice: &mut Pcg64Mcg,
    count: u64,
    (op, half): (Op, u64),
    spec: &Spec,
    sectors: u64,
) -> Vec<Request> {
    let places = spec.geometry.sectors.0 / 2 / sectors;
    let mut taken = BTreeSet::new();
    let places = (0..count)
        .map(|_| half * places + dice.next_u64() % places)
        .filter(|place| op == R || taken.insert(*place));
    let asked = places
        .enumerate()
        .map(|(id, place)| request(half * 100_000 + id as u64, op, place * sectors, sectors));
    asked.collect()
}

/// The oracles: for reads the same drive without gap writes, for writes the sectors under the head.
#[test]
fn gap_writes_delay_no_read_and_write_each_block_once() {
    for (seed, policy) in [(1, "fcfs"), (2, "sptf"), (3, "look")] {
        let mut spec = exact(4_000);
        spec.queue.policy = policy.parse().expect("a policy");
        let mut dice = Pcg64Mcg::seed_from_u64(seed);
        let writes = requests(&mut dice, 300, (W, 1), &spec, 8);
        let reads = requests(&mut dice, 1_500, (R, 0), &spec, 4);
        let with = run(&spec, &writes, &reads);
        spec.buffer.destage_in_gaps = false;
        let without = run(&spec, &writes, &reads);
        assert_eq!(with.reads.len(), without.reads.len());
        for (with, without) in with.reads.iter().zip(&without.reads) {
            assert_eq!((with.request, with.at), (without.request, without.at));
        }
        let layout = Drive::new(&spec, Angle::ZERO).expect("a valid layout");
        for done in [&with, &without] {
            let mut blocks: Vec<Lbn> = done.persisted.iter().map(|(_, block)| *block).collect();
            for (at, block) in &done.persisted {
                let extent = layout.layout().extent(*block);
                let over = Angle::from_raw(at.as_ns() << 40);
                assert_eq!(
                    extent.start + extent.sector_angle,
                    over,
                    "{block:?} at {at:?}"
                );
            }
            blocks.sort_unstable();
            let mut written: Vec<Lbn> = writes
                .iter()
                .flat_map(|of| (of.start.0..of.end().0).map(Lbn))
                .collect();
            written.sort_unstable();
            assert_eq!(blocks, written);
        }
        // Without gap writes, nothing more is destaged once the reads have begun.
        assert_eq!(without.destaged.in_gaps, SectorCount(0));
        assert!(without.destaged.destaged.0 < 300, "{:?}", without.destaged);
        let gaps = with.destaged;
        assert!(
            gaps.writes_in_gaps > 100 && gaps.in_gaps.0 > 600,
            "{policy} {gaps:?}"
        );
    }
}
