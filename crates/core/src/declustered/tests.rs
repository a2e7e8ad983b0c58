//! Tests of layouts, of the count of lost units, and of the data in arrays.

use super::layout::count_lost;
use super::*;
use crate::array::shadow::{self, Log, Model, SlowDevice, TestArray};
use crate::random::below;

/// Returns every layout on 2 to `max` disks.
fn all(max: usize) -> Vec<Layout> {
    let kinds = |cluster| {
        [
            LayoutKind::Interleaved { cluster },
            LayoutKind::GroupRotate { cluster },
        ]
    };
    let layouts_on = |disks: usize| {
        let clusters = (1..=disks).flat_map(kinds);
        let kinds = [LayoutKind::Basic, LayoutKind::Chained]
            .into_iter()
            .chain(clusters);
        kinds.filter_map(move |kind| Layout::new(kind, disks).ok())
    };
    (2..=max).flat_map(layouts_on).collect()
}

fn layout(kind: LayoutKind, disks: usize) -> Layout {
    Layout::new(kind, disks).unwrap()
}

/// Returns the four layouts of the thesis' example: 8 disks, clusters of 4.
fn example() -> [Layout; 4] {
    [
        LayoutKind::Basic,
        LayoutKind::Interleaved { cluster: 4 },
        LayoutKind::Chained,
        LayoutKind::GroupRotate { cluster: 4 },
    ]
    .map(|kind| layout(kind, 8))
}

/// The expected copies are worked out by hand from the prose of section 9.1.2.
#[test]
fn secondary_copies_match_the_prose() {
    let secondaries = |layout: &Layout, primary: u64| -> Vec<usize> {
        let blocks = (0..4).map(|row| primary + row * 8);
        blocks
            .map(|block| layout.copy_disks(block).secondary)
            .collect()
    };
    let [basic, interleaved, chained, rotate] = example();
    assert_eq!(secondaries(&basic, 0), [1, 1, 1, 1]);
    assert_eq!(secondaries(&basic, 5), [4, 4, 4, 4]);
    assert_eq!(secondaries(&interleaved, 0), [1, 2, 3, 1]);
    assert_eq!(secondaries(&interleaved, 6), [7, 4, 5, 7]);
    assert_eq!(secondaries(&chained, 7), [0, 0, 0, 0]);
    assert_eq!(secondaries(&rotate, 1), [5, 6, 7, 4]);
    assert_eq!(secondaries(&rotate, 6), [2, 3, 0, 1]);
}

#[test]
fn copies_are_spread_evenly() {
    for layout in all(12) {
        let mut copies = vec![[0, 0]; layout.disks()];
        for CopyDisks { primary, secondary } in layout.period() {
            assert_ne!(primary, secondary, "{layout:?}");
            copies[primary][0] += 1;
            copies[secondary][1] += 1;
        }
        assert!(copies.iter().all(|counts| *counts == [layout.rows(); 2]));
        // The layout repeats.
        let period = (layout.rows() * layout.disks()) as u64;
        assert!((0..period).all(|b| layout.copy_disks(b) == layout.copy_disks(b + 3 * period)));
    }
}

/// Clusters of two disks, rotated clusters of one disk, and chains of two are mirrored pairs.
#[test]
fn the_smallest_clusters_are_mirrored_pairs() {
    for disks in [2, 6, 12] {
        let basic = layout(LayoutKind::Basic, disks);
        for kind in [
            LayoutKind::Interleaved { cluster: 2 },
            LayoutKind::GroupRotate { cluster: 1 },
        ] {
            let other = layout(kind, disks);
            assert!((0..100).all(|block| other.copy_disks(block) == basic.copy_disks(block)));
        }
    }
    let (chain, pair) = (layout(LayoutKind::Chained, 2), layout(LayoutKind::Basic, 2));
    assert!((0..10).all(|block| chain.copy_disks(block) == pair.copy_disks(block)));
}

#[test]
fn errors_are_one_line() {
    let error = |kind, disks| Layout::new(kind, disks).unwrap_err().to_string();
    let cases = [
        (
            error(LayoutKind::Basic, 1),
            "found 1 as the number of disks, expected 2 to 24",
        ),
        (
            error(LayoutKind::Chained, 25),
            "found 25 as the number of disks, expected 2 to 24",
        ),
        (
            error(LayoutKind::Basic, 7),
            "basic mirroring needs pairs of disks, found 7",
        ),
        (
            error(LayoutKind::Interleaved { cluster: 3 }, 8),
            "cannot divide 8 disks into clusters of 3",
        ),
        (
            error(LayoutKind::Interleaved { cluster: 0 }, 8),
            "cannot divide 8 disks into clusters of 0",
        ),
        (
            error(LayoutKind::Interleaved { cluster: 1 }, 8),
            "found clusters of 1 disk, expected 2 or more",
        ),
        (
            error(LayoutKind::GroupRotate { cluster: 3 }, 9),
            "group rotate needs an even number of clusters, found 3 clusters of 3 disks",
        ),
        (
            error(LayoutKind::GroupRotate { cluster: 8 }, 8),
            "group rotate needs an even number of clusters, found 1 cluster of 8 disks",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

/// A unit is lost if both its disks have failed and the spare does not have it.
fn is_lost(layout: &Layout, rows: u64, failed: DiskSet, spare: (usize, u64), unit: u64) -> bool {
    let (disks, row) = (layout.copy_disks(unit), unit / layout.disks() as u64);
    let copies = [(disks.primary, row), (disks.secondary, rows + row)];
    let exists =
        |(disk, own): (usize, u64)| !failed.contains(disk) || disk == spare.0 && own < spare.1;
    !copies.into_iter().any(exists)
}

/// Scans every unit of small arrays in all layouts, with each possible progress of the rebuild.
#[test]
fn count_lost_agrees_with_a_scan_of_all_units() {
    let mut lost = 0;
    for (kind, disks) in [
        (LayoutKind::Basic, 6),
        (LayoutKind::Interleaved { cluster: 2 }, 6),
        (LayoutKind::Interleaved { cluster: 4 }, 8),
        (LayoutKind::Interleaved { cluster: 7 }, 7),
        (LayoutKind::Chained, 2),
        (LayoutKind::Chained, 7),
        (LayoutKind::GroupRotate { cluster: 1 }, 4),
        (LayoutKind::GroupRotate { cluster: 3 }, 12),
        (LayoutKind::GroupRotate { cluster: 5 }, 10),
    ] {
        let layout = Layout::new(kind, disks).expect("a layout");
        let dice = &mut generator(disks as u64, 0, Purpose::Requests);
        for _ in 0..20 {
            let rows = 1 + below(dice, 30);
            let failed = 1 + below(dice, 4);
            let failed: DiskSet = (0..failed)
                .map(|_| below(dice, disks as u64) as usize)
                .collect();
            let spare = failed.iter().next().expect("a disk");
            for rebuilt in 0..=2 * rows {
                let is_lost = |unit: u64| is_lost(&layout, rows, failed, (spare, rebuilt), unit);
                let found = count_lost(&layout, rows, rebuilt, is_lost);
                let mut all = (0..rows * disks as u64).filter(|unit| is_lost(*unit));
                let first = all.next();
                let expected = first.map(|first| (first, 1 + all.count() as u64));
                let case = format!("{kind:?} {rows} {failed:?} {rebuilt}");
                assert_eq!(found, expected, "{case}");
                lost += u64::from(found.is_some());
            }
        }
    }
    assert!(lost > 1_000, "{lost}");
}

/// Two disks of a cluster of four have a third of their units in common. So 3 * 10^12 rows have 2 *
/// 10^12 such units, and the following row has one more.
#[test]
fn counting_takes_no_longer_on_large_disks() {
    let layout = Layout::new(LayoutKind::Interleaved { cluster: 4 }, 8).expect("a layout");
    let failed: DiskSet = [4, 5].into_iter().collect();
    let rows = 3_000_000_000_001;
    let is_lost = |unit: u64| is_lost(&layout, rows, failed, (4, 0), unit);
    let found = count_lost(&layout, rows, 0, is_lost);
    assert_eq!(found, Some((4, 2_000_000_000_001)));
}

impl Model for TwoCopies {
    fn has(array: &Declustered, member: usize, start: u64) -> bool {
        let copies = &array.placement;
        !copies.is_missing(member, start / copies.unit)
    }
}

fn random_array(dice: &mut Generator, log: &Log) -> TestArray<TwoCopies> {
    let kinds = [
        (LayoutKind::Basic, 4),
        (LayoutKind::Interleaved { cluster: 3 }, 6),
        (LayoutKind::Chained, 5),
        (LayoutKind::Chained, 2),
        (LayoutKind::GroupRotate { cluster: 2 }, 4),
    ];
    let (kind, disks) = kinds[below(dice, 5) as usize];
    let failures = shadow::random_failures_of_copies(disks, dice);
    let rebuild_share = shadow::random_share(&failures, dice);
    let unit = SectorCount(1 + below(dice, 4));
    let sectors = SectorCount(2 * unit.0 + below(dice, 16));
    let config = DeclusteredConfig {
        layout: Layout::new(kind, disks).expect("a layout"),
        failures: failures.clone(),
        rebuild_share,
        unit,
        policy: ["fcfs", "sstf", "clook"][below(dice, 3) as usize]
            .parse()
            .expect("a policy"),
        seed: below(dice, 1 << 40),
    };
    let has_spare = rebuild_share.is_some();
    let devices = SlowDevice::build_several(disks + usize::from(has_spare), sectors, dice, log);
    let array = Declustered::new(devices, config);
    TestArray {
        array: array.expect("the policy needs only block numbers"),
        members: disks,
        has_spare,
        sectors,
        failures,
    }
}

#[test]
fn reads_return_what_was_written() {
    let runs = shadow::check(4_000, random_array);
    assert!(runs.checked > 100_000 && runs.rebuilt > 1_000, "{runs:?}");
    assert!(runs.lost > 200 && runs.held > 500, "{runs:?}");
}
