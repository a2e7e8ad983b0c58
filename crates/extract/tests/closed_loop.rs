//! A drive that is measured from nothing: the layout that it tells, and on that layout its timing.
//! The specification that comes out, written and read again, is held against the one that the drive
//! was made of.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, Source, Spec};
use diskarm_core::units::{SectorCount, Span};
use diskarm_extract::layout::translate;
use diskarm_extract::{Comparison, Cost, Disk, Effort, Error, Host, Simulated, timing};

const HOST: Host = Host {
    least: Span::from_ns(50_000),
    most: Span::from_ns(150_000),
};

/// Drives whose seeks do not scatter, and that take no time to settle on the track where the head
/// is: reads determine their seek curves.
const DRIVES: [&str; 10] = [
    "dec-rz26",
    "hp-c2247",
    "hp-c2490a",
    "hp-c3323a",
    "ibm-dnes-309170w",
    "quantum-atlas-10k",
    "quantum-atlas-iii",
    "seagate-barracuda-st32171w",
    "seagate-cheetah-st34501n",
    "seagate-st41601n",
];

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

/// The specification that commands to the drive yield, and what they cost.
fn extracted(given: &Spec, seed: u64) -> Result<(Spec, Cost), Error> {
    let mut drive = Simulated::new(given, HOST, seed).unwrap();
    let mut disk = Disk::new(&mut drive)?;
    let geometry = translate::measure(&mut disk, &[])?.geometry;
    let layout = Layout::new(&geometry).expect("what is found is a layout");
    let mut timing = timing::measure(&mut disk, &layout, Effort::Normal, seed)?;
    let written = timing::measure_writes(&mut disk, &layout, &timing, Effort::Normal, seed)?;
    timing.written = Some(written);
    let mut found = Spec {
        name: "found".to_owned(),
        summary: "A drive that was measured".to_owned(),
        source: Source {
            origin: "Measured through commands".to_owned(),
            ..Source::default()
        },
        geometry,
        ..Spec::default()
    };
    timing.describe(&mut found);
    Ok((found, disk.cost()))
}

#[test]
fn what_is_extracted_is_what_the_drive_was_made_of() {
    for name in DRIVES {
        let given = catalogued(name);
        let (found, cost) = extracted(&given, 5).unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = diskarm_rewrite::specification(&found, &|_| None);
        let read = spec::parse(&text, name).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(read, found, "{name}");

        let compared = Comparison::of(&given, &read).unwrap();
        assert_eq!(compared.layout.first_elsewhere, None, "{name}");
        assert_eq!(compared.layout.other_track, SectorCount(0), "{name}");
        assert_eq!(compared.layout.blocks, given.geometry.sectors, "{name}");
        let (distance, [first, second]) = compared.reads.largest;
        let apart = (second - first).as_ms().abs();
        let bound = f64::max(0.02, first.as_ms() / 100.0);
        assert!(
            apart <= bound,
            "{name}: {apart} ms over {distance} cylinders"
        );
        let period = read.mechanics.period_ns - given.mechanics.period_ns;
        assert!(period.abs() < 6.0, "{name}: {period} ns");
        // The budget of the whole suite is 30 minutes.
        assert!(cost.time.as_s() < 900.0, "{name}: {cost:?}");
    }
}
