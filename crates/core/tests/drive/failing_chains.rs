//! Declustered arrays of tiny drives whose members fail: chains of four in units of ten blocks,
//! with second copies from block 100 of each drive on. Disk 2 has unit 2 first, and the second copy
//! of unit 1 at block 100.

use diskarm_core::declustered::{Declustered, DeclusteredConfig, Layout, LayoutKind};
use diskarm_core::device::Failure;
use diskarm_core::device::{Completion, Device, RedundancyWork, Status, Work};
use diskarm_core::drive::Drive;
use diskarm_core::request::Request;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks, FaultPlan, Faults};

use super::attributes::{at_ms, ids, run};
use super::tiny::{R, W, request, tiny};

fn drive(number: usize) -> Drive {
    Drive::new(&tiny(""), Angle::from_fraction(3 * number as u64 % 10, 10)).expect("a sound layout")
}

fn chain(failures: &[(usize, f64)], rebuild_share: Option<f64>) -> DeclusteredConfig {
    let failure = |&(member, ms): &(usize, f64)| Failure {
        member,
        at: at_ms(ms),
    };
    DeclusteredConfig {
        layout: Layout::new(LayoutKind::Chained, 4).expect("a layout"),
        failures: failures.iter().map(failure).collect(),
        rebuild_share,
        unit: SectorCount(10),
        policy: PolicyConfig::default(),
        seed: 1,
    }
}

fn array(failures: &[(usize, f64)], rebuild_share: Option<f64>) -> Declustered {
    let devices = 4 + usize::from(rebuild_share.is_some());
    let devices = (0..devices).map(|number| BoxedDevice::new(drive(number)));
    Declustered::new(devices.collect(), chain(failures, rebuild_share)).expect("a drive knows all")
}

/// Drives that serve commands in order of arrival.
struct Alone(Vec<Drive>);

impl Alone {
    fn new() -> Self {
        Self((0..5).map(drive).collect())
    }

    fn ends(&mut self, number: usize, at: Instant, request: Request) -> Instant {
        let drive = &mut self.0[number];
        drive.submit(at, request).expect("an idle drive");
        let mut ended = at;
        while let Some(event) = drive.next_event() {
            ended = drive.advance(event).map_or(ended, |done| done.at);
        }
        ended
    }
}

fn redundancy(array: &Declustered) -> RedundancyWork {
    let parts = array.components(Instant::START).into_iter();
    let mut works = parts.filter_map(|part| match part.work {
        Work::Redundancy(work) => Some(work),
        _ => None,
    });
    works.next().expect("failures")
}

/// Of disk 2 the first copies are read at disk 3, where they are second copies, and the second
/// copies at disk 1. With half of the time each unit is followed by a pause as long as it took.
#[test]
fn a_rebuild_of_a_chain_reads_both_neighbours() {
    for share in [1.0, 0.5] {
        let mut alone = Alone::new();
        let (mut at, mut ended) = (Instant::START, Instant::START);
        for step in 0..20 {
            // The spare is device 4, at the position of the lost unit.
            let (source, place) = match step {
                0..10 => (3, 100 + 10 * step),
                _ => (1, 10 * (step - 10)),
            };
            let read = alone.ends(source, at, request(0, R, place, 10));
            ended = alone.ends(4, read, request(0, W, 10 * step, 10));
            let pause = if share < 1.0 { ended - at } else { Span::ZERO };
            at = ended + pause;
        }
        let mut array = array(&[(2, 0.0)], Some(share));
        run(&mut array, &[(0.0, Request::flush(7))]);
        let progress = array.rebuild_progress().expect("a rebuild");
        assert_eq!((progress.steps, progress.total), (20, 20));
        assert_eq!((progress.ended, progress.stopped), (Some(ended), None));
        assert_eq!(redundancy(&array).rebuilt_fraction, Some(1.0));
        // Disk 2 has done nothing.
        let disks: Vec<_> = array
            .components(Instant::START)
            .into_iter()
            .filter_map(|part| match part.work {
                Work::Disk(work) => Some((work.reads, work.writes)),
                _ => None,
            })
            .collect();
        assert_eq!(disks, [(0, 0), (10, 0), (0, 0), (10, 0), (0, 20)]);
    }
}

/// A chain without failures reads first copies only: block 10 is at disk 1, which fails before the
/// read has ended; its second copy is at block 100 of disk 2.
#[test]
fn a_read_at_a_failing_disk_goes_to_the_other_copy() {
    let mut array = array(&[(1, 0.1)], None);
    let done = run(&mut array, &[(0.0, request(3, R, 10, 2))]);
    let expected = Alone::new().ends(2, at_ms(0.1), request(3, R, 100, 2));
    assert_eq!((done[0].at, done[0].status), (expected, Status::Good));
    assert_eq!(done[0].breakdown.queue, Span::from_ms(0.1));
    assert_eq!(done[0].breakdown.total(), done[0].response());
}

/// The last number of a command that has ended is used first, so later reads that wait for disk 1
/// have smaller numbers. Their second copies are at disk 2.
#[test]
fn what_waited_for_a_failing_disk_goes_to_the_others_in_order_of_arrival() {
    let early = (0..3).map(|id| (0.0, request(id, R, id, 1)));
    let late = (3..8).map(|id| (99.0 + id as f64 / 10.0, request(id, R, 18 - id, 1)));
    let requests: Vec<_> = early.chain(late).collect();
    let done = run(&mut array(&[(1, 99.8)], None), &requests);
    assert_eq!(ids(&done), [0, 1, 2, 3, 4, 5, 6, 7]);
    // If data are lost they all end immediately, also in that order.
    let done = run(&mut array(&[(1, 99.8), (2, 99.8)], None), &requests);
    assert_eq!(ids(&done), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(done[3..].iter().all(|done| done.at == at_ms(99.8)));
}

/// Disk 1 serves one read, then nothing until it fails; disk 3 fails unused.
#[test]
fn an_idle_disk_that_fails_keeps_its_figures() {
    let mut array = array(&[(1, 100.0), (3, 200.0)], None);
    let done = run(&mut array, &[(0.0, request(0, R, 10, 1))]);
    let busy = done[0].response().as_ns() as f64 / 1e8;
    let works: Vec<_> = array
        .components(Instant::START)
        .into_iter()
        .filter_map(|part| match part.work {
            Work::Disk(work) => Some((work.reads, work.reading_fraction, work.waiting_mean_count)),
            _ => None,
        })
        .collect();
    let unused = (0, 0.0, 0.0);
    assert_eq!(works, [unused, (1, busy, 0.0), unused, unused]);
}

/// The other copy of the write remains.
#[test]
fn a_write_at_a_failing_disk_ends_with_the_other_copy() {
    let write = [(0.0, request(3, W, 10, 2))];
    let done = run(&mut array(&[(1, 0.1)], None), &write);
    let second = Alone::new().ends(2, Instant::START, request(3, W, 100, 2));
    assert_eq!((done[0].at, done[0].status), (second, Status::Good));
    // If its disk fails after the first copy has ended, the write ends at that moment.
    let first = Alone::new().ends(1, Instant::START, request(3, W, 10, 2));
    assert!(first < second);
    let between = ((first - Instant::START).as_ms() + (second - Instant::START).as_ms()) / 2.0;
    let done = run(&mut array(&[(2, between)], None), &write);
    assert_eq!((done[0].at, done[0].status), (at_ms(between), Status::Good));
}

/// Block 10 cannot be read at disk 1, and the disk of its second copy fails meanwhile.
#[test]
fn a_failed_read_tries_no_disk_that_has_failed() {
    let bad = BadBlocks {
        first: Lbn(0),
        end: Lbn(10),
        affected: AffectedOps::Reads,
        retries: 3,
    };
    let read = |failures: &[(usize, f64)]| -> Vec<Completion> {
        let devices = (0..4).map(|number| {
            let plan = FaultPlan {
                medium_errors: (number == 1).then_some(bad).into_iter().collect(),
                ..FaultPlan::default()
            };
            BoxedDevice::new(Faults::new(drive(number), &plan, Span::from_ms(10.0)))
        });
        let array = Declustered::new(devices.collect(), chain(failures, None));
        let mut array = array.expect("drives");
        run(&mut array, &[(0.0, request(3, R, 10, 2))])
    };
    assert_eq!(read(&[])[0].status, Status::Recovered { retries: 1 });
    let done = read(&[(2, 5.0)]);
    assert_eq!(done[0].status, Status::MediumError { offset: 0 });
    assert_eq!(done.len(), 1);
}

/// Disks 1 and 2 share the ten odd units of which disk 1 has the first copy; 1 and 3 share none.
#[test]
fn two_failures_lose_what_both_disks_had() {
    let requests = [
        (0.0, request(0, R, 0, 1)),
        (999.9, request(1, R, 20, 1)),
        (2_000.0, request(2, W, 0, 1)),
    ];
    let mut neighbours = array(&[(1, 0.0), (2, 1_000.0)], None);
    let done = run(&mut neighbours, &requests);
    assert_eq!(ids(&done), [0, 1, 2]);
    let lost = Status::NotReady;
    let statuses: Vec<Status> = done.iter().map(|done| done.status).collect();
    assert_eq!(statuses, [Status::Good, lost, lost]);
    let work = redundancy(&neighbours);
    let what = work.lost.expect("lost data");
    assert_eq!((what.first, what.blocks), (Lbn(10), SectorCount(100)));
    assert_eq!((what.at, work.failed), (at_ms(1_000.0), 2));
    assert_eq!(neighbours.next_event(), None);
    let mut opposite = array(&[(1, 0.0), (3, 1_000.0)], None);
    let done = run(&mut opposite, &requests);
    assert!(done.iter().all(|done| done.status == Status::Good));
    assert_eq!(redundancy(&opposite).lost, None);
}
