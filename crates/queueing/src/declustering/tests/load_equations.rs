//! Equations 9.1 to 9.10 against the loads that placement and routing give.

use super::*;
use crate::declustering::equations::*;
use crate::declustering::loads::loads_by;
use crate::queue::{Random, means};

fn assert_near(found: Load, expected: Load) {
    let off = (found.reads - expected.reads).abs();
    assert!(
        off.max((found.writes - expected.writes).abs()) < 1e-12,
        "{found:?}, expected {expected:?}"
    );
}

fn failed(disks: &[usize]) -> DiskSet {
    disks.iter().copied().collect()
}

/// 9.1, 9.3, 9.5 and 9.8.
#[test]
fn without_failures_all_loads_are_as_printed() {
    for layout in all(12) {
        for load in layout.loads(DiskSet::NONE).unwrap() {
            assert_near(load.unwrap(), normal());
        }
        assert!(layout.is_balanced(DiskSet::NONE));
    }
}

/// 9.2 and 9.4: the partner, or the rest of the cluster, has more to do, and no other disk.
#[test]
fn a_failure_in_a_pair_or_cluster_is_as_printed() {
    for layout in all(12) {
        let (cluster, more) = match layout.kind() {
            LayoutKind::Basic => (2, basic_degraded()),
            LayoutKind::Interleaved { cluster } => (cluster, interleaved_degraded(cluster)),
            _ => continue,
        };
        for down in 0..layout.disks() {
            let loads = layout.loads(failed(&[down])).unwrap();
            for (disk, load) in loads.into_iter().enumerate() {
                match load {
                    None => assert_eq!(disk, down),
                    Some(load) if disk / cluster == down / cluster => assert_near(load, more),
                    Some(load) => assert_near(load, normal()),
                }
            }
        }
    }
}

/// 9.3 and 9.4 for any share α of the reads at primary copies, which cancels.
#[test]
fn interleaved_loads_do_not_depend_on_the_share_of_primary_copies() {
    let layout = layout(LayoutKind::Interleaved { cluster: 4 }, 8);
    for alpha in [0.0, 0.3, 1.0] {
        let loads = loads_by(&layout, failed(&[1]), |_| alpha).unwrap();
        assert_near(loads[2].unwrap(), interleaved_degraded(4));
        assert_near(loads[7].unwrap(), normal());
    }
}

/// 9.6 and 9.7, by the part of each disk in the reads of the one before and its own.
#[test]
fn chains_share_as_printed() {
    for disks in 3..=12 {
        let chain = layout(LayoutKind::Chained, disks);
        let one = failed(&[0]);
        for disk in 1..disks {
            let parts = served(&chain, disk, one);
            let (before, own) = chained_one_failed(disks, disk);
            assert!((parts.0 - before).abs() < 1e-12 && (parts.1 - own).abs() < 1e-12);
        }
        assert!(chain.is_balanced(one));
        if disks % 2 == 1 || disks < 4 {
            continue;
        }
        let two = failed(&[0, disks / 2]);
        for disk in 1..disks / 2 {
            let parts = served(&chain, disk, two);
            let (before, own) = chained_two_failed(disks, disk);
            assert!((parts.0 - before).abs() < 1e-12 && (parts.1 - own).abs() < 1e-12);
        }
        assert!(chain.is_balanced(two));
    }
}

/// The shares of the reads of the disk before and of its own that `disk` of a chain serves.
fn served(chain: &Layout, disk: usize, failed: DiskSet) -> (f64, f64) {
    let before = (disk + chain.disks() - 1) % chain.disks();
    let share = |primary: usize| {
        let place = chain.copy_disks(primary as u64);
        match (failed.contains(primary), failed.contains(place.secondary)) {
            (true, _) => 0.0,
            (_, true) => 1.0,
            _ => chain.primary_share(place, failed),
        }
    };
    (1.0 - share(before), share(disk))
}

/// 9.9 and 9.10 are half of what two clusters serve, on the scale of 9.8.
#[test]
fn group_rotate_serves_twice_what_is_printed() {
    for cluster in 1..=6 {
        let layout = layout(LayoutKind::GroupRotate { cluster }, 2 * cluster);
        for failures in 0..=cluster {
            let down = (0..failures).collect();
            let printed = group_rotate_degraded(cluster, failures);
            for load in layout.loads(down).unwrap().into_iter().flatten() {
                assert_near(load, printed * 2.0);
            }
            assert!(layout.is_balanced(down));
        }
    }
    let [.., rotate] = example();
    let found = rotate.loads(failed(&[2])).unwrap()[5].unwrap();
    assert_near(
        found,
        Load {
            reads: 8.0 / 7.0,
            writes: 2.0,
        },
    );
    assert_eq!(group_rotate_one_failed(4).reads, 4.0 / 7.0);
}

/// 20 runs of 4,000 requests to random blocks, two thirds of them reads, after two failures.
#[test]
fn simulated_requests_agree() {
    const READS: f64 = 2.0 / 3.0;
    for layout in example() {
        // In different clusters, but the same one of group rotate.
        let down = match layout.kind() {
            LayoutKind::GroupRotate { .. } => failed(&[1, 3]),
            _ => failed(&[1, 4]),
        };
        let run = |seed| {
            let mut random = Random::new(seed);
            let mut accesses = [0.0; 8];
            for _ in 0..4_000 {
                let place = layout.copy_disks((random.uniform() * 96_000.0) as u64);
                let left = |disk: usize| !down.contains(disk);
                let both = left(place.primary) && left(place.secondary);
                let is_first = match both {
                    true => random.uniform() < layout.primary_share(place, down),
                    false => left(place.primary),
                };
                let is_read = random.uniform() < READS;
                for (disk, is_chosen) in [(place.primary, is_first), (place.secondary, !is_first)] {
                    if left(disk) && (is_chosen || !is_read) {
                        accesses[disk] += 8.0 / 4_000.0;
                    }
                }
            }
            accesses
        };
        let found = means((1..=20).map(run));
        for (load, found) in layout.loads(down).unwrap().into_iter().zip(found) {
            if let Some(load) = load {
                found.assert_near(load.accesses(READS));
            }
        }
    }
}
