//! The mean time to data loss: failures and repairs as a Markov chain.

use std::collections::BTreeMap;

use diskarm_core::declustered::{DiskSet, Layout, LayoutKind};

/// Sets of failed disks that are equivalent by a symmetry of the layout. `failed` is one such set.
struct State {
    failed: DiskSet,
    /// The rates of transitions, by the numbers of the states they lead to; 0 beyond the end.
    rates: Vec<f64>,
    loss: f64,
    /// The time that a unit of time in this state represents; above 1 after an elimination.
    time: f64,
}

/// Returns the mean time until data are lost, starting without failures. Times to failure and to
/// repair are exponential with these positive means, in the unit of the result. Failed disks are
/// repaired independently and in parallel. An infinite `repair` means no repairs.
///
/// A state of the chain is a set of failed disks that loses no data, together with all sets that
/// are equivalent to it by a symmetry of the layout. This is exact. The number of failed disks
/// alone suffices as a state for basic mirroring, interleaved clusters and group rotate with two
/// clusters, but not for a chain: failures of disks 0 and 2 endanger three disks, whereas failures
/// of 0 and 4 endanger four.
///
/// The chain is solved by eliminating states without subtractions, so the result is accurate
/// however rare failures are (Grassmann, Taksar and Heyman, "Regenerative analysis and steady state
/// distributions for Markov chains", 1985).
pub fn mean_time_to_data_loss(layout: &Layout, failure: f64, repair: f64) -> f64 {
    solve(layout, failure, repair, |failed| shape(layout, failed))
}

/// Returns the approximate mean time to data loss for repairs much shorter than the time to
/// failure: MTTF^2 / N (G - 1) MTTR (liu05, appendix A), in the unit of `failure` and `repair`.
///
/// The appendix defines G as the number of disks in a parity group. Here G - 1 disks share data
/// with each disk: 1, n - 1, 2 and n for basic, interleaved, chained and group rotate.
pub fn approximate_time_to_data_loss(layout: &Layout, failure: f64, repair: f64) -> f64 {
    let endangered = layout.sharing(0).len();
    failure * failure / (layout.disks() as f64 * endangered as f64 * repair)
}

/// Returns the same value for all sets of failed disks that are equivalent by symmetry.
fn shape(layout: &Layout, failed: DiskSet) -> Vec<usize> {
    match layout.kind() {
        LayoutKind::Basic | LayoutKind::Interleaved { .. } => vec![failed.len()],
        LayoutKind::Chained => min_rotation(&gaps(layout, failed)),
        LayoutKind::GroupRotate { cluster } => {
            let pairs = (0..layout.disks()).step_by(2 * cluster);
            let failures = |first: usize| {
                let disks = first..first + 2 * cluster;
                disks.filter(|disk| failed.contains(*disk)).count()
            };
            let mut counts: Vec<usize> = pairs.map(failures).collect();
            counts.sort_unstable();
            counts
        }
    }
}

/// Returns the distance from each failed disk to the next, around the ring of disks.
fn gaps(layout: &Layout, failed: DiskSet) -> Vec<usize> {
    let wrapped = failed.iter().next().map(|first| first + layout.disks());
    let next = failed.iter().skip(1).chain(wrapped);
    failed
        .iter()
        .zip(next)
        .map(|(disk, next)| next - disk)
        .collect()
}

/// Returns the mean time to data loss of a Markov chain whose states are the values of `shape`.
fn solve<S: Ord>(layout: &Layout, failure: f64, repair: f64, shape: impl Fn(DiskSet) -> S) -> f64 {
    let mut states = states(layout, 1.0 / failure, 1.0 / repair, shape);
    while states.len() > 1 {
        eliminate_last(&mut states);
    }
    states[0].time / states[0].loss
}

fn states<S: Ord>(
    layout: &Layout,
    failure_rate: f64,
    repair_rate: f64,
    shape: impl Fn(DiskSet) -> S,
) -> Vec<State> {
    let new = |failed| State {
        failed,
        rates: Vec::new(),
        loss: 0.0,
        time: 1.0,
    };
    let mut states = vec![new(DiskSet::NONE)];
    let mut numbers = BTreeMap::from([(shape(DiskSet::NONE), 0)]);
    let mut at = 0;
    while at < states.len() {
        let failed = states[at].failed;
        for disk in 0..layout.disks() {
            let (next, rate) = if failed.contains(disk) {
                (failed.without(disk), repair_rate)
            } else if layout.sharing(disk).intersects(failed) {
                states[at].loss += failure_rate;
                continue;
            } else {
                (failed.with(disk), failure_rate)
            };
            let number = *numbers.entry(shape(next)).or_insert_with(|| {
                states.push(new(next));
                states.len() - 1
            });
            states[at].add(number, rate);
        }
        at += 1;
    }
    states
}

impl State {
    fn add(&mut self, to: usize, rate: f64) {
        if self.rates.len() <= to {
            self.rates.resize(to + 1, 0.0);
        }
        self.rates[to] += rate;
    }
}

/// Removes the last state and redirects the transitions into it to its successors.
fn eliminate_last(states: &mut Vec<State>) {
    let Some(last) = states.pop() else { return };
    let number = states.len();
    let outgoing: Vec<(usize, f64)> = last.rates.iter().copied().enumerate().collect();
    let outgoing = || outgoing.iter().filter(|(_, rate)| *rate > 0.0);
    let total_rate = outgoing().map(|(_, rate)| rate).sum::<f64>() + last.loss;
    for (from, state) in states.iter_mut().enumerate() {
        let rate = state.rates.get(number).copied().unwrap_or(0.0);
        state.rates.truncate(number);
        if rate == 0.0 {
            continue;
        }
        let visits = rate / total_rate;
        state.time += visits * last.time;
        state.loss += visits * last.loss;
        for (to, rate) in outgoing().filter(|(to, _)| *to != from) {
            state.add(*to, visits * rate);
        }
    }
}

/// Returns the minimum over all rotations and reversals of `ring`.
fn min_rotation(ring: &[usize]) -> Vec<usize> {
    let reversed: Vec<usize> = ring.iter().rev().copied().collect();
    let rotated = |by: usize, ring: &[usize]| [&ring[by..], &ring[..by]].concat();
    let rotations = (0..ring.len()).flat_map(|by| [rotated(by, ring), rotated(by, &reversed)]);
    rotations.min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declustering::tests::{all, example, fail_another, layout, survival};
    use crate::simulated::{Random, means};

    /// Two disks, calculated by hand: the first failure occurs after 1 / 2 f on average; then this
    /// disk is repaired at rate r, or the other one fails at rate f. So T = 3 / 2 f + r / 2 f^2.
    #[test]
    fn two_disks_match_a_calculation_by_hand() {
        for kind in [LayoutKind::Basic, LayoutKind::Chained] {
            let found = mean_time_to_data_loss(&layout(kind, 2), 1e6, 24.0);
            let expected = 1.5e6 + 1e12 / 48.0;
            assert!((found / expected - 1.0).abs() < 1e-14, "{found}");
        }
    }

    /// Two pairs, calculated by hand for the failure rate f and repair rate r: T0 = 1 / 4 f + T1.
    #[test]
    fn four_disks_match_a_calculation_by_hand() {
        let (f, r) = (0.01, 0.3);
        // T1 (3 f + r) = 1 + r T0 + 2 f T2, T2 (2 f + 2 r) = 1 + 2 r T1.
        let two = |one: f64| (1.0 + 2.0 * r * one) / (2.0 * f + 2.0 * r);
        let off =
            |one: f64| one * (3.0 * f + r) - 1.0 - r * (1.0 / (4.0 * f) + one) - 2.0 * f * two(one);
        // The equation is linear in T1.
        let one = off(0.0) / (off(0.0) - off(1.0));
        let found = mean_time_to_data_loss(&layout(LayoutKind::Basic, 4), 1.0 / f, 1.0 / r);
        let expected = 1.0 / (4.0 * f) + one;
        assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
    }

    /// Without repairs, the mean time is the sum over k of the probability that data survive k
    /// failures, times the mean time to the next one.
    #[test]
    fn time_without_repairs_follows_from_the_survival_probabilities() {
        for layout in all(12) {
            let found = mean_time_to_data_loss(&layout, 100.0, f64::INFINITY);
            let disks = layout.disks();
            let terms = (0..disks).map(|k| survival(&layout, k) * 100.0 / (disks - k) as f64);
            let expected: f64 = terms.sum();
            assert!((found / expected - 1.0).abs() < 1e-12, "{layout:?}");
        }
    }

    #[test]
    fn symmetric_states_are_exact() {
        for layout in all(10) {
            let found = mean_time_to_data_loss(&layout, 30.0, 7.0);
            // The full chain has a state for each set of failed disks.
            let full = solve(&layout, 30.0, 7.0, |failed| failed);
            assert!((found / full - 1.0).abs() < 1e-12, "{layout:?}");
        }
    }

    #[test]
    fn the_number_of_failures_is_not_a_state_of_a_chain() {
        let [_, _, chain, _] = example();
        let endangered = |failed: [usize; 2]| {
            let failed: DiskSet = failed.into_iter().collect();
            (0..8)
                .filter(|disk| chain.sharing(*disk).intersects(failed))
                .count()
        };
        assert_eq!((endangered([0, 2]), endangered([0, 4])), (3, 4));
        let approximate = solve(&chain, 30.0, 7.0, DiskSet::len);
        let exact = mean_time_to_data_loss(&chain, 30.0, 7.0);
        assert!((approximate / exact - 1.0).abs() > 1e-3, "{approximate}");
    }

    /// Appendix A is the limit for short repairs; its relative error is a few times MTTR / MTTF.
    #[test]
    fn short_repairs_approach_appendix_a() {
        for layout in all(12) {
            for ratio in [1e-3, 1e-5, 1e-9] {
                let found = mean_time_to_data_loss(&layout, 1.0, ratio);
                let limit = approximate_time_to_data_loss(&layout, 1.0, ratio);
                assert!(found > limit * (1.0 - 1e-12), "{layout:?}");
                let tolerance = 3.0 * layout.disks() as f64 * ratio;
                assert!(found / limit - 1.0 < tolerance, "{layout:?} {ratio}");
            }
        }
        let endangered = example().map(|layout| layout.sharing(0).len());
        assert_eq!(endangered, [1, 3, 2, 4]);
    }

    /// Simulates 20 means of 500 runs: each disk fails and is repaired at independent random times,
    /// and data are lost when both disks of a block are down.
    #[test]
    fn mean_time_to_data_loss_matches_a_simulation() {
        const MEANS: [f64; 2] = [100.0, 10.0];
        for layout in example() {
            let copies: Vec<DiskSet> = layout.period().map(|copies| copies.disks()).collect();
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
                    if copies.iter().any(|copies| copies.union(down) == down) {
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
            mean.assert_near(mean_time_to_data_loss(&layout, MEANS[0], MEANS[1]));
        }
        let mut random = Random::new(1);
        let [basic, ..] = example();
        assert_eq!(fail_another(&mut random, &basic, (0..7).collect()), 7);
    }
}
