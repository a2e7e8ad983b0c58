//! Measured layouts of simulated drives, compared with their specifications.

mod asked;
mod empty;
mod random;

use std::collections::BTreeMap;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, Geometry, Sparing, Spec, Zone};
use diskarm_core::units::{Lbn, SectorCount, Span};
use diskarm_extract::layout::{MeasuredLayout, timing, translate};
use diskarm_extract::{Cost, Disk, Error, HostDelay, NoisyTransport, SimulatedDrive};

const HOST: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(150_000),
};

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

/// Returns the first block whose location differs between the layouts.
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

fn translate_layout(spec: &Spec) -> Result<(MeasuredLayout, Cost), Error> {
    let mut drive = SimulatedDrive::new(spec, HOST, 1).unwrap();
    let mut disk = Disk::new(&mut drive).unwrap();
    let found = translate::measure(&mut disk, &[])?;
    Ok((found, disk.cost()))
}

/// Every block of every drive is found where the specification says it is.
#[test]
fn translated_layouts_are_exact() {
    for entry in diskarm_drives::CATALOGUE {
        let spec = catalogued(entry.name);
        let (found, cost) =
            translate_layout(&spec).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert_eq!(
            difference(&found.geometry, &spec.geometry),
            None,
            "{}",
            entry.name
        );
        assert!(cost.commands < 100_000, "{}: {cost:?}", entry.name);
    }
}

/// Blocks of the next zone that are in line with the previous zone by coincidence are not assigned
/// to it. Their locations depend on the angle at which the next zone begins.
#[test]
fn zones_begin_at_any_angle() {
    let zone = |first: u32, sectors: u32, offset: u32| Zone {
        first_cylinder: first,
        end_cylinder: first + 20,
        sectors_per_track: sectors,
        first_offset_sectors: f64::from(offset),
        track_skew_sectors: 14.0,
        cylinder_skew_sectors: 13.0,
        spares: 13,
        ..Zone::default()
    };
    for offset in 0..42 {
        let mut spec = catalogued("hp-c2247");
        spec.geometry = Geometry {
            sector_bytes: 512,
            surfaces: 2,
            cylinders: 40,
            sectors: SectorCount(40 * (44 + 42) - 2 * 13),
            sparing: Sparing::SectorsPerZone,
            zones: vec![zone(0, 44, 0), zone(20, 42, offset)],
            ..Geometry::default()
        };
        let (found, _) = translate_layout(&spec).unwrap();
        let differs = difference(&found.geometry, &spec.geometry);
        assert_eq!(differs, None, "offset {offset}");
    }
}

/// Returns the first difference in track ends or, up to a common rotation, angles; and the first
/// in the ends of cylinders.
fn differences_in_tracks(found: &Geometry, truth: &Geometry) -> [Option<Lbn>; 2] {
    differences_beyond(0.01, found, truth)
}

/// Like [`differences_in_tracks`], but angles may be off by less than `sectors`.
fn differences_beyond(sectors: f64, found: &Geometry, truth: &Geometry) -> [Option<Lbn>; 2] {
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
        if !same || off >= sectors {
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

/// Returns the first block that begins a track or cylinder in only one layout, or a track rotated
/// by three sectors or more in one of them, up to a common rotation.
fn first_other_track(found: &Geometry, truth: &Geometry) -> Option<Lbn> {
    let [found, truth] = [found, truth].map(|geometry| Layout::new(geometry).unwrap());
    let begins = |layout: &Layout| {
        let mut begins = BTreeMap::new();
        let mut at = Lbn(0);
        let mut before = None;
        while at.0 < layout.sectors().0 {
            let extent = layout.extent(at);
            let track = (extent.cylinder, extent.head);
            if before != Some(track) {
                let turns = before.is_some_and(|before| before.0 != extent.cylinder);
                begins.insert(at, turns);
            }
            before = Some(track);
            at = at + extent.sectors;
        }
        begins
    };
    let begins = [begins(&found), begins(&truth)];
    let zero = truth.extent(Lbn(0)).start - found.extent(Lbn(0)).start;
    let is_turned = |at: Lbn| {
        let off = (found.extent(at).start + zero - truth.extent(at).start).as_revolutions();
        off.min(1.0 - off) > 3.0 * truth.extent(at).sector_angle.as_revolutions()
    };
    let mut all = begins[0].keys().chain(begins[1].keys()).collect::<Vec<_>>();
    all.sort_unstable();
    let differs = |at: &&&Lbn| begins[0].get(**at) != begins[1].get(**at) || is_turned(***at);
    all.iter().find(differs).map(|at| **at)
}

/// Maximum number of sectors per track for which read completion times show the end of the track.
/// No layout is derived for drives with longer tracks.
const MAX_SECTORS_PER_TRACK: u32 = 3_700;

/// Returns true if reads alone determine the layout. The ends of longer tracks, and of sectors
/// within physical ones, remain unknown.
fn reads_determine(spec: &Spec) -> bool {
    let geometry = &spec.geometry;
    let mut zones = geometry.zones.iter();
    geometry.physical_sector == SectorCount(1)
        && zones.all(|zone| zone.sectors_per_track <= MAX_SECTORS_PER_TRACK)
}

/// Reads alone find the ends of all tracks and cylinders of every drive, and all skews.
#[test]
fn timed_layouts_have_every_track() {
    for entry in diskarm_drives::CATALOGUE {
        let spec = catalogued(entry.name);
        let mut drive = SimulatedDrive::new(&spec, HOST, 1).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let found = timing::measure(&mut disk, spec.mechanics.period_ns, 1);
        if !reads_determine(&spec) {
            let error = found.expect_err(entry.name).to_string();
            let expected = ["no pattern of tracks", "the layout is not clear"];
            let known = expected.iter().any(|expected| error.contains(expected));
            assert!(known, "{error}");
            continue;
        }
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        let [tracks, cylinders] = differences_in_tracks(&found.geometry, &spec.geometry);
        assert_eq!(tracks, None, "{}", entry.name);
        assert_eq!(cylinders, None, "{}", entry.name);
        let cost = disk.cost();
        assert!(cost.time.as_s() < 1200.0, "{}: {cost:?}", entry.name);
    }
}

/// With noise as long as a sector, the same holds for drives whose sectors are not much shorter. If
/// the noise spans several sectors, every track start is right to within three sectors. With more
/// than 1000 sectors per track, measuring fails immediately because reads scatter too much.
#[test]
fn layouts_are_timed_through_noise() {
    let (mut exact, mut by_track) = (0, 0);
    for entry in diskarm_drives::CATALOGUE {
        let spec = catalogued(entry.name);
        if entry.name.ends_with("-calibrated") {
            // It has the layout of the drive that was fitted.
            continue;
        }
        let drive = SimulatedDrive::new(&spec, HOST, 1).unwrap();
        let mut drive = NoisyTransport::new(Box::new(drive), Span::from_us(100.0), 1);
        let mut disk = Disk::new(&mut drive).unwrap();
        let found = timing::measure(&mut disk, spec.mechanics.period_ns, 1);
        let cost = disk.cost();
        let sectors = spec.geometry.zones[0].sectors_per_track;
        if sectors > 1000 {
            let error = found.expect_err(entry.name).to_string();
            assert!(error.contains("scatter"), "{}: {error}", entry.name);
            assert!(cost.time.as_s() < 120.0, "{}: {cost:?}", entry.name);
            continue;
        }
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        let sector_us = spec.mechanics.period_ns / 1e3 / f64::from(sectors);
        if sector_us < 60.0 {
            let differs = first_other_track(&found.geometry, &spec.geometry);
            assert_eq!(differs, None, "{}", entry.name);
            let is_stated = |one: &String| one.contains("not known which sectors are slipped");
            assert!(found.assumed.iter().any(is_stated), "{:?}", found.assumed);
            assert!(cost.time.as_s() < 1800.0, "{}: {cost:?}", entry.name);
            by_track += 1;
        } else {
            assert!(cost.time.as_s() < 1500.0, "{}: {cost:?}", entry.name);
            let differs = differences_beyond(0.25, &found.geometry, &spec.geometry);
            assert_eq!(differs, [None, None], "{}", entry.name);
            exact += 1;
        }
    }
    assert!(exact >= 9 && by_track >= 7, "{exact} and {by_track}");
}

/// The first block may be anywhere on its track, and modern drives have millions of tracks.
#[test]
fn modern_layouts_with_reserved_sectors_are_timed() {
    for (seed, reserved) in [(1, 0), (2, 700), (3, 2879), (4, 2881), (5, 20_000)] {
        let mut spec = catalogued("sata-4tb-7200");
        let geometry = &mut spec.geometry;
        let zone = &mut geometry.zones[0];
        let before = zone.reserved_sectors.0;
        zone.reserved_sectors = SectorCount(reserved);
        geometry.sectors = SectorCount(geometry.sectors.0 + before - reserved);
        let mut drive = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let mut disk = Disk::new(&mut drive).unwrap();
        let found = timing::measure(&mut disk, spec.mechanics.period_ns, seed)
            .unwrap_or_else(|error| panic!("{reserved} reserved: {error}"));
        let differs = differences_in_tracks(&found.geometry, &spec.geometry);
        assert_eq!(differs, [None, None], "{reserved} reserved");
        assert!(disk.cost().time.as_s() < 300.0, "{:?}", disk.cost());
    }
}
