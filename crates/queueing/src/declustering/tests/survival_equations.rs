//! Equations 9.11 to 9.17 against the count of all sets of failures.

use super::*;
use crate::declustering::equations::*;
use crate::declustering::survival::binomial;
use crate::queue::{Random, means};

const EXACT: f64 = 1e-12;

/// 8 disks in clusters of 4, after 2, 3 and 4 failures, to three decimals.
#[test]
fn the_example_of_the_thesis_is_exact() {
    let expected = [
        [0.857, 0.571, 0.229],
        [0.571, 0.0, 0.0],
        [0.714, 0.286, 0.029],
        [0.429, 0.143, 0.029],
    ];
    for (layout, expected) in example().iter().zip(expected) {
        for (failures, expected) in (2..).zip(expected) {
            let exact = layout.survival(failures);
            let (_, printed) = survival(layout, failures).unwrap();
            assert!((printed - exact).abs() < EXACT, "{layout:?} {failures}");
            assert!((exact - expected).abs() < 5e-4, "{layout:?} {failures}");
        }
    }
}

#[test]
fn equations_9_11_and_9_12_are_exact() {
    for layout in all(12) {
        let is_right = matches!(
            layout.kind(),
            LayoutKind::Basic | LayoutKind::Interleaved { .. }
        );
        for failures in (0..=layout.disks()).filter(|_| is_right) {
            let (_, printed) = survival(&layout, failures).unwrap();
            let exact = layout.survival(failures);
            assert!((printed - exact).abs() < EXACT, "{layout:?} {failures}");
        }
    }
}

/// "Note that this is smaller than basic disk mirroring": for clusters of more than two.
#[test]
fn interleaved_survives_less_than_basic() {
    for disks in [6, 8, 12] {
        for cluster in (3..=disks).filter(|cluster| disks % cluster == 0) {
            for failures in 2..=disks / 2 {
                let interleaved = interleaved_survival(disks, cluster, failures);
                assert!(interleaved < basic_survival(disks, failures));
            }
        }
    }
}

/// All chains: right, except for the fewest disks, where they give 1 or -1 for what loses data.
#[test]
fn equations_9_13_to_9_16_are_exact_beyond_the_fewest_disks() {
    let mut wrong = Vec::new();
    for disks in 2..=12 {
        let chain = layout(LayoutKind::Chained, disks);
        for failures in 1..=4.min(disks) {
            let printed = chained_survival(disks, failures).unwrap();
            let exact = chain.survival(failures);
            if (printed - exact).abs() > EXACT {
                assert_eq!(exact, 0.0);
                wrong.push((disks, failures, printed));
            }
        }
        assert_eq!(chained_survival(disks, 5), None);
    }
    assert_eq!(wrong, [(2, 2, -1.0), (3, 3, 1.0), (4, 4, -1.0)]);
}

/// The sets of k disks on a ring without neighbours: N / (N - k) C(N - k, k).
#[test]
fn a_chain_survives_as_often_as_a_ring_has_sets_without_neighbours() {
    for disks in 3..=16_u64 {
        let counts = layout(LayoutKind::Chained, disks as usize).survived_by_number();
        for (k, count) in (0..disks).zip(counts) {
            let expected = disks * binomial(disks - k, k) / (disks - k);
            assert_eq!(count, expected, "{disks} {k}");
        }
    }
}

/// Two clusters: exact. Four and more: the equation counts less than survives.
#[test]
fn equation_9_17_is_exact_for_two_clusters_only() {
    for layout in all(12) {
        let LayoutKind::GroupRotate { cluster } = layout.kind() else {
            continue;
        };
        for failures in 1..=cluster {
            let printed = group_rotate_survival(layout.disks(), cluster, failures);
            let exact = layout.survival(failures);
            let is_right = (printed - exact).abs() < EXACT;
            let is_pair = layout.disks() == 2 * cluster;
            assert_eq!(is_right, is_pair || failures == 1, "{layout:?} {failures}");
            assert!(printed < exact + EXACT);
        }
    }
    let counts = layout(LayoutKind::GroupRotate { cluster: 2 }, 8).survived_by_number();
    let printed = group_rotate_survival(8, 2, 2);
    assert_eq!((counts[2], (printed * 28.0).round()), (20, 4.0));
}

/// Each pair of clusters survives in 2 (1 + x)^n - 1 ways, by powers of x for failures.
#[test]
fn pairs_of_clusters_fail_independently() {
    for layout in all(16) {
        let LayoutKind::GroupRotate { cluster } = layout.kind() else {
            continue;
        };
        let mut product = vec![1];
        for _ in 0..layout.disks() / (2 * cluster) {
            let mut next = vec![0; product.len() + cluster];
            for (have, ways) in product.iter().enumerate() {
                for more in 0..=cluster {
                    let factor = if more == 0 { 1 } else { 2 };
                    next[have + more] += ways * factor * binomial(cluster as u64, more as u64);
                }
            }
            product = next;
        }
        product.resize(layout.disks() + 1, 0);
        assert_eq!(layout.survived_by_number(), product, "{layout:?}");
    }
}

/// 20 runs of 2,000 random failures of three of 12 disks, whose loss is found block by block.
#[test]
fn simulated_failures_agree() {
    for kind in [
        LayoutKind::Basic,
        LayoutKind::Interleaved { cluster: 3 },
        LayoutKind::Chained,
        LayoutKind::GroupRotate { cluster: 3 },
    ] {
        let layout = layout(kind, 12);
        let places: Vec<DiskSet> = layout.period().map(CopyDisks::disks).collect();
        let run = |seed| {
            let mut random = Random::new(seed);
            let survived = (0..2_000).filter(|_| {
                let mut failed = DiskSet::NONE;
                for _ in 0..3 {
                    failed = failed.with(fail_another(&mut random, &layout, failed));
                }
                places.iter().all(|place| place.union(failed) != failed)
            });
            [survived.count() as f64 / 2_000.0]
        };
        let [mean] = means((1..=20).map(run));
        mean.assert_near(layout.survival(3));
    }
}

/// Table 9.1, "maximum number of failed disks".
#[test]
fn as_many_disks_may_fail_as_table_9_1_says() {
    for layout in all(12) {
        let expected = match layout.kind() {
            LayoutKind::Interleaved { cluster } => layout.disks() / cluster,
            _ => layout.disks() / 2,
        };
        assert_eq!(layout.most_failures(), expected, "{layout:?}");
    }
}
