use super::*;
use crate::declustering::Survival;
use crate::declustering::tests::{all, example, fail_another, layout};
use crate::queue::{Random, means};

/// Two disks, by hand: from both, after 1 / 2 f, to one; from there back at the rate r, or lost at
/// f. So T = 3 / 2 f + r / 2 f^2.
#[test]
fn two_disks_are_as_by_hand() {
    for kind in [LayoutKind::Basic, LayoutKind::Chained] {
        let found = layout(kind, 2).mean_time_to_data_loss(1e6, 24.0);
        let expected = 1.5e6 + 1e12 / 48.0;
        assert!((found / expected - 1.0).abs() < 1e-14, "{found}");
    }
}

/// Two pairs, by hand, for failures at the rate f and repairs at r: T0 = 1 / 4 f + T1, and T1 and
/// T2 by their first steps.
#[test]
fn four_disks_are_as_by_hand() {
    let (f, r) = (0.01, 0.3);
    // T1 (3 f + r) = 1 + r T0 + 2 f T2, T2 (2 f + 2 r) = 1 + 2 r T1.
    let two = |one: f64| (1.0 + 2.0 * r * one) / (2.0 * f + 2.0 * r);
    let off =
        |one: f64| one * (3.0 * f + r) - 1.0 - r * (1.0 / (4.0 * f) + one) - 2.0 * f * two(one);
    // Linear in T1.
    let one = off(0.0) / (off(0.0) - off(1.0));
    let found = layout(LayoutKind::Basic, 4).mean_time_to_data_loss(1.0 / f, 1.0 / r);
    assert!(
        (found / (1.0 / (4.0 * f) + one) - 1.0).abs() < 1e-12,
        "{found}"
    );
}

/// Without repairs the mean time is the sum over k of the probability that k failures survive,
/// times the mean time to the next one.
#[test]
fn without_repairs_it_follows_from_the_counts() {
    for layout in all(12) {
        let found = layout.mean_time_to_data_loss(100.0, f64::INFINITY);
        let disks = layout.disks();
        let terms = (0..disks).map(|k| layout.survival(k) * 100.0 / (disks - k) as f64);
        assert!(
            (found / terms.sum::<f64>() - 1.0).abs() < 1e-12,
            "{layout:?}"
        );
    }
}

/// The same with a state for each set of failed disks.
#[test]
fn symmetric_states_are_exact() {
    for layout in all(10) {
        let found = layout.mean_time_to_data_loss(30.0, 7.0);
        let full = solved(&layout, 30.0, 7.0, |failed| failed);
        assert!((found / full - 1.0).abs() < 1e-12, "{layout:?}");
    }
}

/// For a chain, the number of failures is not enough of a state.
#[test]
fn the_number_of_failures_is_no_state_of_a_chain() {
    let [_, _, chain, _] = example();
    let of = |failed: [usize; 2]| {
        let failed: DiskSet = failed.into_iter().collect();
        (0..8)
            .filter(|disk| chain.sharing(*disk).intersects(failed))
            .count()
    };
    assert_eq!((of([0, 2]), of([0, 4])), (3, 4));
    let rough = solved(&chain, 30.0, 7.0, DiskSet::len);
    let exact = chain.mean_time_to_data_loss(30.0, 7.0);
    assert!((rough / exact - 1.0).abs() > 1e-3, "{rough} {exact}");
}

/// Appendix A is the limit for short repairs: off by a few times MTTR / MTTF.
#[test]
fn short_repairs_lead_to_appendix_a() {
    for layout in all(12) {
        for ratio in [1e-3, 1e-5, 1e-9] {
            let found = layout.mean_time_to_data_loss(1.0, ratio);
            let limit = layout.approximate_time_to_data_loss(1.0, ratio);
            let disks = layout.disks() as f64;
            assert!(found > limit * (1.0 - 1e-12), "{layout:?}");
            assert!(
                found / limit - 1.0 < 3.0 * disks * ratio,
                "{layout:?} {ratio}"
            );
        }
    }
    let endangered = example().map(|layout| layout.sharing(0).len());
    assert_eq!(endangered, [1, 3, 2, 4]);
}

/// Disks with clocks of their own: each fails and is repaired at instants drawn for it, and data
/// are lost when both disks of a block are down. 20 means of 500 runs.
#[test]
fn simulated_disks_agree() {
    const MEANS: [f64; 2] = [100.0, 10.0];
    for layout in example() {
        let places: Vec<DiskSet> = layout.period().map(|place| place.disks()).collect();
        let lost = |random: &mut Random| {
            let mut next = [0.0; 8].map(|_: f64| random.exponential(1.0 / MEANS[0]));
            let mut down = DiskSet::NONE;
            loop {
                let disk = (0..8).min_by(|a, b| next[*a].total_cmp(&next[*b])).unwrap();
                let now = next[disk];
                let is_up = !down.contains(disk);
                down = if is_up {
                    down.with(disk)
                } else {
                    down.without(disk)
                };
                if places.iter().any(|place| place.union(down) == down) {
                    return now;
                }
                next[disk] = now + random.exponential(1.0 / MEANS[usize::from(is_up)]);
            }
        };
        let run = |seed| {
            let mut random = Random::new(seed);
            [(0..500).map(|_| lost(&mut random)).sum::<f64>() / 500.0]
        };
        let [mean] = means((1..=20).map(run));
        mean.assert_near(layout.mean_time_to_data_loss(MEANS[0], MEANS[1]));
    }
    let mut random = Random::new(1);
    let [basic, ..] = example();
    assert_eq!(fail_another(&mut random, &basic, (0..7).collect()), 7);
}
