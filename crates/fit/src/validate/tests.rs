use std::sync::Arc;

use diskarm_core::engine::{ReplayStep, RunError};
use diskarm_core::geometry::Layout;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Angle, Lbn, SectorCount};

use super::*;

/// A drive with two surfaces, ten sectors per track, ten milliseconds per revolution and no buffer:
/// a read of one sector on the current cylinder waits for its sector and takes another millisecond.
pub(crate) const DRIVE: &str = r#"
name = "tiny"
summary = "round numbers"
[source]
origin = "worked by hand"
[geometry]
surfaces = 2
cylinders = 50
sectors = 1000
sector_bytes = 512
[[geometry.zones]]
cylinders = [0, 50]
sectors_per_track = 10
track_skew_sectors = 2
cylinder_skew_sectors = 4
[mechanics]
rotation = "10 ms"
head_switch = "1 ms"
seek = { form = "three-point", single = "1 ms", average = "2 ms", full = "4 ms" }
"#;

struct Context {
    spec: Spec,
    layout: Arc<Layout>,
}

impl Context {
    fn new() -> Self {
        let spec = spec::parse(DRIVE, "tiny.toml").unwrap_or_else(|error| panic!("{error}"));
        let layout = Layout::new(&spec.geometry).unwrap_or_else(|error| panic!("{error}"));
        Self {
            spec,
            layout: Arc::new(layout),
        }
    }

    fn validation(&self, rows: Vec<MeasuredRequest>) -> Validation<'_> {
        Validation::new(&self.spec, Arc::clone(&self.layout), rows)
    }
}

fn row(id: u64, op: Op, start: u64, response: Span, think: Span) -> MeasuredRequest {
    let request = Request::new(id, op, Lbn(start), SectorCount(1 + id % 3));
    MeasuredRequest {
        step: ReplayStep { request, think },
        response,
    }
}

/// Returns reads and writes all over the disk, with irregular pauses.
fn random_rows() -> Vec<MeasuredRequest> {
    let op = |i| if i % 3 == 0 { Op::Write } else { Op::Read };
    (0..300)
        .map(|i| {
            let pause = Span::from_us((i * 1_237 % 9_001) as f64);
            row(i, op(i), i * 617 % 990, Span::from_ms(5.0), pause)
        })
        .collect()
}

fn all(validation: &Validation<'_>) -> Vec<ReplayResult> {
    Validation::variants()
        .map(|variant| validation.replay(variant).unwrap_or_else(|e| panic!("{e}")))
        .collect()
}

#[test]
fn a_replay_measured_against_itself_has_no_demerit() {
    let context = Context::new();
    let first = Variant::From {
        angle: Angle::ZERO,
        seed: 0,
    };
    let replayed = context.validation(random_rows()).replay(first);
    let replayed = replayed.unwrap_or_else(|error| panic!("{error}"));
    let mut rows = random_rows();
    for (row, &response) in rows.iter_mut().zip(&replayed.responses) {
        row.response = response;
    }
    let validation = context.validation(rows);
    // If all sixteen replays are equal, only the distance of a replay from itself is left.
    let phases = all(&validation).split_off(ANGLES as usize);
    let mut replays = vec![replayed; ANGLES as usize];
    replays.extend(phases);
    let figures = Figures::of(&validation, &replays);
    let comparisons = [Some(figures.all), figures.reads, figures.writes];
    for comparison in comparisons.into_iter().flatten() {
        assert_eq!(comparison.demerit, Span::ZERO);
        assert_eq!(comparison.demerit_sd, Span::ZERO);
        assert_eq!(comparison.floor, Span::ZERO);
        assert_eq!(comparison.measured_mean, comparison.simulated_mean);
        assert!(comparison.floor_phase > Span::ZERO);
    }
    assert_eq!(
        (figures.all.count, comparisons.iter().flatten().count()),
        (300, 3)
    );
    let residuals = &figures.residuals;
    let classes = residuals.by_outcome.iter().map(|row| row.3);
    let classes = classes.chain(residuals.by_size.iter().map(|row| row.2));
    for class in classes.chain(residuals.by_distance.iter().map(|row| row.2)) {
        assert_eq!(class.demerit, Span::ZERO);
    }
}

#[test]
fn a_read_is_replayed_from_all_initial_angles() {
    // Sector 0 passes at angle 0. From sixteen angles the wait is i/16 of 10 ms (none at angle
    // 0 itself), then 1 ms for the sector: mean 1 + 10 * 7.5 / 16 = 5.6875.
    let context = Context::new();
    let one = row(0, Op::Read, 0, Span::from_ms(5.6875), Span::ZERO);
    let validation = context.validation(vec![one]);
    let figures = Figures::of(&validation, &all(&validation));
    let near = |found: Span, ms: f64| (found.as_ms() - ms).abs() < 1e-4;
    assert!(near(figures.all.simulated_mean, 5.6875), "{figures:?}");
    // Distances are |i - 7.5| / 16 of 10 ms: on average 4 / 16.
    assert!(near(figures.all.demerit, 2.5), "{figures:?}");
    // Over pairs, |i - j| is (16 + 1) / 3 on average.
    assert!(
        near(figures.all.floor, 10.0 / 16.0 * 17.0 / 3.0),
        "{figures:?}"
    );
    assert_eq!(figures.all.floor_phase, Span::ZERO);
    assert_eq!(figures.writes, None);
}

#[test]
fn the_initial_angle_is_forgotten_at_the_first_media_access() {
    let context = Context::new();
    let validation = context.validation(random_rows());
    let replay = |origin| {
        let replayed = validation.replay(Variant::From {
            angle: origin,
            seed: 0,
        });
        replayed.unwrap_or_else(|error| panic!("{error}")).responses
    };
    let (a, b) = (replay(Angle::ZERO), replay(Angle::from_fraction(5, 16)));
    assert_ne!(a[0], b[0]);
    for (a, b) in a.iter().zip(&b).skip(1) {
        // Instants are rounded to the nanosecond.
        assert!((a.as_ns() - b.as_ns()).abs() <= 20, "{a:?} {b:?}");
    }
}

#[test]
fn lengthened_pauses_depend_on_the_seed_only() {
    let context = Context::new();
    let validation = context.validation(random_rows());
    let replay = |seed| validation.replay(Variant::Phases { seed });
    assert_eq!(replay(1), replay(1));
    assert_ne!(replay(1), replay(2));
}

#[test]
fn each_request_is_in_one_class_of_each_table() {
    let context = Context::new();
    let validation = context.validation(random_rows());
    let residuals = Figures::of(&validation, &all(&validation)).residuals;
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.sum::<u64>();
    assert_eq!(
        sum(&mut residuals.by_outcome.iter().map(|r| r.3.count)),
        300
    );
    assert_eq!(sum(&mut residuals.by_size.iter().map(|r| r.2.count)), 300);
    // Nothing is buffered; the first request has no distance.
    assert_eq!(
        sum(&mut residuals.by_distance.iter().map(|r| r.2.count)),
        299
    );
}

#[test]
fn a_request_beyond_the_disk_is_refused() {
    let beyond = row(0, Op::Read, 1000, Span::ZERO, Span::ZERO);
    let context = Context::new();
    let validation = context.validation(vec![beyond]);
    let rejected = validation.replay(Variant::From {
        angle: Angle::ZERO,
        seed: 0,
    });
    let rejected = rejected.map(|_| ()).expect_err("a request beyond the disk");
    let expected = beyond.step.request;
    assert!(matches!(rejected, RunError::Rejected { request, .. } if request == expected));
}
