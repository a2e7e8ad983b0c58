//! Layouts of simulated drives, found and true.

use std::time::Instant;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, Geometry, Spec};
use diskarm_core::units::{Lbn, Span};
use diskarm_extract::layout::translate;
use diskarm_extract::{Disk, Host, Simulated};

const HOST: Host = Host {
    least: Span::from_ns(50_000),
    most: Span::from_ns(150_000),
};

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

/// The first block from `first` on that the two layouts put at different places.
fn difference(found: &Geometry, truth: &Geometry) -> Option<String> {
    let found = match Layout::new(found) {
        Ok(layout) => layout,
        Err(error) => return Some(error.to_string()),
    };
    let truth = Layout::new(truth).unwrap();
    let mut at = Lbn(0);
    while at.0 < truth.sectors().0 {
        let (one, other) = (found.extent(at), truth.extent(at));
        let off = (one.start - other.start).as_revolutions();
        let off = off.min(1.0 - off) / one.sector_angle.as_revolutions().max(1e-9);
        let same = one.cylinder == other.cylinder
            && one.head == other.head
            && one.sector_angle == other.sector_angle
            && off < 1e-6;
        if !same {
            return Some(format!("{at:?}: found {one:?}, true {other:?}"));
        }
        at = Lbn(at.0 + one.sectors.min(other.sectors).0);
    }
    None
}

#[test]
fn translated_layouts_are_exact() {
    for entry in diskarm_drives::CATALOGUE {
        let spec = catalogued(entry.name);
        if std::env::var("DRIVE").is_ok_and(|d| d != entry.name) { continue; }
        if spec.geometry.sectors.0 > u64::from(u32::MAX) {
            continue;
        }
        let began = Instant::now();
        let mut drive = Simulated::new(&spec, HOST, 1).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let found = translate::measure(&mut disk, &[]);
        let cost = disk.cost();
        let wall = began.elapsed().as_secs_f64();
        match found {
            Err(error) => println!("{}: {error}", entry.name),
            Ok(found) => println!(
                "{} | {} | {} | {:.1} s | {wall:.2} s | slips {} of {} zones {} of {}",
                entry.name,
                difference(&found.geometry, &spec.geometry).unwrap_or("exact".into()),
                cost.commands,
                cost.time.as_s(),
                found.geometry.zones.iter().map(|z| z.slips.len()).sum::<usize>(),
                spec.geometry.zones.iter().map(|z| z.slips.len()).sum::<usize>(),
                found.geometry.zones.len(),
                spec.geometry.zones.len(),
            ),
        }
    }
}
