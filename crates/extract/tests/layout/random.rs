//! Layouts of random drives.

use std::collections::BTreeSet;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, GrownDefects, Sparing, Spec, TrackOrder, Zone};
use diskarm_core::units::{Lbn, SectorCount, Span};
use diskarm_extract::defects;
use diskarm_extract::layout::{notches, timing, translate};
use diskarm_extract::{Disk, NoisyTransport, SimulatedDrive};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{
    HOST, catalogued, difference, differences_in_tracks, first_other_track, translate_layout,
};

pub struct Random(pub Pcg64Mcg);

impl Random {
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        let width = u128::from(max - min + 1);
        min + ((u128::from(self.0.next_u64()) * width) >> 64) as u64
    }

    pub fn choose<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.between(0, all.len() as u64 - 1) as usize]
    }
}

const SPARINGS: [Sparing; 8] = [
    Sparing::None,
    Sparing::SectorsPerTrack,
    Sparing::SectorsPerCylinder,
    Sparing::SectorsPerCylinderFront,
    Sparing::SectorsPerRange,
    Sparing::TracksPerZone,
    Sparing::SectorsPerZone,
    Sparing::SectorsPerDisk,
];

/// Returns the number of sparing units per region and in the zone.
fn units(g: &Geometry, sectors: u64, cylinders: u64) -> (u64, u64) {
    let cylinder = sectors * u64::from(g.surfaces);
    let zone = cylinder * cylinders;
    match g.sparing {
        Sparing::SectorsPerTrack => (sectors, zone),
        Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => (cylinder, zone),
        Sparing::SectorsPerRange => (cylinder * u64::from(g.sparing_range), zone),
        Sparing::TracksPerZone => (zone / sectors, zone / sectors),
        _ => (zone, zone),
    }
}

fn zone(random: &mut Random, g: &Geometry, (first, sectors): (u32, u64)) -> Zone {
    let mut cylinders = random.between(40, 400);
    if g.sparing == Sparing::SectorsPerRange {
        let range = u64::from(g.sparing_range);
        cylinders = cylinders.div_ceil(range) * range;
    }
    let (region, all) = units(g, sectors, cylinders);
    let spares = match g.sparing {
        Sparing::None | Sparing::SectorsPerDisk => 0,
        Sparing::SectorsPerTrack => random.between(1, 3),
        Sparing::TracksPerZone => random.between(2, 12),
        _ => random.between(4, 40),
    };
    let room = if spares == 0 { 4 } else { spares };
    let mut slips = BTreeSet::new();
    for _ in 0..random.between(0, 12) {
        let slip = random.between(0, all - 1);
        let in_region = slips.iter().filter(|at| *at / region == slip / region);
        // Clustered like scratches.
        if (in_region.count() as u64) < room / 2 {
            slips.insert(slip);
        }
    }
    let track_skew = random.between(sectors / 20, sectors / 4);
    Zone {
        first_cylinder: first,
        end_cylinder: first + cylinders as u32,
        sectors_per_track: sectors as u32,
        first_offset_sectors: random.between(0, sectors - 1) as f64,
        reserved_sectors: SectorCount(0),
        track_skew_sectors: track_skew as f64,
        cylinder_skew_sectors: (track_skew + random.between(2, sectors / 5)) as f64,
        spares,
        slips: slips.into_iter().collect(),
        defects: Vec::new(),
    }
}

/// Returns a drive of the catalogue with a random layout.
pub fn drive(seed: u64) -> Spec {
    let mut random = Random(Pcg64Mcg::seed_from_u64(seed));
    let mut spec =
        catalogued(random.choose(&["hp-c2247", "seagate-st41601n", "quantum-atlas-iii"]));
    let mut g = Geometry {
        sector_bytes: 512,
        surfaces: random.between(2, 9) as u32,
        sparing: random.choose(&SPARINGS),
        order: random.choose(&[
            TrackOrder::CylinderMajor,
            TrackOrder::SerpentinePerZone,
            TrackOrder::Serpentine,
        ]),
        ..Geometry::default()
    };
    if g.sparing == Sparing::SectorsPerRange {
        g.sparing_range = random.between(2, 6) as u32;
    }
    let mut sectors = random.between(90, 350);
    let mut first = 0;
    for _ in 0..random.between(1, 6) {
        let zone = zone(&mut random, &g, (first, sectors));
        first = zone.end_cylinder + random.choose(&[0, 0, 0, 1]);
        g.zones.push(zone);
        sectors -= random.between(4, 14);
    }
    g.cylinders = g.zones.last().unwrap().end_cylinder;
    spec.mechanics.inward_seek = Span::ZERO;
    g.sectors = capacity(&g);
    spec.name = format!(
        "seed {seed}: {} heads, {:?}, {:?}, {} zones",
        g.surfaces,
        g.sparing,
        g.order,
        g.zones.len()
    );
    spec.geometry = g;
    spec
}

/// Returns the capacity of the zones. An error for a wrong capacity would contain the right one.
fn capacity(g: &Geometry) -> SectorCount {
    let all: u64 = g
        .zones
        .iter()
        .map(|zone| {
            let cylinders = u64::from(zone.end_cylinder - zone.first_cylinder);
            let sectors = u64::from(zone.sectors_per_track);
            let (region, all) = units(g, sectors, cylinders);
            let unit = if g.sparing == Sparing::TracksPerZone {
                sectors
            } else {
                1
            };
            let spares = match g.sparing {
                Sparing::None | Sparing::SectorsPerDisk => zone.slips.len() as u64,
                _ => all.div_ceil(region) * zone.spares,
            };
            (all - spares) * unit
        })
        .sum();
    let geometry = Geometry {
        sectors: SectorCount(all),
        ..g.clone()
    };
    Layout::new(&geometry).unwrap_or_else(|error| panic!("{error}"));
    SectorCount(all)
}

/// TRANSLATE ADDRESS determines random layouts to the sector, except for a few with spares at the
/// front of cylinders. Read completion times find every track of 95 % of them.
#[test]
fn random_layouts_are_found() {
    const DRIVES: u64 = 150;
    let (mut translated, mut timed) = (0, 0);
    for seed in 0..DRIVES {
        let spec = drive(seed);
        let by_translation =
            translate_layout(&spec).map(|(found, _)| difference(&found.geometry, &spec.geometry));
        let is_exact = by_translation == Ok(None);
        let front = spec.geometry.sparing == Sparing::SectorsPerCylinderFront;
        assert!(is_exact || front, "{}: {by_translation:?}", spec.name);
        translated += u64::from(is_exact);

        let mut simulated = SimulatedDrive::new(&spec, HOST, 1).unwrap();
        let mut disk = Disk::new(&mut simulated).unwrap();
        let by_time = timing::measure(&mut disk, spec.mechanics.period_ns, 1);
        let differs = by_time
            .map(|found| differences_in_tracks(&found.geometry, &spec.geometry))
            .map(|[tracks, _]| tracks);
        timed += u64::from(differs == Ok(None));
    }
    println!("{translated} of {DRIVES} by TRANSLATE ADDRESS, {timed} by read completion times");
    assert!(translated + 3 >= DRIVES, "{translated} of {DRIVES}");
    assert!(20 * timed >= 19 * DRIVES, "{timed} of {DRIVES}");
}

/// Through noise much longer than a sector of most drives, every track of 70 % is found, whatever
/// their skews. For most others no layout is reported; at most 5 % may be wrong.
#[test]
fn random_layouts_are_timed_through_noise() {
    const DRIVES: u64 = 40;
    let (mut timed, mut wrong) = (0, 0);
    for seed in 0..DRIVES {
        let spec = drive(seed);
        let simulated = SimulatedDrive::new(&spec, HOST, 1).unwrap();
        let mut noisy = NoisyTransport::new(Box::new(simulated), Span::from_us(100.0), seed);
        let mut disk = Disk::new(&mut noisy).unwrap();
        match timing::measure(&mut disk, spec.mechanics.period_ns, seed) {
            Ok(found) => match first_other_track(&found.geometry, &spec.geometry) {
                None => timed += 1,
                Some(at) => {
                    wrong += 1;
                    println!("{}: another track begins at {at:?}", spec.name);
                }
            },
            Err(error) => println!("{}: {error}", spec.name),
        }
    }
    println!("{timed} of {DRIVES}, {wrong} wrong");
    assert!(10 * timed >= 7 * DRIVES, "{timed} of {DRIVES}");
    assert!(20 * wrong <= DRIVES, "{wrong} of {DRIVES}");
}

/// The zones, cylinders and defects that a random drive reports determine its layout to the sector,
/// except for a rotation if no sector is listed.
#[test]
fn notches_and_defects_determine_random_layouts() {
    const DRIVES: u64 = 80;
    let exact = (0..DRIVES).filter(|seed| notches_determine(&drive(*seed)));
    let exact = exact.count() as u64;
    println!("{exact} of {DRIVES}");
    assert!(20 * exact >= 19 * DRIVES, "{exact} of {DRIVES}");
}

/// This also holds if few or no slips determine the order of heads, and if blocks were reallocated.
#[test]
fn unknowns_due_to_few_defects_are_reported() {
    let (mut drives, mut reported) = (0, 0);
    for seed in 0..80 {
        let mut spec = drive(seed);
        let by_zone = spec.geometry.sparing != Sparing::SectorsPerDisk;
        for (n, zone) in spec.geometry.zones.iter_mut().enumerate() {
            zone.slips.truncate(usize::from(n == 0 && seed % 4 > 0));
        }
        spec.geometry.sectors = capacity(&spec.geometry);
        let count = if by_zone { seed % 3 * 4 } else { 0 };
        spec.geometry.grown_defects = GrownDefects { count, seed };
        if Layout::new(&spec.geometry).is_ok() {
            drives += 1;
            reported += u64::from(notches_determine(&spec));
        }
    }
    println!("{reported} of {drives}");
    assert!(
        drives > 50 && 20 * reported >= 19 * drives,
        "{reported} of {drives}"
    );
}

/// Returns true if notch pages and listed defects determine the layout, except reported unknowns.
fn notches_determine(spec: &Spec) -> bool {
    let mut simulated = SimulatedDrive::new(spec, HOST, 1).unwrap();
    let mut disk = Disk::new(&mut simulated).unwrap();
    let listed = defects::read(&mut disk).unwrap().all();
    let found = match notches::measure(&mut disk, spec.mechanics.period_ns, &listed, 1) {
        Ok(found) => found,
        Err(error) => {
            println!("{}: {error}", spec.name);
            return false;
        }
    };
    let is_unknown = |what: &str| found.assumed.iter().any(|reported| reported.contains(what));
    let counts = defects::count(&found.geometry, &listed).unwrap();
    let mut layouts = [found.geometry.clone(), spec.geometry.clone()];
    if is_unknown("reallocated") {
        // Blocks that are not reallocated are where they were.
        for geometry in &mut layouts {
            geometry.grown_defects = GrownDefects::default();
            geometry
                .zones
                .iter_mut()
                .for_each(|zone| zone.defects.clear());
        }
    }
    let [tracks, cylinders] = differences_in_tracks(&layouts[0], &layouts[1]);
    let heads = is_unknown("order of heads") || heads_are_equal(&layouts[0], &layouts[1]);
    let good = [tracks, cylinders] == [None, None]
        && heads
        && (is_unknown("reallocated") || counts.contradicted == 0)
        && counts.unlisted == 0;
    if !good {
        println!("{}: {tracks:?} {cylinders:?} {counts:?}", spec.name);
        println!("{:?}", found.assumed);
    }
    good
}

/// Returns true if all blocks are on the right heads.
fn heads_are_equal(found: &Geometry, truth: &Geometry) -> bool {
    let [found, truth] = [found, truth].map(|geometry| Layout::new(geometry).unwrap());
    let mut at = Lbn(0);
    while at.0 < truth.sectors().0 {
        let (one, other) = (found.extent(at), truth.extent(at));
        if one.head != other.head {
            return false;
        }
        at = at + one.sectors.min(other.sectors);
    }
    true
}

/// Blocks reallocated after manufacture are found from the defects in the grown list.
#[test]
fn reallocated_blocks_of_random_drives_are_found() {
    let (mut measured, mut exact, mut reallocated) = (0, 0, 0);
    for seed in 0..80 {
        let mut spec = drive(seed);
        spec.geometry.grown_defects = GrownDefects { count: 6, seed };
        if Layout::new(&spec.geometry).is_err() {
            // It has too few spares.
            continue;
        }
        measured += 1;
        let mut simulated = SimulatedDrive::new(&spec, HOST, 1).unwrap();
        let mut disk = Disk::new(&mut simulated).unwrap();
        let listed = defects::read(&mut disk).unwrap().all();
        let differs = translate::measure(&mut disk, &listed).map(|found| {
            let counts = defects::count(&found.geometry, &listed).unwrap();
            reallocated += counts.reallocated;
            let defects = (counts.contradicted, counts.unlisted);
            (difference(&found.geometry, &spec.geometry), defects)
        });
        if differs == Ok((None, (0, 0))) {
            exact += 1;
        } else {
            println!("{}: {differs:?}", spec.name);
        }
    }
    println!("{reallocated} reallocated, {exact} of {measured} drives exact");
    assert!(
        measured > 40 && exact + 1 >= measured,
        "{exact} of {measured}"
    );
    assert!(reallocated > 5 * measured, "{reallocated} on {measured}");
}
