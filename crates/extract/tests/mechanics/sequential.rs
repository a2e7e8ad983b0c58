//! Sequential requests take as long on the measured drive as on the given one.

use diskarm_core::geometry::Layout;
use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_core::units::SectorCount;
use diskarm_extract::{SimulatedDrive, Transport, mean_sequential_response};

use crate::timing::{measure_all, without_times};
use crate::{HOST, catalogued};

/// Drives on which small errors cost or save a revolution: two without a command overhead, whose
/// next request just catches the next sector; one with a bus slower than the media; two whose track
/// skew equals a head switch before a write, to a microsecond; and one that settles after a head
/// switch before a request, but not within one.
const DRIVES: [&str; 6] = [
    "hp-97560",
    "ibm-lightning",
    "hp-335h",
    "seagate-cheetah-15k7-st3600057ss",
    "sata-4tb-7200",
    "hp-c2247-calibrated",
];

/// Asserts that the drive measured through a transport takes as long, within 1 %.
fn check(given: &Spec, drive: &mut dyn Transport, seed: u64) {
    let layout = Layout::new(&given.geometry).unwrap();
    let (timing, ..) = measure_all(drive, &layout, seed);
    let mut found = without_times(given);
    timing.describe(&mut found);
    for op in [Op::Read, Op::Write] {
        for kib in [8, 64] {
            let sectors = SectorCount(kib * 1024 / u64::from(given.geometry.sector_bytes));
            let [was, is] =
                [given, &found].map(|spec| mean_sequential_response(spec, op, sectors).unwrap());
            let error = (is - was).as_ms().abs();
            assert!(
                error < 0.01 * was.as_ms(),
                "{}, seed {seed}: {op:?} of {kib} KiB take {is}, given {was}",
                given.name
            );
        }
    }
}

#[test]
fn sequential_requests_lose_no_revolution_on_the_found_drive() {
    for name in DRIVES {
        let given = catalogued(name);
        for seed in 1..5 {
            check(
                &given,
                &mut SimulatedDrive::new(&given, HOST, seed).unwrap(),
                seed,
            );
        }
    }
}
