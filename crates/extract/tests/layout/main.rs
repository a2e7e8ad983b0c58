//! Layouts of simulated drives, found and true.

mod asked;
mod empty;
mod random;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, Geometry, Spec};
use diskarm_core::units::{Lbn, Span};
use diskarm_extract::layout::{Found, timing, translate};
use diskarm_extract::{Cost, Disk, Error, Host, Simulated};

const HOST: Host = Host {
    least: Span::from_ns(50_000),
    most: Span::from_ns(150_000),
};

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

/// The first block that the two layouts put at different places.
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

fn found(spec: &Spec) -> Result<(Found, Cost), Error> {
    let mut drive = Simulated::new(spec, HOST, 1).unwrap();
    let mut disk = Disk::new(&mut drive).unwrap();
    let found = translate::measure(&mut disk, &[])?;
    Ok((found, disk.cost()))
}

/// Every block of every drive is where the specification has it.
#[test]
fn translated_layouts_are_exact() {
    for entry in diskarm_drives::CATALOGUE {
        let spec = catalogued(entry.name);
        let (found, cost) = found(&spec).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert_eq!(
            difference(&found.geometry, &spec.geometry),
            None,
            "{}",
            entry.name
        );
        assert!(cost.commands < 100_000, "{}: {cost:?}", entry.name);
    }
}

/// Where two layouts disagree first: on the ends of tracks or, up to a common rotation, on angles;
/// and on the ends of cylinders.
fn differences_in_tracks(found: &Geometry, truth: &Geometry) -> [Option<Lbn>; 2] {
    let [found, truth] = [found, truth].map(|geometry| Layout::new(geometry).unwrap());
    let zero = truth.extent(Lbn(0)).start - found.extent(Lbn(0)).start;
    let mut at = Lbn(0);
    let mut before = [found.extent(at).cylinder, truth.extent(at).cylinder];
    let mut first = [None, None];
    while at.0 < truth.sectors().0 {
        let (one, other) = (found.extent(at), truth.extent(at));
        let off = (one.start + zero - other.start).as_revolutions();
        let off = off.min(1.0 - off) / one.sector_angle.as_revolutions().max(1e-9);
        let same = (one.sectors, one.sector_angle) == (other.sectors, other.sector_angle);
        if !same || off >= 0.01 {
            first[0].get_or_insert(at);
        }
        let moves = [one.cylinder != before[0], other.cylinder != before[1]];
        if moves[0] != moves[1] {
            first[1].get_or_insert(at);
        }
        before = [one.cylinder, other.cylinder];
        at = at + one.sectors.min(other.sectors);
    }
    first
}

/// From reads alone: all tracks and cylinders of every drive end where they do, and tracks are
/// turned as they are.
#[test]
fn timed_layouts_have_every_track() {
    for entry in diskarm_drives::CATALOGUE {
        let spec = catalogued(entry.name);
        if spec.geometry.sectors.0 > u64::from(u32::MAX) {
            // Millions of tracks of a thousand sectors: more reads than the limit.
            continue;
        }
        let mut drive = Simulated::new(&spec, HOST, 1).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let found = timing::measure(&mut disk, spec.mechanics.period_ns, 1)
            .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        let [tracks, cylinders] = differences_in_tracks(&found.geometry, &spec.geometry);
        assert_eq!(tracks, None, "{}", entry.name);
        assert_eq!(cylinders, None, "{}", entry.name);
        let cost = disk.cost();
        assert!(cost.time.as_s() < 1200.0, "{}: {cost:?}", entry.name);
    }
}
