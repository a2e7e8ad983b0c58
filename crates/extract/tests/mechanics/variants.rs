//! Catalogued drives with other times and habits.

use diskarm_core::geometry::Layout;
use diskarm_core::request::Op;
use diskarm_core::spec::{Geometry, ReadAhead, SeekCurve, Spec, WriteStart, Zone};
use diskarm_core::units::{SectorCount, Span};
use diskarm_extract::{
    Disk, Effort, NoisyTransport, SimulatedDrive, Transport, idle, overheads, rotation,
};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::seek::worst;
use crate::timing::{compare_sums, measure_all, without_times};
use crate::{DRIVES, HOST, catalogued, set_up};

struct Random(Pcg64Mcg);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }

    fn us(&mut self, end: u64) -> Span {
        Span::from_us(self.below(end) as f64)
    }

    /// Scales a time by a factor between a half and two.
    fn scale(&mut self, time: &mut Span) {
        let times = 0.5 + 1.5 * self.below(1000) as f64 / 1000.0;
        *time = Span::from_ns((time.as_ns() as f64 * times) as i64);
    }
}

fn scale(spec: &mut Spec, random: &mut Random) {
    let o = &mut spec.overheads;
    let times = [
        &mut o.read_hit_after_read,
        &mut o.read_hit_after_write,
        &mut o.read_miss_after_read,
        &mut o.read_miss_after_write,
        &mut o.write_hit_after_read,
        &mut o.write_hit_after_write,
        &mut o.write_miss_after_read,
        &mut o.write_miss_after_write,
        &mut o.read_completion,
        &mut o.write_completion,
        &mut o.data_preparation,
        &mut o.first_reselect,
        &mut o.other_reselect,
        &mut o.write_minimum_delay,
        &mut spec.bus.read_sector,
        &mut spec.bus.write_sector,
        &mut spec.mechanics.head_switch,
        &mut spec.mechanics.write_settle,
    ];
    for time in times {
        random.scale(time);
    }
    spec.mechanics.period_ns *= 0.8 + random.below(1000) as f64 / 2500.0;
}

fn change(spec: &mut Spec, what: u64, random: &mut Random) {
    match what {
        0 => spec.buffer.read_ahead_stops_mid_sector ^= true,
        1 => spec.bus.never_disconnect ^= true,
        2 => {
            let sectors = SectorCount(2 + random.below(20));
            spec.overheads.write_start = WriteStart {
                small: sectors,
                large: sectors,
                large_from: SectorCount(1),
                sequential: None,
            };
        }
        3 => spec.overheads.write_minimum_delay = random.us(600),
        4 => spec.mechanics.inward_seek = random.us(300) - Span::from_us(150.0),
        5 => {
            spec.overheads.read_completion = random.us(300);
            spec.overheads.write_completion = random.us(300);
        }
        _ => {
            let stroke = f64::from(spec.geometry.cylinders);
            spec.mechanics.seek = SeekCurve::ThreePoint {
                single: Span::from_ms(1.4),
                average: Span::from_ms(8.0),
                full: Span::from_ms(8.0 + stroke / 300.0),
            };
        }
    }
}

#[test]
fn variants_are_measured_too() {
    let mut measurable = 0;
    for (name, seed) in DRIVES.iter().cycle().take(5 * DRIVES.len()).zip(1000..) {
        let mut random = Random(Pcg64Mcg::seed_from_u64(seed));
        let mut spec = catalogued(name);
        scale(&mut spec, &mut random);
        let mut changes = Vec::new();
        for what in 0..7 {
            if random.below(4) == 0 {
                change(&mut spec, what, &mut random);
                changes.push(what);
            }
        }
        if spec.is_random() || spec.contradiction().is_some() {
            continue;
        }
        measurable += 1;
        spec.name = format!("{name}, seed {seed}, changes {changes:?}");
        let layout = Layout::new(&spec.geometry).unwrap();
        let mut drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let (timing, ..) = measure_all(&mut drive, &layout, seed);
        let mut found = without_times(&spec);
        timing.describe(&mut found);
        assert_eq!(found.contradiction(), None, "{}", spec.name);
        let seeks = worst(&timing.seeks, &spec, Op::Read);
        assert!(seeks <= 1.0, "{}: {seeks}", spec.name);
        compare_sums(&spec, &found, 1.0);
    }
    assert!(measurable > 50, "{measurable}");
}

/// Returns the drive with two zones and with read-ahead that continues to the end of the sector.
fn finishing(mut spec: Spec, sectors: [u32; 2]) -> Spec {
    let zone = |first: u32, sectors: u32| Zone {
        first_cylinder: first,
        end_cylinder: first + 500,
        sectors_per_track: sectors,
        track_skew_sectors: 6.0,
        cylinder_skew_sectors: 8.0,
        ..Zone::default()
    };
    spec.geometry = Geometry {
        sector_bytes: 512,
        surfaces: 4,
        cylinders: 1000,
        sectors: SectorCount(2000 * u64::from(sectors[0] + sectors[1])),
        zones: vec![zone(0, sectors[0]), zone(500, sectors[1])],
        ..Geometry::default()
    };
    spec.buffer.read_ahead = ReadAhead::UntilFull;
    spec.buffer.read_ahead_stops_mid_sector = false;
    spec
}

/// Read-ahead to the end of the sector is detected on all drives except one, although their zones
/// have nearly equal and small numbers of sectors.
#[test]
fn read_ahead_to_the_end_of_a_sector_is_detected_in_similar_zones() {
    let mut detected = 0;
    for sectors in 24..40 {
        let spec = finishing(catalogued("hp-c2247"), [sectors, sectors - 1]);
        let layout = Layout::new(&spec.geometry).unwrap();
        let mut drive = SimulatedDrive::new(&spec, HOST, 1).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let rotation = rotation::measure(&mut disk, Effort::Normal, 1).unwrap();
        let idle = idle::measure(&mut disk, &layout, &rotation, 1).unwrap();
        detected += u32::from(idle.rest > Span::ZERO);
    }
    assert!(detected >= 15, "{detected} of 16");
}

/// If a sector of one zone lasts as long as two or three of another, an arm that continues to the
/// end of a sector is always equally late, but is not mistaken for a free and slower one.
#[test]
fn a_waiting_arm_is_not_mistaken_for_a_slow_one() {
    for sectors in [[24, 12], [48, 24], [36, 12], [24, 24]] {
        let mut spec = finishing(catalogued("ibm-18es"), sectors);
        spec.buffer.read_ahead_max = SectorCount(8);
        let layout = Layout::new(&spec.geometry).unwrap();
        let mut drive = SimulatedDrive::new(&spec, HOST, 1).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let setup = set_up(&mut disk, &layout, 1);
        let reads = overheads::measure(&mut disk, &setup).unwrap();
        let off = (reads.head_switch.value - spec.mechanics.head_switch).as_ms();
        assert!(off.abs() < 0.02, "{sectors:?}: {reads:?}");
    }
}

/// The end of read-ahead is found despite noise in which one read in five from the buffer ends like
/// a read from the media.
#[test]
fn noise_does_not_end_read_ahead_early() {
    let spec = catalogued("seagate-cheetah-st34501n");
    let layout = Layout::new(&spec.geometry).unwrap();
    let measure_idle = |transport: &mut dyn Transport, seed| {
        let mut disk = Disk::new(transport).unwrap();
        let rotation = rotation::measure(&mut disk, Effort::Normal, seed).unwrap();
        idle::measure(&mut disk, &layout, &rotation, seed).unwrap()
    };
    let exact = measure_idle(&mut SimulatedDrive::new(&spec, HOST, 1).unwrap(), 1);
    assert!(exact.ahead.iter().all(|ahead| ahead.0 > 0), "{exact:?}");
    let mut compared = 0;
    for seed in 1..=16 {
        let drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let mut noisy = NoisyTransport::new(Box::new(drive), Span::from_us(100.0), seed);
        let found = measure_idle(&mut noisy, seed);
        // If its wait is shorter than the noise, a waiting arm may appear free.
        if found.rest > Span::ZERO {
            assert_eq!(found.ahead, exact.ahead, "seed {seed}");
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared}");
}
