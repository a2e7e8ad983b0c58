//! The media's wait for the data of a write, and the bus rates derived from it.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Spec, WriteStart};
use diskarm_core::units::{SectorCount, Span};
use diskarm_extract::overheads::{self, Undetermined, Wait};
use diskarm_extract::{Disk, SimulatedDrive};

use crate::{HOST, catalogued, set_up};

/// Measures the waits of a drive by writes.
fn waits(spec: &Spec, seed: u64) -> Wait {
    let layout = Layout::new(&spec.geometry).unwrap();
    let mut drive = SimulatedDrive::new(spec, HOST, seed).unwrap();
    let mut disk = Disk::new(&mut drive).unwrap();
    let setup = set_up(&mut disk, &layout, seed);
    let found = overheads::measure_writes(&mut disk, &setup);
    found.unwrap().wait
}

/// A drive with one zone, whose media time is 0.1327 ms per sector.
fn with_bus(sector_us: f64, waits_for: u64) -> Spec {
    let mut spec = catalogued("hp-335h");
    spec.bus.write_sector = Span::from_us(sector_us);
    let sectors = SectorCount(waits_for);
    spec.overheads.write_start = WriteStart {
        small: sectors,
        large: sectors,
        large_from: SectorCount(1),
        sequential: None,
    };
    spec
}

/// On one track a bus of 0.2133 ms per sector is 0.0806 ms slower than the media, and so delays
/// each further sector like a bus of 0.0806 ms whose media wait for all sectors.
#[test]
fn a_slow_bus_is_distinguished_from_a_wait_in_one_zone() {
    let least_delay = Span::from_us(400.0);
    for (bus, sectors) in [(213.3, 1), (80.6, 20), (213.3, 3), (60.0, 2), (150.0, 1)] {
        for delay in [Span::ZERO, least_delay] {
            let mut spec = with_bus(bus, sectors);
            spec.overheads.write_minimum_delay = delay;
            let found = waits(&spec, 3);
            let case = format!("{bus} us, {sectors} sectors, {delay}: {found:?}");
            assert_eq!(found.sectors, SectorCount(sectors), "{case}");
            assert_eq!(found.unsure, None, "{case}");
            let sector = found.sector.unwrap();
            let off = sector.value.as_ms() - bus / 1e3;
            // The time of a sector is the difference of two leads over their difference in sectors.
            assert!(off.abs() <= sector.uncertainty.as_ms() + 1e-5, "{case}");
            assert!(sector.uncertainty < Span::from_us(6.1), "{case}");
            let late = (found.least_delay - delay).as_ms();
            assert!(late.abs() < 0.015, "{case}");
        }
    }
}

/// If the media continue without a pause from track to track, the two cases take equally long.
#[test]
fn an_indistinguishable_slow_bus_is_reported() {
    for (bus, sectors) in [(213.3, 1), (80.6, 500)] {
        let mut spec = with_bus(bus, sectors);
        spec.geometry.zones[0].track_skew_sectors = 0.0;
        spec.mechanics.head_switch = Span::ZERO;
        let found = waits(&spec, 3);
        assert_eq!(found.unsure, Some(Undetermined::SlowBus), "{found:?}");
    }
}

/// A drive that waits for more sectors than were written.
#[test]
fn a_wait_for_more_than_the_largest_write_is_reported() {
    let found = waits(&with_bus(40.0, 500), 3);
    assert_eq!(found.unsure, Some(Undetermined::More), "{found:?}");
}

/// A drive with room for one sector accepts the next one when the first is on the media, and waits
/// a revolution for its sector to return.
#[test]
fn missed_revolutions_are_not_mistaken_for_a_slow_bus() {
    let mut spec = catalogued("hp-c2247");
    spec.buffer.segment = SectorCount(1);
    spec.buffer.read_ahead_max = SectorCount(1);
    assert_eq!(spec.contradiction(), None);
    let found = waits(&spec, 3);
    assert_eq!(
        (found.sector, found.unsure),
        (None, Some(Undetermined::Missed))
    );
}
