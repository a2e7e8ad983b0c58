//! Random small disks of every sparing scheme and order.

use std::collections::BTreeSet;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, GrownDefects, Sparing, TrackOrder};
use diskarm_core::units::{Lbn, SectorCount};
use proptest::collection::vec;
use proptest::prelude::*;

use super::reference::{Holds, Reference, assert_same, unit};
use super::{geometry, zone};

/// Random numbers of a zone; `picks` are reduced to valid values where they are used.
#[derive(Clone, Debug)]
struct RawZone {
    gap: u32,
    cylinders: u32,
    sectors_per_track: u32,
    skews: (u16, u16, u16),
    spares: u64,
    reserved: u64,
    slips: Vec<u64>,
    defects: Vec<(usize, usize)>,
}

fn raw_zone() -> impl Strategy<Value = RawZone> {
    let sizes = (0..3u32, 1..8u32, 1..10u32);
    let skews = (0..99u16, 0..99u16, 0..99u16);
    let setting_aside = (any::<u16>(), 0..20u64, vec(any::<u64>(), 0..6));
    let defects = vec((any::<usize>(), any::<usize>()), 0..5);
    (sizes, skews, setting_aside, defects).prop_map(|(sizes, skews, aside, defects)| RawZone {
        gap: sizes.0,
        cylinders: sizes.1,
        sectors_per_track: sizes.2,
        skews,
        spares: u64::from(aside.0),
        reserved: aside.1,
        slips: aside.2,
        defects,
    })
}

fn sparing() -> impl Strategy<Value = Sparing> {
    prop_oneof![
        Just(Sparing::None),
        Just(Sparing::SectorsPerTrack),
        Just(Sparing::SectorsPerCylinder),
        Just(Sparing::SectorsPerCylinderFront),
        Just(Sparing::SectorsPerRange),
        Just(Sparing::SectorsPerZone),
        Just(Sparing::TracksPerZone),
        Just(Sparing::SectorsPerDisk),
    ]
}

fn order() -> impl Strategy<Value = TrackOrder> {
    prop_oneof![
        Just(TrackOrder::CylinderMajor),
        Just(TrackOrder::SerpentinePerZone),
        Just(TrackOrder::Serpentine),
    ]
}

fn disk() -> impl Strategy<Value = Geometry> {
    (
        1..5u32,
        order(),
        (sparing(), 1..5u32),
        vec(raw_zone(), 1..4),
        any::<u64>(),
        any::<bool>(),
    )
        .prop_map(|(surfaces, order, (sparing, range), raw, capacity, turn)| {
            let mut g = geometry(surfaces, sparing, Vec::new(), 0);
            g.order = order;
            g.sparing_range = range;
            g.slips_turn_tracks = turn;
            for z in &raw {
                add_zone(&mut g, z);
            }
            g.cylinders += 2;
            let mapped = Reference::new(&g).mapped.len() as u64;
            // Half of the disks export everything they map.
            let less = if capacity % 2 == 0 {
                capacity % mapped.max(1)
            } else {
                0
            };
            g.sectors = SectorCount(mapped - less);
            g.unused_sectors = SectorCount(less);
            let places = Reference::new(&g);
            for (at, z) in raw.iter().enumerate() {
                add_defects(&mut g, at, &z.defects, &places);
            }
            g
        })
}

/// Units of each region of the sparing scheme: the size of one, and of the last.
fn regions(g: &Geometry, cylinders: u32, spt: u32) -> (u64, u64) {
    let track = u64::from(spt);
    let cylinder = track * u64::from(g.surfaces);
    let all = cylinder * u64::from(cylinders);
    match g.sparing {
        Sparing::SectorsPerTrack => (track, track),
        Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => (cylinder, cylinder),
        Sparing::SectorsPerRange => {
            let range = g.sparing_range;
            let short = cylinder * u64::from((cylinders - 1) % range + 1);
            (cylinder * u64::from(range), short)
        }
        Sparing::TracksPerZone => (all / track, all / track),
        _ => (all, all),
    }
}

fn add_zone(g: &mut Geometry, raw: &RawZone) {
    let first = g.cylinders + raw.gap;
    let mut z = zone(first..first + raw.cylinders, raw.sectors_per_track);
    let (offset, track, cylinder) = raw.skews;
    z.first_offset_sectors = f64::from(offset) / 4.0;
    z.track_skew_sectors = f64::from(track) / 8.0;
    z.cylinder_skew_sectors = f64::from(cylinder);
    let (region, last) = regions(g, raw.cylinders, raw.sectors_per_track);
    let shared = matches!(g.sparing, Sparing::None | Sparing::SectorsPerDisk);
    if !shared {
        z.spares = raw.spares % region.min(last);
    }
    let units = u64::from(raw.cylinders * raw.sectors_per_track * g.surfaces)
        / if g.sparing == Sparing::TracksPerZone {
            raw.sectors_per_track.into()
        } else {
            1
        };
    for slip in raw.slips.iter().map(|pick| pick % units) {
        let there = z
            .slips
            .iter()
            .filter(|&&s| s / region == slip / region)
            .count() as u64;
        let room = if shared { units - 1 } else { z.spares };
        if there < room && !z.slips.contains(&slip) {
            z.slips.push(slip);
        }
    }
    g.cylinders = z.end_cylinder;
    g.zones.push(z);
    // At least one block remains.
    let at = g.zones.len() - 1;
    let data = Reference::new(g).mapped.len() as u64;
    let others: u64 = Reference::new(&Geometry {
        zones: g.zones[..at].to_vec(),
        ..g.clone()
    })
    .mapped
    .len() as u64;
    let max = if at == 0 { data - 1 } else { data - others };
    g.zones[at].reserved_sectors = SectorCount(raw.reserved.min(max));
}

/// Adds the random defects of a zone, limited by its places and spares.
fn add_defects(g: &mut Geometry, zone: usize, picks: &[(usize, usize)], places: &Reference) {
    let unit = unit(g, zone);
    let at_end = g.sparing == Sparing::SectorsPerDisk;
    let units_of = |wanted: &dyn Fn(usize) -> bool, in_zone: bool| -> Vec<u64> {
        let all = (0..places.sectors.len())
            .filter(|&n| !in_zone || places.sectors[n].zone == zone)
            .filter(|&n| places.sectors[n].place.is_multiple_of(unit) && wanted(n))
            .map(|n| {
                if in_zone {
                    places.sectors[n].place / unit
                } else {
                    n as u64
                }
            });
        all.collect()
    };
    let beyond: BTreeSet<_> = places.mapped[g.sectors.0 as usize..].iter().collect();
    let spare = |n: usize| places.sectors[n].holds == Holds::Spare || at_end && beyond.contains(&n);
    let data =
        |n: usize| matches!(places.sectors[n].holds, Holds::Data | Holds::Reserved) && !spare(n);
    let mut data = units_of(&data, true);
    let mut spares = units_of(&spare, !at_end);
    if at_end {
        let used: BTreeSet<_> = g
            .zones
            .iter()
            .flat_map(|z| &z.defects)
            .map(|d| d.1)
            .collect();
        spares.retain(|n| !used.contains(n));
    }
    for &(from, to) in picks {
        if data.is_empty() || spares.is_empty() {
            return;
        }
        let from = data.swap_remove(from % data.len());
        let to = spares.swap_remove(to % spares.len());
        g.zones[zone].defects.push((from, to));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    })]

    #[test]
    fn layouts_match_walking_over_the_disk(g in disk()) {
        let layout = Layout::new(&g).map_err(|e| TestCaseError::fail(e.to_string()))?;
        assert_same(&g, &layout, &Reference::new(&g));
    }

    /// A disk with physical sectors equals one with larger sectors, each of several blocks.
    #[test]
    fn blocks_match_the_places_of_larger_sectors(
        g in disk(), bits in 1..4u32, count in 0..4u64, seed: u64,
    ) {
        let of = 1 << bits;
        let mut large = Geometry { grown_defects: GrownDefects { count, seed }, ..g };
        if Layout::new(&large).is_err() {
            large.grown_defects.count = 0;
        }
        let mut small = large.clone();
        small.physical_sector = SectorCount(of);
        small.sectors.0 *= of;
        small.unused_sectors.0 *= of;
        for zone in &mut small.zones {
            zone.sectors_per_track *= of as u32;
            zone.reserved_sectors.0 *= of;
            zone.first_offset_sectors *= of as f64;
            zone.track_skew_sectors *= of as f64;
            zone.cylinder_skew_sectors *= of as f64;
        }
        let layouts = [&large, &small].map(|g| {
            Layout::new(g).map_err(|error| TestCaseError::fail(error.to_string()))
        });
        let [large, small] = layouts;
        let (large, small) = (large?, small?);
        prop_assert_eq!(small.sectors().0, large.sectors().0 * of);
        for block in 0..small.sectors().0 {
            let at = large.extent(Lbn(block >> bits));
            let here = small.extent(Lbn(block));
            let within = block % of;
            prop_assert_eq!((here.cylinder, here.head), (at.cylinder, at.head));
            prop_assert_eq!(u64::from(here.sector), u64::from(at.sector) * of + within);
            prop_assert_eq!(here.sectors.0, at.sectors.0 * of - within);
            let off = (here.start - at.start).as_revolutions();
            let expected = here.sector_angle.as_revolutions() * within as f64;
            let off = (off - expected).abs();
            prop_assert!(off.min(1.0 - off) < 1e-9, "{}", off);
            prop_assert_eq!(small.lbn(small.pba(Lbn(block))), Some(Lbn(block)));
        }
    }

    /// Grown defects move the requested number of units, each to a spare of its own region and none
    /// twice; all other blocks stay, and the inverse mapping is exact.
    #[test]
    fn grown_defects_move_blocks_to_spares(g in disk(), count in 0..4u64, seed: u64) {
        let before = Reference::new(&g);
        let grown = Geometry { grown_defects: GrownDefects { count, seed }, ..g.clone() };
        let Ok(layout) = Layout::new(&grown) else {
            // Random disks have few spares.
            return Ok(());
        };
        let mut units = BTreeSet::new();
        for (block, &was) in before.blocks.iter().enumerate() {
            let lbn = Lbn(block as u64);
            let pba = layout.pba(lbn);
            prop_assert_eq!(layout.lbn(pba), Some(lbn));
            let now = before.sectors.iter().position(|s| s.pba == pba).unwrap();
            if now == was {
                continue;
            }
            let (old, new) = (&before.sectors[was], &before.sectors[now]);
            prop_assert_eq!(layout.lbn(old.pba), None);
            if g.sparing == Sparing::SectorsPerDisk {
                prop_assert!(now > before.mapped[g.sectors.0 as usize - 1]);
            } else {
                prop_assert_eq!(new.holds, Holds::Spare);
                prop_assert_eq!((new.zone, new.region), (old.zone, old.region));
            }
            units.insert((old.zone, old.place / unit(&g, old.zone)));
        }
        prop_assert_eq!(units.len() as u64, count);
    }
}
