//! Compares layouts with brute force, the equations of the thesis and simulations.

use super::comparison::printed_survival;
use super::*;
use crate::simulated::{Random, means};

/// Returns all layouts of 2 to `max` disks.
pub fn all(max: usize) -> Vec<Layout> {
    let kinds = |cluster| {
        [
            LayoutKind::Interleaved { cluster },
            LayoutKind::GroupRotate { cluster },
        ]
    };
    let layouts = |disks: usize| {
        let clusters = (1..=disks).flat_map(kinds);
        let kinds = [LayoutKind::Basic, LayoutKind::Chained]
            .into_iter()
            .chain(clusters);
        kinds.filter_map(move |kind| Layout::new(kind, disks).ok())
    };
    (2..=max).flat_map(layouts).collect()
}

pub fn layout(kind: LayoutKind, disks: usize) -> Layout {
    Layout::new(kind, disks).unwrap()
}

/// Returns the four layouts in the example of the thesis: 8 disks, clusters of 4.
pub fn example() -> [Layout; 4] {
    [
        LayoutKind::Basic,
        LayoutKind::Interleaved { cluster: 4 },
        LayoutKind::Chained,
        LayoutKind::GroupRotate { cluster: 4 },
    ]
    .map(|kind| layout(kind, 8))
}

pub fn sets(disks: usize) -> impl Iterator<Item = DiskSet> {
    (0_u32..1 << disks).map(move |bits| (0..disks).filter(|disk| bits >> disk & 1 == 1).collect())
}

/// Returns a random disk that is not in `failed`. All are equally likely.
pub fn fail_another(random: &mut Random, layout: &Layout, failed: DiskSet) -> usize {
    loop {
        let disk = (random.uniform() * layout.disks() as f64) as usize;
        if !failed.contains(disk) {
            return disk;
        }
    }
}

/// Checks all sets of failures: data are lost if both disks of a block have failed.
#[test]
fn a_set_survives_if_every_block_has_a_copy() {
    for layout in all(12) {
        let copies: Vec<DiskSet> = layout.period().map(CopyDisks::disks).collect();
        let mut counts = vec![0; layout.disks() + 1];
        let mut expected = Vec::new();
        for failed in sets(layout.disks()) {
            let is_left = |disks: &DiskSet| disks.iter().any(|disk| !failed.contains(disk));
            let survives = copies.iter().all(is_left);
            assert_eq!(layout.survives(failed), survives, "{layout:?} {failed:?}");
            if survives {
                counts[failed.len()] += 1;
                expected.push(failed);
            }
        }
        assert_eq!(survived_by_number(&layout), counts, "{layout:?}");
        let mut found = survived(&layout);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}

/// Returns the minimum load of the busiest disk over all routings of reads: the maximum, over all
/// sets of surviving disks, of the data with copies only in the set, per disk of the set. Because
/// these disks must serve those data, no routing is better. By the max-flow min-cut theorem, one
/// routing is as good.
fn min_max_load(layout: &Layout, failed: DiskSet) -> f64 {
    let disks = layout.disks();
    let bits = |set: DiskSet| set.iter().fold(0_usize, |bits, disk| bits | 1 << disk);
    let mut within = vec![0; 1 << disks];
    for copies in layout.period() {
        let left = copies.disks().iter().filter(|disk| !failed.contains(*disk));
        within[bits(left.collect())] += 1;
    }
    // The data within a set are the sum of the data on exactly the disks of each subset.
    for disk in 0..disks {
        for set in (0..1 << disks).filter(|set| set >> disk & 1 == 1) {
            within[set] += within[set ^ 1 << disk];
        }
    }
    let density = |set: usize| f64::from(within[set]) / f64::from(set.count_ones());
    let sets = (1..1 << disks).filter(|set| set & bits(failed) == 0);
    sets.map(density).fold(0.0, f64::max) / layout.rows() as f64
}

/// Checks every set of failures of every layout.
#[test]
fn no_routing_has_a_smaller_maximum_load() {
    for layout in all(12) {
        for failed in survived(&layout) {
            let loads = loads(&layout, failed).unwrap();
            let left: Vec<f64> = loads.iter().flatten().map(|load| load.reads).collect();
            let max = left.iter().copied().fold(0.0, f64::max);
            let min = min_max_load(&layout, failed);
            assert!((max - min).abs() < 1e-9, "{layout:?} {failed:?}");
            // So if any routing makes the loads equal, they are equal.
            let equal = layout.disks() as f64 / left.len() as f64;
            assert!((left.iter().sum::<f64>() / equal - left.len() as f64).abs() < 1e-9);
            assert_eq!(is_balanced(&layout, failed), (min - equal).abs() < 1e-9);
        }
    }
}

/// Returns the number of surviving sets of `failures` with equal loads, and of all surviving sets.
fn balanced(layout: &Layout, failures: usize) -> (usize, usize) {
    let mut survived = survived(layout);
    survived.retain(|failed| failed.len() == failures);
    let balanced = survived
        .iter()
        .filter(|failed| is_balanced(layout, **failed));
    (balanced.count(), survived.len())
}

/// Section 9.2.3 says that a chain is balanced "only when k = 2^m". It is balanced exactly if
/// failures are equally far apart, as in N / k sets for each k that divides N.
#[test]
fn a_chain_is_balanced_if_failures_are_equally_far_apart() {
    for disks in 3..=12 {
        let chain = layout(LayoutKind::Chained, disks);
        for failures in 1..=disks / 2 {
            let expected = match disks % failures {
                0 => disks / failures,
                _ => 0,
            };
            assert_eq!(balanced(&chain, failures).0, expected, "{disks} {failures}");
        }
    }
    // Three of 12 disks: 4 sets, although 3 is not a power of 2; and 4 of 10: none, although 4 is.
    let twelve = layout(LayoutKind::Chained, 12);
    assert_eq!(balanced(&twelve, 3), (4, 112));
    assert!(is_balanced(&twelve, [0, 4, 8].into_iter().collect()));
    assert_eq!(balanced(&layout(LayoutKind::Chained, 10), 4), (0, 25));
    // The examples in the thesis: if disks 0 and 2 fail, disk 1 has twice its reads, and after four
    // failures of 8 all others have the same load.
    let [_, _, eight, _] = example();
    let loads = loads(&eight, [0, 2].into_iter().collect()).unwrap();
    assert_eq!(loads[1].unwrap().reads, 2.0);
    assert!((loads[5].unwrap().reads - 6.0 / 5.0).abs() < 1e-12);
    assert_eq!(balanced(&eight, 2), (4, 20));
    assert_eq!(balanced(&eight, 4), (2, 2));
}

/// Table 9.1, "load after one disk failure", for 8 disks in clusters of 4. Interleaved is balanced
/// only within clusters: the three disks left in a cluster serve 4/3, the other four 1.
#[test]
fn balance_after_one_failure_matches_table_9_1_except_for_interleaved() {
    let is_balanced = example().map(|layout| balanced(&layout, 1) == (8, 8));
    assert_eq!(is_balanced, [false, false, true, true]);
    let [_, interleaved, ..] = example();
    let loads = loads(&interleaved, DiskSet::NONE.with(0)).unwrap();
    let reads: Vec<f64> = loads.iter().flatten().map(|load| load.reads).collect();
    assert!(
        reads[..3]
            .iter()
            .all(|reads| (reads - 4.0 / 3.0).abs() < 1e-12)
    );
    assert!(reads[3..].iter().all(|reads| (reads - 1.0).abs() < 1e-12));
    // The interleaved layout is balanced if all disks are in one cluster.
    let one = layout(LayoutKind::Interleaved { cluster: 8 }, 8);
    assert_eq!(balanced(&one, 1), (8, 8));
}

fn assert_near(found: Load, reads: f64, writes: f64) {
    let error = found.distance(Load { reads, writes });
    assert!(error < 1e-12, "{found:?}, expected {reads} and {writes}");
}

fn failed(disks: &[usize]) -> DiskSet {
    disks.iter().copied().collect()
}

/// Equations 9.1, 9.3, 9.5 and 9.8: λ_R + 2 λ_W.
#[test]
fn loads_without_failures_match_the_thesis() {
    for layout in all(12) {
        for load in loads(&layout, DiskSet::NONE).unwrap() {
            assert_near(load.unwrap(), 1.0, 2.0);
        }
        assert!(is_balanced(&layout, DiskSet::NONE));
    }
}

/// Equations 9.2 and 9.4: the partner, or the rest of the cluster of n, has
/// n / (n - 1) λ_R + 2 λ_W, and the loads of other disks do not change. The line before 9.4 derives
/// 2 λ_W from (n - 2) / (n - 2), but should add n - 1 shares of 1 / (n - 1).
#[test]
fn loads_after_a_failure_in_a_pair_or_cluster_match_the_thesis() {
    for layout in all(12) {
        let cluster = match layout.kind() {
            LayoutKind::Basic => 2,
            LayoutKind::Interleaved { cluster } => cluster,
            _ => continue,
        };
        let more = cluster as f64 / (cluster as f64 - 1.0);
        for down in 0..layout.disks() {
            let loads = loads(&layout, failed(&[down])).unwrap();
            for (disk, load) in loads.into_iter().enumerate() {
                match load {
                    None => assert_eq!(disk, down),
                    Some(load) if disk / cluster == down / cluster => assert_near(load, more, 2.0),
                    Some(load) => assert_near(load, 1.0, 2.0),
                }
            }
        }
    }
}

/// Equations 9.3 and 9.4 for any share α of the reads at primary copies: α cancels.
#[test]
fn interleaved_loads_do_not_depend_on_the_share_of_primary_copies() {
    let layout = layout(LayoutKind::Interleaved { cluster: 4 }, 8);
    for alpha in [0.0, 0.3, 1.0] {
        let loads = loads_by(&layout, failed(&[1]), |_| alpha).unwrap();
        assert_near(loads[2].unwrap(), 4.0 / 3.0, 2.0);
        assert_near(loads[7].unwrap(), 1.0, 2.0);
    }
}

/// 9.6 and 9.7: disk i serves shares of the previous disk's reads and of its own. After disk 0 of n
/// has failed, these are (n - i) / (n - 1) and i / (n - 1); after disks 0 and n / 2, they are
/// (n - 2 i) / (n - 2) and 2 i / (n - 2). In 9.7 of the thesis, i includes the failed disks.
#[test]
fn shares_of_chains_match_the_thesis() {
    for disks in 3..=12 {
        let chain = layout(LayoutKind::Chained, disks);
        let one = failed(&[0]);
        for disk in 1..disks {
            let (n, i) = (disks as f64, disk as f64);
            assert_read_shares(&chain, disk, one, [(n - i) / (n - 1.0), i / (n - 1.0)]);
        }
        assert!(is_balanced(&chain, one));
        if disks % 2 == 1 || disks < 4 {
            continue;
        }
        let two = failed(&[0, disks / 2]);
        for disk in 1..disks / 2 {
            let (n, i) = (disks as f64 - 2.0, 2.0 * disk as f64);
            assert_read_shares(&chain, disk, two, [(n + 2.0 - i) / n, i / n]);
        }
        assert!(is_balanced(&chain, two));
    }
}

/// Asserts that `disk` of a chain serves these shares of the previous disk's reads and of its own.
#[track_caller]
fn assert_read_shares(chain: &Layout, disk: usize, failed: DiskSet, expected: [f64; 2]) {
    let previous = (disk + chain.disks() - 1) % chain.disks();
    let share = |primary: usize| {
        let copies = chain.copy_disks(primary as u64);
        match (failed.contains(primary), failed.contains(copies.secondary)) {
            (true, _) => 0.0,
            (_, true) => 1.0,
            _ => chain.primary_share(copies, failed),
        }
    };
    let shares = [1.0 - share(previous), share(disk)];
    let off = [shares[0] - expected[0], shares[1] - expected[1]];
    assert!(off.iter().all(|off| off.abs() < 1e-12), "{disk}: {off:?}");
}

/// 9.9 and 9.10 give n / (2 n - k) λ_R + λ_W after k failures in one cluster, half of the load on
/// the scale of 9.8: here the thesis assumes that one of two clusters has primary copies only, and
/// the other one secondary copies only, so 2 n disks have the data of n. By enumeration, 4 + 4
/// disks serve 8/7 of the reads each, not 4/7. In the line before 9.9, α / n of the failed disk's
/// reads should be 1 / n; the result is right.
#[test]
fn loads_of_group_rotate_are_twice_those_of_the_thesis() {
    for cluster in 1..=6 {
        let layout = layout(LayoutKind::GroupRotate { cluster }, 2 * cluster);
        for failures in 0..=cluster {
            let down = (0..failures).collect();
            let printed = cluster as f64 / (2 * cluster - failures) as f64;
            for load in loads(&layout, down).unwrap().into_iter().flatten() {
                assert_near(load, 2.0 * printed, 2.0);
            }
            assert!(is_balanced(&layout, down));
        }
    }
    let [.., rotate] = example();
    let found = loads(&rotate, failed(&[2])).unwrap()[5].unwrap();
    assert_near(found, 8.0 / 7.0, 2.0);
}

/// 20 runs of 4,000 requests to random blocks, two thirds of them reads, after two failures.
#[test]
fn loads_match_simulated_requests() {
    const READS: f64 = 2.0 / 3.0;
    for layout in example() {
        // The failed disks are in different clusters, but in one cluster of group rotate.
        let down = match layout.kind() {
            LayoutKind::GroupRotate { .. } => failed(&[1, 3]),
            _ => failed(&[1, 4]),
        };
        let run = |seed| {
            let mut random = Random::new(seed);
            let mut accesses = [0.0; 8];
            for _ in 0..4_000 {
                let copies = layout.copy_disks((random.uniform() * 96_000.0) as u64);
                let left = |disk: usize| !down.contains(disk);
                let both = left(copies.primary) && left(copies.secondary);
                let is_first = if both {
                    random.uniform() < layout.primary_share(copies, down)
                } else {
                    left(copies.primary)
                };
                let is_read = random.uniform() < READS;
                let [first, second] = [copies.primary, copies.secondary];
                for (disk, is_chosen) in [(first, is_first), (second, !is_first)] {
                    if left(disk) && (is_chosen || !is_read) {
                        accesses[disk] += 8.0 / 4_000.0;
                    }
                }
            }
            accesses
        };
        let found = means((1..=20).map(run));
        for (load, found) in loads(&layout, down).unwrap().into_iter().zip(found) {
            if let Some(load) = load {
                found.assert_near(load.accesses(READS));
            }
        }
    }
}

const EXACT: f64 = 1e-12;

/// Counts the sets of k failed disks that lose no data, for k from 0 to the number of disks.
fn survived_by_number(layout: &Layout) -> Vec<u64> {
    let mut counts = vec![0; layout.disks() + 1];
    for failed in survived(layout) {
        counts[failed.len()] += 1;
    }
    counts
}

/// Returns the probability that `failures` lose no data, if all sets are equally likely.
pub fn survival(layout: &Layout, failures: usize) -> f64 {
    let sets = binomial(layout.disks() as u64, failures as u64);
    survived_by_number(layout)[failures] as f64 / sets as f64
}

/// Returns the probability according to the thesis.
fn printed(layout: &Layout, failures: usize) -> f64 {
    printed_survival(layout, failures).unwrap().1
}

/// 8 disks in clusters of 4, after 2, 3 and 4 failures, to three decimals.
#[test]
fn the_example_in_the_thesis_is_exact() {
    let expected = [
        [0.857, 0.571, 0.229],
        [0.571, 0.0, 0.0],
        [0.714, 0.286, 0.029],
        [0.429, 0.143, 0.029],
    ];
    for (layout, expected) in example().iter().zip(expected) {
        for (failures, expected) in (2..).zip(expected) {
            let exact = survival(layout, failures);
            let printed = printed(layout, failures);
            assert!((printed - exact).abs() < EXACT, "{layout:?} {failures}");
            assert!((exact - expected).abs() < 5e-4, "{layout:?} {failures}");
        }
    }
}

#[test]
fn equations_9_11_and_9_12_are_exact() {
    for layout in all(12) {
        let is_covered = matches!(
            layout.kind(),
            LayoutKind::Basic | LayoutKind::Interleaved { .. }
        );
        for failures in (0..=layout.disks()).filter(|_| is_covered) {
            let printed = printed(&layout, failures);
            let exact = survival(&layout, failures);
            assert!((printed - exact).abs() < EXACT, "{layout:?} {failures}");
        }
    }
}

/// "Note that this is smaller than basic disk mirroring": true for clusters of more than two.
#[test]
fn interleaved_survives_less_than_basic() {
    for disks in [6, 8, 12] {
        for cluster in (3..=disks).filter(|cluster| disks % cluster == 0) {
            for failures in 2..=disks / 2 {
                let interleaved = layout(LayoutKind::Interleaved { cluster }, disks);
                let basic = layout(LayoutKind::Basic, disks);
                assert!(printed(&interleaved, failures) < printed(&basic, failures));
            }
        }
    }
}

/// The equations hold unless all disks fail. Then they give 1 or -1, although data are lost.
#[test]
fn equations_9_13_to_9_16_are_exact_unless_all_disks_fail() {
    let mut wrong = Vec::new();
    for disks in 2..=12 {
        let chain = layout(LayoutKind::Chained, disks);
        for failures in 1..=4.min(disks) {
            let printed = printed(&chain, failures);
            let exact = survival(&chain, failures);
            if (printed - exact).abs() > EXACT {
                assert_eq!(exact, 0.0);
                wrong.push((disks, failures, printed));
            }
        }
        assert_eq!(printed_survival(&chain, 5), None);
    }
    assert_eq!(wrong, [(2, 2, -1.0), (3, 3, 1.0), (4, 4, -1.0)]);
}

/// The number of sets of k disks on a ring without neighbours: N / (N - k) C(N - k, k).
#[test]
fn surviving_sets_of_a_chain_have_no_neighbours() {
    for disks in 3..=16_u64 {
        let counts = survived_by_number(&layout(LayoutKind::Chained, disks as usize));
        for (k, count) in (0..disks).zip(counts) {
            let expected = disks * binomial(disks - k, k) / (disks - k);
            assert_eq!(count, expected, "{disks} {k}");
        }
    }
}

/// With four or more clusters, the equation counts too few surviving sets.
#[test]
fn equation_9_17_is_exact_for_two_clusters_only() {
    for layout in all(12) {
        let LayoutKind::GroupRotate { cluster } = layout.kind() else {
            continue;
        };
        for failures in 1..=cluster {
            let printed = printed(&layout, failures);
            let exact = survival(&layout, failures);
            let is_correct = (printed - exact).abs() < EXACT;
            let is_pair = layout.disks() == 2 * cluster;
            let is_expected = is_pair || failures == 1;
            assert_eq!(is_correct, is_expected, "{layout:?} {failures}");
            assert!(printed < exact + EXACT);
        }
    }
    let layout = layout(LayoutKind::GroupRotate { cluster: 2 }, 8);
    let (counts, printed) = (survived_by_number(&layout), printed(&layout, 2));
    assert_eq!((counts[2], (printed * 28.0).round()), (20, 4.0));
}

/// Each pair of clusters has 2 (1 + x)^n - 1 surviving sets, by powers of x for failures.
#[test]
fn pairs_of_clusters_fail_independently() {
    for layout in all(16) {
        let LayoutKind::GroupRotate { cluster } = layout.kind() else {
            continue;
        };
        let mut product = vec![1];
        for _ in 0..layout.disks() / (2 * cluster) {
            let mut next = vec![0; product.len() + cluster];
            for (failures, sets) in product.iter().enumerate() {
                for more in 0..=cluster {
                    let factor = if more == 0 { 1 } else { 2 };
                    next[failures + more] += sets * factor * binomial(cluster as u64, more as u64);
                }
            }
            product = next;
        }
        product.resize(layout.disks() + 1, 0);
        assert_eq!(survived_by_number(&layout), product, "{layout:?}");
    }
}

/// 20 runs of 2,000 random failures of three of 12 disks; losses are determined block by block.
#[test]
fn survival_matches_simulated_failures() {
    for kind in [
        LayoutKind::Basic,
        LayoutKind::Interleaved { cluster: 3 },
        LayoutKind::Chained,
        LayoutKind::GroupRotate { cluster: 3 },
    ] {
        let layout = layout(kind, 12);
        let copies: Vec<DiskSet> = layout.period().map(CopyDisks::disks).collect();
        let run = |seed| {
            let mut random = Random::new(seed);
            let survived = (0..2_000).filter(|_| {
                let mut failed = DiskSet::NONE;
                for _ in 0..3 {
                    failed = failed.with(fail_another(&mut random, &layout, failed));
                }
                copies.iter().all(|disks| disks.union(failed) != failed)
            });
            [survived.count() as f64 / 2_000.0]
        };
        let [mean] = means((1..=20).map(run));
        mean.assert_near(survival(&layout, 3));
    }
}

/// Table 9.1, "maximum number of failed disks".
#[test]
fn the_maximum_number_of_failures_matches_table_9_1() {
    for layout in all(12) {
        let expected = match layout.kind() {
            LayoutKind::Interleaved { cluster } => layout.disks() / cluster,
            _ => layout.disks() / 2,
        };
        let counts = survived_by_number(&layout);
        let most_failures = counts.iter().rposition(|count| *count > 0);
        assert_eq!(most_failures, Some(expected), "{layout:?}");
    }
}
