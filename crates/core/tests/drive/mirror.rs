//! Mirrored pairs of tiny drives. The platter of the second is half a revolution ahead, so that
//! block 0 passes the first from 0 to 1 ms and the second from 5 to 6 ms.

use diskarm_core::device::{Completion, Device, Status, Work};
use diskarm_core::drive::Drive;
use diskarm_core::host::Host;
use diskarm_core::mirror::{Mirror, MirrorConfig, ReadDispatch, Routing, WriteCompletion};
use diskarm_core::request::{Ordering, Request};
use diskarm_core::sched::{Pending, PolicyConfig};
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks, FaultPlan, Faults};

use super::attributes::{at_ms, ids, run};
use super::tiny::{R, W, request, tiny};

const TINY_BLOCKS: u64 = 200;

fn drives() -> [Drive; 2] {
    let drive = |origin| Drive::new(&tiny(""), origin).expect("a sound layout");
    [drive(Angle::ZERO), drive(Angle::from_fraction(1, 2))]
}

fn pair(mirroring: &MirrorConfig) -> Mirror {
    Mirror::new(drives().map(BoxedDevice::new), mirroring).expect("a drive knows all")
}

/// Returns a configuration that sends all reads to one member.
fn only(member: u64) -> MirrorConfig {
    let pivot = Lbn(200 * (1 - member));
    let affinity = Routing::Affinity {
        pivot,
        relaxed: None,
    };
    MirrorConfig {
        reads: ReadDispatch::Routed(affinity),
        ..MirrorConfig::default()
    }
}

fn shared(policy: &str) -> MirrorConfig {
    MirrorConfig {
        reads: ReadDispatch::Shared,
        policy: policy.parse().expect("a policy"),
        ..MirrorConfig::default()
    }
}

/// Id and time of completions, in ms to the microsecond.
fn times(done: &[Completion]) -> Vec<(u64, f64)> {
    let ms = |done: &Completion| (done.at.as_s() * 1e6).round() / 1e3;
    done.iter()
        .map(|done| (done.request.id, ms(done)))
        .collect()
}

#[test]
fn a_write_completes_with_the_later_copy_or_the_first() {
    let requests = [(0.0, request(7, W, 0, 1))];
    let done = run(&mut pair(&MirrorConfig::default()), &requests);
    assert_eq!(times(&done), [(7, 6.0)]);
    assert!((done[0].breakdown.rotation.as_ms() - 5.0).abs() < 1e-3);
    let first = MirrorConfig {
        writes: WriteCompletion::First,
        ..MirrorConfig::default()
    };
    let done = run(&mut pair(&first), &requests);
    assert_eq!(times(&done), [(7, 1.0)]);
}

/// The second copy waits for the read in front of it: it is the queue wait of the write.
#[test]
fn the_parts_are_those_of_the_later_copy() {
    let requests = [(0.0, request(0, R, 0, 1)), (0.0, request(1, W, 0, 1))];
    let done = run(&mut pair(&only(1)), &requests);
    // The second reads from 5 to 6 ms and writes a revolution later; the first writes at once.
    assert_eq!(times(&done), [(0, 6.0), (1, 16.0)]);
    let parts = done[1].breakdown;
    assert!((parts.queue.as_ms() - 6.0).abs() < 1e-3, "{parts:?}");
    assert!((parts.rotation.as_ms() - 9.0).abs() < 1e-3, "{parts:?}");
}

#[test]
fn reads_go_by_turns_and_by_address() {
    let reads = |count: u64| -> Vec<(f64, Request)> {
        (0..count).map(|id| (0.0, request(id, R, 0, 1))).collect()
    };
    let done = run(&mut pair(&MirrorConfig::default()), &reads(4));
    assert_eq!(times(&done), [(0, 1.0), (1, 6.0), (2, 11.0), (3, 16.0)]);
    let done = run(&mut pair(&only(0)), &reads(2));
    assert_eq!(times(&done), [(0, 1.0), (1, 11.0)]);
    // Relaxed by one: the third finds two at its own member and none at the other.
    let mut relaxed = only(0);
    relaxed.reads = ReadDispatch::Routed(Routing::Affinity {
        pivot: Lbn(200),
        relaxed: Some(1),
    });
    let done = run(&mut pair(&relaxed), &reads(3));
    assert_eq!(times(&done), [(0, 1.0), (2, 6.0), (1, 11.0)]);
    let mut shortest = only(0);
    shortest.reads = ReadDispatch::Routed(Routing::ShortestQueue);
    let done = run(&mut pair(&shortest), &reads(2));
    let mut at: Vec<f64> = times(&done).iter().map(|(_, at)| *at).collect();
    at.sort_by(f64::total_cmp);
    assert_eq!(at, [1.0, 6.0], "one each");
}

/// At 0 both are free, and the second is 3 ms in front of block 8, the first 8 ms. It takes that
/// read, and from then on each takes the oldest when it is free.
#[test]
fn a_free_member_takes_from_the_shared_queue() {
    let requests = [
        (0.0, request(0, R, 8, 1)),
        (0.0, request(1, R, 0, 1)),
        (0.5, request(2, R, 2, 1)),
        (0.6, request(3, R, 4, 1)),
    ];
    let done = run(&mut pair(&shared("fcfs")), &requests);
    // Block 2 passes the first from 2 to 3 ms; it takes block 4 then, which ends at 5.
    assert_eq!(times(&done), [(1, 1.0), (2, 3.0), (0, 4.0), (3, 5.0)]);
}

/// All reads are of the first member's part. It takes the one that is nearest, and the second takes
/// one if it would be idle while more than this many wait.
#[test]
fn a_shared_queue_can_be_divided_by_address() {
    let requests = [
        (0.0, request(0, R, 0, 1)),
        (0.1, request(1, R, 9, 1)),
        (0.2, request(2, R, 7, 1)),
        (0.3, request(3, R, 3, 1)),
    ];
    let done = |relaxed| {
        let divided = MirrorConfig {
            reads: ReadDispatch::Divided {
                pivot: Lbn(200),
                relaxed,
            },
            ..shared("satf")
        };
        times(&run(&mut pair(&divided), &requests))
    };
    assert_eq!(done(None), [(0, 1.0), (3, 4.0), (2, 8.0), (1, 10.0)]);
    // Block 9 passes the second from 4 to 5 ms; blocks 3 and 7 are left to the first.
    assert_eq!(done(Some(0)), [(0, 1.0), (3, 4.0), (1, 5.0), (2, 8.0)]);
    // At 0.2 ms two wait: block 7 passes the second from 2 to 3 ms. Then block 9 alone waits.
    assert_eq!(done(Some(1)), [(0, 1.0), (2, 3.0), (3, 4.0), (1, 10.0)]);
    assert_eq!(done(Some(9)), done(None));
}

/// A read across units of the second member is two commands there; once one starts, it stays.
#[test]
fn a_read_in_reserve_is_served_as_a_whole() {
    let divided = MirrorConfig {
        reads: ReadDispatch::Divided {
            pivot: Lbn(200),
            relaxed: Some(0),
        },
        transposed: Some(SectorCount(3)),
        ..shared("satf")
    };
    let requests = [(0.0, request(0, R, 0, 1)), (0.1, request(1, R, 1, 4))];
    let mut pair = pair(&divided);
    let done = run(&mut pair, &requests);
    assert_eq!(ids(&done), [0, 1]);
    let reads = pair
        .components(Instant::START)
        .into_iter()
        .map(|part| match part.work {
            Work::Disk(work) => work.reads,
            _ => 0,
        });
    assert_eq!(reads.collect::<Vec<u64>>(), [1, 2]);
}

/// At 4 ms the second member takes the copy of the write or the read, whichever is nearer.
#[test]
fn members_choose_among_waiting_reads_and_their_copies_of_writes() {
    let requests = [
        (0.0, request(0, R, 8, 1)),
        (0.0, request(1, R, 5, 1)),
        (0.5, request(2, W, 0, 1)),
        (0.6, request(3, R, 9, 1)),
    ];
    let done = run(&mut pair(&shared("satf")), &requests);
    // The second reads block 8 until 4, block 9 until 5, and writes block 0 until 6 ms; the first
    // reads block 5 until 6 and writes block 0 until 11 ms.
    assert_eq!(times(&done), [(0, 4.0), (3, 5.0), (1, 6.0), (2, 11.0)]);
}

fn spoilt(first: &[u64], second: &[u64]) -> [BoxedDevice; 2] {
    let [one, other] = drives();
    let faulty = |drive: Drive, bad: &[u64]| {
        let blocks = bad.iter().map(|&block| BadBlocks {
            first: Lbn(block),
            end: Lbn(block + 1),
            affected: AffectedOps::Reads,
            retries: 1,
        });
        let medium_errors = blocks.collect();
        let plan = FaultPlan {
            medium_errors,
            ..FaultPlan::default()
        };
        BoxedDevice::new(Faults::new(drive, &plan, Span::from_ms(10.0)))
    };
    [faulty(one, first), faulty(other, second)]
}

/// The first gives up at 11 ms; block 0 passes the second from 15 to 16 ms.
#[test]
fn a_read_that_fails_at_one_member_is_read_at_the_other() {
    for mirroring in [only(0), shared("satf")] {
        let mut pair = Mirror::new(spoilt(&[0], &[]), &mirroring).expect("drives");
        let done = run(&mut pair, &[(0.0, request(3, R, 0, 1))]);
        assert_eq!(times(&done), [(3, 16.0)]);
        assert_eq!(done[0].status, Status::Recovered { retries: 1 });
        let parts = done[0].breakdown;
        assert!((parts.rotation.as_ms() - 14.0).abs() < 1e-3, "{parts:?}");
        assert!((parts.transfer.as_ms() - 2.0).abs() < 1e-3, "{parts:?}");
        assert_eq!(parts.queue, Span::ZERO);
    }
}

#[test]
fn a_read_that_fails_at_both_members_fails_at_the_later_bad_block() {
    let mut pair = Mirror::new(spoilt(&[2], &[4]), &only(0)).expect("drives");
    let done = run(&mut pair, &[(0.0, request(3, R, 0, 6))]);
    assert_eq!(done[0].bad_block(), Some(Lbn(4)));
    assert_eq!(done.len(), 1);
    // The pieces of a transposed request are counted from its beginning: units of three, of which
    // the first is at 195 of the second member, and the next at 192.
    let transposed = MirrorConfig {
        transposed: Some(SectorCount(3)),
        ..only(1)
    };
    let mut pair = Mirror::new(spoilt(&[5], &[193]), &transposed).expect("drives");
    let done = run(&mut pair, &[(0.0, request(3, R, 0, 6))]);
    assert_eq!(done[0].bad_block(), Some(Lbn(5)));
}

#[test]
fn an_ordered_request_is_alone() {
    let ordered = Request {
        ordering: Ordering::Ordered,
        ..request(1, W, 1, 1)
    };
    let requests = [
        (0.0, request(0, W, 0, 1)),
        (0.1, ordered),
        (0.2, request(2, R, 2, 1)),
    ];
    let done = run(&mut pair(&only(0)), &requests);
    // The copies of request 0 end at 1 and 6 ms, and the copies of request 1 at 12 and 7 ms.
    assert_eq!(times(&done), [(0, 6.0), (1, 12.0), (2, 13.0)]);
}

#[test]
fn what_waits_can_be_taken_back() {
    for mirroring in [only(0), shared("fcfs")] {
        let mut pair = pair(&mirroring);
        let submit =
            |pair: &mut Mirror, request| assert_eq!(pair.submit(at_ms(0.0), request), Ok(()));
        submit(&mut pair, request(0, W, 0, 1));
        submit(&mut pair, request(1, W, 1, 1));
        submit(&mut pair, request(2, R, 2, 1));
        assert!(!pair.abort(at_ms(0.5), 0), "under way");
        assert!(pair.abort(at_ms(0.5), 1));
        assert!(!pair.abort(at_ms(0.5), 1), "twice");
        assert!(pair.abort(at_ms(0.5), 2));
        assert!(!pair.abort(at_ms(0.5), 3), "never submitted");
        let done = run(&mut pair, &[]);
        assert_eq!(times(&done), [(1, 0.5), (2, 0.5), (0, 6.0)]);
        assert_eq!(done[0].status, Status::Aborted);
    }
}

/// With all reads at one member the pair behaves like a host queue in front of it.
#[test]
fn reads_of_one_member_are_those_of_a_queue_in_front_of_it() {
    let reads: Vec<(f64, Request)> = (0..200)
        .map(|id| {
            (
                id as f64 * 6.0,
                request(id, R, id * 7_919 % 193, 1 + id % 7),
            )
        })
        .collect();
    for name in [
        "fcfs",
        "satf",
        "look(by=map)",
        "sstf(by=map)",
        "wstf",
        "vscan(by=map)",
    ] {
        let policy: PolicyConfig = name.parse().expect("a policy");
        let [drive, other] = drives();
        for (member, drive) in [(0, drive), (1, other)] {
            let of_drive = policy.policy(&drive);
            let expected = run(&mut Host::new(drive, of_drive), &reads);
            let mirroring = MirrorConfig {
                policy: policy.clone(),
                ..only(member)
            };
            let found = run(&mut pair(&mirroring), &reads);
            assert_eq!(found, expected, "{policy}, {member}");
        }
    }
}

/// Reads of a transposed member take as long as reads of the same positions of a drive.
#[test]
fn a_transposed_member_holds_units_in_the_opposite_order() {
    let transposed = MirrorConfig {
        transposed: Some(SectorCount(50)),
        ..only(1)
    };
    let place = |block: u64| (3 - block / 50) * 50 + block % 50;
    let starts = [0, 3, 49, 60, 120, 199, 150];
    let reads = |map: &dyn Fn(u64) -> u64| -> Vec<(f64, Request)> {
        let reads = starts.into_iter().zip(0..);
        reads
            .map(|(start, id)| (id as f64, request(id, R, map(start), 1)))
            .collect()
    };
    let found = run(&mut pair(&transposed), &reads(&|block| block));
    let [_, drive] = drives();
    let policy = PolicyConfig::default().policy(&drive);
    let expected = run(&mut Host::new(drive, policy), &reads(&place));
    assert_eq!(times(&found), times(&expected));
    assert_eq!(ids(&found), [0, 1, 2, 3, 4, 5, 6]);
}

/// The workload for routings that rehearse requests.
fn mixed() -> Vec<(f64, Request)> {
    let request = |id: u64| {
        let op = if id % 5 == 3 { W } else { R };
        (
            id as f64 * 5.0,
            request(id, op, id * 7_919 % 193, 1 + id % 7),
        )
    };
    (0..80).map(request).collect()
}

/// The measure that the router below compares, from a read and all completions of the members.
type Cost = fn(u64, [&[Completion]; 2]) -> Span;

/// Returns the commands of a request at a member of a pair whose second holds units of `unit` of
/// its blocks in the opposite order, one block after the other.
fn commands(request: &Request, member: usize, unit: Option<u64>) -> Vec<Request> {
    let Some(unit) = unit.filter(|_| member == 1) else {
        let id = request.id * 8;
        return vec![Request { id, ..*request }];
    };
    let units = TINY_BLOCKS / unit;
    let place = |block: u64| match block / unit {
        number if number < units => (units - 1 - number) * unit + block % unit,
        _ => block,
    };
    let mut commands: Vec<Request> = Vec::new();
    for block in request.start.0..request.end().0 {
        match commands.last_mut() {
            Some(last) if block % unit > 0 => last.sectors.0 += 1,
            _ => commands.push(Request {
                id: request.id * 8 + commands.len() as u64,
                start: Lbn(place(block)),
                sectors: SectorCount(1),
                ..*request
            }),
        }
    }
    commands
}

/// Returns the completions of a drive that takes one command at a time. All commands of a request
/// wait before the first of them can begin.
fn in_turn(
    mut drive: Drive,
    policy: &PolicyConfig,
    list: &[(Instant, Vec<Request>)],
) -> Vec<Completion> {
    let mut waiting = policy.policy(&drive);
    let (mut arrived, mut done) = (std::collections::BTreeMap::new(), Vec::new());
    let mut list = list.iter().peekable();
    loop {
        let now = match (drive.next_event(), list.peek()) {
            (Some(event), next) if next.is_none_or(|(at, _)| event < *at) => {
                done.extend(drive.advance(event));
                event
            }
            (_, None) => break,
            (_, Some(_)) => {
                let (at, commands) = list.next().expect("peeked");
                for &request in commands {
                    arrived.insert(request.id, *at);
                    let arrived = *at;
                    waiting.add(Pending { request, arrived }, &drive);
                }
                *at
            }
        };
        while drive.has_room()
            && let Some(next) = waiting.next(now, &drive)
        {
            assert_eq!(drive.submit(now, next.request), Ok(()));
        }
    }
    for done in &mut done {
        let since: Instant = arrived[&done.request.id];
        done.breakdown.queue += done.arrived - since;
        done.arrived = since;
    }
    done
}

/// Routes reads independently of the model: tries each read at the end of both members' lists, on
/// separate queues from the start of the run, and takes the cheaper by `cost` of the completions.
fn brute_force(
    requests: &[(f64, Request)],
    policy_name: &str,
    unit: Option<u64>,
    cost: Cost,
) -> Vec<Completion> {
    let policy: PolicyConfig = policy_name.parse().expect("a policy");
    let served = |lists: &[Vec<(f64, Request)>; 2]| {
        let drives = drives().into_iter().zip(lists).enumerate();
        let done = drives.map(|(member, (drive, list))| {
            let of_request = |(at, request): &(f64, Request)| {
                let commands = commands(request, member, unit);
                (at_ms(*at), commands)
            };
            let requests: Vec<_> = list.iter().map(of_request).collect();
            in_turn(drive, &policy, &requests)
        });
        done.collect::<Vec<_>>()
    };
    let mut lists = [Vec::new(), Vec::new()];
    for &(at, request) in requests {
        if request.op == W {
            lists.iter_mut().for_each(|list| list.push((at, request)));
            continue;
        }
        let costs = [0, 1].map(|member: usize| {
            let mut lists = lists.clone();
            lists[member].push((at, request));
            let done = served(&lists);
            cost(request.id * 8, [&done[0], &done[1]])
        });
        lists[usize::from(costs[1] < costs[0])].push((at, request));
    }
    // The later copy of each write, and all reads, in order of completion.
    let mut all = served(&lists).concat();
    all.sort_by_key(|done| std::cmp::Reverse(done.at));
    all.iter_mut().for_each(|done| done.request.id /= 8);
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|done| seen.insert(done.request.id));
    all.reverse();
    all
}

/// Returns the completions of the last command of each request at each member.
fn last_commands(done: [&[Completion]; 2]) -> Vec<Completion> {
    let of_member = |done: &[Completion]| {
        let mut last = std::collections::BTreeMap::new();
        for done in done {
            last.insert(done.request.id / 8, *done);
        }
        last.into_values().collect::<Vec<_>>()
    };
    done.map(of_member).concat()
}

const COSTS: [(Routing, &str, Cost); 4] = [
    (Routing::ShortestResponse, "fcfs", |id, done| {
        let last = last_commands(done).into_iter();
        let mut last = last.filter(|done| done.request.id / 8 == id / 8);
        last.next().expect("completed").response()
    }),
    (Routing::LastRequest, "fcfs", |id, done| {
        let all = done.into_iter().flatten();
        let own = all.filter(|done| done.request.id / 8 == id / 8);
        own.map(Completion::service).sum()
    }),
    (Routing::MinResponse, "satf", |_, done| {
        last_commands(done).iter().map(Completion::response).sum()
    }),
    (Routing::MinService, "satf", |_, done| {
        done.into_iter().flatten().map(Completion::service).sum()
    }),
];

#[test]
fn routings_that_try_requests_find_the_least() {
    for unit in [None, Some(10), Some(7), Some(3)] {
        let mut ends = Vec::new();
        for (routing, policy, cost) in COSTS {
            let mirroring = MirrorConfig {
                reads: ReadDispatch::Routed(routing),
                policy: policy.parse().expect("a policy"),
                transposed: unit.map(SectorCount),
                ..MirrorConfig::default()
            };
            let found = run(&mut pair(&mirroring), &mixed());
            let expected = brute_force(&mixed(), policy, unit, cost);
            // Two may end at the same time to the microsecond.
            let by_id = |done: &[Completion]| {
                let mut times = times(done);
                times.sort_by_key(|(id, _)| *id);
                times
            };
            assert_eq!(by_id(&found), by_id(&expected), "{routing:?}, {unit:?}");
            ends.push(by_id(&found));
        }
        ends.dedup();
        assert_eq!(ends.len(), 4, "each routing has a way of its own");
    }
}
