//! Compares seek times and sequential response times of the measured and the given drive.

use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{Mechanics, SeekCurve, Spec};
use diskarm_core::units::{Cylinder, Lbn, SectorCount, Span};
use diskarm_extract::seek::Seeks;
use diskarm_extract::{ObservableTimes, mean_sequential_response};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

/// The largest difference of two seek curves.
#[derive(Debug, Serialize)]
pub struct SeekDifference {
    /// The difference as a multiple of the allowed one, which is 1 % or 0.02 ms or, where the arm's
    /// arrival scatters, three times the uncertainty of the mean if that is more.
    pub multiple: f64,
    /// Seek distance in cylinders at which this difference occurs.
    pub distance: u32,
    pub error_ms: f64,
    /// The largest multiple within a zone, if block locations were compared.
    pub within_zones: Option<f64>,
}

impl SeekDifference {
    const NONE: Self = Self {
        multiple: 0.0,
        distance: 0,
        error_ms: 0.0,
        within_zones: None,
    };
}

/// Compares the additional leads of requests with a seek, over all distances in both directions.
pub fn compare_seeks(given: &Spec, found: &Spec, measured: &Seeks, op: Op) -> SeekDifference {
    let both = [given, found].map(ObservableTimes::new);
    let scatter = scatter(given, op);
    let cylinders = given.geometry.cylinders;
    let mut max = SeekDifference::NONE;
    let still = both
        .each_ref()
        .map(|one| one.lead(op, (Cylinder(0), Cylinder(0))));
    for distance in 1..cylinders.min(found.geometry.cylinders) {
        let uncertainty_ms = uncertainty(measured, distance, scatter.as_ref());
        for way in [(0, distance), (distance, 0)] {
            let way = (Cylinder(way.0), Cylinder(way.1));
            let [is, was] = [1, 0].map(|k| both[k].lead(op, way) - still[k]);
            let error_ms = (is - was).as_ms();
            let allowed = allowed(was, uncertainty_ms);
            let multiple = error_ms.abs() / allowed;
            if multiple > max.multiple {
                max = SeekDifference {
                    multiple,
                    distance,
                    error_ms,
                    ..max
                };
            }
        }
    }
    max
}

/// Returns the allowed difference of a seek, in milliseconds.
fn allowed(seek: Span, uncertainty_ms: Option<f64>) -> f64 {
    let share = 0.01 * seek.as_ms();
    0.02f64.max(share).max(uncertainty_ms.unwrap_or(0.0))
}

/// Like [`compare_seeks`], but between the locations of random pairs of blocks, for layouts that
/// number cylinders differently. The distance refers to the given drive.
pub fn compare_seeks_between_blocks(
    given: &Spec,
    found: &Spec,
    measured: &Seeks,
    op: Op,
) -> SeekDifference {
    let both = [given, found];
    let sums = both.map(ObservableTimes::new);
    let layouts = both.map(|spec| Layout::new(&spec.geometry).expect("the layout was checked"));
    let scatter = scatter(given, op);
    let blocks = layouts[0].sectors().min(layouts[1].sectors()).0;
    let mut generator = Pcg64Mcg::seed_from_u64(PAIRS);
    let mut block = || Lbn(((u128::from(generator.next_u64()) * u128::from(blocks)) >> 64) as u64);
    let still = sums
        .each_ref()
        .map(|one| one.lead(op, (Cylinder(0), Cylinder(0))));
    let (mut max, mut within) = (SeekDifference::NONE, 0.0);
    for _ in 0..PAIRS {
        let blocks = [block(), block()];
        let [from, to] = blocks.map(|at| zone(given, layouts[0].extent(at).cylinder));
        let ways = layouts.each_ref().map(|layout| {
            let [from, to] = blocks.map(|at| layout.extent(at).cylinder);
            (from, to)
        });
        let distance = ways[0].0.distance(ways[0].1);
        if distance == 0 || ways[1].0 == ways[1].1 {
            continue;
        }
        let [was, is] = [0, 1].map(|k| sums[k].lead(op, ways[k]) - still[k]);
        let error_ms = (is - was).as_ms();
        let uncertainty_ms = uncertainty(measured, distance, scatter.as_ref());
        let allowed = allowed(was, uncertainty_ms);
        let multiple = error_ms.abs() / allowed;
        if from == to {
            within = f64::max(within, multiple);
        }
        if multiple > max.multiple {
            max = SeekDifference {
                multiple,
                distance,
                error_ms,
                ..max
            };
        }
    }
    max.within_zones = Some(within);
    max
}

/// Returns the zone of a cylinder.
fn zone(spec: &Spec, at: Cylinder) -> usize {
    let zones = &spec.geometry.zones;
    zones.partition_point(|zone| zone.first_cylinder <= at.0)
}

/// Number of compared pairs of blocks; also the seed.
const PAIRS: u64 = 100_000;

/// Returns the scatter of the arm's arrival times, if it has any.
fn scatter(given: &Spec, op: Op) -> Option<SeekTimes> {
    let Mechanics {
        seek_scatter,
        write_seek_scatter,
        ..
    } = &given.mechanics;
    let curve: Option<&SeekCurve> = match op {
        Op::Write => write_seek_scatter.as_ref().or(seek_scatter.as_ref()),
        _ => seek_scatter.as_ref(),
    };
    let mechanics = Mechanics {
        seek: curve?.clone(),
        ..Mechanics::default()
    };
    Some(SeekTimes::new(&mechanics, given.geometry.cylinders))
}

/// Returns three times the uncertainty of the adjacent points in milliseconds, if arrivals scatter.
fn uncertainty(measured: &Seeks, distance: u32, scatter: Option<&SeekTimes>) -> Option<f64> {
    let scatter = scatter?;
    let points = &measured.points;
    let next = points.partition_point(|point| point.distance < distance);
    let near = [next.saturating_sub(1), next].map(|at| points[at.min(points.len() - 1)]);
    let scatters = near.iter().any(|point| {
        let way = (Cylinder(0), Cylinder(point.distance));
        scatter.total(Op::Read, way, false) > Span::ZERO
    });
    let [a, b] = near.map(|point| point.mean.uncertainty.as_ms());
    scatters.then(|| 3.0 * a.max(b))
}

/// Sequential requests of one kind and size.
#[derive(Debug, Serialize)]
pub struct Sequence {
    pub op: &'static str,
    pub kib: u64,
    /// Mean response time, given and measured.
    pub mean_ms: [f64; 2],
}

/// The allowed error of a mean is 1 % or 0.02 ms, whichever is more, as for a seek.
const SEQUENCE_SHARE: f64 = 0.01;
const SEQUENCE_MIN_MS: f64 = 0.02;

const SIZES: [u64; 2] = [8, 64];

/// Compares reads and writes of both sizes.
pub fn compare_sequences(given: &Spec, found: &Spec) -> Vec<Sequence> {
    let mut all = Vec::new();
    for (name, op) in [("reads", Op::Read), ("writes", Op::Write)] {
        for kib in SIZES {
            let sectors = SectorCount((kib * 1024 / u64::from(given.geometry.sector_bytes)).max(1));
            let mean_ms = [given, found].map(|spec| {
                let mean =
                    mean_sequential_response(spec, op, sectors).expect("the drive was checked");
                mean.as_ms()
            });
            all.push(Sequence {
                op: name,
                kib,
                mean_ms,
            });
        }
    }
    all
}

impl Sequence {
    /// Returns the error of the measured mean as a multiple of the allowed one.
    pub fn multiple(&self) -> f64 {
        let [was, is] = self.mean_ms;
        (is - was).abs() / SEQUENCE_MIN_MS.max(SEQUENCE_SHARE * was)
    }
}
