//! Sequential requests take as long on the drive that was found as on the one that was given.

use diskarm_core::geometry::Layout;
use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_core::units::SectorCount;
use diskarm_extract::{SimulatedDrive, Transport, mean_sequential_response};

use crate::timing::{measured, without_times};
use crate::{HOST, catalogued};

/// Drives on which a little decides between this revolution and the next: two without a command
/// overhead, whose next request just catches the next sector, and one with a bus that is slower
/// than the media; two whose tracks are skewed by what a head switch before a write takes, to a
/// microsecond, and one that settles after a head switch before a request, but not within one.
const DRIVES: [&str; 6] = [
    "hp-97560",
    "ibm-lightning",
    "hp-335h",
    "seagate-cheetah-15k7-st3600057ss",
    "sata-4tb-7200",
    "hp-c2247-calibrated",
];

/// Asserts that the drive that is measured behind a transport takes as long, within 1 %.
fn check(given: &Spec, drive: &mut dyn Transport, seed: u64) {
    let layout = Layout::new(&given.geometry).unwrap();
    let (timing, ..) = measured(drive, &layout, seed);
    let mut found = without_times(given);
    timing.describe(&mut found);
    for op in [Op::Read, Op::Write] {
        for kib in [8, 64] {
            let sectors = SectorCount(kib * 1024 / u64::from(given.geometry.sector_bytes));
            let [was, is] =
                [given, &found].map(|spec| mean_sequential_response(spec, op, sectors).unwrap());
            let off = (is - was).as_ms().abs();
            assert!(
                off < 0.01 * was.as_ms(),
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
