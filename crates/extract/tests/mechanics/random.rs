//! Drives with random mechanics, and large drives.

use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{
    Geometry, Mechanics, SeekCurve, Sparing, Spec, TrackOrder, TwoPiece, Zone,
};
use diskarm_core::units::{Cylinder, SectorCount, Span};
use diskarm_extract::seek::Seeks;
use diskarm_extract::{Cost, ObservableTimes, SimulatedDrive};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::timing::{compare_sums, measure_all, without_times};
use crate::{HOST, catalogued};

struct Random(Pcg64Mcg);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn between(&mut self, min: f64, max: f64) -> f64 {
        min + (max - min) * self.below(1_000_000) as f64 / 1e6
    }

    fn ms(&mut self, min: f64, max: f64) -> Span {
        Span::from_ms(self.between(min, max))
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// Returns straight lines, a root and a line that may not meet, or a table with kinks.
    fn curve(&mut self, cylinders: u32, (single, full): (f64, f64)) -> SeekCurve {
        let stroke = f64::from(cylinders - 1);
        let average = single + (full - single) * self.between(0.35, 0.6);
        match self.below(4) {
            0 => SeekCurve::ThreePoint {
                single: Span::from_ms(single),
                average: Span::from_ms(average),
                full: Span::from_ms(full),
            },
            1 | 2 => {
                let knee = (stroke * self.between(0.05, 0.6)) as u32 + 1;
                let slope = (full - average) / (stroke - f64::from(knee));
                let step = self.of(&[0.0, 0.0, 0.1, -0.1]);
                SeekCurve::TwoPiece(TwoPiece {
                    knee,
                    short_ms: single,
                    short_sqrt_ms: (average - single) / f64::from(knee).sqrt(),
                    long_ms: average + step - slope * f64::from(knee),
                    long_slope_ms: slope,
                    single: self.one_in(2).then(|| Span::from_ms(0.8 * single)),
                })
            }
            _ => {
                let power = self.between(0.3, 0.8);
                let mut points = Vec::new();
                let mut distance = 1;
                while distance < cylinders - 1 {
                    let share = (f64::from(distance) / stroke).powf(power);
                    let time = single + (full - single) * share;
                    points.push((distance, Span::from_ms(time * self.between(0.98, 1.02))));
                    distance += (f64::from(distance) * self.between(0.2, 0.8)).max(1.0) as u32;
                }
                points.push((cylinders - 1, Span::from_ms(full)));
                SeekCurve::Table(points)
            }
        }
    }

    /// Returns mechanics whose head switch may be shorter or longer than the shortest seek.
    fn mechanics(&mut self, period_ns: f64, cylinders: u32) -> Mechanics {
        let (single, full) = (self.between(0.5, 3.0), self.between(10.0, 30.0));
        let has_own_curve = self.one_in(3);
        let uneven = self.one_in(3);
        let settles = [self.one_in(4), self.one_in(4)];
        let time_if = |is: bool, time: Span| if is { time } else { Span::ZERO };
        Mechanics {
            period_ns: period_ns * self.between(0.8, 1.2),
            seek: self.curve(cylinders, (single, full)),
            head_switch: self.ms(0.2, 3.0),
            inward_seek: time_if(uneven, self.ms(-0.3, 0.3)),
            track_settle: time_if(settles[0], self.ms(0.0, 0.8)),
            cylinder_settle: time_if(settles[1], self.ms(0.0, 0.8)),
            write_settle: self.ms(-0.15, 1.5),
            write_seek: has_own_curve.then(|| {
                let longer = (self.between(0.0, 1.0), self.between(-1.0, 3.0));
                self.curve(cylinders, (single + longer.0, full + longer.1))
            }),
            ..Mechanics::default()
        }
    }
}

/// Returns a drive of the catalogue with other mechanics.
fn drive(seed: u64) -> Spec {
    const DRIVES: [&str; 9] = [
        "dec-rz26",
        "hp-c2247",
        "hp-c3323a",
        "ibm-18es",
        "quantum-atlas-10k",
        "quantum-atlas-iii",
        "seagate-barracuda-st32171w",
        "seagate-cheetah-st34501n",
        "seagate-st41601n",
    ];
    let mut random = Random(Pcg64Mcg::seed_from_u64(seed));
    let name = random.of(&DRIVES);
    let mut spec = catalogued(name);
    spec.mechanics = random.mechanics(spec.mechanics.period_ns, spec.geometry.cylinders);
    spec.name = format!("{name}, seed {seed}");
    spec
}

/// Adds scatter to the drive's seeks, at all distances or at some.
fn scattering(seed: u64) -> Spec {
    let mut spec = drive(seed);
    let mut random = Random(Pcg64Mcg::seed_from_u64(seed + 1_000_000));
    let deviation = random.ms(0.02, 0.2);
    let last = spec.geometry.cylinders as u64;
    let from = 1 + random.below(last / 3) as u32;
    let to = from + 1 + random.below(last / 2) as u32;
    let some = vec![
        (from, Span::ZERO),
        (from + 1, deviation),
        (to + 1, deviation),
        (to + 2, Span::ZERO),
    ];
    let all = vec![(1, deviation)];
    let points = if random.one_in(2) { all } else { some };
    spec.mechanics.seek_scatter = Some(SeekCurve::Table(points));
    spec.name += ", seeks scatter";
    spec
}

/// Returns a drive of 2 to 16 TB.
fn large(seed: u64) -> Spec {
    let mut random = Random(Pcg64Mcg::seed_from_u64(seed));
    let mut spec = catalogued("sata-4tb-7200");
    let bytes = random.of(&[512u32, 4096]);
    let surfaces = random.of(&[2u32, 4, 6, 8, 12, 16]);
    let turns = random.of(&[5400.0, 5900.0, 7200.0, 10_000.0, 15_000.0]);
    let zones = 6 + random.below(24) as u32;
    let outer = (1_000_000 + random.below(1_400_000)) / u64::from(bytes);
    let sectors = |zone: u32| outer - outer * u64::from(zone) / u64::from(2 * zones);
    let terabytes = 2 + random.below(15);
    let track = 3 * outer * u64::from(bytes) / 4;
    let tracks = terabytes * 1_000_000_000_000 / track;
    let max = 1_900_000 / u64::from(zones);
    let each = (tracks / u64::from(surfaces * zones)).min(max) as u32;
    let skew = random.between(0.6, 1.4) * turns / 60_000.0;
    let zone = |zone: u32| Zone {
        first_cylinder: zone * each,
        end_cylinder: (zone + 1) * each,
        sectors_per_track: sectors(zone) as u32,
        track_skew_sectors: (skew * sectors(zone) as f64).round(),
        cylinder_skew_sectors: (1.2 * skew * sectors(zone) as f64).round(),
        ..Zone::default()
    };
    let of_zone = |zone: u32| sectors(zone) * u64::from(each * surfaces);
    spec.geometry = Geometry {
        sector_bytes: bytes,
        surfaces,
        cylinders: zones * each,
        sectors: SectorCount((0..zones).map(of_zone).sum()),
        order: random.of(&[TrackOrder::CylinderMajor, TrackOrder::SerpentinePerZone]),
        sparing: Sparing::None,
        zones: (0..zones).map(zone).collect(),
        ..Geometry::default()
    };
    if bytes == 4096 {
        spec.buffer.segment = SectorCount(512);
        spec.buffer.read_ahead_max = SectorCount(512);
    }
    let (single, full) = (random.between(0.3, 1.5), random.between(9.0, 22.0));
    spec.mechanics.period_ns = 6e10 / turns;
    spec.mechanics.seek = random.curve(spec.geometry.cylinders, (single, full));
    spec.mechanics.head_switch = random.ms(0.2, 2.0);
    spec.mechanics.write_settle = random.ms(0.0, 1.5);
    spec.name = format!("{terabytes} TB, {surfaces} surfaces, {turns} rpm, seed {seed}");
    spec
}

/// Returns the largest difference between the given and the found leads of seeks, as a multiple of
/// 1 % or 0.02 ms or, if seeks scatter, of three times the uncertainty of nearby points if larger.
fn worst(given: &Spec, found: &Spec, seeks: &Seeks, op: Op) -> (f64, u32) {
    let leads = [given, found].map(ObservableTimes::new);
    let lead = |k: usize, way: (u32, u32)| leads[k].lead(op, (Cylinder(way.0), Cylinder(way.1)));
    let still = [0, 1].map(|k| lead(k, (0, 0)));
    let scatter = given.mechanics.seek_scatter.clone().map(|seek| {
        let mechanics = Mechanics {
            seek,
            ..Mechanics::default()
        };
        SeekTimes::new(&mechanics, given.geometry.cylinders)
    });
    let scatters = |distance: u32| {
        let way = (Cylinder(0), Cylinder(distance));
        let over = |times: &SeekTimes| times.total(Op::Read, way, false) > Span::ZERO;
        scatter.as_ref().is_some_and(over)
    };
    let mut worst = (0.0, 0);
    for distance in 1..given.geometry.cylinders {
        let points = &seeks.points;
        let next = points.partition_point(|point| point.distance < distance);
        let near = [next.saturating_sub(1), next].map(|at| points[at.min(points.len() - 1)]);
        for way in [(0, distance), (distance, 0)] {
            let [was, is] = [0, 1].map(|k| lead(k, way) - still[k]);
            let mut allowed = 0.02f64.max(0.01 * was.as_ms());
            if near.iter().any(|point| scatters(point.distance)) {
                let [a, b] = near.map(|point| point.mean.uncertainty.as_ms());
                allowed = allowed.max(3.0 * a.max(b));
            }
            let multiple = (is - was).as_ms().abs() / allowed;
            if multiple > worst.0 {
                worst = (multiple, distance);
            }
        }
    }
    worst
}

/// Measures a drive whose layout is known, and asserts that seeks and overheads are found.
fn check(spec: &Spec, seed: u64) -> Cost {
    let layout = Layout::new(&spec.geometry).unwrap();
    let mut drive = SimulatedDrive::new(spec, HOST, seed).unwrap();
    let (timing, _, cost) = measure_all(&mut drive, &layout, seed);
    let mut found = without_times(spec);
    timing.describe(&mut found);
    let name = &spec.name;
    assert_eq!(found.contradiction(), None, "{name}");
    let written = timing.written.as_ref().unwrap();
    let writes = written.seeks.as_ref().unwrap_or(&timing.seeks);
    for (op, seeks) in [(Op::Read, &timing.seeks), (Op::Write, writes)] {
        assert_eq!(seeks.remark, None, "{name}");
        let (worst, distance) = worst(spec, &found, seeks, op);
        assert!(worst <= 1.0, "{name}: {op:?} over {distance}: {worst}");
    }
    compare_sums(spec, &found, 1.0);
    cost
}

/// Bounds must hold for any random numbers: each drive is measured with several seeds.
#[test]
fn random_mechanics_are_found() {
    let mut measured = 0;
    for seed in 0..60 {
        let spec = drive(seed);
        if spec.contradiction().is_none() {
            for order in 0..3 {
                check(&spec, seed + 1000 * order);
            }
            measured += 1;
        }
    }
    assert!(measured >= 50, "{measured}");
}

#[test]
fn random_mechanics_that_scatter_are_found() {
    for seed in 0..4 {
        let spec = scattering(seed);
        if spec.contradiction().is_none() {
            check(&spec, seed);
        }
    }
}

#[test]
fn large_drives_are_measured_within_minutes() {
    let mut drives: Vec<Spec> = (0..8).map(large).collect();
    drives.push(catalogued("sata-4tb-7200"));
    for (spec, seed) in drives.iter().zip(1..) {
        assert_eq!(spec.contradiction(), None, "{}", spec.name);
        let cost = check(spec, seed);
        assert!(cost.time < Span::from_s(900.0), "{}: {cost:?}", spec.name);
    }
}
