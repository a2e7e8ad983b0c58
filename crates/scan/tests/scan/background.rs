//! Scans in gaps.

use std::sync::Arc;

use diskarm_core::device::{Completion, Device, Outcome};
use diskarm_core::drive::{Drive, GapReader};
use diskarm_core::freeblock::{BlockSet, Tasks};
use diskarm_core::geometry::Layout;
use diskarm_core::host::Host;
use diskarm_core::request::{Op, Priority, Request};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{
    AffectedOps, BadBlocks, FaultPlan, Faults, Outage, RandomErrors, Recalibration,
};
use diskarm_scan::{BackgroundSettings, ExternalScheduler, Model};
use proptest::prelude::*;

use crate::bench::{
    CLOSED, atlas, drive_of, empty_gathered, new, policy, scan, serve, small, with_seek_scatter,
    with_two_commands, without_write_cache,
};

/// Returns settings without conservatism, for an exact model.
fn exact_settings() -> BackgroundSettings {
    BackgroundSettings {
        conservatism: Span::ZERO,
        ..BackgroundSettings::default()
    }
}

/// Returns the completions without background reads, and those with them.
fn with_and_without(
    spec: &Spec,
    depth: usize,
    settings: BackgroundSettings,
) -> [Vec<Completion>; 2] {
    let policy = policy("sptf-sw(n=40%)");
    let model = || Model::with_origin(spec, Angle::ZERO).expect("valid layout");
    let mut plain = ExternalScheduler::new(new(spec), model(), &policy, depth);
    let plain = serve(&mut plain, CLOSED, 1, 2_000, None);
    let gathered = empty_gathered(spec.geometry.sectors);
    let external = ExternalScheduler::new(new(spec), model(), &policy, depth);
    let mut external = external.with_background(scan(spec, settings, &gathered));
    let with_scan = serve(&mut external, CLOSED, 1, 2_000, None);
    let stats = external.background().expect("has a background").stats();
    assert_eq!(stats.delayed, 0, "{stats:?}");
    assert_eq!(
        external.observations().right,
        external.observations().predicted
    );
    assert!(stats.gaps > 100 && stats.merged > 10, "{stats:?}");
    assert!(stats.sectors > 3_000, "{stats:?}");
    let read = gathered.lock().expect("no thread panicked").read.count().0;
    assert_eq!(read, stats.sectors);
    [plain, with_scan]
}

/// If no other request waits for the media, a write that the cache absorbs is not delayed by a read
/// in the gap before its later media access.
#[test]
fn nothing_is_read_in_front_of_a_lone_absorbed_write() {
    let spec = atlas();
    let alone = "closed(clients=1, think=60ms) uniform size=4KiB reads=50%";
    let model = || Model::with_origin(&spec, Angle::ZERO).expect("valid layout");
    let mut plain = ExternalScheduler::new(new(&spec), model(), &policy("fcfs"), 1);
    let plain = serve(&mut plain, alone, 1, 1_000, None);
    let gathered = empty_gathered(spec.geometry.sectors);
    let external = ExternalScheduler::new(new(&spec), model(), &policy("fcfs"), 1);
    let mut external = external.with_background(scan(&spec, exact_settings(), &gathered));
    let with_scan = serve(&mut external, alone, 1, 1_000, None);
    assert!(gathered.lock().expect("no thread panicked").read.count().0 > 10_000);
    let is_absorbed = |one: &&Completion| one.outcome == Outcome::Absorbed;
    assert!(plain.iter().filter(is_absorbed).count() > 400);
    for (one, other) in plain.iter().zip(&with_scan) {
        let late = other.response() - one.response();
        assert!(late.as_ns().abs() < 2_000, "{one:?} {other:?}");
    }
}

/// With an exact model and no conservatism, requests are served in the same order and end at the
/// same times as without background reads, except for rounding.
#[test]
fn reads_in_gaps_delay_no_request() {
    for one_per_track in [true, false] {
        let settings = BackgroundSettings {
            one_per_track,
            ..exact_settings()
        };
        for spec in [without_write_cache(atlas()), drive_of("hp-97560")] {
            let [plain, with_scan] = with_and_without(&spec, 1, settings);
            for (without, with) in plain.iter().zip(&with_scan) {
                assert_eq!(without.request, with.request);
                let off = with.at.after(without.at);
                assert!(off.max(-off) < Span::from_us(1.0), "{without:?} {with:?}");
            }
        }
        // Merged reads start their bus transfers earlier, so they may end earlier and change later
        // choices.
        with_and_without(&drive_of("hp-c2247"), 1, settings);
    }
    // With two requests in the drive, the next request is chosen earlier, which may change the
    // choice.
    with_and_without(
        &with_two_commands(without_write_cache(atlas())),
        2,
        exact_settings(),
    );
}

/// Writes that complete early are judged by the end of their media access: nothing is served later.
#[test]
fn a_write_cache_hides_no_delay() {
    let gathered = empty_gathered(atlas().geometry.sectors);
    let policy = policy("sptf-sw(n=40%)");
    let plain = new(&atlas());
    let order = policy.policy(&plain);
    let plain = serve(&mut Host::new(plain, order), CLOSED, 1, 5_000, None);
    let model = Model::with_origin(&atlas(), Angle::ZERO).expect("valid layout");
    let external = ExternalScheduler::new(new(&atlas()), model, &policy, 1);
    let mut external = external.with_background(scan(&atlas(), exact_settings(), &gathered));
    let with_scan = serve(&mut external, CLOSED, 1, 5_000, None);
    let background = external.background().expect("has a background");
    assert_eq!(background.stats().delayed, 0, "{:?}", background.stats());
    let ratio = with_scan[4_999].at.as_s() / plain[4_999].at.as_s();
    assert!(ratio < 1.002, "{ratio}");
}

/// A pause of ten revolutions in the drive, after a background read or not, does not count as a
/// delay due to background reads.
#[test]
fn a_pause_of_the_drive_does_not_count_as_a_delay() {
    let spec = without_write_cache(atlas());
    let revolution = Span::from_ns(spec.mechanics.period_ns as i64);
    // Afterwards the platter is where it is expected.
    let plan = FaultPlan {
        recalibration: Some(Recalibration {
            every: Span::from_ms(500.0),
            lasts: revolution * 10,
        }),
        ..FaultPlan::default()
    };
    let gathered = empty_gathered(spec.geometry.sectors);
    let model = Model::with_origin(&spec, Angle::ZERO).expect("valid layout");
    let faulty = Faults::new(new(&spec), &plan, revolution);
    let external = ExternalScheduler::new(faulty, model, &policy("sptf"), 1);
    let mut external =
        external.with_background(scan(&spec, BackgroundSettings::default(), &gathered));
    serve(&mut external, CLOSED, 1, 4_000, None);
    let pauses = external.observations().surprises.pauses;
    let stats = external.background().expect("has a background").stats();
    assert!(pauses > 30 && stats.gaps > 1_000, "{pauses} {stats:?}");
    assert_eq!(stats.delayed, 0, "{stats:?}");
}

/// A drive that answers its first command after the second, at the same instant.
struct SwappingDrive {
    drive: Drive,
    first: Option<Completion>,
    due: Option<Completion>,
}

impl Device for SwappingDrive {
    diskarm_core::forward!(drive: capacity sector_size has_room submit);

    fn next_event(&self) -> Option<Instant> {
        let due = self.due.as_ref().map(|completion| completion.at);
        due.or(self.drive.next_event())
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        if self.due.is_some() {
            return self.due.take();
        }
        let completion = self.drive.advance(now)?;
        let Some(first) = self.first.take() else {
            self.first = Some(completion);
            return None;
        };
        let mut breakdown = first.breakdown;
        breakdown.queue += completion.at - first.at;
        self.due = Some(Completion {
            at: completion.at,
            breakdown,
            ..first
        });
        Some(completion)
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

/// If a read with background blocks in front of it is answered out of order, there is no prediction
/// with which to compare it, whatever delayed it.
#[test]
fn an_unpredicted_request_does_not_count_as_delayed() {
    let spec = with_two_commands(without_write_cache(atlas()));
    let layout = Layout::new(&spec.geometry).expect("valid layout");
    let mut merged = 0;
    for position in 1..40 {
        let at = layout.track_first(Lbn(position * 400_000)) + SectorCount(20);
        // Only blocks in front of the read on its track are wanted.
        let gathered = empty_gathered(spec.geometry.sectors);
        {
            let read = &mut gathered.lock().expect("no thread panicked").read;
            read.insert(Lbn(0), SectorCount(at.0 - 8));
            read.insert(at, SectorCount(spec.geometry.sectors.0 - at.0));
        }
        let model = Model::with_origin(&spec, Angle::ZERO).expect("valid layout");
        let swapping = SwappingDrive {
            drive: new(&spec),
            first: None,
            due: None,
        };
        let external = ExternalScheduler::new(swapping, model, &policy("sptf"), 2);
        let mut external = external.with_background(scan(&spec, exact_settings(), &gathered));
        for (id, at) in [(0, at), (1, Lbn(17_000_000 - at.0))] {
            let read = Request::new(id, Op::Read, at, SectorCount(8));
            let result = external.submit(Instant::START, read);
            assert_eq!(result, Ok(()));
        }
        let mut answered = Vec::new();
        while let Some(at) = external.next_event() {
            answered.extend(external.advance(at).map(|completion| completion.request.id));
        }
        assert_eq!(answered, [1, 0]);
        assert_eq!(external.observations().surprises.reordered, 1);
        let stats = external.background().expect("has a background").stats();
        assert_eq!(stats.delayed, 0, "{position}: {stats:?}");
        merged += stats.merged;
    }
    assert!(merged > 10, "{merged}");
}

/// Feedback finds the conservatism needed for seeks that scatter by 0.3 ms. If they scatter so much
/// that most predictions are wrong, reads cease.
#[test]
fn conservatism_follows_the_slowdown() {
    let model_spec = without_write_cache(atlas());
    for scatter in [0.3, 6.0].map(|ms| Span::from_us(1000.0 * ms)) {
        let spec = with_seek_scatter(model_spec.clone(), scatter);
        let (unlimited, conservatism, read) = run_with_feedback(&spec, &model_spec, 40_000);
        // A large part of what is read without a limit, unless most predictions are wrong.
        assert!(
            scatter > Span::from_ms(1.0) || read > 0.3,
            "{scatter}: {read}"
        );
        assert!(unlimited > 1.1, "{scatter}: {unlimited}");
        assert!(conservatism > scatter, "{scatter}: {conservatism}");
    }
}

/// The model has the published parameters of a drive, and the drive those that fit measurements:
/// head switches take less time in the model, and most gaps are in front of writes that the cache
/// absorbs.
#[test]
fn a_published_model_slows_down_by_what_is_allowed() {
    let spec = drive_of("quantum-atlas-10k-calibrated");
    let (unlimited, _, read) = run_with_feedback(&spec, &drive_of("quantum-atlas-10k"), 10_000);
    assert!(unlimited > 1.05 && read > 0.3, "{unlimited} {read}");
}

/// Conservatism of a revolution leaves no gaps, so nothing can be lost: feedback reduces it until
/// something is read.
#[test]
fn conservatism_that_leaves_no_gap_falls() {
    let sectors = |max_slowdown| {
        let gathered = empty_gathered(atlas().geometry.sectors);
        let settings = BackgroundSettings {
            conservatism: Span::from_ms(6.0),
            max_slowdown,
            ..BackgroundSettings::default()
        };
        let model = Model::with_origin(&atlas(), Angle::ZERO).expect("valid layout");
        let external = ExternalScheduler::new(new(&atlas()), model, &policy("sptf"), 1);
        let mut external = external.with_background(scan(&atlas(), settings, &gathered));
        serve(&mut external, CLOSED, 1, 30_000, None);
        external
            .background()
            .expect("has a background")
            .stats()
            .sectors
    };
    let (fixed, adjusted) = (sectors(None), sectors(Some(0.02)));
    assert!(
        adjusted > 10_000 && adjusted > 10 * fixed,
        "{adjusted} {fixed}"
    );
}

/// Runs a scan on a drive that `spec` describes, with `model_spec` as its model. Returns the factor
/// by which the second half of the requests takes longer without conservatism; the conservatism
/// that feedback finds, with which it takes less than 2 % longer; and the fraction of the blocks
/// that are then read.
fn run_with_feedback(spec: &Spec, model_spec: &Spec, requests: usize) -> (f64, Span, f64) {
    let slowdown = |max_slowdown| {
        let gathered = empty_gathered(spec.geometry.sectors);
        let model = Model::new(model_spec).expect("valid layout");
        let settings = BackgroundSettings {
            max_slowdown,
            ..exact_settings()
        };
        let external = ExternalScheduler::new(new(spec), model, &policy("sptf-sw(n=40%)"), 1);
        let mut external = external.with_background(scan(model_spec, settings, &gathered));
        let all = serve(&mut external, CLOSED, 1, requests, None);
        let late = all[requests - 1].at - all[requests / 2 - 1].at;
        let background = external.background().expect("has a background");
        let read = background.stats().sectors;
        (late.as_s(), background.conservatism(), read)
    };
    let model = Model::new(model_spec).expect("valid layout");
    let mut plain = ExternalScheduler::new(new(spec), model, &policy("sptf-sw(n=40%)"), 1);
    let all = serve(&mut plain, CLOSED, 1, requests, None);
    let plain = (all[requests - 1].at - all[requests / 2 - 1].at).as_s();
    let (unlimited, _, all) = slowdown(None);
    let (careful, conservatism, read) = slowdown(Some(0.02));
    let found = format!("{careful} {plain} {conservatism} {read} of {all}");
    println!("{found}");
    assert!(careful < 1.02 * plain, "{}: {found}", spec.name);
    (unlimited / plain, conservatism, read as f64 / all as f64)
}

fn random_errors(share: f64) -> Option<RandomErrors> {
    (share > 0.0).then_some(RandomErrors { share, retries: 2 })
}

/// Scans in several runs until all blocks are read or known to be unreadable. Each run continues
/// from the deliveries of the previous ones, and may end anywhere.
fn interrupted_scans(plan: &FaultPlan, ends: &[usize], settings: BackgroundSettings, depth: usize) {
    let spec = with_two_commands(small());
    let gathered = empty_gathered(spec.geometry.sectors);
    let revolution = Span::from_ns(spec.mechanics.period_ns as i64);
    let workload = "closed(clients=4, think=40ms) uniform size=1KiB reads=70%";
    let mut runs = ends.iter().copied().chain([100_000]).zip(1..);
    while gathered.lock().expect("no thread panicked").left() > 0 {
        let (max, seed) = runs.next().expect("the scan ends");
        let faulty = Faults::new(new(&spec), plan, revolution);
        let model = Model::new(&spec).expect("valid layout");
        let external = ExternalScheduler::new(faulty, model, &policy("sptf-sw(n=40%)"), depth);
        let mut external = external.with_background(scan(&spec, settings, &gathered));
        serve(&mut external, workload, seed, max, Some(&gathered));
    }
    let gathered = gathered.lock().expect("no thread panicked");
    let bad = |at: u64| {
        let mut listed = plan.medium_errors.iter();
        listed.any(|bad| (bad.first..bad.end).contains(&Lbn(at)))
    };
    for at in 0..spec.geometry.sectors.0 {
        let is_random = plan.random_medium_errors.is_some();
        assert!(
            gathered.unreadable.contains(Lbn(at)) == bad(at) || is_random && !bad(at),
            "{at}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_block_is_read_once(
        seed in any::<u64>(), ends in proptest::collection::vec(1..1500usize, 0..5),
        bad in proptest::collection::vec((0..6500u64, 1..12u64), 0..4),
        (has_errors, has_outage, uses_idle_time, one_per_track, has_two) in
            any::<(bool, bool, bool, bool, bool)>(),
    ) {
        let mut medium_errors: Vec<BadBlocks> = Vec::new();
        let mut starts = bad;
        starts.sort_unstable();
        for (first, length) in starts {
            let is_free = medium_errors.last().is_none_or(|last| last.end.0 < first);
            if is_free {
                let end = Lbn(first + length);
                medium_errors.push(BadBlocks {
                    first: Lbn(first), end, affected: AffectedOps::Reads, retries: 3,
                });
            }
        }
        let outage = Outage {
            from: Instant::from_ns(400_000_000),
            until: Instant::from_ns(900_000_000),
        };
        let plan = FaultPlan {
            seed,
            medium_errors,
            random_medium_errors: random_errors(if has_errors { 0.02 } else { 0.0 }),
            outages: if has_outage { vec![outage] } else { Vec::new() },
            ..FaultPlan::default()
        };
        let settings = BackgroundSettings {
            idle: uses_idle_time.then_some(Span::from_s(0.02)),
            one_per_track,
            ..exact_settings()
        };
        interrupted_scans(&plan, &ends, settings, 1 + usize::from(has_two));
    }
}

/// An idle device is read completely without any foreground.
#[test]
fn idle_time_is_used() {
    let spec = small();
    let gathered = empty_gathered(spec.geometry.sectors);
    let settings = BackgroundSettings {
        idle: Some(Span::from_s(0.1)),
        ..BackgroundSettings::default()
    };
    let model = Model::new(&spec).expect("valid layout");
    let external = ExternalScheduler::new(new(&spec), model, &policy("sptf"), 1);
    let mut external = external.with_background(scan(&spec, settings, &gathered));
    while let Some(at) = external.next_event() {
        assert!(external.advance(at).is_none());
    }
    let gathered = Arc::clone(&gathered);
    assert_eq!(gathered.lock().expect("no thread panicked").left(), 0);
    assert!(
        external
            .background()
            .expect("has a background")
            .tasks()
            .is_done()
    );
}

/// In the firmware, too, every command of a drive without seek scatter ends when it would without
/// background reads. Writes that settle for longer than reads might end earlier: after a read on
/// the same track they do not settle, which can save a revolution.
#[test]
fn reads_in_the_firmware_delay_no_command() {
    for spec in [
        without_write_cache(atlas()),
        drive_of("hp-97560"),
        drive_of("hp-c2247"),
    ] {
        let mut spec = spec;
        spec.mechanics.write_settle = Span::ZERO;
        spec.queue.depth = 16;
        spec.queue.policy = policy("sptf-sw(n=40%)");
        let plain = serve(&mut new(&spec), CLOSED, 1, 2_000, None);
        let gathered = empty_gathered(spec.geometry.sectors);
        let shared = Arc::clone(&gathered);
        let mut tasks = Tasks::new(Arc::new(Layout::new(&spec.geometry).expect("valid layout")));
        tasks.add(BlockSet::all(spec.geometry.sectors), Priority::Normal);
        let gaps = GapReader::new(tasks, Span::ZERO, move |delivered| {
            shared.lock().expect("no thread panicked").take(delivered);
        });
        let mut drive = new(&spec).with_gap_reader(gaps);
        let with_scan = serve(&mut drive, CLOSED, 1, 2_000, None);
        for (without, with) in plain.iter().zip(&with_scan) {
            assert_eq!(without.request, with.request);
            let off = with.at.after(without.at);
            assert!(off.max(-off) < Span::from_us(1.0), "{without:?} {with:?}");
        }
        let stats = drive.gap_reader().expect("reads in gaps").stats();
        assert!(stats.gaps > 1_500 && stats.sectors > 40_000, "{stats:?}");
        let read = gathered.lock().expect("no thread panicked").read.count().0;
        assert_eq!(read, stats.sectors);
    }
}
