//! Mirrored pairs of tiny drives whose members fail. The platter of the second is half a revolution
//! ahead, so that block 0 passes the first from 0 to 1 ms and the second from 5 to 6 ms.

use diskarm_core::device::Failure;
use diskarm_core::device::{Completion, Device, RedundancyWork, Status, Work};
use diskarm_core::drive::Drive;
use diskarm_core::mirror::{
    Mirror, MirrorConfig, ReadDispatch, RebuildConfig, Routing, WriteCompletion,
};
use diskarm_core::request::Request;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks, FaultPlan, Faults};

use super::attributes::{at_ms, run};
use super::tiny::{R, W, request, tiny};

/// Returns one of the two members, or a spare in step with the first.
fn drive(number: usize) -> Drive {
    let origin = [Angle::ZERO, Angle::from_fraction(1, 2), Angle::ZERO][number];
    Drive::new(&tiny(""), origin).expect("a sound layout")
}

/// Reads go to the first member while both are up.
fn failing(failures: &[(usize, f64)]) -> MirrorConfig {
    let failure = |&(member, ms): &(usize, f64)| Failure {
        member,
        at: at_ms(ms),
    };
    MirrorConfig {
        reads: ReadDispatch::Routed(Routing::Affinity {
            pivot: Lbn(200),
            relaxed: None,
        }),
        failures: failures.iter().map(failure).collect(),
        ..MirrorConfig::default()
    }
}

fn rebuilding(failures: &[(usize, f64)], share_fraction: f64, unit: u64) -> MirrorConfig {
    MirrorConfig {
        rebuild: Some(RebuildConfig {
            share_fraction,
            unit: SectorCount(unit),
        }),
        ..failing(failures)
    }
}

fn pair(mirroring: &MirrorConfig) -> Mirror {
    let device = |number| BoxedDevice::new(drive(number));
    let spare = mirroring.rebuild.map(|_| device(2));
    Mirror::with_spare([device(0), device(1)], spare, mirroring).expect("a drive knows all")
}

/// Id and time of completions, in ms to the microsecond.
fn times(done: &[Completion]) -> Vec<(u64, f64)> {
    let ms = |done: &Completion| (done.at.as_s() * 1e6).round() / 1e3;
    done.iter()
        .map(|done| (done.request.id, ms(done)))
        .collect()
}

fn redundancy(pair: &Mirror) -> RedundancyWork {
    let parts = pair.components(Instant::START).into_iter();
    let mut works = parts.filter_map(|part| match part.work {
        Work::Redundancy(work) => Some(work),
        _ => None,
    });
    works.next().expect("failures")
}

/// The first is about to read block 0 when it fails, and a read of block 1 waits for it.
#[test]
fn what_a_failing_member_had_to_do_goes_to_the_other() {
    for reads in [failing(&[]).reads, ReadDispatch::Shared] {
        let mirroring = MirrorConfig {
            reads,
            ..failing(&[(0, 0.5)])
        };
        let mut pair = pair(&mirroring);
        // Under a shared queue the second takes the read of block 9, which it ends at 5 ms.
        let requests = [
            (0.0, request(0, R, 0, 1)),
            (0.1, request(1, R, 9, 1)),
            (0.2, request(2, R, 2, 1)),
        ];
        let done = run(&mut pair, &requests);
        let queue: Vec<f64> = done
            .iter()
            .map(|done| (done.breakdown.queue.as_ms() * 1e3).round() / 1e3)
            .collect();
        match reads {
            ReadDispatch::Divided { .. } => unreachable!("not tried"),
            ReadDispatch::Shared => {
                // It waits after the commands there.
                assert_eq!(times(&done), [(1, 5.0), (2, 8.0), (0, 16.0)]);
                assert_eq!(queue, [0.0, 4.8, 8.0]);
            }
            ReadDispatch::Routed(_) => {
                assert_eq!(times(&done), [(0, 6.0), (1, 15.0), (2, 18.0)]);
                assert_eq!(queue, [0.5, 5.9, 14.8]);
            }
        }
        assert!(done.iter().all(|done| done.status == Status::Good));
    }
}

/// The copies of block 0 end at 1 and 6 ms. The second copy no longer counts once its member has
/// failed, and the first is lost if its member fails before.
#[test]
fn a_write_completes_with_the_copies_that_are_left() {
    let write = [(0.0, request(7, W, 0, 1))];
    let ends = |failures: &[(usize, f64)], writes| {
        let mirroring = MirrorConfig {
            writes,
            ..failing(failures)
        };
        let done = run(&mut pair(&mirroring), &write);
        assert_eq!(done[0].status, Status::Good);
        times(&done)
    };
    assert_eq!(ends(&[(0, 0.5)], WriteCompletion::Both), [(7, 6.0)]);
    assert_eq!(ends(&[(0, 0.5)], WriteCompletion::First), [(7, 6.0)]);
    assert_eq!(ends(&[(1, 3.0)], WriteCompletion::Both), [(7, 3.0)]);
    assert_eq!(ends(&[(1, 3.0)], WriteCompletion::First), [(7, 1.0)]);
    assert_eq!(ends(&[(1, 0.0)], WriteCompletion::Both), [(7, 1.0)]);
}

/// The first member reads block 0 and then writes block 5; the second writes block 5 at once. A
/// read of block 5 waits for the second copy, and so does a write.
#[test]
fn what_overlaps_a_write_waits_for_its_second_copy_if_it_completed_with_the_first() {
    let mirroring = MirrorConfig {
        writes: WriteCompletion::First,
        policy: "satf".parse().expect("a policy"),
        ..failing(&[])
    };
    let requests = |op| {
        [
            (0.0, request(0, R, 9, 1)),
            (0.0, request(1, W, 5, 1)),
            (2.0, request(2, op, 5, 1)),
            (2.0, request(3, R, 0, 1)),
        ]
    };
    // The write ends at the second after 1 ms, and after 16 ms at the first.
    let done = run(&mut pair(&mirroring), &requests(R));
    assert_eq!(times(&done), [(1, 1.0), (0, 10.0), (3, 11.0), (2, 26.0)]);
    let done = run(&mut pair(&mirroring), &requests(W));
    assert_eq!(times(&done), [(1, 1.0), (0, 10.0), (3, 11.0), (2, 21.0)]);
}

/// Steps of 60 blocks: the second member is read, then the spare is written. With half of the time
/// each step is followed by a pause as long as it took.
#[test]
fn a_rebuild_reads_the_other_and_writes_the_spare() {
    for share in [1.0, 0.5] {
        let (mut other, mut spare) = (drive(1), drive(2));
        let mut ends = |number: usize, at: Instant, request: Request| {
            let drive = if number == 1 { &mut other } else { &mut spare };
            drive.submit(at, request).expect("an idle drive");
            let mut ended = None;
            while let Some(event) = drive.next_event() {
                ended = drive.advance(event).map(|done| done.at).or(ended);
            }
            ended.expect("it ends")
        };
        let (mut at, mut ended) = (Instant::START, Instant::START);
        for (first, sectors) in [(0, 60), (60, 60), (120, 60), (180, 20)] {
            let read = ends(1, at, request(0, R, first, sectors));
            ended = ends(2, read, request(0, W, first, sectors));
            let pause = if share < 1.0 { ended - at } else { Span::ZERO };
            at = ended + pause;
        }
        let mut pair = pair(&rebuilding(&[(0, 0.0)], share, 60));
        // It begins with the first request, which takes no time.
        run(&mut pair, &[(0.0, Request::flush(7))]);
        let progress = pair.rebuild_progress().expect("a rebuild");
        assert_eq!((progress.steps, progress.total), (4, 4));
        assert_eq!((progress.ended, progress.stopped), (Some(ended), None));
        let work = redundancy(&pair);
        assert_eq!(work.rebuild_time, Some(ended - Instant::START));
        assert_eq!((work.failed, work.rebuilt_fraction), (1, Some(1.0)));
    }
}

/// Reads go to the first place while there is a choice: once it is whole again the spare serves
/// them, and block 0 passes it at the beginning of a revolution.
#[test]
fn a_spare_that_has_everything_takes_the_place() {
    let mut pair = pair(&rebuilding(&[(0, 5.0), (1, 4_000.0)], 1.0, 64));
    let requests = [
        (10.0, request(0, R, 199, 1)),
        (3_000.0, request(1, R, 0, 1)),
        (5_000.0, request(2, R, 0, 1)),
    ];
    let done = run(&mut pair, &requests);
    let ended = pair.rebuild_progress().and_then(|progress| progress.ended);
    assert!(ended.is_some_and(|at| at < at_ms(3_000.0)), "{ended:?}");
    assert!(done.iter().all(|done| done.status == Status::Good));
    // After the second failure only the spare is left.
    for (id, at) in &times(&done)[1..] {
        assert_eq!((at * 1e3).round() % 10_000.0, 1_000.0, "{id} at {at} ms");
    }
    assert_eq!(redundancy(&pair).lost, None);
    assert_eq!(redundancy(&pair).failed, 2);
    let disks: Vec<_> = pair
        .components(Instant::START)
        .into_iter()
        .filter_map(|part| match part.work {
            Work::Disk(work) => Some((part.name, work.reads, work.writes)),
            _ => None,
        })
        .collect();
    // The rebuild reads four times; the first request is read at the second member.
    let expected = [("0", 0, 0), ("1", 5, 0), ("2", 2, 4)];
    assert_eq!(
        disks,
        expected.map(|(name, reads, writes)| (name.to_owned(), reads, writes))
    );
}

/// With steps of 40 blocks the second fails after the first of them has ended.
#[test]
fn a_second_failure_before_the_end_of_the_rebuild_loses_the_rest() {
    let mut steps = pair(&rebuilding(&[(0, 0.0)], 0.1, 40));
    steps
        .submit(Instant::START, Request::flush(0))
        .expect("a flush");
    while steps.rebuild_progress().expect("a rebuild").steps == 0 {
        let event = steps.next_event().expect("a rebuild continues");
        steps.advance(event);
    }
    let second = steps.next_event().expect("it pauses") - Instant::START;
    let failures = [(0, 0.0), (1, second.as_ms() - 1.0)];
    let mut pair = pair(&rebuilding(&failures, 0.1, 40));
    let requests = [
        (0.0, Request::flush(0)),
        (failures[1].1 - 0.1, request(1, R, 100, 1)),
        (failures[1].1 + 1.0, request(2, W, 0, 1)),
    ];
    let done = run(&mut pair, &requests);
    let statuses: Vec<(u64, Status)> = done
        .iter()
        .map(|done| (done.request.id, done.status))
        .collect();
    let lost = Status::NotReady;
    assert_eq!(statuses, [(0, Status::Good), (1, lost), (2, lost)]);
    let work = redundancy(&pair).lost.expect("lost data");
    assert_eq!((work.first, work.blocks), (Lbn(40), SectorCount(160)));
    assert_eq!(work.at, at_ms(failures[1].1));
    assert_eq!(pair.next_event(), None);
}

/// The second member cannot read block 70, which is in the second step.
#[test]
fn a_rebuild_of_a_pair_stops_at_a_block_that_it_cannot_read() {
    let bad = BadBlocks {
        first: Lbn(70),
        end: Lbn(71),
        affected: AffectedOps::Reads,
        retries: 1,
    };
    let plan = FaultPlan {
        medium_errors: vec![bad],
        ..FaultPlan::default()
    };
    let faulty = BoxedDevice::new(Faults::new(drive(1), &plan, Span::from_ms(10.0)));
    let members = [BoxedDevice::new(drive(0)), faulty];
    let spare = Some(BoxedDevice::new(drive(2)));
    let mirroring = rebuilding(&[(0, 0.0)], 1.0, 60);
    let mut pair = Mirror::with_spare(members, spare, &mirroring).expect("drives");
    let requests = [
        (0.0, request(0, R, 0, 1)),
        (5_000.0, request(1, R, 69, 2)),
        (6_000.0, request(2, R, 3, 2)),
    ];
    let done = run(&mut pair, &requests);
    assert_eq!(done[0].status, Status::Good);
    // No other member has it.
    assert_eq!(done[1].status, Status::MediumError { offset: 1 });
    assert_eq!(done[2].status, Status::Good);
    let progress = pair.rebuild_progress().expect("a rebuild");
    assert_eq!((progress.steps, progress.stopped), (1, Some(Lbn(70))));
    assert_eq!(redundancy(&pair).rebuilt_fraction, Some(0.25));
}
