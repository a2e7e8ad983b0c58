//! Seek times.

use std::cell::Cell;

use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{Mechanics, SeekCurve, Spec};
use diskarm_core::units::{Cylinder, Instant, Lbn, Span};
use diskarm_extract::seek::{self, SeekPoint, Seeks};
use diskarm_extract::seek_command::{self, Curves};
use diskarm_extract::{
    Access, Cost, Data, Disk, Effort, NoisyTransport, Reply, Setup, SimulatedDrive, Transport,
    TransportError,
};

use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Format, Key};

use crate::{DRIVES, HOST, catalogued, set_up};

/// Returns the largest error of the curve at any distance, as a multiple of the allowed error: 1 %
/// or 0.02 ms or, if seeks scatter, three times the uncertainty of the points if larger.
///
/// Seeks are compared with a request without one, whose overhead includes its settling time.
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
            let mut allowed = 0.02f64.max(0.01 * given.as_ms());
            if near.iter().any(scatters) {
                allowed = allowed.max(3.0 * uncertain[0].max(uncertain[1]));
            }
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
        let mut drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let setup = set_up(&mut disk, &layout, seed);
        let before = disk.cost();
        let found = seek::measure(&mut disk, &setup).unwrap();
        let worst = worst(&found, &spec, Op::Read);
        let cost = disk.cost();
        println!(
            "{name}: {worst:.2} of the allowed error, {} commands, {:.0} s",
            cost.commands - before.commands,
            (cost.time - before.time).as_s()
        );
        assert!(worst <= 1.0, "{name}: {worst}");
        let inward = (found.inward.value - spec.mechanics.inward_seek).as_ms();
        assert!(inward.abs() < 0.006, "{name}: {inward} ms");
        assert!((cost.time - before.time).as_s() < 300.0, "{name}: {cost:?}");
    }
}

/// Returns the curve measured by SEEK; its largest errors at the measured distances and at all, as
/// multiples of 1 % or 0.02 ms; and its cost.
fn by_seek(
    drive: &mut dyn Transport,
    (spec, layout): (&Spec, &Layout),
    first: Access,
    seed: u64,
) -> (Curves, (f64, f64), Cost) {
    let mut disk = Disk::new(drive).unwrap();
    let setup = set_up(&mut disk, layout, seed);
    let before = disk.cost();
    let found = seek_command::measure(&mut disk, &setup, first).unwrap();
    let mut cost = disk.cost();
    cost.commands -= before.commands;
    cost.time -= before.time;
    let times = SeekTimes::new(&spec.mechanics, spec.geometry.cylinders);
    let over = |from, to| times.total(Op::Read, (Cylinder(from), Cylinder(to)), false);
    let error = |point: &seek_command::Point| {
        let ways = over(0, point.distance) + over(point.distance, 0);
        let given = ways.as_ms() / 2.0 - over(0, 0).as_ms();
        let error = point.mean.value.as_ms() - given;
        error.abs() / 0.02f64.max(0.01 * given)
    };
    let measured = found.points.iter().map(error).fold(0.0, f64::max);
    let anywhere = worst(&found.mean(), spec, Op::Read);
    (found, (measured, anywhere), cost)
}

/// Returns the time by MTBRC for a distance, in milliseconds, interpolated linearly.
fn by_mtbrc_ms(seeks: &Seeks, distance: u32) -> f64 {
    let shorter = seeks
        .points
        .partition_point(|point| point.distance < distance);
    let next = shorter.min(seeks.points.len() - 1);
    let after = &seeks.points[next];
    if after.distance <= distance || next == 0 {
        return after.mean.value.as_ms();
    }
    let before = &seeks.points[next - 1];
    let share = f64::from(distance - before.distance) / f64::from(after.distance - before.distance);
    let [from, to] = [before, after].map(|point| point.mean.value.as_ms());
    from + share * (to - from)
}

/// The mean and maximum curves by SEEK are within 1 % or 0.02 ms at every distance and agree with
/// MTBRC's. The corrective value comes from pairs that read first, or that write first.
#[test]
fn seek_commands_measure_the_curve_too() {
    for (name, seed) in DRIVES.iter().zip(1..) {
        let spec = catalogued(name);
        let layout = Layout::new(&spec.geometry).unwrap();
        for first in [Access::Read, Access::Write] {
            let mut drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
            let (found, (measured, anywhere), cost) =
                by_seek(&mut drive, (&spec, &layout), first, seed);
            println!(
                "{name} {first:?}: {measured:.2}, anywhere {anywhere:.2} of the allowed error, {} \
                 commands, {:.0} s",
                cost.commands,
                cost.time.as_s()
            );
            assert!(measured < 0.3, "{name}: {measured}");
            // If seeks scatter at random, MTBRC measures by how much.
            assert!(anywhere <= 1.0 || spec.is_random(), "{name}: {anywhere}");
            assert!(cost.time < Span::from_s(300.0), "{name}: {cost:?}");
            let inward = (found.mean().inward.value - spec.mechanics.inward_seek).as_ms();
            assert!(inward.abs() < 0.006, "{name}: {inward} ms");
            for point in &found.points {
                // Modelled seek times do not depend on the starting point.
                let more = (point.maximum - point.mean.value).as_ms();
                assert!((-1e-3..0.01).contains(&more), "{name}: {point:?}");
            }
            if spec.is_random() || first == Access::Write {
                continue;
            }
            let mut drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
            let mut disk = Disk::new(&mut drive).unwrap();
            let setup = set_up(&mut disk, &layout, seed);
            let other = seek::measure(&mut disk, &setup).unwrap();
            let mut sum_ms = 0.0;
            for point in &found.points {
                let one = point.mean.value.as_ms();
                let difference = (one - by_mtbrc_ms(&other, point.distance)).abs();
                assert!(
                    difference < 0.02f64.max(0.01 * one),
                    "{name}: {point:?} {difference} ms"
                );
                sum_ms += difference;
            }
            let mean_ms = sum_ms / found.points.len() as f64;
            assert!(mean_ms < 0.02, "{name}: {mean_ms} ms");
        }
    }
}

#[test]
fn noise_of_seek_commands_is_averaged_out() {
    for (name, seed) in DRIVES.iter().zip(1..).step_by(4) {
        let spec = catalogued(name);
        let layout = Layout::new(&spec.geometry).unwrap();
        let drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let mut noisy = NoisyTransport::new(Box::new(drive), Span::from_us(100.0), seed);
        let (_, (measured, _), cost) = by_seek(&mut noisy, (&spec, &layout), Access::Read, seed);
        println!("{name}: {measured:.2}, {:.0} s", cost.time.as_s());
        assert!(measured < 3.0, "{name}: {measured}");
    }
}

/// A drive that completes SEEK before the arm arrives.
struct Immediate(SimulatedDrive);

impl Transport for Immediate {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        const SEEK_10: u8 = 0x2b;
        let mut reply = self.0.execute(command, data)?;
        if command[0] == SEEK_10 {
            reply.ended = reply.sent + Span::from_us(500.0);
        }
        Ok(reply)
    }

    fn sleep(&mut self, span: Span) {
        self.0.sleep(span);
    }

    fn now(&self) -> Instant {
        self.0.now()
    }
}

#[test]
fn a_seek_that_does_not_wait_is_reported() {
    let spec = catalogued("hp-c3323a");
    let layout = Layout::new(&spec.geometry).unwrap();
    let mut drive = Immediate(SimulatedDrive::new(&spec, HOST, 1).unwrap());
    let mut disk = Disk::new(&mut drive).unwrap();
    let setup = Setup {
        effort: Effort::Quick,
        ..set_up(&mut disk, &layout, 1)
    };
    let error = seek_command::measure(&mut disk, &setup, Access::Read).unwrap_err();
    assert!(
        error.to_string().contains("before the arm arrives"),
        "{error}"
    );
}

/// A drive that, after a few successes, finds no sector after a seek over one distance.
struct FailingSeeks<'a> {
    drive: SimulatedDrive,
    layout: &'a Layout,
    distance: u32,
    /// Number of seeks that will still succeed.
    good: &'a Cell<u32>,
    /// Cylinder of the last read.
    at: Cylinder,
}

impl Transport for FailingSeeks<'_> {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        const READ_10: u8 = 0x28;
        let mut reply = self.drive.execute(command, data)?;
        if command[0] != READ_10 {
            return Ok(reply);
        }
        let at = u32::from_be_bytes([command[2], command[3], command[4], command[5]]);
        let cylinder = self.layout.extent(Lbn(u64::from(at))).cylinder;
        let distance = cylinder.distance(self.at);
        self.at = cylinder;
        if distance == self.distance && self.good.get() > 0 {
            self.good.set(self.good.get() - 1);
        } else if distance == self.distance {
            let sense = Sense::new(Key::MediumError, Code::UNRECOVERED_READ_ERROR);
            reply.status = 2;
            reply.sense = sense.emit(Format::Fixed);
        }
        Ok(reply)
    }

    fn sleep(&mut self, span: Span) {
        self.drive.sleep(span);
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }
}

/// If seeks scatter, three pairs may agree by chance: the curve reports and omits this distance,
/// and is as accurate as before elsewhere, with or without a bend.
#[test]
fn a_distance_with_few_successful_reads_is_omitted() {
    let mut spec = catalogued("hp-c3323a");
    spec.mechanics.seek_scatter = Some(SeekCurve::Table(vec![(1, Span::from_us(100.0))]));
    let layout = Layout::new(&spec.geometry).unwrap();
    for (effort, distance) in [(Effort::Quick, 30), (Effort::Normal, 2)] {
        let good = Cell::new(u32::MAX);
        let mut drive = FailingSeeks {
            drive: SimulatedDrive::new(&spec, HOST, 1).unwrap(),
            layout: &layout,
            distance,
            good: &good,
            at: Cylinder(0),
        };
        let mut disk = Disk::new(&mut drive).unwrap();
        let setup = Setup {
            effort,
            ..set_up(&mut disk, &layout, 1)
        };
        let all = seek::measure(&mut disk, &setup).unwrap();
        good.set(3);
        let some = seek::measure(&mut disk, &setup).unwrap();
        let has = |found: &Seeks| found.points.iter().any(|point| point.distance == distance);
        assert!(has(&all) && all.remark.is_none(), "{all:?}");
        assert!(!has(&some), "{some:?}");
        let remark = format!(
            "1 of {} distances were omitted because their pairs do not bound the seek time",
            some.points.len() + 1
        );
        assert_eq!(some.remark, Some(remark));
        let worst = worst(&some, &spec, Op::Read);
        // The bend of the curve is unknown where it was not measured.
        assert!(distance == 2 || worst <= 1.0, "{worst}");
    }
}
