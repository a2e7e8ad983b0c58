//! Arrays of tiny drives, whose platters are not in step.

use diskarm_core::device::Failure;
use diskarm_core::device::{Completion, Device, DiskWork, Status, Work};
use diskarm_core::drive::Drive;
use diskarm_core::host::Host;
use diskarm_core::mirror::{Mirror, MirrorConfig};
use diskarm_core::raid::{Level, Raid, RaidConfig};
use diskarm_core::request::{Op, Ordering, Request};
use diskarm_core::sched::PolicyConfig;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks, FaultPlan, Faults};

use super::attributes::{at_ms, ids, run};
use super::tiny::{R, W, request, tiny};

const FIVE: Level = Level::Five;

fn drive(member: usize) -> Drive {
    Drive::new(&tiny(""), Angle::from_fraction(3 * member as u64 % 10, 10)).expect("a sound layout")
}

fn striping(level: Level, unit: u64) -> RaidConfig {
    RaidConfig {
        level,
        unit: SectorCount(unit),
        policy: PolicyConfig::default(),
        failures: Vec::new(),
        rebuild_share: None,
    }
}

/// Disk 1 is down.
fn degraded(unit: u64) -> RaidConfig {
    RaidConfig {
        failures: vec![failure(1, Instant::START)],
        ..striping(FIVE, unit)
    }
}

fn failure(member: usize, at: Instant) -> Failure {
    Failure { member, at }
}

fn without_one(members: usize, unit: u64) -> Raid {
    let members = (0..members).map(|member| BoxedDevice::new(drive(member)));
    Raid::new(members.collect(), &degraded(unit)).expect("a drive knows all")
}

fn array(level: Level, members: usize, unit: u64) -> Raid {
    let members = (0..members).map(|member| BoxedDevice::new(drive(member)));
    Raid::new(members.collect(), &striping(level, unit)).expect("a drive knows all")
}

/// Drives that serve one command each, to compute when it ends on an idle drive.
struct Alone(Vec<Drive>);

impl Alone {
    fn new(members: usize) -> Self {
        Self((0..members).map(drive).collect())
    }

    fn ends(&mut self, at: Instant, member: usize, op: Op, place: u64, sectors: u64) -> Instant {
        let drive = &mut self.0[member];
        assert_eq!(drive.submit(at, request(0, op, place, sectors)), Ok(()));
        loop {
            let event = drive.next_event().expect("a completion to come");
            if let Some(done) = drive.advance(event) {
                return done.at;
            }
        }
    }

    /// Returns when the same command has ended at both members.
    fn both(&mut self, at: Instant, members: [usize; 2], op: Op, place: u64) -> Instant {
        let [one, other] = members.map(|member| self.ends(at, member, op, place, 2));
        one.max(other)
    }
}

fn times(done: &[Completion]) -> Vec<(u64, Instant)> {
    let mut times: Vec<_> = done.iter().map(|done| (done.request.id, done.at)).collect();
    times.sort_unstable();
    times
}

/// Identical to the bit, for reads, writes and flushes in the order of many policies.
#[test]
fn stripes_of_one_disk_are_a_queue_in_front_of_it() {
    let requests: Vec<(f64, Request)> = (0..300)
        .map(|id| {
            let at = id as f64 * 9.0;
            let transfer = |op| request(id, op, id * 7_919 % 193, 1 + id % 7);
            let request = match id % 5 {
                0 | 1 => transfer(W),
                4 if id % 3 == 0 => Request::flush(id),
                _ => transfer(R),
            };
            (at, request)
        })
        .collect();
    for name in [
        "fcfs",
        "satf",
        "clook(by=map)",
        "vscan(by=map)",
        "sstf(by=map)",
    ] {
        let policy: PolicyConfig = name.parse().expect("a policy");
        let plain = drive(0);
        let of_drive = policy.policy(&plain);
        let expected = run(&mut Host::new(plain, of_drive), &requests);
        for unit in [1, 7, 64, 1_000] {
            let members = vec![BoxedDevice::new(drive(0))];
            let striping = RaidConfig {
                policy: policy.clone(),
                ..striping(Level::Zero, unit)
            };
            let mut array = Raid::new(members, &striping).expect("a drive knows all");
            assert_eq!(array.capacity(), SectorCount(200));
            assert_eq!(run(&mut array, &requests), expected, "{policy}, {unit}");
        }
    }
}

/// Units of four at three disks: blocks 6 to 13 are the end of unit 1, unit 2, and the beginning of
/// unit 3, which is at disk 0 again.
#[test]
fn a_request_ends_with_the_last_of_its_commands() {
    for op in [R, W] {
        let mut array = array(Level::Zero, 3, 4);
        assert_eq!(array.capacity(), SectorCount(600));
        let done = run(&mut array, &[(0.0, request(5, op, 6, 8))]);
        let mut alone = Alone::new(3);
        let commands = [(1, 2, 2), (2, 0, 4), (0, 4, 2)];
        let ends = commands
            .map(|(member, place, sectors)| alone.ends(Instant::START, member, op, place, sectors));
        assert_eq!(times(&done), [(5, ends.into_iter().max().expect("three"))]);
    }
}

/// Five disks, units of ten: block 62 is at place 12 of disk 1, and its parity at disk 3.
#[test]
fn a_small_write_is_two_reads_and_then_two_writes() {
    let mut alone = Alone::new(5);
    let read = alone.both(Instant::START, [1, 3], R, 12);
    let written = alone.both(read, [1, 3], W, 12);
    let done = run(&mut array(FIVE, 5, 10), &[(0.0, request(7, W, 62, 2))]);
    assert_eq!(times(&done), [(7, written)]);
    assert_eq!(done[0].breakdown.queue, Span::ZERO);
    // Each disk writes at the earliest a revolution after it has read.
    assert!(written > Instant::START + Span::from_ms(12.0));
}

/// Each of three writes to row 1 reads when the previous one has ended; writes to two rows do not
/// wait for each other.
#[test]
fn writes_to_one_row_go_one_after_the_other() {
    let requests = [
        (0.0, request(0, W, 62, 2)),
        (0.5, request(1, W, 50, 2)),
        (0.5, request(2, W, 40, 2)),
    ];
    let done = run(&mut array(FIVE, 5, 10), &requests);
    let mut alone = Alone::new(5);
    let read = alone.both(Instant::START, [1, 3], R, 12);
    let first = alone.both(read, [1, 3], W, 12);
    // Block 50 is at place 10 of disk 0, block 40 at place 10 of disk 4.
    let parts = [(0, 10), (4, 10)];
    let mut ends = vec![(0, first)];
    let mut begins = first;
    for ((member, place), id) in parts.into_iter().zip(1..) {
        let read = alone.both(begins, [member, 3], R, place);
        begins = alone.both(read, [member, 3], W, place);
        ends.push((id, begins));
    }
    assert_eq!(times(&done), ends);
    // Block 0 is at disk 0, with its parity at disk 4.
    let requests = [(0.0, request(0, W, 0, 2)), (0.0, request(1, W, 60, 2))];
    let found = run(&mut array(FIVE, 5, 10), &requests);
    let mut alone = Alone::new(5);
    let mut expected = Vec::new();
    for (id, members, place) in [(0, [0, 4], 0), (1, [1, 3], 10)] {
        let read = alone.both(Instant::START, members, R, place);
        expected.push((id, alone.both(read, members, W, place)));
    }
    assert_eq!(times(&found), expected);
}

/// Disk 1 is down: its unit 6 follows from units 4, 5 and 7 and the parity.
#[test]
fn what_a_failed_member_had_is_read_from_all_others() {
    let done = run(&mut without_one(5, 10), &[(0.0, request(7, R, 62, 2))]);
    let mut alone = Alone::new(5);
    let others = [0, 2, 3, 4].map(|member| alone.ends(Instant::START, member, R, 12, 2));
    let last = others.into_iter().max().expect("four");
    assert_eq!(times(&done), [(7, last)]);
    // Blocks of the other disks are read as usual.
    let mut alone = Alone::new(5);
    let expected = alone.ends(Instant::START, 2, R, 12, 2);
    let done = run(&mut without_one(5, 10), &[(0.0, request(7, R, 72, 2))]);
    assert_eq!(times(&done), [(7, expected)]);
}

/// A write to a block of the failed member reads the rest of the row and writes the parity; in a
/// row without parity, a write needs nothing else.
#[test]
fn a_write_without_the_failed_member() {
    let done = run(&mut without_one(5, 10), &[(0.0, request(7, W, 62, 2))]);
    let mut alone = Alone::new(5);
    let others = [0, 2, 4].map(|member| alone.ends(Instant::START, member, R, 12, 2));
    let read = others.into_iter().max().expect("three");
    let written = alone.ends(read, 3, W, 12, 2);
    assert_eq!(times(&done), [(7, written)]);
    // Row 3 is 15 P 12 13 14: block 150 is at disk 0.
    let done = run(&mut without_one(5, 10), &[(0.0, request(7, W, 150, 2))]);
    let expected = Alone::new(5).ends(Instant::START, 0, W, 30, 2);
    assert_eq!(times(&done), [(7, expected)]);
}

/// Five disks of 200 blocks in units of 60, of which disk 1 is rebuilt on disk 5: for each row the
/// four others are read at once, then the spare is written. With half the time each row is followed
/// by a pause as long as it took.
#[test]
fn a_rebuild_reads_all_others_and_writes_the_spare() {
    for share in [1.0, 0.5] {
        let mut array = rebuilt(5, share);
        let mut alone = Alone::new(6);
        let (mut at, mut ended) = (Instant::START, Instant::START);
        for (place, sectors) in [(0, 60), (60, 60), (120, 60), (180, 20)] {
            let reads = [0, 2, 3, 4].map(|member| alone.ends(at, member, R, place, sectors));
            let read = reads.into_iter().max().expect("four");
            ended = alone.ends(read, 5, W, place, sectors);
            at = if share < 1.0 {
                ended + (ended - at)
            } else {
                ended
            };
        }
        // It begins with the first request, which takes no time.
        let done = run(&mut array, &[(0.0, Request::flush(7))]);
        assert_eq!(times(&done), [(7, Instant::START)]);
        let progress = array.rebuild_progress().expect("a rebuild");
        assert_eq!(
            (progress.steps, progress.total, progress.stopped),
            (4, 4, None)
        );
        assert_eq!(progress.ended, Some(ended));
    }
}

fn rebuilt(members: usize, share: f64) -> Raid {
    let devices = (0..=members).map(|member| BoxedDevice::new(drive(member)));
    let striping = RaidConfig {
        rebuild_share: Some(share),
        ..degraded(60)
    };
    Raid::new(devices.collect(), &striping).expect("a drive knows all")
}

/// Two reads at disk 0, of which one waits, and a write at disk 1.
#[test]
fn members_report_their_work() {
    let mut array = array(Level::Zero, 2, 10);
    let requests = [
        (0.0, request(0, R, 0, 1)),
        (0.0, request(1, R, 3, 1)),
        (0.0, request(2, W, 10, 1)),
    ];
    let done = run(&mut array, &requests);
    let works: Vec<(String, DiskWork)> = array
        .components(Instant::START)
        .into_iter()
        .filter_map(|part| match part.work {
            Work::Disk(work) => Some((part.name, work)),
            _ => None,
        })
        .collect();
    let [(first, one), (second, other)] = &works[..] else {
        panic!("{works:?}");
    };
    assert_eq!((first.as_str(), second.as_str()), ("0", "1"));
    assert_eq!((one.reads, one.writes, one.waiting_max), (2, 0, 1));
    assert_eq!((other.reads, other.writes, other.waiting_max), (0, 1, 0));
    // Each is busy until the last of its requests has ended, up to its own last event.
    assert!((one.reading_fraction - 1.0).abs() < 1e-9, "{one:?}");
    assert!((other.writing_fraction - 1.0).abs() < 1e-9, "{other:?}");
    // One waits while the other is served.
    let first = done.iter().find(|done| done.request.id == 0);
    let last = done.iter().find(|done| done.request.id == 1);
    let at = |done: Option<&Completion>| (done.expect("it ended").at - Instant::START).as_s();
    let expected = at(first) / at(last);
    assert!((one.waiting_mean_count - expected).abs() < 1e-9, "{one:?}");
}

/// Disk 1 serves one read, then nothing until it fails; disk 2 fails unused.
#[test]
fn an_idle_member_that_fails_keeps_its_figures() {
    let members = (0..3).map(|member| BoxedDevice::new(drive(member)));
    let failing = RaidConfig {
        failures: vec![failure(1, at_ms(100.0)), failure(2, at_ms(200.0))],
        ..striping(FIVE, 10)
    };
    let mut array = Raid::new(members.collect(), &failing).expect("a drive knows all");
    let done = run(&mut array, &[(0.0, request(0, R, 10, 1))]);
    let busy = done[0].response().as_ns() as f64 / 1e8;
    let works: Vec<_> = array
        .components(at_ms(150.0))
        .into_iter()
        .filter_map(|part| match part.work {
            Work::Disk(work) => Some((work.reads, work.reading_fraction, work.waiting_mean_count)),
            _ => None,
        })
        .collect();
    assert_eq!(works, [(0, 0.0, 0.0), (1, busy, 0.0), (0, 0.0, 0.0)]);
}

/// Block 60 of the array is at place 0 of disk 1, which is lost.
#[test]
fn the_spare_takes_the_place_of_the_failed_member() {
    let mut array = rebuilt(5, 1.0);
    // Later than the rebuild.
    let requests = [(0.0, Request::flush(7)), (5_000.0, request(0, R, 60, 2))];
    let done = &run(&mut array, &requests)[1..];
    let ended = array.rebuild_progress().and_then(|progress| progress.ended);
    assert!(ended.is_some_and(|at| at < at_ms(5_000.0)));
    // One access, which takes less than the longest of four would.
    let parts = done[0].breakdown;
    assert_eq!(parts.queue, Span::ZERO);
    let mut spare = Alone::new(6);
    let wrote = spare.ends(ended.expect("ended"), 5, W, 180, 20);
    assert!(wrote < at_ms(5_000.0));
    let expected = spare.ends(at_ms(5_000.0), 5, R, 0, 2);
    assert_eq!(times(done), [(0, expected)]);
}

/// Disk 2 cannot read place 13, which is in row 1 of units of ten.
#[test]
fn a_rebuild_stops_at_a_block_that_it_cannot_read() {
    let mut array = spoilt_and_rebuilt(&[(2, 13)]);
    let done = run(&mut array, &[(0.0, request(0, R, 0, 1))]);
    assert_eq!(done[0].status, Status::Good);
    let progress = array.rebuild_progress().expect("a rebuild");
    // Row 1 is 5 6 7 P 4: place 13 of disk 2 is in unit 7.
    assert_eq!((progress.steps, progress.stopped), (1, Some(Lbn(73))));
    assert!(progress.ended.is_some());
}

fn spoilt_and_rebuilt(bad: &[(usize, u64)]) -> Raid {
    let striping = RaidConfig {
        rebuild_share: Some(1.0),
        ..degraded(10)
    };
    let devices = (0..6).map(|member| faulty(member, bad));
    Raid::new(devices.collect(), &striping).expect("drives")
}

/// Disks that cannot read these places.
fn spoilt(level: Level, members: usize, bad: &[(usize, u64)]) -> Raid {
    let members = (0..members).map(|member| faulty(member, bad));
    Raid::new(members.collect(), &striping(level, 10)).expect("drives")
}

fn faulty(member: usize, bad: &[(usize, u64)]) -> BoxedDevice {
    let own = bad.iter().filter(|(spoilt, _)| *spoilt == member);
    let blocks = own.map(|&(_, place)| BadBlocks {
        first: Lbn(place),
        end: Lbn(place + 1),
        affected: AffectedOps::Reads,
        retries: 1,
    });
    let plan = FaultPlan {
        medium_errors: blocks.collect(),
        ..FaultPlan::default()
    };
    BoxedDevice::new(Faults::new(drive(member), &plan, Span::from_ms(10.0)))
}

#[test]
fn a_request_fails_at_its_first_bad_block() {
    // Places 4 of disk 1 and 7 of disk 2 are blocks 14 and 27 of stripes without parity.
    let bad = [(2, 7), (1, 4)];
    let read = |start, sectors| {
        let mut array = spoilt(Level::Zero, 3, &bad);
        let done = run(&mut array, &[(0.0, request(3, R, start, sectors))]);
        assert_eq!(done.len(), 1);
        done[0]
    };
    assert_eq!(read(5, 30).bad_block(), Some(Lbn(14)));
    assert_eq!(read(20, 10).bad_block(), Some(Lbn(27)));
    assert_eq!(read(15, 10).status, Status::Good);
    // The parity of unit 0 of five disks is at disk 4: the write fails where it begins.
    let mut array = spoilt(FIVE, 5, &[(4, 6)]);
    let done = run(&mut array, &[(0.0, request(3, W, 4, 5))]);
    assert_eq!(done[0].bad_block(), Some(Lbn(4)));
}

/// Block 62 is at place 12 of disk 1, which fails while it reads: when that ends, the read begins
/// again at all others. The write to it that waits is redone too, without it.
#[test]
fn what_a_failing_member_has_to_do_is_done_without_it() {
    let mut alone = Alone::new(5);
    let first = alone.ends(Instant::START, 1, R, 12, 2);
    let others = [0, 2, 3, 4].map(|member| alone.ends(first, member, R, 12, 2));
    let read = others.into_iter().max().expect("four");
    let failing = |requests: &[(f64, Request)]| {
        let striping = RaidConfig {
            failures: vec![failure(1, at_ms(0.5))],
            ..striping(FIVE, 10)
        };
        let members = (0..5).map(|member| BoxedDevice::new(drive(member)));
        run(
            &mut Raid::new(members.collect(), &striping).expect("drives"),
            requests,
        )
    };
    let done = failing(&[(0.0, request(7, R, 62, 2))]);
    assert_eq!(times(&done), [(7, read)]);
    assert_eq!(done[0].status, Status::Recovered { retries: 1 });
    // The same write as without disk 1 from the start, except for what it waits for the row.
    let done = failing(&[(0.0, request(7, R, 62, 2)), (0.1, request(8, W, 62, 2))]);
    let statuses: Vec<Status> = done.iter().map(|done| done.status).collect();
    assert_eq!(statuses.len(), 2);
    assert!(
        statuses.iter().all(|status| status.is_success()),
        "{statuses:?}"
    );
}

/// The last number of a part that has ended is used first, so later reads that wait for disk 1 have
/// smaller numbers. A command in service is read again when it would have ended, last of all.
#[test]
fn commands_of_a_failing_member_go_to_the_others_in_order_of_arrival() {
    let early = (0..3).map(|id| (0.0, request(id, R, id, 1)));
    let late = (3..8).map(|id| (99.0 + id as f64 / 10.0, request(id, R, 18 - id, 1)));
    let requests: Vec<_> = early.chain(late).collect();
    let members = (0..3).map(|member| BoxedDevice::new(drive(member)));
    let failing = RaidConfig {
        failures: vec![failure(1, at_ms(99.8))],
        ..striping(FIVE, 10)
    };
    let array = Raid::new(members.collect(), &failing);
    let done = run(&mut array.expect("a drive knows all"), &requests);
    assert_eq!(ids(&done), [0, 1, 2, 4, 5, 6, 7, 3]);
}

/// Place 12 of disk 1 has block 62, which follows from the others; in a row without one of them it
/// is lost, and so is a write that needs its old data.
#[test]
fn what_a_member_cannot_read_follows_from_all_others() {
    let done = run(
        &mut spoilt(FIVE, 5, &[(1, 12)]),
        &[(0.0, request(7, R, 55, 12))],
    );
    assert_eq!(done[0].status, Status::Recovered { retries: 1 });
    let done = run(
        &mut spoilt(FIVE, 5, &[(1, 12), (3, 12)]),
        &[(0.0, request(7, R, 62, 2))],
    );
    assert_eq!(done[0].bad_block(), Some(Lbn(62)));
    let done = run(
        &mut spoilt(FIVE, 5, &[(1, 12)]),
        &[(0.0, request(7, W, 61, 3))],
    );
    assert!(
        matches!(done[0].status, Status::MediumError { .. }),
        "{:?}",
        done[0].status
    );
    let spoilt = (0..5).map(|member| faulty(member, &[(2, 12)]));
    let mut array = Raid::new(spoilt.collect(), &degraded(10)).expect("drives");
    let done = run(&mut array, &[(0.0, request(7, R, 62, 2))]);
    assert_eq!(done[0].bad_block(), Some(Lbn(62)));
}

/// The loss of two of five disks of 200 blocks, in units of 30, is counted block by block. Rows
/// that have been rebuilt are not lost.
#[test]
fn a_second_failure_loses_what_is_not_rebuilt() {
    for (share, rows) in [(None, 0), (Some(1.0), 2)] {
        let spare = usize::from(share.is_some());
        let members = |n| {
            (0..n)
                .map(|member| BoxedDevice::new(drive(member)))
                .collect()
        };
        let build = |failures: Vec<Failure>| {
            let striping = RaidConfig {
                failures,
                rebuild_share: share,
                ..striping(FIVE, 30)
            };
            Raid::new(members(5 + spare), &striping).expect("drives")
        };
        // After this many rows of the rebuild, which begins at once.
        let mut alone = Alone::new(6);
        let mut at = at_ms(1.0);
        for row in 0..rows {
            let reads = [0, 1, 2, 4].map(|member| alone.ends(at, member, R, 30 * row, 30));
            at = alone.ends(reads.into_iter().max().expect("four"), 5, W, 30 * row, 30);
        }
        let second = at + Span::from_ms(0.5);
        let mut array = build(vec![failure(1, second), failure(3, at_ms(1.0))]);
        let late = (second - Instant::START).as_ms() + 100.0;
        let done = run(
            &mut array,
            &[(0.0, Request::flush(6)), (late, request(7, R, 799, 1))],
        );
        assert_eq!(done[1].status, Status::NotReady);
        assert_eq!(done[1].response(), Span::ZERO);
        let lost = array
            .components(Instant::START)
            .into_iter()
            .find_map(|part| match part.work {
                Work::Redundancy(work) => Some(work),
                _ => None,
            });
        let found = lost.expect("failures");
        // Left-symmetric, from its definition: the parity of row r is at disk 4 - r modulo 5, and
        // the data begin after it.
        let mut blocks = Vec::new();
        for (place, member) in (0..200).flat_map(|place| [(place, 1), (place, 3)]) {
            let (row, offset) = (place / 30, place % 30);
            let parity = (9 - row % 5) % 5;
            if row >= rows && member != parity {
                let unit = (member + 9 - parity) % 5;
                let sectors = if row == 6 { 20 } else { 30 };
                blocks.push(row * 120 + unit * sectors + offset);
            }
        }
        let lost = found.lost.expect("two failures");
        let first = blocks.iter().min().copied();
        assert_eq!(
            (Some(lost.first.0), lost.blocks.0),
            (first, blocks.len() as u64)
        );
        assert_eq!(
            (lost.at, found.failed, found.failed_at),
            (second, 2, Some(at_ms(1.0)))
        );
        let rebuilt = share.map(|_| rows as f64 / 7.0);
        assert_eq!(
            (found.rebuilt_fraction, found.rebuild_time),
            (rebuilt, None)
        );
        // No row was rebuilt when the flush completed.
        assert_eq!(found.rebuild_projected, None);
    }
}

/// Seven rows of 30 blocks, the last of 20. A read completes after two of them or more; the others
/// are rebuilt when no requests are left.
#[test]
fn a_rebuild_under_load_is_projected() {
    let mut alone = Alone::new(6);
    let mut at = Instant::START;
    for row in 0..2 {
        let reads = [0, 2, 3, 4].map(|member| alone.ends(at, member, R, 30 * row, 30));
        at = alone.ends(reads.into_iter().max().expect("four"), 5, W, 30 * row, 30);
    }
    let striping = RaidConfig {
        rebuild_share: Some(1.0),
        ..degraded(30)
    };
    let members = (0..6).map(|member| BoxedDevice::new(drive(member)));
    let mut array = Raid::new(members.collect(), &striping).expect("drives");
    let late = (at - Instant::START).as_ms() + 0.1;
    let requests = [(0.0, Request::flush(6)), (late, request(7, R, 0, 1))];
    run(&mut array, &requests);
    let progress = array.rebuild_progress().expect("a rebuild");
    let (rows, last) = progress.under_load;
    assert!(
        (2..7).contains(&rows) && progress.steps == 7,
        "{progress:?}"
    );
    let took = (last.expect("rows") - Instant::START).as_ms();
    assert!(rows > 2 || last == Some(at), "{progress:?}");
    let found = progress.projected().expect("rows").as_ms();
    assert!((found - took * 7.0 / rows as f64).abs() < 1e-5, "{found}");
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
    for level in [Level::Zero, FIVE] {
        let done = run(&mut array(level, 3, 10), &requests);
        assert_eq!(ids(&done), [0, 1, 2]);
        let mut ends = done.iter().map(|done| done.at);
        let begun = done.iter().map(|done| done.at - done.service());
        let is_alone = begun.skip(1).all(|begun| ends.next() <= Some(begun));
        assert!(is_alone, "{done:?}");
    }
}

#[test]
fn what_waits_can_be_taken_back() {
    let mut array = array(FIVE, 5, 10);
    let submit = |array: &mut Raid, request| assert_eq!(array.submit(at_ms(0.0), request), Ok(()));
    submit(&mut array, request(0, W, 62, 2));
    // This one waits for the row, and the next one for disk 1.
    submit(&mut array, request(1, W, 62, 2));
    submit(&mut array, request(2, R, 64, 2));
    submit(&mut array, request(3, R, 0, 2));
    submit(&mut array, request(4, W, 62, 2));
    assert!(!array.abort(at_ms(0.5), 0), "under way");
    assert!(array.abort(at_ms(0.5), 1));
    assert!(!array.abort(at_ms(0.5), 1), "twice");
    assert!(array.abort(at_ms(0.5), 2));
    assert!(!array.abort(at_ms(0.5), 3), "in the drive");
    assert!(!array.abort(at_ms(0.5), 9), "never submitted");
    let done = run(&mut array, &[]);
    let aborted = done.iter().filter(|done| done.status == Status::Aborted);
    assert_eq!(
        aborted.map(|done| done.request.id).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(done.len(), 5);
    assert_eq!(done.last().map(|done| done.request.id), Some(4));
}

/// RAID 1+0: requests within one unit take as long as at the pair that has it.
#[test]
fn stripes_over_pairs_are_those_pairs() {
    let pair = |number: usize| {
        let members = [2 * number, 2 * number + 1].map(|member| BoxedDevice::new(drive(member)));
        Mirror::new(members, &MirrorConfig::default()).expect("drives")
    };
    let pairs = (0..3).map(|number| BoxedDevice::opaque(pair(number)));
    let mut array = Raid::new(pairs.collect(), &striping(Level::Zero, 10)).expect("pairs");
    assert_eq!(array.capacity(), SectorCount(600));
    let asked = |id: u64| {
        (
            id as f64 * 4.0,
            id * 7_919 % 60,
            if id.is_multiple_of(3) { W } else { R },
        )
    };
    // Block b of pair p is at unit 3 (b / 10) + p.
    let requests = |of: &dyn Fn(u64) -> bool, block: &dyn Fn(u64, u64) -> u64| {
        let all = (0..200).filter(|id| of(*id)).map(|id| {
            let (at, unit, op) = asked(id);
            (at, request(id, op, block(unit, id % 8), 1 + id % 3))
        });
        all.collect::<Vec<_>>()
    };
    let found = run(
        &mut array,
        &requests(&|_| true, &|unit, offset| unit * 10 + offset),
    );
    let mut expected = Vec::new();
    for number in 0..3 {
        let own = requests(&|id| asked(id).1 % 3 == number, &|unit, offset| {
            unit / 3 * 10 + offset
        });
        expected.extend(run(&mut pair(number as usize), &own));
    }
    assert_eq!(times(&found), times(&expected));
}
