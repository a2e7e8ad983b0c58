//! Commands to simulated drives, and what they return.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Lbn, Span};
use diskarm_extract::{Disk, HostDelay, SimulatedDrive, Transport};

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

const PROMPT: HostDelay = HostDelay {
    min: Span::from_ns(100_000),
    max: Span::from_ns(100_000),
};

#[test]
fn reported_locations_match_the_layout() {
    let spec = catalogued("hp-c2247");
    let layout = Layout::new(&spec.geometry).unwrap();
    let mut drive = SimulatedDrive::new(&spec, PROMPT, 1).unwrap();
    let mut disk = Disk::new(&mut drive).unwrap();
    assert_eq!(disk.sectors(), spec.geometry.sectors);
    for at in (0..spec.geometry.sectors.0).step_by(100_003) {
        let place = disk.physical_address(Lbn(at)).unwrap();
        let pba = layout.pba(Lbn(at));
        assert_eq!(
            (place.cylinder, u32::from(place.head)),
            (pba.cylinder.0, pba.head.0)
        );
    }
}

#[test]
fn rereads_from_the_media_take_whole_revolutions() {
    let spec = catalogued("hp-c2247");
    let mut drive = SimulatedDrive::new(&spec, PROMPT, 1).unwrap();
    let mut disk = Disk::new(&mut drive).unwrap();
    let mut last = disk.read_media(Lbn(1000), 1).unwrap();
    for _ in 0..5 {
        let next = disk.read_media(Lbn(1000), 1).unwrap();
        let interval = (next.ended - last.ended).as_ns() as f64;
        assert!(
            (interval - spec.mechanics.period_ns).abs() < 2.0,
            "{interval} ns"
        );
        last = next;
    }
}

#[test]
fn host_delays_are_within_their_bounds() {
    let host = HostDelay {
        min: Span::from_us(50.0),
        max: Span::from_us(150.0),
    };
    let mut drive = SimulatedDrive::new(&catalogued("hp-c2247"), host, 3).unwrap();
    let mut before = drive.now();
    let mut disk = Disk::new(&mut drive).unwrap();
    let mut delays = Vec::new();
    before = before.shifted(disk.cost().time);
    for at in 0..200 {
        let read = disk.read(Lbn(at * 500), 1).unwrap();
        delays.push(read.sent - before);
        before = read.ended;
    }
    assert!(
        delays
            .iter()
            .all(|delay| (host.min..=host.max).contains(delay))
    );
    let mean = delays.iter().map(|delay| delay.as_ms()).sum::<f64>() / 200.0;
    // Standard deviation of the mean of 200 delays: 0.002 ms.
    assert!((mean - 0.1).abs() < 0.01, "{mean} ms");
}
