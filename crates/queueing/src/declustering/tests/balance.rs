//! Whether a routing could balance better, and when the loads are equal.

use super::*;

/// The least that the busiest disk can serve of the reads, for any routing: the greatest, over all
/// sets of disks that are left, of the data whose copies are nowhere else per disk of the set. No
/// routing is below it, as these disks have to serve those data; and one reaches it, by the
/// theorem of maximum flow and minimum cut.
fn least_greatest_load(layout: &Layout, failed: DiskSet) -> f64 {
    let disks = layout.disks();
    let bits = |set: DiskSet| set.iter().fold(0_usize, |bits, disk| bits | 1 << disk);
    let mut within = vec![0; 1 << disks];
    for place in layout.period() {
        let left = place.disks().iter().filter(|disk| !failed.contains(*disk));
        within[bits(left.collect())] += 1;
    }
    // Data within a set are the sum of those on exactly its subsets.
    for disk in 0..disks {
        for set in (0..1 << disks).filter(|set| set >> disk & 1 == 1) {
            within[set] += within[set ^ 1 << disk];
        }
    }
    let density = |set: usize| f64::from(within[set]) / f64::from(set.count_ones());
    let sets = (1..1 << disks).filter(|set| set & bits(failed) == 0);
    sets.map(density).fold(0.0, f64::max) / layout.rows() as f64
}

/// Every set of failures of every layout.
#[test]
fn no_routing_has_a_smaller_greatest_load() {
    for layout in all(12) {
        for failed in layout.survived() {
            let loads = layout.loads(failed).unwrap();
            let left: Vec<f64> = loads.iter().flatten().map(|load| load.reads).collect();
            let greatest = left.iter().copied().fold(0.0, f64::max);
            let min = least_greatest_load(&layout, failed);
            assert!((greatest - min).abs() < 1e-9, "{layout:?} {failed:?}");
            // So loads are equal wherever any routing makes them equal.
            let equal = layout.disks() as f64 / left.len() as f64;
            assert!((left.iter().sum::<f64>() / equal - left.len() as f64).abs() < 1e-9);
            assert_eq!(layout.is_balanced(failed), (min - equal).abs() < 1e-9);
        }
    }
}

/// How many of the sets of `failures` that survive leave equal loads.
fn balanced(layout: &Layout, failures: usize) -> (usize, usize) {
    let mut survived = layout.survived();
    survived.retain(|failed| failed.len() == failures);
    let balanced = survived
        .iter()
        .filter(|failed| layout.is_balanced(**failed));
    (balanced.count(), survived.len())
}

/// Section 9.2.3 says that a chain is balanced "only when k = 2^m". It is balanced exactly where
/// failures are equally far apart, for every k from 2 on that divides N: N / k sets.
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
    // Three of 12 disks: 4 sets, though 3 is no power of 2; and 4 of 10: none, though 4 is one.
    let twelve = layout(LayoutKind::Chained, 12);
    assert_eq!(balanced(&twelve, 3), (4, 112));
    assert!(twelve.is_balanced([0, 4, 8].into_iter().collect()));
    assert_eq!(balanced(&layout(LayoutKind::Chained, 10), 4), (0, 25));
    // The examples of the thesis: disks 0 and 2 leave disk 1 with twice its reads, and four
    // failures of 8 leave all others with as much.
    let [_, _, eight, _] = example();
    let loads = eight.loads([0, 2].into_iter().collect()).unwrap();
    assert_eq!(loads[1].unwrap().reads, 2.0);
    assert!((loads[5].unwrap().reads - 6.0 / 5.0).abs() < 1e-12);
    assert_eq!(balanced(&eight, 2), (4, 20));
    assert_eq!(balanced(&eight, 4), (2, 2));
}

/// Table 9.1, "load after one disk failure", for 8 disks in clusters of 4. Interleaved is balanced
/// in the cluster of the failed disk only: these three serve 4/3 of the reads, the other four 1.
#[test]
fn one_failure_is_balanced_as_table_9_1_says_but_for_interleaved() {
    let is_balanced = example().map(|layout| balanced(&layout, 1) == (8, 8));
    assert_eq!(is_balanced, [false, false, true, true]);
    let [_, interleaved, ..] = example();
    let loads = interleaved.loads(DiskSet::NONE.with(0)).unwrap();
    let reads: Vec<f64> = loads.iter().flatten().map(|load| load.reads).collect();
    assert!(
        reads[..3]
            .iter()
            .all(|reads| (reads - 4.0 / 3.0).abs() < 1e-12)
    );
    assert!(reads[3..].iter().all(|reads| (reads - 1.0).abs() < 1e-12));
    // In one cluster of all disks it is, as chained and group rotate are.
    let one = layout(LayoutKind::Interleaved { cluster: 8 }, 8);
    assert_eq!(balanced(&one, 1), (8, 8));
}
