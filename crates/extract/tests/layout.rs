//! Layouts of simulated drives, found and true.

use std::time::Instant;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, Geometry, Spec};
use diskarm_core::units::{Lbn, Span};
use diskarm_extract::layout::{timing, translate};
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

/// The first block from `first` on where the two layouts disagree on tracks or, up to a common
/// rotation, on angles; cylinders count from the first of each zone.
fn difference_in_angles(found: &Geometry, truth: &Geometry) -> Option<String> {
    let found = match Layout::new(found) {
        Ok(layout) => layout,
        Err(error) => return Some(error.to_string()),
    };
    let truth = Layout::new(truth).unwrap();
    let mut at = Lbn(0);
    let zero = truth.extent(at).start - found.extent(at).start;
    let mut cylinders = (0, 0);
    while at.0 < truth.sectors().0 {
        let (one, other) = (found.extent(at), truth.extent(at));
        let off = (one.start + zero - other.start).as_revolutions();
        let off = off.min(1.0 - off) / one.sector_angle.as_revolutions().max(1e-9);
        // Both advance to another cylinder, or none does.
        let moves = (one.cylinder.0 != cylinders.0, other.cylinder.0 != cylinders.1);
        let same = one.sectors == other.sectors
            && one.sector_angle == other.sector_angle
            && off < 0.01
            && (at.0 == 0 || moves.0 == moves.1);
        if !same {
            return Some(format!("{at:?}: off by {off:.3}, found {one:?}, true {other:?}"));
        }
        cylinders = (one.cylinder.0, other.cylinder.0);
        at = Lbn(at.0 + one.sectors.0);
    }
    None
}

#[test]
fn timed_layouts_have_every_track() {
    for entry in diskarm_drives::CATALOGUE {
        let spec = catalogued(entry.name);
        if std::env::var("DRIVE").is_ok_and(|d| d != entry.name) { continue; }
        if spec.geometry.sectors.0 > u64::from(u32::MAX) {
            continue;
        }
        let began = Instant::now();
        let mut drive = Simulated::new(&spec, HOST, 1).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let found = timing::measure(&mut disk, spec.mechanics.period_ns, 1);
        let cost = disk.cost();
        let wall = began.elapsed().as_secs_f64();
        match found {
            Err(error) => println!("{}: {error} {}", entry.name, cost.commands),
            Ok(found) => println!(
                "{} | {} | {} | {:.1} min | {wall:.2} s | slips {} of {} zones {} of {}",
                entry.name,
                difference_in_angles(&found.geometry, &spec.geometry).unwrap_or("exact".into()),
                cost.commands,
                cost.time.as_s() / 60.0,
                found.geometry.zones.iter().map(|z| z.slips.len()).sum::<usize>(),
                spec.geometry.zones.iter().map(|z| z.slips.len()).sum::<usize>(),
                found.geometry.zones.len(),
                spec.geometry.zones.len(),
            ),
        }
    }
}
