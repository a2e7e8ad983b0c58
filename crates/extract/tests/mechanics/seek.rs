//! Seek times.

use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{Mechanics, SeekCurve, Spec};
use diskarm_core::units::{Cylinder, Span};
use diskarm_extract::seek::{self, SeekPoint, Seeks};
use diskarm_extract::{Disk, Effort, Simulated};

use crate::{DRIVES, HOST, catalogued, set_up};

/// The worst error of a found curve at any distance, as a share of what is allowed: 1 % or 0.02 ms,
/// or where seeks scatter, three times what the points say.
///
/// Seeks are compared with a request that needs none, as the overhead of one is known only with
/// its time to settle.
pub fn worst(found: &Seeks, spec: &Spec, op: Op) -> f64 {
    let cylinders = spec.geometry.cylinders;
    let times = SeekTimes::new(&spec.mechanics, cylinders);
    let points = found
        .points
        .iter()
        .map(|point| (point.distance, point.mean.value));
    let mechanics = Mechanics {
        seek: SeekCurve::Table(points.collect()),
        inward_seek: found.inward.value,
        ..Mechanics::default()
    };
    let measured = SeekTimes::new(&mechanics, cylinders);
    let given = &spec.mechanics;
    let scatter = given.seek_scatter.as_ref();
    let scatter = match op {
        Op::Write => given.write_seek_scatter.as_ref().or(scatter),
        _ => scatter,
    };
    let scatter = scatter.map(|curve| {
        let seek = curve.clone();
        SeekTimes::new(
            &Mechanics {
                seek,
                ..Mechanics::default()
            },
            cylinders,
        )
    });
    let still = times.total(op, (Cylinder(0), Cylinder(0)), false);
    let last = found.points.last().unwrap().distance;
    let mut worst = 0.0f64;
    for distance in 1..=last {
        let next = found
            .points
            .partition_point(|point| point.distance < distance);
        let near = [next.saturating_sub(1), next].map(|k| found.points[k]);
        let uncertain = near.map(|point| point.mean.uncertainty.as_ms());
        for way in [(0, distance), (distance, 0)] {
            let way = (Cylinder(way.0), Cylinder(way.1));
            let scatters = |point: &SeekPoint| {
                let way = (Cylinder(0), Cylinder(point.distance));
                let over = |times: &SeekTimes| times.total(Op::Read, way, false) > Span::ZERO;
                scatter.as_ref().is_some_and(over)
            };
            let given = times.total(op, way, false) - still;
            let error = (measured.total(Op::Read, way, false) - given).as_ms();
            let allowed = match near.iter().any(scatters) {
                true => 3.0 * uncertain[0].max(uncertain[1]),
                false => 0.02f64.max(0.01 * given.as_ms()),
            };
            worst = worst.max(error.abs() / allowed);
        }
    }
    worst
}

#[test]
fn seeks_are_found_at_every_distance() {
    for (name, seed) in DRIVES.iter().zip(1..) {
        let spec = catalogued(name);
        let layout = Layout::new(&spec.geometry).unwrap();
        let mut drive = Simulated::new(&spec, HOST, seed).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let setup = set_up(&mut disk, &layout, seed);
        let before = disk.cost();
        let found = seek::measure(&mut disk, &setup, Effort::Normal, seed).unwrap();
        let worst = worst(&found, &spec, Op::Read);
        let cost = disk.cost();
        println!(
            "{name}: {worst:.2} of what is allowed, {} commands, {:.0} s",
            cost.commands - before.commands,
            (cost.time - before.time).as_s()
        );
        assert!(worst <= 1.0, "{name}: {worst}");
        let inward = (found.inward.value - spec.mechanics.inward_seek).as_ms();
        assert!(inward.abs() < 0.006, "{name}: {inward} ms");
        assert!((cost.time - before.time).as_s() < 300.0, "{name}: {cost:?}");
    }
}
