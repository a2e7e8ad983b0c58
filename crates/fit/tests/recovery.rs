//! Traces of known drives, to test whether the fit finds the drive.

use std::ops::RangeInclusive;
use std::sync::Arc;

use diskarm_core::engine::ReplayStep;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{self, DeliveredBlocks, ReadAhead, SeekCurve, Spec};
use diskarm_core::testing::SplitMix64;
use diskarm_core::units::{Angle, Cylinder, Lbn, SectorCount, Span};
use diskarm_fit::calibrate::{Calibration, Clock, FittedNumber, Quantity, calibrate};
use diskarm_fit::validate::{MeasuredRequest, Validation, Variant};

/// The largest error of a completion's time stamp.
const STAMPED_WITHIN_MS: f64 = 0.02;

/// The length of a trace, and how it is generated.
struct Experiment {
    rows: usize,
    reads: f64,
    /// The drive's initial angle, and whether requests are issued at the trace's times.
    variant: Variant,
}

/// Random choices by a fraction, so that a trace is the same everywhere.
struct Generator(SplitMix64);

impl Generator {
    /// Uniform in `[0, 1)`.
    fn fraction(&mut self) -> f64 {
        self.0.uniform_fraction()
    }

    /// Uniform among the integers below `end`.
    fn below(&mut self, end: u64) -> u64 {
        (self.fraction() * end as f64) as u64
    }
}

impl Experiment {
    /// A quarter of the requests continue the previous one, a tenth repeat its blocks, a
    /// quarter go to nearby blocks and the rest anywhere. Pauses are 5 to 30 ms long.
    fn steps(&self, disk: SectorCount) -> Vec<ReplayStep> {
        let mut generator = Generator(SplitMix64::new(7));
        let mut last = 0..1;
        let step = |id| {
            let op = if generator.fraction() < self.reads {
                Op::Read
            } else {
                Op::Write
            };
            let sectors = 1 + generator.below(32);
            let kind = generator.fraction();
            let start = if kind < 0.25 {
                last.end
            } else if kind < 0.35 {
                last.start
            } else if kind < 0.6 {
                (last.start + generator.below(2000)).saturating_sub(1000)
            } else {
                generator.below(disk.0)
            };
            let start = start.min(disk.0 - sectors);
            last = start..start + sectors;
            let request = Request::new(id as u64, op, Lbn(start), SectorCount(sectors));
            let think = Span::from_ms(5.0 + 25.0 * generator.fraction());
            ReplayStep { request, think }
        };
        (0..self.rows).map(step).collect()
    }

    /// Measurements of a drive of `spec`.
    fn measured(&self, spec: &Spec) -> Vec<MeasuredRequest> {
        let layout = layout(spec);
        let steps = self.steps(layout.sectors()).into_iter();
        let unanswered = steps.map(|step| MeasuredRequest {
            step,
            response: Span::ZERO,
        });
        let model = Validation::new(spec, layout, unanswered.collect());
        let responses = model.replay(self.variant).expect("blocks of the drive");
        let mut generator = Generator(SplitMix64::new(11));
        let stamped = |(row, response): (&MeasuredRequest, Span)| {
            let off = (2.0 * generator.fraction() - 1.0) * STAMPED_WITHIN_MS;
            let late = Span::from_ms(off);
            let mut row = *row;
            row.response = response + late;
            // Errors of time stamps do not accumulate: the clock is right.
            row.step.think -= late;
            row
        };
        let both = model.rows().iter().zip(responses.responses);
        both.map(stamped).collect()
    }

    /// The result of fitting these measurements, starting from `given`.
    fn fitted(&self, given: &Spec, real: &Spec) -> Calibration {
        let rows = self.measured(real);
        calibrate(given, &layout(given), &rows, |_| {}).expect("a trace of this drive")
    }
}

fn layout(spec: &Spec) -> Arc<Layout> {
    Arc::new(Layout::new(&spec.geometry).expect("a sound layout"))
}

fn drive(name: &str) -> Spec {
    let entry = diskarm_drives::find(name).expect("a drive in the catalogue");
    spec::parse(entry.text, entry.name).expect("a valid specification")
}

/// Distances over which seeks take half a millisecond longer than given.
const STEP: RangeInclusive<u32> = 200..=600;

/// The given drive and the real one: misses, completions and some seeks take longer, the platter
/// rotates more slowly, inward seeks take longer than outward ones, and delivered data stay in the
/// buffer.
fn given_and_real() -> (Spec, Spec) {
    let given = drive("hp-c2247");
    let mut real = given.clone();
    for miss in [
        &mut real.overheads.read_miss_after_read,
        &mut real.overheads.read_miss_after_write,
    ] {
        *miss += Span::from_ms(0.3);
    }
    real.overheads.write_completion += Span::from_ms(0.1);
    let more = |d| if STEP.contains(&d) { 0.5 } else { 0.0 };
    let longer = |d| (d, Span::from_ms(seek_ms(&given, Op::Read, d) + more(d)));
    real.mechanics.seek = SeekCurve::Table((1..given.geometry.cylinders).map(longer).collect());
    real.mechanics.inward_seek = Span::from_ms(0.4);
    real.mechanics.period_ns *= 1.0002;
    real.buffer.delivered = DeliveredBlocks::Kept;
    (given, real)
}

/// An inward seek over `d` cylinders, to the same head.
fn seek_ms(spec: &Spec, op: Op, d: u32) -> f64 {
    let times = SeekTimes::new(&spec.mechanics, spec.geometry.cylinders);
    times.total(op, (Cylinder(0), Cylinder(d)), false).as_ms()
}

/// A sum of times that a trace shows, in milliseconds. Its terms cannot be separated: a longer
/// completion looks like a platter that is ahead and an arm that arrives later.
type Shown = (&'static str, fn(&Spec) -> f64);

const SHOWN: [Shown; 6] = [
    ("a hit after a read", |s| {
        (s.overheads.read_hit_after_read + s.overheads.read_completion).as_ms()
    }),
    ("a hit after a write", |s| {
        (s.overheads.read_hit_after_write + s.overheads.read_completion).as_ms()
    }),
    ("a sector read over the bus, ten times", |s| {
        10.0 * s.bus.read_sector.as_ms()
    }),
    ("a sector written over the bus, ten times", |s| {
        10.0 * s.bus.write_sector.as_ms()
    }),
    ("the completion of a write against a read's", |s| {
        (s.overheads.write_completion - s.overheads.read_completion).as_ms()
    }),
    ("a seek inward against one outward", |s| {
        s.mechanics.inward_seek.as_ms()
    }),
];

/// The time of a miss without rotation and transfer, over `d` cylinders inward.
fn miss_ms(spec: &Spec, op: Op, d: u32) -> f64 {
    let o = &spec.overheads;
    let (before, after) = match op {
        Op::Read => (o.read_miss_after_read, o.read_completion),
        Op::Write | Op::Flush => (o.write_miss_after_read, o.write_completion),
    };
    (before + after).as_ms() + seek_ms(spec, op, d)
}

/// Checks that `found` differs from the real drive by less than this many milliseconds: the sums of
/// [`SHOWN`], and misses; twice as many where seeks take longer, a step that a smooth correction
/// rounds off.
#[track_caller]
fn check(found: &Spec, real: &Spec, bounds: [f64; SHOWN.len()], miss_bound: f64) {
    for ((what, of), bound) in SHOWN.into_iter().zip(bounds) {
        let (is, should) = (of(found), of(real));
        assert!((is - should).abs() < bound, "{what}: {is}, not {should}");
    }
    for op in [Op::Read, Op::Write] {
        for d in [16, 64, 256, 362, 512, 900, 1400] {
            let (is, should) = (miss_ms(found, op, d), miss_ms(real, op, d));
            let off = (is - should).abs();
            let bound = if STEP.contains(&d) {
                2.0 * miss_bound
            } else {
                miss_bound
            };
            assert!(off < bound, "{op:?} over {d}: {is}, not {should}");
        }
    }
}

#[test]
fn a_drive_is_found_again_where_the_clock_is_unbroken() {
    let (given, real) = given_and_real();
    let origin = Angle::from_fraction(2, 7);
    let found = Experiment {
        rows: 1500,
        reads: 0.6,
        variant: Variant::From {
            angle: origin,
            seed: 0,
        },
    }
    .fitted(&given, &real);
    assert_eq!(found.behaviours, ["buffer.delivered = \"kept\""]);
    assert_eq!(found.spec.buffer, real.buffer);
    assert_eq!(found.spec.geometry, real.geometry);
    assert_eq!(found.explained_fraction, 1.0);
    let Clock::Unbroken { phase, breaks, .. } = found.clock else {
        panic!("{:?}", found.clock)
    };
    assert_eq!(breaks, 0);
    // A hundredth of a revolution, 0.1 ms, is the allowed error of the completion.
    let off = (phase - origin).as_revolutions();
    assert!(off.min(1.0 - off) < 0.01, "{off} of a revolution");
    let ratio = found.spec.mechanics.period_ns / real.mechanics.period_ns;
    assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
    let bounds = [0.02, 0.02, 0.02, 0.1, 0.02, 0.1];
    check(&found.spec, &real, bounds, 0.2);
    check_together(&found, &real);
    check_deviations(&found);
}

/// A number is no less certain with all others held, and a pair is better known than its parts.
#[track_caller]
fn check_deviations(found: &Calibration) {
    for number in &found.fitted {
        let rounding = 1.0 + 1e-9;
        assert!(
            number.others_held_sd_ms <= number.sd_ms * rounding,
            "{number:?}"
        );
    }
    for pair in found.covariance.pairs() {
        let parts = pair.indices.map(|i| found.fitted[i].sd_ms);
        assert!(parts.iter().all(|&sd_ms| pair.sd_ms < sd_ms), "{pair:?}");
    }
}

/// A hit shows the sum of its overhead and its completion, and the completions of reads and writes
/// only their difference: these are within four deviations of the real ones, which the parts are
/// not, with all others held.
#[track_caller]
fn check_together(found: &Calibration, real: &Spec) {
    let o = &real.overheads;
    let hit = ("overheads.read_hit_after_read", o.read_hit_after_read);
    let read = ("overheads.read_completion", o.read_completion);
    let write = ("overheads.write_completion", o.write_completion);
    for (two, sign) in [([hit, read], 1.0), ([read, write], -1.0)] {
        let of = two.map(|(key, _)| {
            let mut numbers = found.fitted.iter();
            let number = numbers.position(|number| number.quantity == Quantity::Key(key));
            number.expect("fitted")
        });
        let [a, b] = [0, 1].map(|i| {
            let number = &found.fitted[of[i]];
            let off_ms = number.fitted_ms - two[i].1.as_ms();
            let alone_ms = number.others_held_sd_ms;
            assert!(off_ms.abs() > 4.0 * alone_ms, "{number:?} alone");
            assert!(number.sd_ms > 2.0 * alone_ms, "{number:?}");
            off_ms
        });
        let mut pairs = found.covariance.pairs().into_iter();
        let pair = pairs
            .find(|pair| pair.indices == of)
            .expect("known together");
        assert!(pair.correlation * sign < -0.9, "{pair:?}");
        assert!((a + sign * b).abs() < 4.0 * pair.sd_ms, "{a} {b} {pair:?}");
        assert!(pair.sd_ms < 0.01, "{pair:?}");
    }
}

/// Only the edges of the distributions carry information: the fit determines misses to a few tenths
/// of a millisecond, and can hardly tell whether a write's completion or its bus takes longer.
#[test]
fn a_drive_is_found_again_where_pauses_are_nominal() {
    let (given, real) = given_and_real();
    let found = Experiment {
        rows: 1500,
        reads: 0.6,
        variant: Variant::Phases { seed: 3 },
    }
    .fitted(&given, &real);
    assert!(
        matches!(found.clock, Clock::Nominal { .. }),
        "{:?}",
        found.clock
    );
    assert_eq!(found.spec.mechanics.period_ns, given.mechanics.period_ns);
    assert_eq!(found.spec.buffer, real.buffer);
    assert_eq!(found.spec.overheads.write_start, real.overheads.write_start);
    assert!(
        found.explained_fraction > 0.98,
        "{}",
        found.explained_fraction
    );
    check(&found.spec, &real, [0.02, 0.02, 0.02, 0.1, 0.2, 0.2], 0.25);
    check_deviations(&found);
}

/// Only writes, on a drive whose slipped sectors rotate the tracks after them.
#[test]
fn undetermined_numbers_stay_and_equal_traces_give_equal_drives() {
    let given = drive("seagate-st41601n");
    let mut real = given.clone();
    real.geometry.slips_turn_tracks = true;
    let writes = Experiment {
        rows: 700,
        reads: 0.0,
        variant: Variant::From {
            angle: Angle::from_fraction(2, 7),
            seed: 0,
        },
    };
    let found = writes.fitted(&given, &real);
    assert_eq!(found.behaviours, ["geometry.slips_turn_tracks = true"]);
    assert_eq!(found.spec.geometry, real.geometry);
    let turned = layout(&real);
    for block in (0..turned.sectors().0).step_by(100_003).map(Lbn) {
        assert_eq!(found.layout.extent(block), turned.extent(block));
    }
    for key in [
        "overheads.read_hit_after_read",
        "overheads.read_hit_after_write",
        "overheads.read_miss_after_read",
        "overheads.read_miss_after_write",
        "overheads.read_completion",
        "bus.read_sector",
        "bus.read_restart",
    ] {
        assert!(found.undetermined.contains(&Quantity::Key(key)), "{key}");
        let fitted = |number: &FittedNumber| number.quantity == Quantity::Key(key);
        assert!(!found.fitted.iter().any(fitted), "{key}");
    }
    let (is, was) = (&found.spec.overheads, &given.overheads);
    assert_eq!(is.read_hit_after_read, was.read_hit_after_read);
    assert_eq!(is.read_hit_after_write, was.read_hit_after_write);
    assert_eq!(is.read_miss_after_read, was.read_miss_after_read);
    assert_eq!(is.read_miss_after_write, was.read_miss_after_write);
    assert_eq!(is.read_completion, was.read_completion);
    assert_eq!(found.spec.bus.read_sector, given.bus.read_sector);
    assert_eq!(found.spec.bus.read_restart, given.bus.read_restart);

    let again = writes.fitted(&given, &real);
    assert_eq!(found.spec, again.spec);
    assert_eq!(found.clock, again.clock);
    assert_eq!(found.behaviours, again.behaviours);
    assert_eq!(
        (found.fitted, found.undetermined),
        (again.fitted, again.undetermined)
    );
    assert_eq!(found.evaluations, again.evaluations);
    assert_eq!(found.explained_fraction, again.explained_fraction);
}

/// From its own trace nothing of a drive is found to differ but its numbers, by a little.
#[test]
fn a_fit_to_a_drives_own_trace_changes_little() {
    let real = drive("hp-c2247");
    let found = Experiment {
        rows: 700,
        reads: 0.6,
        variant: Variant::From {
            angle: Angle::from_fraction(1, 3),
            seed: 0,
        },
    }
    .fitted(&real, &real);
    assert_eq!(found.behaviours, [""; 0]);
    assert_eq!(found.spec.mechanics.seek_scatter, None);
    assert_eq!(found.spec.mechanics.write_seek_scatter, None);
    check_deviations(&found);
}

/// All movements scatter alike: only rows that do not move the arm show how much of it is noise.
/// The deviations that are tried differ by up to a half.
#[test]
fn scatter_of_all_movements_is_found() {
    let given = drive("hp-c2247");
    let mut real = given.clone();
    let half = vec![(1, Span::from_ms(0.5))];
    real.mechanics.seek_scatter = Some(SeekCurve::Table(half));
    let found = Experiment {
        rows: 2500,
        reads: 1.0,
        variant: Variant::From {
            angle: Angle::from_fraction(1, 3),
            seed: 5,
        },
    }
    .fitted(&given, &real);
    let Some(SeekCurve::Table(curve)) = &found.spec.mechanics.seek_scatter else {
        panic!("{:?}", found.spec.mechanics.seek_scatter);
    };
    let of = |cylinders: RangeInclusive<u32>| {
        let within = curve
            .iter()
            .filter(move |point| cylinders.contains(&point.0));
        within.map(|point| point.1.as_ms()).collect::<Vec<f64>>()
    };
    // Over other distances too few rows go so far to show it.
    let shown = of(128..=1023);
    assert_eq!(shown.len(), 2, "{curve:?}");
    assert!(
        shown.iter().all(|ms| (0.35..=0.75).contains(ms)),
        "{curve:?}"
    );
}

/// A drive without read-ahead: a quarter of its reads continue others and miss. By how much they
/// are late shows only where that loses or gains a revolution, so a third either way may be chance.
#[test]
fn scatter_of_reads_in_sequence_is_found() {
    let mut given = drive("hp-c2247");
    given.buffer.read_ahead = ReadAhead::None;
    let found = |deviation_ms: f64| {
        let mut real = given.clone();
        real.overheads.read_miss_in_sequence = Span::from_ms(1.5);
        real.overheads.read_miss_in_sequence_scatter = Span::from_ms(deviation_ms);
        let experiment = Experiment {
            rows: 4_000,
            reads: 1.0,
            variant: Variant::From {
                angle: Angle::from_fraction(1, 3),
                seed: 5,
            },
        };
        let found = experiment.fitted(&given, &real).spec;
        found.overheads.read_miss_in_sequence_scatter.as_ms()
    };
    assert_eq!(found(0.0), 0.0);
    let scatter = found(1.2);
    assert!((0.8..=1.6).contains(&scatter), "{scatter}");
}
