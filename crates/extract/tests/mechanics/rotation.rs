//! The rotation period.

use diskarm_core::units::{Instant, SectorCount, Span};
use diskarm_extract::rotation::{self, Rereads};
use diskarm_extract::{
    Data, Disk, Effort, NoisyTransport, Reply, SimulatedDrive, Transport, TransportError,
};

use crate::{DRIVES, HOST, catalogued};

#[test]
fn the_period_is_found_to_two_nanoseconds() {
    for (name, seed) in DRIVES.iter().zip(1..) {
        let spec = catalogued(name);
        let mut drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let found = rotation::measure(&mut disk, Effort::Normal, seed).unwrap();
        let error = found.period_ns - spec.mechanics.period_ns;
        println!(
            "{name} {error:.2} +- {:.2} {:?}",
            found.uncertainty_ns,
            disk.cost()
        );
        assert!(error.abs() < 2.0, "{name}: {error} ns, {found:?}");
        assert!(
            error.abs() <= found.uncertainty_ns.max(0.1),
            "{name}: {error} ns, {found:?}"
        );
        assert_eq!(found.rereads, Rereads::FromMedia, "{name}");
        assert!(disk.cost().commands < 80, "{name}: {:?}", disk.cost());
    }
}

#[test]
fn the_period_is_found_to_six_nanoseconds_despite_noise() {
    for (name, seed) in DRIVES.iter().zip(1..) {
        let spec = catalogued(name);
        let drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let mut noisy = NoisyTransport::new(Box::new(drive), Span::from_us(100.0), seed);
        let mut disk = Disk::new(&mut noisy).unwrap();
        let found = rotation::measure(&mut disk, Effort::Normal, seed).unwrap();
        let error = found.period_ns - spec.mechanics.period_ns;
        println!(
            "{name} {error:.2} +- {:.2} {:?}",
            found.uncertainty_ns,
            disk.cost()
        );
        assert!(error.abs() < 6.0, "{name}: {error} ns, {found:?}");
        assert!(found.uncertainty_ns < 10.0, "{name}: {error} ns, {found:?}");
    }
}

/// A drive that ignores force unit access.
struct Careless(SimulatedDrive);

impl Transport for Careless {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        let mut command = command.to_vec();
        if command[0] == 0x28 {
            command[1] &= !0x08;
        }
        self.0.execute(&command, data)
    }

    fn sleep(&mut self, span: Span) {
        self.0.sleep(span);
    }

    fn now(&self) -> Instant {
        self.0.now()
    }
}

#[test]
fn a_drive_that_ignores_force_unit_access_is_measured_too() {
    let mut buffered = 0;
    for (name, seed) in DRIVES.iter().zip(1..) {
        let spec = catalogued(name);
        let mut drive = Careless(SimulatedDrive::new(&spec, HOST, seed).unwrap());
        let mut disk = Disk::new(&mut drive).unwrap();
        let found = rotation::measure(&mut disk, Effort::Normal, seed)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let error = found.period_ns - spec.mechanics.period_ns;
        assert!(error.abs() < 2.0, "{name}: {error} ns, {found:?}");
        buffered += usize::from(found.rereads == Rereads::FromBuffer);
    }
    // Drives whose buffer keeps delivered blocks.
    let kept = DRIVES.iter().filter(|name| {
        catalogued(name).buffer.delivered == diskarm_core::spec::DeliveredBlocks::Kept
    });
    assert_eq!(buffered, kept.count());
}

#[test]
fn long_read_ahead_is_not_mistaken_for_slow_rotation() {
    let mut spec = catalogued("seagate-st41601n");
    for (blocks, seed) in [(130, 1), (260, 2), (520, 3)] {
        spec.buffer.segment = SectorCount(blocks);
        spec.buffer.read_ahead_max = SectorCount(blocks);
        spec.buffer.read_ahead_min = SectorCount(blocks);
        let mut drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let found = rotation::measure(&mut disk, Effort::Normal, seed).unwrap();
        let error = found.period_ns - spec.mechanics.period_ns;
        assert!(error.abs() < 2.0, "{blocks}: {error} ns, {found:?}");
    }
}
