//! Declustered arrays of tiny drives, whose platters are not in step.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use diskarm_core::declustered::{Declustered, DeclusteredConfig, Layout, LayoutKind};
use diskarm_core::device::Failure;
use diskarm_core::device::{Completion, Device, Status, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::request::{Op, Ordering, Request};
use diskarm_core::sched::PolicyConfig;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks, FaultPlan, Faults};

use super::attributes::{at_ms, ids, run};
use super::tiny::{R, W, request, tiny};

fn drive(member: usize) -> Drive {
    Drive::new(&tiny(""), Angle::from_fraction(3 * member as u64 % 10, 10)).expect("a sound layout")
}

/// Units of ten blocks on drives of 200: secondary copies begin at block 100.
fn declustering(kind: LayoutKind, disks: usize, failed: &[usize]) -> DeclusteredConfig {
    let at = Instant::START;
    DeclusteredConfig {
        layout: Layout::new(kind, disks).expect("a layout"),
        failures: failed
            .iter()
            .map(|&member| Failure { member, at })
            .collect(),
        rebuild_share: None,
        unit: SectorCount(10),
        policy: PolicyConfig::default(),
        seed: 1,
    }
}

fn array(kind: LayoutKind, disks: usize, failed: &[usize]) -> Declustered {
    let members = (0..disks).map(|member| BoxedDevice::new(drive(member)));
    let declustering = declustering(kind, disks, failed);
    Declustered::new(members.collect(), declustering).expect("a drive knows all")
}

/// Returns when the last of these commands ends, each submitted to an idle drive of its own.
fn alone(commands: &[(usize, Op, u64, u64)]) -> Instant {
    let ends = commands.iter().map(|&(member, op, place, sectors)| {
        let done = run(&mut drive(member), &[(0.0, request(0, op, place, sectors))]);
        done[0].at
    });
    ends.max().expect("a command")
}

fn end_of(array: &mut Declustered, asked: Request) -> Instant {
    let done = run(array, &[(0.0, asked)]);
    let [done] = &done[..] else {
        panic!("{done:?}");
    };
    assert_eq!((done.request, done.status), (asked, Status::Good));
    done.at
}

/// A chain of four: block 57 is in unit 5, row 1, with its primary copy at place 17 of disk 1 and
/// the secondary at place 117 of disk 2.
#[test]
fn requests_are_commands_at_the_copies() {
    let chain = |failed: &[usize]| array(LayoutKind::Chained, 4, failed);
    assert_eq!(chain(&[]).capacity(), SectorCount(400));
    let read = request(7, R, 57, 3);
    assert_eq!(end_of(&mut chain(&[]), read), alone(&[(1, R, 17, 3)]));
    assert_eq!(end_of(&mut chain(&[1]), read), alone(&[(2, R, 117, 3)]));
    // After disk 3 and before disk 2 all reads go to the primary copy.
    assert_eq!(end_of(&mut chain(&[2]), read), alone(&[(1, R, 17, 3)]));
    let write = request(7, W, 57, 3);
    let both = [(1, W, 17, 3), (2, W, 117, 3)];
    assert_eq!(end_of(&mut chain(&[]), write), alone(&both));
    assert_eq!(end_of(&mut chain(&[0]), write), alone(&both));
    assert_eq!(end_of(&mut chain(&[1]), write), alone(&both[1..]));
    assert_eq!(end_of(&mut chain(&[2]), write), alone(&both[..1]));
    // Over two units, at disks 1 and 2.
    let read = request(7, R, 57, 6);
    let units = [(1, R, 17, 3), (2, R, 10, 3)];
    assert_eq!(end_of(&mut chain(&[]), read), alone(&units));
}

/// Interleaved clusters and group rotate, by hand: unit 6 of 4 disks is in row 1 at disk 2.
#[test]
fn secondary_copies_turn_with_the_rows() {
    for (kind, secondary) in [
        (LayoutKind::Basic, 3),
        (LayoutKind::Interleaved { cluster: 4 }, 0),
        (LayoutKind::GroupRotate { cluster: 2 }, 1),
    ] {
        let found = end_of(&mut array(kind, 4, &[2]), request(7, R, 64, 2));
        assert_eq!(found, alone(&[(secondary, R, 114, 2)]), "{kind:?}");
    }
}

/// Every block of every disk is the copy of at most one block.
#[test]
fn no_two_copies_are_in_one_place() {
    for kind in [
        LayoutKind::Basic,
        LayoutKind::Interleaved { cluster: 3 },
        LayoutKind::Interleaved { cluster: 6 },
        LayoutKind::Chained,
        LayoutKind::GroupRotate { cluster: 3 },
    ] {
        let layout = Layout::new(kind, 6).expect("a layout");
        let mut copies = Vec::new();
        for unit in 0..600 {
            let place = layout.copy_disks(unit);
            copies.push((place.primary, false, unit / 6));
            copies.push((place.secondary, true, unit / 6));
        }
        copies.sort_unstable();
        copies.dedup();
        assert_eq!(copies.len(), 1_200, "{kind:?}");
    }
}

/// A drive that counts its reads and writes.
struct Counting(Drive, Arc<[AtomicU64; 2]>);

impl Device for Counting {
    diskarm_core::forward!(0: capacity sector_size has_room next_event advance abort);

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.1[usize::from(request.op == W)].fetch_add(1, Relaxed);
        self.0.submit(now, request)
    }
}

/// Returns the reads and writes of each of 8 disks for requests to all blocks in turn, relative to
/// those for the data of one disk.
fn accesses(kind: LayoutKind, failed: &[usize]) -> Vec<[f64; 2]> {
    const PASSES: u64 = 20;
    let counts: Vec<Arc<[AtomicU64; 2]>> = (0..8).map(|_| Arc::default()).collect();
    let members = (0..8).map(|at| BoxedDevice::opaque(Counting(drive(at), counts[at].clone())));
    let declustering = DeclusteredConfig {
        unit: SectorCount(4),
        ..declustering(kind, 8, failed)
    };
    let mut array = Declustered::new(members.collect(), declustering).expect("drives");
    let (blocks, mut now) = (array.capacity().0, Instant::START);
    for pass in 0..PASSES {
        for block in 0..blocks {
            let id = pass * blocks + block;
            let op = if pass % 2 == 0 { R } else { W };
            assert_eq!(array.submit(now, request(id, op, block, 1)), Ok(()));
            while let Some(event) = array.next_event() {
                now = event;
                array.advance(now);
            }
        }
    }
    let of_one = (PASSES / 2 * blocks / 8) as f64;
    let loads = counts
        .iter()
        .map(|of| of.each_ref().map(|n| n.load(Relaxed) as f64 / of_one));
    loads.collect()
}

/// Loads of liu05, section 9.2, computed by hand: equations 9.1 to 9.7, and 9.10 twice. Each disk
/// has 1,000 reads of its own data. The number drawn from about 1,000 shared ones has a standard
/// deviation of at most 32.
#[test]
fn each_disk_gets_its_load() {
    let interleaved = LayoutKind::Interleaved { cluster: 4 };
    let rotate = LayoutKind::GroupRotate { cluster: 4 };
    let cases: [(LayoutKind, &[usize], [f64; 8]); 8] = [
        (LayoutKind::Basic, &[], [1.0; 8]),
        (
            LayoutKind::Basic,
            &[0],
            [0.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        ),
        (interleaved, &[], [1.0; 8]),
        (
            interleaved,
            &[6],
            [1.0, 1.0, 1.0, 1.0, 4.0 / 3.0, 4.0 / 3.0, 0.0, 4.0 / 3.0],
        ),
        (LayoutKind::Chained, &[3], [8.0 / 7.0; 8]),
        (
            LayoutKind::Chained,
            &[0, 3],
            [0.0, 1.5, 1.5, 0.0, 1.25, 1.25, 1.25, 1.25],
        ),
        (rotate, &[], [1.0; 8]),
        (rotate, &[1, 2], [8.0 / 6.0; 8]),
    ];
    for (kind, failed, reads) in cases {
        for (disk, found) in accesses(kind, failed).into_iter().enumerate() {
            let [expected, writes] = if failed.contains(&disk) {
                [0.0, 0.0]
            } else {
                [reads[disk], 2.0]
            };
            assert_eq!(found[1], writes, "{kind:?} {failed:?} {disk}");
            assert!(
                (found[0] - expected).abs() < 0.13,
                "{kind:?} {failed:?} {disk} {found:?}"
            );
        }
    }
}

/// A bad block in one copy: the read is recovered from the other, unless that one is down.
#[test]
fn a_read_that_fails_is_read_at_the_other_copy() {
    let bad = |failed: &[usize]| {
        let members = (0..4).map(|member| {
            let mut plan = FaultPlan::default();
            if member == 1 {
                plan.medium_errors.push(BadBlocks {
                    first: Lbn(18),
                    end: Lbn(19),
                    affected: AffectedOps::Both,
                    retries: 0,
                });
            }
            let revolution = Span::from_ns(10_000_000);
            BoxedDevice::new(Faults::new(drive(member), &plan, revolution))
        });
        let declustering = declustering(LayoutKind::Chained, 4, failed);
        Declustered::new(members.collect(), declustering).expect("drives")
    };
    // Blocks 45 to 64 are in unit 4 at disk 0, unit 5 at disk 1 and unit 6 at disk 2.
    let read = |failed: &[usize]| run(&mut bad(failed), &[(0.0, request(3, R, 45, 20))]);
    let done = read(&[]);
    assert_eq!(done[0].status, Status::Recovered { retries: 1 });
    assert_eq!(done[0].breakdown.total(), done[0].response());
    // Block 58, 13 blocks after the first.
    let done = read(&[2]);
    assert_eq!(done[0].status, Status::MediumError { offset: 13 });
    assert_eq!(done[0].bad_block(), Some(Lbn(58)));
    let done = run(&mut bad(&[]), &[(0.0, request(3, W, 58, 1))]);
    assert_eq!(done[0].status, Status::MediumError { offset: 0 });
}

#[test]
fn an_ordered_request_is_alone() {
    let ordered = Request {
        ordering: Ordering::Ordered,
        ..request(1, W, 31, 1)
    };
    let requests = [
        (0.0, request(0, W, 0, 1)),
        (0.1, ordered),
        (0.2, request(2, R, 90, 1)),
    ];
    let done = run(&mut array(LayoutKind::Chained, 4, &[]), &requests);
    assert_eq!(ids(&done), [0, 1, 2]);
    let begun = |done: &Completion| done.at - done.service();
    assert!(done.windows(2).all(|pair| begun(&pair[1]) >= pair[0].at));
}

#[test]
fn what_waits_can_be_taken_back() {
    let mut chain = array(LayoutKind::Chained, 4, &[]);
    let mut submit = |asked| assert_eq!(chain.submit(at_ms(0.0), asked), Ok(()));
    submit(request(0, W, 12, 2));
    // These wait for disk 1; the write has a command in disk 2, too.
    submit(request(1, R, 14, 2));
    submit(request(2, R, 16, 2));
    submit(request(3, Op::Flush, 0, 0));
    assert!(!chain.abort(at_ms(0.5), 0), "under way");
    assert!(chain.abort(at_ms(0.5), 1));
    assert!(!chain.abort(at_ms(0.5), 1), "twice");
    assert!(!chain.abort(at_ms(0.5), 9), "never submitted");
    let done = run(&mut chain, &[]);
    let aborted: Vec<u64> = done
        .iter()
        .filter(|done| done.status == Status::Aborted)
        .map(|done| done.request.id)
        .collect();
    assert_eq!((aborted, done.len()), (vec![1], 4));
}
