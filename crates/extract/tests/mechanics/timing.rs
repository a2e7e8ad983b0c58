//! Overheads: observable sums, and the resulting service times.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::geometry::Layout;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{Bus, Overheads, Spec};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_extract::timing::{self, Timing};
use diskarm_extract::{
    Cost, Disk, Effort, NoisyTransport, ObservableTimes, SimulatedDrive, Transport,
};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::seek::worst;
use crate::{DRIVES, HOST, catalogued};

/// Returns `spec` without its mechanics, overheads and bus rates.
pub fn without_times(spec: &Spec) -> Spec {
    Spec {
        mechanics: Default::default(),
        overheads: Overheads::default(),
        bus: Bus {
            read_sector: Span::ZERO,
            write_sector: Span::ZERO,
            ..spec.bus.clone()
        },
        ..spec.clone()
    }
}

/// Measures everything. Also returns the cost of the reads, and the total cost.
pub fn measure_all(drive: &mut dyn Transport, layout: &Layout, seed: u64) -> (Timing, Cost, Cost) {
    let mut disk = Disk::new(drive).unwrap();
    let mut timing = timing::measure(&mut disk, layout, Effort::Normal, seed).unwrap();
    let reads = disk.cost();
    let written = timing::measure_writes(&mut disk, layout, &timing, Effort::Normal, seed);
    timing.written = Some(written.unwrap());
    (timing, reads, disk.cost())
}

/// Asserts that sums agree within `times` times 0.02 ms. Returns the largest error in ms and its
/// name.
pub fn compare_sums(given: &Spec, found: &Spec, times: f64) -> (f64, &'static str) {
    let mut max = (0.0, "");
    let sums = |spec| ObservableTimes::new(spec).sums();
    for ((what, a), (_, b)) in sums(given).into_iter().zip(sums(found)) {
        let error = (b - a).as_ms();
        // A seek before a write is known to 1 % if it has its own curve.
        let has_own_curve = found.mechanics.write_seek.is_some();
        let allowed = match what {
            "seek and write after read" | "seek and write after write" if has_own_curve => 0.1,
            _ => 0.02,
        };
        let name = &given.name;
        assert!(
            error.abs() < times * allowed,
            "{name}: {what}: {b}, given {a}"
        );
        if error.abs() > f64::abs(max.0) {
            max = (error, what);
        }
    }
    max
}

/// A row of the table of errors and costs.
fn row(name: &str, (seeks, max): (f64, (f64, &str)), (reads, all): (Cost, Cost)) -> String {
    format!(
        "| {name} | {seeks:.2} | {:.4} {} | {} + {} | {:.1} + {:.1} |",
        max.0,
        max.1,
        reads.commands,
        all.commands - reads.commands,
        reads.time.as_s() / 60.0,
        (all.time - reads.time).as_s() / 60.0,
    )
}

#[test]
fn overheads_are_found() {
    for (name, seed) in DRIVES.iter().zip(1..) {
        let spec = catalogued(name);
        let layout = Layout::new(&spec.geometry).unwrap();
        let clock = std::time::Instant::now();
        let mut drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let (timing, reads, cost) = measure_all(&mut drive, &layout, seed);
        let wall = clock.elapsed().as_secs_f64();
        let mut found = without_times(&spec);
        timing.describe(&mut found);
        assert_eq!(found.contradiction(), None, "{name}");
        let seeks = worst(&timing.seeks, &spec, Op::Read);
        let max = compare_sums(&spec, &found, 1.0);
        println!("{} {wall:.2} |", row(name, (seeks, max), (reads, cost)));
        assert!(seeks <= 1.0, "{name}: {seeks}");
        assert!(cost.time < Span::from_s(600.0), "{name}: {cost:?}");
    }
}

/// A modelled drive that serves one request at a time.
struct SerialDrive {
    drive: Drive,
    now: Instant,
}

impl SerialDrive {
    fn new(spec: &Spec, origin: Angle) -> Self {
        Self {
            drive: Drive::new(spec, origin).unwrap(),
            now: Instant::START,
        }
    }

    /// Returns the completion time of a request sent at `at`.
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        while self.drive.advance(at).is_some() {}
        self.drive.submit(at, request).unwrap();
        loop {
            let next = self.drive.next_event().unwrap();
            if let Some(completion) = self.drive.advance(next) {
                self.now = completion.at;
                return completion.at;
            }
        }
    }
}

/// Random one-sector requests of all kinds take as long on the measured drive as on the given one.
/// If seeks or overheads are off by some microseconds, a few requests in a thousand just catch a
/// sector on one drive and just miss it on the other.
#[test]
fn service_times_of_the_found_drive_match_the_given_one() {
    let mut generator = Pcg64Mcg::seed_from_u64(1);
    let mut below = |end: u64| ((u128::from(generator.next_u64()) * u128::from(end)) >> 64) as u64;
    for (name, seed) in DRIVES.iter().zip(1..) {
        let spec = catalogued(name);
        if spec.is_random() {
            continue;
        }
        let layout = Layout::new(&spec.geometry).unwrap();
        let mut drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let (timing, ..) = measure_all(&mut drive, &layout, seed);
        let mut found = without_times(&spec);
        timing.describe(&mut found);
        // The rotations differ by the time after the media, which cannot be observed.
        let mut request = Request::new(0, Op::Read, Lbn(0), SectorCount(1));
        request.force_unit_access = true;
        let first = [&spec, &found]
            .map(|spec| SerialDrive::new(spec, Angle::ZERO).serve(Instant::START, request));
        let period = spec.mechanics.period_ns;
        let late = first[1].after(first[0]).as_ns() as f64 / period;
        let origin = Angle::from_raw((late.rem_euclid(1.0) * 2f64.powi(64)) as u64);
        let mut drives = [
            SerialDrive::new(&spec, Angle::ZERO),
            SerialDrive::new(&found, origin),
        ];
        let (mut missed, count) = (0, 4000);
        let (mut at, mut is_dirty) = (Instant::START, false);
        for _ in 0..count {
            let op = if below(2) == 0 { Op::Read } else { Op::Write };
            // Anywhere, or in the first hundredth of the drive.
            let place = match below(2) {
                0 => below(layout.sectors().0),
                _ => below(layout.sectors().0 / 100),
            };
            let mut request = Request::new(0, op, Lbn(place), SectorCount(1));
            request.force_unit_access = below(2) == 0;
            at += Span::from_us(50.0 + below(40_000) as f64);
            let ends = drives.each_mut().map(|drive| drive.serve(at, request));
            let difference = ends[1].after(ends[0]).as_ns() as f64;
            let turns = (difference / period).round();
            let error = (difference - turns * period).abs() / 1e6;
            missed += u32::from(turns != 0.0 || error > 0.02);
            // After an absorbed write, a request may wait for the part of a revolution that the
            // write's data missed.
            assert!(
                error < 0.02 || is_dirty,
                "{name}: {request:?} off by {error} ms"
            );
            is_dirty = op == Op::Write && !request.force_unit_access;
            at = ends[0].max(ends[1]);
        }
        println!("{name}: {missed} of {count} a revolution off");
        assert!(
            missed * 100 < count,
            "{name}: {missed} of {count} a revolution off"
        );
    }
}

/// Noise of 0.1 ms may triple the errors.
#[test]
fn noise_is_averaged_out() {
    for (name, seed) in DRIVES.iter().zip(1..) {
        let spec = catalogued(name);
        let layout = Layout::new(&spec.geometry).unwrap();
        let drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let mut noisy = NoisyTransport::new(Box::new(drive), Span::from_us(100.0), seed);
        let (timing, reads, cost) = measure_all(&mut noisy, &layout, seed);
        let mut found = without_times(&spec);
        timing.describe(&mut found);
        let seeks = worst(&timing.seeks, &spec, Op::Read);
        let max = compare_sums(&spec, &found, 3.0);
        println!("{}", row(name, (seeks, max), (reads, cost)));
        assert!(seeks <= 3.0, "{name}: {seeks}");
        assert!(cost.time < Span::from_s(1200.0), "{name}: {cost:?}");
    }
}
