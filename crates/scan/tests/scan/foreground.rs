//! Foreground requests without background reads.

use diskarm_core::device::{Breakdown, Completion, Device, Outcome, Status, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::host::Host;
use diskarm_core::request::Request;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Bytes, Instant, SectorCount, Span};
use diskarm_core::wrap::{FaultPlan, Faults, Recalibration};
use diskarm_scan::{BackgroundSettings, ExternalScheduler, Model};

use crate::bench::{
    CLOSED, atlas, drive_of, empty_gathered, new, policy, scan, serve, small, with_seek_scatter,
    with_two_commands, without_write_cache,
};

/// If the model is exact, completions are identical, even with a scan that wants nothing.
#[test]
fn the_foreground_matches_the_plain_scheduler() {
    let open = "poisson(rate=90/s) uniform size=8KiB reads=67%";
    for spec in [
        atlas(),
        drive_of("hp-c2247"),
        drive_of("seagate-cheetah-st34501n-calibrated"),
        small(),
    ] {
        for (name, workload) in [
            ("sptf-sw(n=40%)", CLOSED),
            ("sptf", open),
            ("asptf", CLOSED),
            ("vscan(r=0.2)", CLOSED),
            ("sstf(by=map)", open),
        ] {
            let policy = policy(name);
            let plain = new(&spec);
            let order = policy.policy(&plain);
            let plain = serve(&mut Host::new(plain, order), workload, 1, 600, None);
            let model = || Model::with_origin(&spec, Angle::ZERO).expect("valid layout");
            let mut external = ExternalScheduler::new(new(&spec), model(), &policy, 1);
            assert_eq!(
                plain,
                serve(&mut external, workload, 1, 600, None),
                "{name}"
            );
            let gathered = empty_gathered(spec.geometry.sectors);
            let mut done = gathered.lock().expect("no thread panicked");
            done.read
                .insert(diskarm_core::units::Lbn(0), spec.geometry.sectors);
            drop(done);
            let idle = scan(&spec, BackgroundSettings::default(), &gathered);
            let mut external =
                ExternalScheduler::new(new(&spec), model(), &policy, 1).with_background(idle);
            assert_eq!(
                plain,
                serve(&mut external, workload, 1, 600, None),
                "{name}"
            );
        }
    }
}

/// If the angle of the platter is known, all predictions are right to within 50 us. If it must be
/// learnt, reads that begin wherever the head lands reveal it only to within a sector, so that
/// occasionally a sector is missed unexpectedly.
#[test]
fn a_drive_that_matches_its_model_is_predicted() {
    for spec in [
        atlas(),
        without_write_cache(atlas()),
        drive_of("hp-c2247"),
        drive_of("hp-97560"),
    ] {
        for (spec, depth) in [(spec.clone(), 1), (with_two_commands(spec), 2)] {
            let drive = || Drive::new(&spec, Angle::from_fraction(2, 7)).expect("valid layout");
            let model = Model::new(&spec).expect("valid layout");
            let mut external = ExternalScheduler::new(drive(), model, &policy("sptf"), depth);
            serve(&mut external, CLOSED, 1, 10_000, None);
            let seen = external.observations();
            assert!(seen.predicted > 9_900, "{seen:?}");
            let share = seen.right as f64 / seen.predicted as f64;
            assert!(share > 0.998, "{}: {seen:?}", spec.name);
            let model =
                Model::with_origin(&spec, Angle::from_fraction(2, 7)).expect("valid layout");
            let mut external = ExternalScheduler::new(drive(), model, &policy("sptf"), depth);
            serve(&mut external, CLOSED, 1, 3_000, None);
            let seen = external.observations();
            assert_eq!(seen.right, seen.predicted, "{}: {seen:?}", spec.name);
        }
    }
}

/// Even if the drive's own queue could reorder two commands, they keep the order in which they were
/// sent.
#[test]
fn the_firmware_never_chooses() {
    let mut spec = with_two_commands(atlas());
    spec.queue.policy = policy("sptf");
    let model = Model::new(&spec).expect("valid layout");
    let mut external = ExternalScheduler::new(new(&spec), model, &policy("sptf"), 2);
    serve(&mut external, CLOSED, 1, 3_000, None);
    assert_eq!(external.observations().surprises.reordered, 0);
}

/// Recalibrations of half a second every three seconds, which the model does not know about.
#[test]
fn recalibrations_are_counted_and_survived() {
    let spec = without_write_cache(atlas());
    let plan = FaultPlan {
        recalibration: Some(Recalibration {
            every: Span::from_s(3.0),
            lasts: Span::from_s(0.5),
        }),
        ..FaultPlan::default()
    };
    let revolution = Span::from_ns(spec.mechanics.period_ns as i64);
    let model = Model::new(&spec).expect("valid layout");
    let faulty = Faults::new(new(&spec), &plan, revolution);
    let mut external = ExternalScheduler::new(faulty, model, &policy("sptf"), 1);
    let all = serve(&mut external, CLOSED, 1, 3_000, None);
    let recalibrations = all[2_999].at.as_ns() / 3_000_000_000;
    assert!(
        external
            .observations()
            .surprises
            .pauses
            .abs_diff(recalibrations)
            <= 1
    );
    // The angle of the platter changed during the recalibrations, and was learnt again.
    let seen = external.observations();
    assert!(seen.right * 100 > seen.predicted * 97, "{seen:?}");
}

/// After an hour without requests the angle is unknown, and it is learnt again from a batch.
#[test]
fn confidence_is_lost_in_pauses_and_returns() {
    let spec = without_write_cache(atlas());
    let model = Model::new(&spec).expect("valid layout");
    let mut external = ExternalScheduler::new(new(&spec), model, &policy("sptf"), 1);
    let all = serve(&mut external, CLOSED, 1, 500, None);
    let mut now = all[499].at;
    assert!(external.is_confident(now));
    while let Some(at) = external.next_event() {
        external.advance(at);
        now = at;
    }
    let before = external.observations().by_block_number;
    now += Span::from_s(3600.0);
    assert!(!external.is_confident(now));
    for id in 0..8 {
        let at = diskarm_core::units::Lbn((id * 7_654_321) % 17_000_000);
        let read = Request::new(id, diskarm_core::request::Op::Read, at, SectorCount(8));
        external.submit(now, read).expect("valid request");
    }
    let mut done = 0;
    while let Some(at) = external.next_event() {
        done += usize::from(external.advance(at).is_some());
        now = at;
    }
    assert_eq!(done, 8);
    assert_eq!(external.observations().by_block_number, before);
    assert!(external.is_confident(now));
}

/// If the platter turns at a different rate than in the model, no angle is as expected, and almost
/// all requests are chosen by block number. Scattered seeks do not have that effect.
#[test]
fn a_wrong_model_is_not_relied_on() {
    let spec = without_write_cache(atlas());
    let by_block_number = |drive: &Spec, relative_period: f64| {
        let mut model = spec.clone();
        model.mechanics.period_ns *= relative_period;
        let model = Model::new(&model).expect("valid layout");
        let mut external = ExternalScheduler::new(new(drive), model, &policy("sptf"), 1);
        serve(&mut external, CLOSED, 1, 1_000, None);
        external.observations().by_block_number
    };
    let right = by_block_number(&spec, 1.0);
    assert!(right < 10, "{right}");
    let scattered = by_block_number(&with_seek_scatter(spec.clone(), Span::from_us(150.0)), 1.0);
    assert!(scattered < 10, "{scattered}");
    for period in [0.5, 0.93, 1.3] {
        let wrong = by_block_number(&spec, period);
        assert!(wrong > 900, "{period}: {wrong}");
    }
}

/// A device with four slots that completes commands in any order, after 1 to 10 ms.
#[derive(Default)]
struct ReorderingDevice {
    inside: Vec<Completion>,
    random_state: u64,
}

impl Device for ReorderingDevice {
    fn capacity(&self) -> SectorCount {
        small().geometry.sectors
    }

    fn sector_size(&self) -> Bytes {
        Bytes(512)
    }

    fn has_room(&self) -> bool {
        self.inside.len() < 4
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.random_state = self
            .random_state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let duration = Span::from_ns(1_000_000 + (self.random_state >> 33) as i64 % 9_000_000);
        self.inside.push(Completion {
            request,
            arrived: now,
            at: now + duration,
            breakdown: Breakdown {
                transfer: duration,
                ..Breakdown::default()
            },
            outcome: Outcome::Miss,
            status: Status::Good,
        });
        self.inside.sort_by_key(|done| std::cmp::Reverse(done.at));
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        self.inside.last().map(|done| done.at)
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.inside.pop_if(|done| done.at <= now)
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

/// Nothing is lost, and positions are not relied on for long.
#[test]
fn a_device_that_answers_out_of_order_loses_nothing() {
    let spec = small();
    let model = Model::new(&spec).expect("valid layout");
    let gathered = empty_gathered(spec.geometry.sectors);
    let settings = BackgroundSettings {
        idle: Some(Span::from_s(0.01)),
        ..BackgroundSettings::default()
    };
    let external = ExternalScheduler::new(ReorderingDevice::default(), model, &policy("sptf"), 2);
    let mut external = external.with_background(scan(&spec, settings, &gathered));
    let workload = "closed(clients=5, think=20ms) uniform size=1KiB";
    let all = serve(&mut external, workload, 1, 100_000, Some(&gathered));
    assert!(all.iter().all(|done| done.status == Status::Good));
    assert!(
        external.observations().surprises.reordered > 10,
        "{:?}",
        external.observations()
    );
    assert_eq!(gathered.lock().expect("no thread panicked").left(), 0);
}
