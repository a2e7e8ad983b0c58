//! The eleven measured drives of the data folder.

use std::fs;
use std::path::Path;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, GrownDefects, Sparing, TrackOrder, Zone};
use diskarm_core::units::{Lbn, SectorCount};
use serde_json::Value;

use super::geometry;
use super::reference::{Reference, assert_same};

/// Name, blocks exported, and additional blocks mapped. Four drives export everything their sparing
/// leaves. The others export less: two keep the end of the disk as spare space; four are sold at a
/// common size; for the C3323A see below.
const DRIVES: [(&str, u64, u64); 11] = [
    ("dec-rz26", 2_050_860, 0),
    ("hp-c2247", 2_054_864, 0),
    ("hp-c2490a", 4_165_272, 0),
    ("hp-c3323a", 1_743_672, 312_336),
    ("ibm-dnes-309170w", 17_916_240, 117_513),
    ("quantum-atlas-10k", 17_938_986, 27_967),
    ("quantum-atlas-iii", 17_783_250, 14_694),
    ("seagate-barracuda-st32171w", 4_110_000, 107_582),
    ("seagate-cheetah-st34501n", 8_887_200, 632),
    ("seagate-cheetah-st39102lw", 17_783_240, 135_147),
    ("seagate-st41601n", 2_676_846, 0),
];

fn number(v: &Value, key: &str) -> f64 {
    v[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} is not a number"))
}

fn sparing(layout: &Value) -> Sparing {
    match layout["sparing"].as_str().unwrap() {
        "sectors_at_track_end" => Sparing::SectorsPerTrack,
        "sectors_at_cylinder_end" => Sparing::SectorsPerCylinder,
        "sectors_at_cylinder_front" => Sparing::SectorsPerCylinderFront,
        "sectors_at_cylinder_range_end" => Sparing::SectorsPerRange,
        "sectors_at_zone_end" => Sparing::SectorsPerZone,
        "tracks_at_zone_end" => Sparing::TracksPerZone,
        "sectors_at_disk_end" => Sparing::SectorsPerDisk,
        other => panic!("unknown sparing {other}"),
    }
}

fn zone(z: &Value) -> Zone {
    let numbers = |v: &Value| -> Vec<u64> {
        v.as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap())
            .collect()
    };
    // Pairs in a flat list.
    let defects = numbers(&z["defects"]);
    Zone {
        first_cylinder: number(z, "first_cylinder") as u32,
        end_cylinder: number(z, "last_cylinder") as u32 + 1,
        sectors_per_track: number(z, "sectors_per_track") as u32,
        first_offset_sectors: number(z, "first_lbn_offset_sectors"),
        reserved_sectors: SectorCount(number(z, "reserved_sectors_at_front") as u64),
        track_skew_sectors: number(z, "track_skew_sectors"),
        cylinder_skew_sectors: number(z, "cylinder_skew_sectors"),
        spares: number(z, "spares") as u64,
        slips: numbers(&z["slips"]),
        defects: defects
            .as_chunks()
            .0
            .iter()
            .map(|&[from, to]| (from, to))
            .collect(),
    }
}

/// Returns the geometry of a drive in `../shared`: tests that need it are ignored, and `make test`
/// runs them if the folder exists. [`DRIVES`] adds the unused blocks.
fn drive(name: &str) -> Geometry {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/drives")
        .join(name)
        .with_extension("json");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}.json: {error}"));
    let all: Value = serde_json::from_str(&text).unwrap();
    let layout = &all["layout"];
    let zones = layout["zones"]
        .as_array()
        .unwrap()
        .iter()
        .map(zone)
        .collect();
    let mut g = geometry(
        number(layout, "surfaces") as u32,
        sparing(layout),
        zones,
        number(layout, "sectors") as u64,
    );
    // The C2490A file has one cylinder less than worthington96 table 13: its last zone ends on
    // cylinder 2629, and only with that one is its capacity right.
    g.cylinders = g.cylinders.max(number(layout, "cylinders") as u32);
    if g.sparing == Sparing::SectorsPerRange {
        g.sparing_range = number(layout, "sparing_range_cylinders") as u32;
    }
    g.order = match layout["lbn_order"].as_str().unwrap() {
        "cylinder_major" => TrackOrder::CylinderMajor,
        "serpentine_per_zone" => TrackOrder::SerpentinePerZone,
        other => panic!("unknown order {other}"),
    };
    let (_, _, left_over) = DRIVES.into_iter().find(|(of, ..)| *of == name).unwrap();
    g.unused_sectors = SectorCount(left_over);
    g
}

#[test]
#[ignore = "needs ../shared"]
fn capacities_are_exact() {
    for (name, sectors, left_over) in DRIVES {
        let g = drive(name);
        let layout = Layout::new(&g).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(layout.sectors(), SectorCount(sectors), "{name}");
        assert_eq!(
            layout.mapped_sectors(),
            SectorCount(sectors + left_over),
            "{name}"
        );
    }
}

/// Follows whole runs over part of each drive, and maps every block there and back.
#[test]
#[ignore = "needs ../shared"]
fn the_inverse_mapping_is_exact() {
    for (name, sectors, _) in DRIVES {
        let g = drive(name);
        let layout = Layout::new(&g).unwrap();
        let step = sectors / 3001;
        let mut samples: Vec<_> = (0..sectors).step_by(step as usize).collect();
        samples.push(sectors - 1);
        for at in samples {
            let first = layout.track_first(Lbn(at));
            let run = layout.extent(first);
            assert!(first.0 + run.sectors.0 > at, "{name} {at}");
            for n in 0..run.sectors.0 {
                let mut pba = layout.pba(first);
                pba.sector += n as u32;
                let lbn = first + SectorCount(n);
                assert_eq!(layout.pba(lbn), pba, "{name}");
                assert_eq!(layout.lbn(pba), Some(lbn), "{name}");
            }
        }
    }
}

/// Every block of the smaller drives against the reference; the larger ones differ only in numbers,
/// and would take a minute.
#[test]
#[ignore = "needs ../shared"]
fn every_block_of_the_small_drives_matches_the_reference() {
    for name in ["dec-rz26", "hp-c2247", "hp-c3323a", "seagate-st41601n"] {
        let g = drive(name);
        assert_same(&g, &Layout::new(&g).unwrap(), &Reference::new(&g));
    }
}

/// worthington96 table 18 gives the C3323A 1.05 GB. That is the full capacity of its zones,
/// 2,056,008 sectors; the exported size of its parameter set is 0.89 GB.
#[test]
#[ignore = "needs ../shared"]
fn the_c3323a_can_export_its_full_capacity() {
    let mut g = drive("hp-c3323a");
    g.sectors = SectorCount(2_056_008);
    g.unused_sectors = SectorCount(0);
    let layout = Layout::new(&g).unwrap();
    assert_eq!(layout.sectors(), layout.mapped_sectors());
    assert_eq!(layout.sectors().0 * 512 / 10_000_000, 105);
}

/// worthington94 section 5.2: half of the C2247's spare tracks, 450, are filled with randomly grown
/// defects, which remaps more than 2 % of its tracks.
#[test]
#[ignore = "needs ../shared"]
fn half_of_the_spare_tracks_of_the_c2247_can_be_used() {
    let g = drive("hp-c2247");
    let plain = Layout::new(&g).unwrap();
    for seed in 0..8 {
        let grown_defects = GrownDefects { count: 450, seed };
        let grown = Layout::new(&Geometry {
            grown_defects,
            ..g.clone()
        })
        .unwrap();
        let mut moved = 0;
        let mut at = Lbn(0);
        while at < Lbn(g.sectors.0) {
            let run = plain.extent(at).sectors;
            moved += u32::from(plain.pba(at) != grown.pba(at));
            assert_eq!(grown.lbn(grown.pba(at)), Some(at), "seed {seed}");
            at = at + run;
        }
        assert_eq!(moved, 450, "seed {seed}");
    }
}
