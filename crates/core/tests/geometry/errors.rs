//! Rejected geometries and their error messages.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, GrownDefects, Sparing};
use diskarm_core::units::SectorCount;

use super::{geometry, zone};

/// Two zones of 2 surfaces: 3 cylinders of 10 sectors and 3 of 8. Each cylinder has 2 spares at its
/// end, which leaves 3 * 18 + 3 * 14 = 96 blocks.
fn valid_geometry() -> Geometry {
    let mut zones = vec![zone(0..3, 10), zone(4..7, 8)];
    zones[0].spares = 2;
    zones[1].spares = 2;
    zones[0].slips = vec![5];
    geometry(2, Sparing::SectorsPerCylinder, zones, 96)
}

fn refusal(change: impl FnOnce(&mut Geometry)) -> String {
    let mut g = valid_geometry();
    change(&mut g);
    match Layout::new(&g) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn assert_refused(expected: &str, change: impl FnOnce(&mut Geometry)) {
    let said = refusal(change);
    assert!(
        said.starts_with(expected),
        "expected {expected}, was: {said}"
    );
}

#[test]
fn the_valid_geometry_is_accepted() {
    assert_eq!(refusal(|_| {}), "nothing");
}

#[test]
fn zero_sizes() {
    assert_refused("geometry.surfaces: found 0, expected at least 1", |g| {
        g.surfaces = 0
    });
    assert_refused("geometry.cylinders: found 0", |g| g.cylinders = 0);
    assert_refused("geometry.sector_bytes: found 0", |g| g.sector_bytes = 0);
    assert_refused("geometry.zones: found []", |g| g.zones.clear());
    assert_refused("geometry.zones[1].sectors_per_track: found 0", |g| {
        g.zones[1].sectors_per_track = 0;
    });
    assert_refused("geometry.sparing_range: found 0 cylinders", |g| {
        g.sparing = Sparing::SectorsPerRange;
    });
    assert_refused("geometry.sectors: found 0", |g| g.sectors = SectorCount(0));
}

#[test]
fn split_physical_sectors() {
    let of = |physical| move |g: &mut Geometry| g.physical_sector = SectorCount(physical);
    let power = "geometry.physical_sector: found 3 sectors, expected a number of sectors that is";
    assert_refused(power, of(3));
    assert_refused("geometry.physical_sector: found 0 sectors", of(0));
    assert_refused("geometry.physical_sector: found 65536 sectors", of(1 << 16));
    assert_refused(
        "geometry.zones[0].sectors_per_track: found 10, expected whole physical sectors: a \
         multiple of 4 (geometry.physical_sector)",
        of(4),
    );
    assert_refused("geometry.zones[1].reserved_sectors: found 3", |g| {
        of(2)(g);
        g.zones[1].reserved_sectors = SectorCount(3);
    });
    assert_refused("geometry.sectors: found 95", |g| {
        of(2)(g);
        g.sectors = SectorCount(95);
    });
    assert_refused("geometry.unused_sectors: found 1", |g| {
        of(2)(g);
        g.unused_sectors = SectorCount(1);
    });
    // Spares and slips count physical sectors: 3 * 16 + 3 * 12 blocks are left.
    assert_refused("geometry.sectors: found 96, expected 84", of(2));
    assert_refused(
        "geometry.zones[0].slips[0]: found 30, expected less than 30",
        |g| {
            of(2)(g);
            g.zones[0].slips = vec![30];
        },
    );
}

#[test]
fn zones_out_of_place() {
    assert_refused(
        "geometry.zones[1].first_cylinder: found 2, expected at least 3, \
         the end of the previous zone",
        |g| g.zones[1].first_cylinder = 2,
    );
    assert_refused("geometry.zones[1].first_cylinder: found 0", |g| {
        g.zones.swap(0, 1)
    });
    assert_refused("geometry.zones[0].end_cylinder: found 0", |g| {
        g.zones[0].end_cylinder = 0
    });
    assert_refused("geometry.zones[1].end_cylinder: found 7", |g| {
        g.cylinders = 6
    });
}

#[test]
fn numbers_that_are_not_finite() {
    assert_refused("geometry.zones[0].first_offset_sectors: found NaN", |g| {
        g.zones[0].first_offset_sectors = f64::NAN;
    });
    assert_refused("geometry.zones[0].track_skew_sectors: found -1", |g| {
        g.zones[0].track_skew_sectors = -1.0;
    });
    assert_refused("geometry.zones[1].cylinder_skew_sectors: found inf", |g| {
        g.zones[1].cylinder_skew_sectors = f64::INFINITY;
    });
    assert_refused(
        "geometry.zones[0].sectors_per_track: found 4294967295",
        |g| {
            g.surfaces = u32::MAX;
            g.zones[0].sectors_per_track = u32::MAX;
        },
    );
}

/// One surface of 2^32 - 1 sectors per track: 3 * 2^32 places fit in 64 bits, but not their product
/// with the 2^32 of a cylinder, the limit of exact reciprocals.
#[test]
fn zones_too_large_for_exact_arithmetic() {
    assert_refused(
        "geometry.zones[0].sectors_per_track: found 4294967295",
        |g| {
            g.surfaces = 1;
            g.zones[0].sectors_per_track = u32::MAX;
        },
    );
}

#[test]
fn spares_that_do_not_fit_or_are_too_few() {
    assert_refused(
        "geometry.zones[0].spares: found 20, expected fewer than 20, the size",
        |g| {
            g.zones[0].spares = 20;
        },
    );
    assert_refused("geometry.zones[0].spares: found 2, expected 0", |g| {
        g.sparing = Sparing::None
    });
    // The second range has one cylinder, 20 sectors.
    assert_refused(
        "geometry.zones[0].spares: found 21, expected fewer than 20, the size",
        |g| {
            (g.sparing, g.sparing_range) = (Sparing::SectorsPerRange, 2);
            g.zones[0].spares = 21;
        },
    );
    assert_refused(
        "geometry.zones[0].slips[2]: found 19, expected at most 2 slips",
        |g| {
            g.zones[0].slips = vec![5, 6, 19, 20];
        },
    );
}

#[test]
fn slips_out_of_range_or_duplicated() {
    assert_refused(
        "geometry.zones[0].slips[1]: found 60, expected less than 60",
        |g| {
            g.zones[0].slips = vec![5, 60];
        },
    );
    assert_refused(
        "geometry.zones[0].slips[2]: found 7, expected each slip only once",
        |g| {
            g.zones[0].slips = vec![7, 40, 7];
        },
    );
    assert_refused(
        "geometry.zones[0].slips[0]: found 6, expected less than 6",
        |g| {
            g.sparing = Sparing::TracksPerZone;
            g.zones[0].slips = vec![6];
        },
    );
}

/// Place 5 of zone 0 is slipped, so data end at place 18 and 19 is spare; so is 39.
#[test]
fn invalid_defects() {
    let pair =
        |a: (u64, u64), b: (u64, u64)| move |g: &mut Geometry| g.zones[0].defects = vec![a, b];
    assert_eq!(refusal(pair((0, 39), (1, 19))), "nothing");
    assert_refused(
        "geometry.zones[0].defects[1]: found (60, 19)",
        pair((0, 39), (60, 19)),
    );
    assert_refused(
        "geometry.zones[0].defects[1]: found (1, 60)",
        pair((0, 39), (1, 60)),
    );
    assert_refused(
        "geometry.zones[0].defects[1]: found (1, 18), expected a spare place",
        pair((0, 39), (1, 18)),
    );
    assert_refused(
        "geometry.zones[0].defects[1]: found (5, 19), expected a defect that was not slipped",
        pair((0, 39), (5, 19)),
    );
    assert_refused(
        "geometry.zones[0].defects[1]: found (19, 38)",
        pair((0, 39), (19, 38)),
    );
    assert_refused(
        "geometry.zones[0].defects[1]: found (0, 19), expected each defective place only once",
        pair((0, 39), (0, 19)),
    );
    assert_refused(
        "geometry.zones[0].defects[1]: found (1, 39), expected a spare that is not in use yet",
        pair((0, 39), (1, 39)),
    );
}

/// A spare listed as its own replacement, as in the catalogue of the Cheetah 4LP, is itself
/// defective: it moves nothing and replaces nothing.
#[test]
fn a_spare_paired_with_itself_is_defective() {
    assert_eq!(refusal(|g| g.zones[0].defects = vec![(19, 19)]), "nothing");
    assert_refused("geometry.zones[0].defects[1]: found (1, 19)", |g| {
        g.zones[0].defects = vec![(19, 19), (1, 19)];
    });
}

#[test]
fn capacity_that_differs_from_the_zones() {
    for sectors in [95, 97] {
        assert_refused(
            &format!(
                "geometry.sectors: found {sectors}, expected 96: the zones map 96, less \
                 unused_sectors = 0"
            ),
            |g| g.sectors = SectorCount(sectors),
        );
    }
    let export = |sectors, unused| {
        move |g: &mut Geometry| {
            g.sectors = SectorCount(sectors);
            g.unused_sectors = SectorCount(unused);
        }
    };
    assert_eq!(refusal(export(90, 6)), "nothing");
    assert_refused(
        "geometry.sectors: found 90, expected 91: the zones map 96, less unused_sectors = 5",
        export(90, 5),
    );
    for unused in [96, u64::MAX] {
        assert_refused(
            &format!(
                "geometry.unused_sectors: found {unused}, expected fewer than 96, the \
                 number of sectors that the zones map"
            ),
            export(1, unused),
        );
    }
    assert_refused(
        "geometry.zones[1].reserved_sectors: found 43, expected at most 42, the sectors that \
         remain in the zone with spares = 2",
        |g| {
            g.zones[1].reserved_sectors = SectorCount(43);
        },
    );
}

/// Six cylinders with two spares each, one of them used by the slip: 11 defects find a spare.
#[test]
fn more_grown_defects_than_spares() {
    let grown = |count| move |g: &mut Geometry| g.grown_defects = GrownDefects { count, seed: 1 };
    assert_eq!(refusal(grown(11)), "nothing");
    assert_refused(
        "geometry.grown_defects.count: found 12, expected at most 11",
        grown(12),
    );
}
