//! A write cache that holds many ranges and destages them in the order of the queue's policy.

use std::collections::BTreeMap;

use diskarm_core::device::{Completion, Device, Outcome, Status};
use diskarm_core::drive::Drive;
use diskarm_core::request::{Op, Ordering, Request};
use diskarm_core::sched::INFOS;
use diskarm_core::spec::{Spec, WriteCache};
use diskarm_core::units::{Angle, Instant, SectorCount, Span};
use proptest::prelude::*;

use super::random::{Raw, cases, chancy_drive, fitted, requests};
use super::tiny::{Arrival, R, W, check, check_at, request, serve_all, tiny};

/// Returns a drive whose cache has room for this many sectors.
fn deferring(room: u64, policy: &str) -> Spec {
    tiny(&format!(
        "[bus]\nwrite_sector = \"0.25 ms\"\n[queue]\ndepth = 20\npolicy = \"{policy}\"\n\
         [buffer]\ncaching = true\nsegments = 2\nsegment = \"8 sectors\"\n\
         write_cache = \"deferred\"\ndirty_max = \"{room} sectors\"\n"
    ))
}

fn at(ms: f64) -> Instant {
    Instant::START + Span::from_ms(ms)
}

/// Returns the blocks that reach the media in each millisecond, without the empty ones.
pub fn persisted(spec: &Spec, asked: &[Arrival]) -> Vec<(u64, Vec<u64>)> {
    let mut drive = Drive::new(spec, Angle::ZERO).expect("a valid layout");
    drive.persisted(Instant::START);
    let mut asked = asked.iter().enumerate().peekable();
    let mut all = Vec::new();
    for ms in 0..200 {
        // What ends with the millisecond counts as ended, rounded or not.
        let now = at(ms as f64 + 1.0002);
        while let Some((id, &(ms, op, start, n))) = asked.next_if(|(_, of)| at(of.0) <= now) {
            while drive.advance(at(ms)).is_some() {}
            let request = request(id as u64, op, start, n);
            assert_eq!(drive.submit(at(ms), request), Ok(()));
        }
        while drive.advance(now).is_some() {}
        let persisted = drive.persisted(now).expect("a drive reports");
        let blocks = persisted
            .iter()
            .flat_map(|run| run.first.0..run.first.0 + run.sectors.0);
        all.push((ms, blocks.collect::<Vec<u64>>()));
    }
    all.retain(|(_, blocks)| !blocks.is_empty());
    all
}

/// Absorbed at 1.0; the arm is called then. On the media from 9.0 until 13.0, head 0 of cylinder 1.
const FIRST: Arrival = (0.0, W, 23, 4);
/// Absorbed at 2.0; on the media after the first from 18.0 until 22.0, head 0 of cylinder 3.
const SECOND: Arrival = (0.0, W, 60, 4);

#[test]
fn scattered_writes_are_absorbed_while_the_arm_is_elsewhere() {
    let spec = deferring(8, "fcfs");
    let done = serve_all(&spec, &[FIRST, SECOND]);
    check_at(&done[0], 1.0, Outcome::Absorbed);
    check(&done[1], 2.0, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let times: Vec<_> = (9..13).map(|ms| (ms, vec![ms + 14])).collect();
    let then: Vec<_> = (18..22).map(|ms| (ms, vec![ms + 42])).collect();
    assert_eq!(persisted(&spec, &[FIRST, SECOND]), [times, then].concat());
}

#[test]
fn a_write_waits_only_for_room() {
    // The first is on the media at 13.0, which leaves room for four; two sectors take 0.5.
    let spec = deferring(8, "fcfs");
    let done = serve_all(&spec, &[FIRST, SECOND, (0.0, W, 120, 2), (0.0, W, 140, 2)]);
    check(&done[2], 13.5, [13.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]);
    assert_eq!(done[2].breakdown.queue, Span::from_ms(2.0));
    check_at(&done[3], 14.0, Outcome::Absorbed);
    // One sector too many waits for the second.
    let done = serve_all(&spec, &[FIRST, SECOND, (0.0, W, 120, 5)]);
    check_at(&done[2], 23.25, Outcome::Absorbed);
    // What never fits goes to the media, and before what the cache holds: from 2.0 on, cylinder 6
    // at 9.0, tenth 6, nine sectors.
    let done = serve_all(&spec, &[FIRST, SECOND, (0.0, W, 120, 9)]);
    check_at(&done[2], 25.0, Outcome::Miss);
}

#[test]
fn the_policy_chooses_among_dirty_ranges() {
    // Cylinders 9, 2 and 8, all there before the first is on the media.
    let asked = [FIRST, (1.0, W, 180, 1), (1.0, W, 40, 1), (1.0, W, 160, 1)];
    let order = |policy: &str| -> Vec<u64> {
        let persisted = persisted(&deferring(20, policy), &asked);
        persisted
            .into_iter()
            .flat_map(|(_, blocks)| blocks)
            .skip(4)
            .collect()
    };
    assert_eq!(order("fcfs"), [180, 40, 160]);
    assert_eq!(order("sstf"), [40, 160, 180]);
    // From 13.0 on, cylinder 2 is reached at 15.0 and its block begins at tenth 2, 22.0; cylinder 8
    // at 21.0, tenth 8, 28.0; cylinder 9 at 22.0, tenth 4, 24.0. From 23.0 on, cylinder 9 is there
    // at 31.0, 34.0, and 8 at 30.0, 38.0.
    assert_eq!(order("sptf"), [40, 180, 160]);
}

#[test]
fn adjacent_writes_are_destaged_together() {
    let asked = [FIRST, (1.0, W, 62, 2), (1.0, W, 60, 2), (1.0, W, 64, 2)];
    let persisted = persisted(&deferring(20, "fcfs"), &asked);
    let blocks: Vec<u64> = persisted
        .iter()
        .flat_map(|(_, blocks)| blocks.clone())
        .skip(4)
        .collect();
    assert_eq!(blocks, [60, 61, 62, 63, 64, 65]);
    assert_eq!(persisted.last(), Some(&(23, vec![65])));
}

#[test]
fn an_overwrite_replaces_waiting_data() {
    let spec = deferring(20, "fcfs");
    // All of the second once more, and what is just being written once more.
    let asked = [FIRST, SECOND, (3.0, W, 60, 4), (3.0, W, 24, 1)];
    let persisted = persisted(&spec, &asked);
    assert_eq!(
        persisted[4..8],
        [60, 61, 62, 63].map(|block| (block - 42, vec![block; 2]))
    );
    // From 22.0 on, cylinder 1 is reached at 25.0, tenth 0.
    assert_eq!(persisted[8..], [(30, vec![24])]);
}

#[test]
fn reads_are_served_from_the_cache_or_after_a_destage() {
    let spec = deferring(8, "fcfs");
    let read = |ms, start, sectors| serve_all(&spec, &[FIRST, SECOND, (ms, R, start, sectors)])[2];
    // What is being written, and what waits.
    check_at(&read(3.0, 24, 2), 3.0, Outcome::Hit);
    check_at(&read(3.0, 60, 4), 3.0, Outcome::Hit);
    // Only a part: the second goes first, until 22.0, then from tenth 0.
    check_at(&read(3.0, 62, 6), 36.0, Outcome::Miss);
    // No part: after the first, cylinder 5 from 18.0, tenth 0.
    check(
        &read(3.0, 100, 1),
        21.0,
        [10.0, 0.0, 5.0, 0.0, 2.0, 1.0, 0.0],
    );
}

#[test]
fn commands_that_need_the_arm_go_first_unless_a_write_waits_for_room() {
    let spec = deferring(8, "fcfs");
    let reads = [(3.0, R, 100, 1), (3.0, R, 140, 1), (3.0, R, 180, 1)];
    let order = |asked: &[Arrival]| -> Vec<u64> {
        let all = [&[FIRST, SECOND], asked, &reads].concat();
        serve_all(&spec, &all)
            .iter()
            .map(|done| done.request.start.0)
            .collect()
    };
    // There is room for this one when the first is written.
    assert_eq!(order(&[(2.5, W, 80, 4)]), [23, 60, 80, 100, 140, 180]);
    // For these there is room once the second is destaged, which takes its turn after a read.
    assert_eq!(order(&[(2.5, W, 80, 5)]), [23, 60, 100, 80, 140, 180]);
}

#[test]
fn a_flush_ends_with_the_last_range() {
    let mut drive = Drive::new(&deferring(20, "fcfs"), Angle::ZERO).expect("a valid layout");
    for (id, (ms, op, start, n)) in [FIRST, SECOND].into_iter().enumerate() {
        assert_eq!(
            drive.submit(at(ms), request(id as u64, op, start, n)),
            Ok(())
        );
    }
    while drive.advance(at(5.0)).is_some() {}
    assert_eq!(drive.submit(at(5.0), Request::flush(2)), Ok(()));
    // A later write waits for it.
    assert_eq!(drive.submit(at(6.0), request(3, W, 100, 1)), Ok(()));
    let mut done = Vec::new();
    while let Some(event) = drive.next_event() {
        done.extend(std::iter::from_fn(|| drive.advance(event)));
    }
    check_at(&done[0], 22.0, Outcome::Miss);
    check_at(&done[1], 22.25, Outcome::Absorbed);
}

/// Returns a drive with a segment that a write has kept from becoming full, so that reading ahead
/// resumes with a hit; and the request that hits.
fn resuming() -> (Spec, [Arrival; 2]) {
    let text = "[bus]\nwrite_sector = \"0.25 ms\"\n[queue]\ndepth = 100\n\
         [buffer]\ncaching = true\nsegments = 9\nsegment = \"8 sectors\"\n\
         read_ahead = \"until-full\"\nread_ahead_on_hit = true\n\
         write_cache = \"deferred\"\ndirty_max = \"20 sectors\"\n";
    let mut spec = tiny(text);
    spec.mechanics.cylinder_settle = Span::from_ms(2.5);
    // Head 1 of cylinder 1.
    let read = (0.0, R, 30, 1);
    let done = serve_all(&spec, &[read])[0].at - Instant::START;
    (spec, [read, (done.as_ms() + 1.2, W, 180, 1)])
}

#[test]
fn buffer_hits_leave_the_arm_to_destages() {
    let (spec, first) = resuming();
    let writes = [
        (60.0, W, 23, 4),
        (60.0, W, 100, 4),
        (60.0, W, 60, 4),
        (75.0, W, 140, 4),
    ];
    let reads = (0..60).map(|n| (61.1 + f64::from(n), R, 30, 1));
    let mut with = [&first[..], &writes].concat();
    let alone = persisted(&spec, &with);
    with.extend(reads);
    with.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(
        serve_all(&spec, &with)[5..]
            .iter()
            .all(|done| done.outcome != Outcome::Miss)
    );
    assert_eq!(persisted(&spec, &with), alone);
}

#[test]
fn a_contiguous_range_continues_only_if_the_arm_is_in_place() {
    let (spec, first) = resuming();
    for n in 0..20 {
        let last = (120.0 + 0.5 * f64::from(n), W, 27, 1);
        // What was written before begins or ends with other blocks, but the read moves the arm.
        let lands = |start| {
            let asked = [
                first[0],
                first[1],
                (50.0, W, start, 3),
                (90.0, R, 30, 1),
                last,
            ];
            persisted(&spec, &asked).pop()
        };
        assert_eq!(lands(24), lands(23), "{last:?}");
    }
}

#[test]
fn writes_that_will_never_fit_do_not_wait_for_room() {
    let (full, less) = (deferring(8, "fcfs"), deferring(4, "fcfs"));
    let mut drive = Drive::new(&full, Angle::ZERO).expect("a valid layout");
    let asked = [
        request(0, W, 23, 4),
        request(1, W, 60, 4),
        request(2, W, 120, 8),
        request(3, W, 140, 2),
        Request {
            ordering: Ordering::Ordered,
            ..request(4, W, 160, 1)
        },
        request(5, W, 180, 1),
    ];
    for request in asked {
        assert_eq!(drive.submit(Instant::START, request), Ok(()));
    }
    drive.set_buffer(at(3.0), &less);
    let mut done = Vec::new();
    while let Some(event) = drive.next_event() {
        assert!(event < at(1000.0));
        let now = event.max(at(3.0));
        done.extend(std::iter::from_fn(|| drive.advance(now)));
    }
    let outcome = |id: u64| {
        done.iter()
            .find(|done| done.request.id == id)
            .map(|done| done.outcome)
    };
    assert_eq!(outcome(2), Some(Outcome::Miss));
    assert_eq!(outcome(3), Some(Outcome::Absorbed));
    let last: Vec<u64> = done.iter().skip(4).map(|done| done.request.id).collect();
    assert_eq!(last, [4, 5]);
}

/// Generates a drive with such a cache, perhaps with random behaviour.
fn deferring_drive() -> impl Strategy<Value = Spec> {
    let parts = (chancy_drive(), 1..40u64, 0..INFOS.len(), any::<bool>());
    parts.prop_map(|(mut spec, room, policy, in_gaps)| {
        spec.buffer.destage_in_gaps = in_gaps;
        spec.buffer.caching = true;
        spec.buffer.write_cache = WriteCache::Deferred;
        spec.buffer.dirty_max = SectorCount(room);
        spec.queue.depth = 40;
        spec.queue.policy = INFOS[policy].name.parse().expect("a policy");
        spec
    })
}

/// Requests of all kinds: flushes, ordered ones, some at the head of the queue, some with FUA.
fn all_kinds(raw: &[Raw], kinds: &[u8], sectors: u64) -> Vec<(Span, Request)> {
    let fitted = fitted(raw, sectors)
        .into_iter()
        .zip(kinds.iter().cycle())
        .enumerate();
    let asked = fitted.map(|(id, ((pause, op, start, n), kind))| {
        let plain = request(id as u64, op, start, n);
        let asked = match kind {
            0 => Request::flush(id as u64),
            1 => Request {
                force_unit_access: true,
                ..plain
            },
            2 => Request {
                ordering: Ordering::Ordered,
                ..plain
            },
            3 => Request {
                ordering: Ordering::HeadOfQueue,
                ..plain
            },
            _ => plain,
        };
        (pause, asked)
    });
    asked.collect()
}

/// An oracle: it maps blocks to their completed and persisted writes.
#[derive(Default)]
struct Model {
    /// Completed writes, with their completion times.
    written: Vec<(Request, Instant)>,
    /// Number of times that a block has persisted.
    persisted: BTreeMap<u64, usize>,
}

impl Model {
    /// Returns the number of writes of a block completed by `at`.
    fn writes(&self, block: u64, at: Instant) -> usize {
        let holds = |of: &Request| (of.start.0..of.end().0).contains(&block);
        let written = self.written.iter();
        written
            .filter(|(of, done)| holds(of) && *done <= at)
            .count()
    }

    /// Blocks of writes that have completed, and not all of whose writes have persisted.
    fn unpersisted(&self, sectors: u64) -> u64 {
        let now = self
            .written
            .iter()
            .map(|(_, at)| *at)
            .max()
            .unwrap_or(Instant::START);
        let persisted = |block: &u64| self.persisted.get(block).copied().unwrap_or(0);
        let blocks = 0..sectors;
        blocks
            .filter(|block| self.writes(*block, now) > persisted(block))
            .count() as u64
    }

    fn completed(&mut self, done: &Completion, sectors: u64) {
        if done.status != Status::Good {
            return;
        }
        if done.request.op == Op::Write {
            self.written.push((done.request, done.at));
        }
        for block in 0..sectors {
            let persisted = self.persisted.get(&block).copied().unwrap_or(0);
            let durable = match done.request.op {
                Op::Flush => self.writes(block, done.arrived),
                Op::Write if done.outcome == Outcome::Miss => {
                    let own = (done.request.start.0..done.request.end().0).contains(&block);
                    usize::from(own)
                }
                _ => 0,
            };
            assert!(
                persisted >= durable,
                "block {block} persisted {persisted} times of {durable}: {done:?}"
            );
        }
    }
}

/// Events other than requests.
#[derive(Clone, Copy, Default)]
struct Besides {
    /// Some requests are aborted.
    aborts: bool,
    /// The cache is switched off and on again, with less room for a while.
    switches: bool,
}

/// Serves everything on a drive, checks it against the model, and returns the completions.
fn serve_and_check(spec: &Spec, asked: &[(Span, Request)], besides: Besides) -> Vec<Completion> {
    let mut off = spec.clone();
    off.buffer.write_cache = WriteCache::Off;
    let mut less = spec.clone();
    less.buffer.dirty_max.0 /= 4;
    let sectors = spec.geometry.sectors.0;
    let mut drive = Drive::new(spec, Angle::from_fraction(1, 3)).expect("a valid layout");
    drive.persisted(Instant::START);
    let (mut model, mut all) = (Model::default(), Vec::new());
    let mut pass = |drive: &mut Drive, now: Instant| {
        let done: Vec<_> = std::iter::from_fn(|| drive.advance(now)).collect();
        for run in drive.persisted(now).expect("a drive reports") {
            for block in run.first.0..run.first.0 + run.sectors.0 {
                *model.persisted.entry(block).or_default() += 1;
            }
        }
        for done in &done {
            model.completed(done, sectors);
        }
        // After being switched on again, it does not count data still on their way.
        let fits = model.unpersisted(sectors) <= spec.buffer.dirty_max.0;
        assert!(fits || besides.switches, "more dirty data than room");
        all.extend(done);
    };
    let mut now = Instant::START;
    for (pause, request) in asked {
        let until = now + *pause;
        while let Some(event) = drive.next_event().filter(|event| *event <= until) {
            assert!(event >= now);
            pass(&mut drive, event);
            now = event;
        }
        now = until;
        pass(&mut drive, now);
        assert_eq!(drive.submit(now, *request), Ok(()));
        if besides.aborts && request.id % 5 == 4 {
            drive.abort(now, request.id - 1);
        }
        match request.id % 8 {
            3 if besides.switches => drive.set_buffer(now, &off),
            1 if besides.switches => drive.set_buffer(now, &less),
            0 | 6 if besides.switches => drive.set_buffer(now, spec),
            _ => {}
        }
    }
    while let Some(event) = drive.next_event() {
        pass(&mut drive, event);
        now = event;
    }
    pass(&mut drive, now + Span::from_s(100.0));
    for block in 0..sectors {
        let persisted = model.persisted.get(&block).copied().unwrap_or(0);
        assert_eq!(persisted, model.writes(block, now), "block {block}");
    }
    all
}

proptest! {
    #![proptest_config(cases(2000))]

    /// No write is lost, none reaches the media twice, a flush and FUA keep their promises, and
    /// there is never more dirty data than room; equal inputs give equal outputs.
    #[test]
    fn the_media_have_all_written_data(
        spec in deferring_drive(), raw in requests(25),
        kinds in prop::collection::vec(0..20u8, 25), aborts in any::<bool>(),
        switches in any::<bool>(),
    ) {
        let besides = Besides { aborts, switches };
        let asked = all_kinds(&raw, &kinds, spec.geometry.sectors.0);
        let done = serve_and_check(&spec, &asked, besides);
        prop_assert_eq!(done.len(), asked.len());
        prop_assert_eq!(done, serve_and_check(&spec, &asked, besides));
    }

    /// Ordered requests begin when all earlier ones are complete, and later ones wait for them.
    #[test]
    fn ordered_requests_stay_in_order(
        spec in deferring_drive(), raw in requests(25),
        kinds in prop::collection::vec(1..8u8, 25), switches in any::<bool>(),
    ) {
        let asked = all_kinds(&raw, &kinds, spec.geometry.sectors.0);
        let besides = Besides { switches, ..Besides::default() };
        let done = serve_and_check(&spec, &asked, besides);
        let place = |id: u64| done.iter().position(|done| done.request.id == id);
        for (_, fence) in asked.iter().filter(|(_, of)| of.ordering == Ordering::Ordered) {
            for (_, other) in asked.iter().filter(|(_, of)| of.ordering != Ordering::HeadOfQueue) {
                prop_assert_eq!(other.id < fence.id, place(other.id) < place(fence.id));
            }
        }
    }

    /// Without writes the drive behaves as without a write cache.
    #[test]
    fn without_writes_the_cache_has_no_effect(spec in deferring_drive(), raw in requests(30)) {
        let reads = |spec: &Spec| {
            let reads = raw.iter().map(|raw| Raw { op: Op::Read, ..*raw }).collect::<Vec<_>>();
            let requests = all_kinds(&reads, &[9], spec.geometry.sectors.0);
            serve_and_check(spec, &requests, Besides::default())
        };
        let mut other = spec.clone();
        other.buffer.write_cache = WriteCache::Off;
        prop_assert_eq!(reads(&spec), reads(&other));
    }

    /// Under FCFS, writes that are not adjacent reach the media in order of arrival.
    #[test]
    fn fcfs_keeps_the_order_of_arrival(
        spec in deferring_drive(), places in Just((0..30u64).collect::<Vec<_>>()).prop_shuffle(),
        pauses in prop::collection::vec(0..3_000_000i64, 30),
    ) {
        let mut spec = spec;
        spec.queue.policy = "fcfs".parse().expect("a policy");
        let room = spec.geometry.sectors.0 / 2;
        let first_half: Vec<u64> = places.into_iter().filter(|place| *place < room).collect();
        let mut drive = Drive::new(&spec, Angle::from_fraction(1, 3)).expect("a valid layout");
        drive.persisted(Instant::START);
        let mut now = Instant::START;
        for (id, (place, pause)) in first_half.iter().zip(pauses).enumerate() {
            now += Span::from_ns(pause);
            while drive.advance(now).is_some() {}
            prop_assert_eq!(drive.submit(now, request(id as u64, W, place * 2, 1)), Ok(()));
        }
        let end = now + Span::from_s(100.0);
        while drive.advance(end).is_some() {}
        let runs = drive.persisted(end).expect("a drive reports");
        let persisted: Vec<u64> = runs.iter().map(|run| run.first.0 / 2).collect();
        prop_assert_eq!(persisted, first_half);
    }
}
