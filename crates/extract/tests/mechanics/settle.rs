//! A write cache tells how long the arm settles on the track where it is.

use diskarm_core::geometry::Layout;
use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_core::units::SectorCount;
use diskarm_extract::{Simulated, Transport, sequential};

use crate::timing::{compared, measured, without_times};
use crate::{HOST, catalogued};

/// Drives with a write cache and a time to settle on the track, on which writes that follow each
/// other lose a revolution more or less without it.
const DRIVES: [&str; 2] = [
    "quantum-atlas-10k-calibrated",
    "seagate-barracuda-st32171w-calibrated",
];

/// The drive as it is found behind a transport.
fn found(given: &Spec, drive: &mut dyn Transport, seed: u64) -> Spec {
    let layout = Layout::new(&given.geometry).unwrap();
    let (timing, ..) = measured(drive, &layout, seed);
    let mut found = without_times(given);
    timing.describe(&mut found);
    found
}

/// The time to settle is what the given drive has, within 0.02 ms, sums are as they were, and
/// sequential writes take as long on the found drive, within 1 %.
#[test]
fn what_a_write_cache_takes_in_tells_the_time_to_settle() {
    for name in DRIVES {
        let given = catalogued(name);
        for seed in 1..3 {
            let mut drive = Simulated::new(&given, HOST, seed).unwrap();
            let found = found(&given, &mut drive, seed);
            let [was, is] = [&given, &found].map(|spec| spec.mechanics.track_settle);
            assert!(
                (is - was).as_ms().abs() < 0.02,
                "{name}, seed {seed}: {is} to settle, given {was}"
            );
            compared(&given, &found, 1.0);
            for kib in [8, 64] {
                let sectors = SectorCount(kib * 1024 / u64::from(given.geometry.sector_bytes));
                let [was, is] =
                    [&given, &found].map(|spec| sequential(spec, Op::Write, sectors).unwrap());
                assert!(
                    (is - was).as_ms().abs() < 0.01 * was.as_ms(),
                    "{name}, seed {seed}: writes of {kib} KiB take {is}, given {was}"
                );
            }
        }
    }
}
