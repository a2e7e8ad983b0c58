//! The write cache reveals the settling time on the current track.

use diskarm_core::geometry::Layout;
use diskarm_core::request::Op;
use diskarm_core::spec::{Spec, WriteCache, WriteStart};
use diskarm_core::units::{SectorCount, Span};
use diskarm_extract::{ObservableTimes, SimulatedDrive, Transport, mean_sequential_response};

use crate::timing::{compare_sums, measure_all, without_times};
use crate::{HOST, catalogued};

/// Drives with a write cache and a settling time on the current track, which decides whether
/// consecutive writes lose a revolution.
const DRIVES: [&str; 2] = [
    "quantum-atlas-10k-calibrated",
    "seagate-barracuda-st32171w-calibrated",
];

/// Returns the specification measured through a transport.
fn found(given: &Spec, drive: &mut dyn Transport, seed: u64) -> Spec {
    let layout = Layout::new(&given.geometry).unwrap();
    let (timing, ..) = measure_all(drive, &layout, seed);
    let mut found = without_times(given);
    timing.describe(&mut found);
    found
}

/// The settling time is right within 0.02 ms, sums are unchanged, and sequential writes take as
/// long on the measured drive, within 1 %.
#[test]
fn absorbed_writes_reveal_the_settling_time() {
    for name in DRIVES {
        let given = catalogued(name);
        for seed in 1..3 {
            let mut drive = SimulatedDrive::new(&given, HOST, seed).unwrap();
            let found = found(&given, &mut drive, seed);
            let [was, is] = [&given, &found].map(|spec| spec.mechanics.track_settle);
            assert!(
                (is - was).as_ms().abs() < 0.02,
                "{name}, seed {seed}: {is} to settle, given {was}"
            );
            compare_sums(&given, &found, 1.0);
            for kib in [8, 64] {
                let sectors = SectorCount(kib * 1024 / u64::from(given.geometry.sector_bytes));
                let [was, is] = [&given, &found]
                    .map(|spec| mean_sequential_response(spec, Op::Write, sectors).unwrap());
                assert!(
                    (is - was).as_ms().abs() < 0.01 * was.as_ms(),
                    "{name}, seed {seed}: writes of {kib} KiB take {is}, given {was}"
                );
            }
        }
    }
}

/// A drive with a write cache; its media wait for `start` sectors, and `delay` longer for all data.
fn waiting(settle: Span, start: u64, delay: Span) -> Spec {
    let mut given = catalogued("hp-c2247");
    given.buffer.write_cache = WriteCache::Always;
    given.mechanics.track_settle = settle;
    given.overheads.write_minimum_delay = delay;
    given.overheads.write_start = WriteStart {
        small: SectorCount(start),
        large: SectorCount(start),
        large_from: SectorCount(1),
        sequential: None,
    };
    given
}

/// If the media wait for data and not for the arm, this wait and the reconnection time do not
/// appear as a settling time. If they wait for the arm, the settling time is found and may include
/// the reconnection; consecutive writes, whose data arrive later, take as long as before.
#[test]
fn a_wait_for_data_is_not_mistaken_for_settling() {
    let ms = Span::from_ms;
    for (settle, start, delay, is_found) in [
        (ms(0.0), 1, ms(0.0), false),
        (ms(0.0), 1, ms(0.6), false),
        (ms(0.0), 10, ms(0.6), false),
        (ms(0.3), 10, ms(0.6), false),
        (ms(0.3), 1, ms(0.0), true),
        (ms(0.7), 4, ms(0.0), true),
    ] {
        let given = waiting(settle, start, delay);
        let mut drive = SimulatedDrive::new(&given, HOST, 7).unwrap();
        let found = found(&given, &mut drive, 7);
        let is = found.mechanics.track_settle;
        let what = format!("{settle} to settle, {start} sectors, {delay} more");
        let max = match is_found {
            true => settle + given.overheads.first_reselect,
            false => Span::ZERO,
        };
        let min = if is_found { settle } else { Span::ZERO };
        assert!((min..=max).contains(&is), "{what}: found {is}");
        let write_after_write = |spec| {
            let sums = ObservableTimes::new(spec).sums();
            let sum = sums
                .into_iter()
                .find(|(name, _)| *name == "write after write");
            sum.unwrap().1
        };
        let [was, is] = [&given, &found].map(write_after_write);
        assert!((is - was).as_ms().abs() < 0.02, "{what}: {is}, given {was}");
    }
}
