//! The distribution of seek distances between independent, uniform requests.

use std::ops::Range;

use diskarm_core::geometry::Layout;
use diskarm_core::units::Lbn;

use crate::moments::Moments;

/// The distribution of the distance between two independent requests, in cylinders.
///
/// Requests are uniform over the sectors, so the probability of a cylinder is proportional to its
/// number of sectors (liu05, equation 4.1). Pairs of sectors are counted as exact integers.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    /// The number of pairs of sectors by the distance between their cylinders, in one direction.
    pairs: Vec<i128>,
    sectors: i128,
}

impl Distances {
    /// Returns the distances between the sectors of a drive.
    ///
    /// Spare and reserved sectors are not counted; relocated sectors count at their new location.
    pub fn new(layout: &Layout) -> Self {
        let blocks = Lbn(0)..Lbn(layout.sectors().0);
        Self::from_cylinders(&sectors_by_cylinder(&blocks, layout))
    }

    /// Returns the distances for cylinders of equal capacity, without zones (liu05, section 4.1.1).
    ///
    /// P(0) = 1 / C and P(d) = 2 (C - d) / C^2 for C cylinders. The thesis prints P(d) as
    /// 2 (C - d) / (C (C - 1)), which is the distance between two *different* cylinders: with the
    /// thesis' P(0), it adds up to 1 + 1 / C.
    pub fn equal(cylinders: u32) -> Self {
        Self::from_cylinders(&vec![1; cylinders as usize])
    }

    /// Returns the distances for cylinders with the capacities `sectors`: liu05, eq. 4.2 and 4.3.
    ///
    /// The sum over all pairs of cylinders is the autocorrelation of `sectors`. Its second
    /// difference is the autocorrelation of the steps from one cylinder to the next. A zoned drive
    /// has few steps, so the cost is the number of cylinders plus the number of pairs of steps.
    /// Panics if there are more than 2^62 sectors.
    pub fn from_cylinders(sectors: &[u64]) -> Self {
        let total: u128 = sectors.iter().copied().map(u128::from).sum();
        assert!(total <= 1 << 62, "{total} sectors");
        let capacity = |at: usize| sectors.get(at).map_or(0, |count| i128::from(*count));
        let step = |at: usize| capacity(at) - at.checked_sub(1).map_or(0, capacity);
        let steps: Vec<(usize, i128)> = (0..=sectors.len())
            .map(|at| (at, step(at)))
            .filter(|(_, step)| *step != 0)
            .collect();
        let mut second_differences = vec![0; sectors.len() + 1];
        for (number, (from, first)) in steps.iter().enumerate() {
            for (to, second) in &steps[number..] {
                second_differences[to - from] += first * second;
            }
        }
        // Down from the longest distance: difference = 2 pairs(d) - pairs(d + 1) - pairs(d - 1).
        let mut pairs = vec![0; sectors.len()];
        let (mut current, mut previous) = (0, 0);
        for distance in (0..sectors.len()).rev() {
            let next = 2 * current - previous - second_differences[distance + 1];
            (current, previous) = (next, current);
            pairs[distance] = current;
        }
        Self {
            pairs,
            sectors: total as i128,
        }
    }

    pub fn cylinders(&self) -> u32 {
        self.pairs.len() as u32
    }

    /// Returns the probability of this distance; 0 if it exceeds the stroke.
    pub fn probability(&self, distance: u32) -> f64 {
        let pairs = self.pairs.get(distance as usize).copied().unwrap_or(0);
        let directions = if distance == 0 { 1 } else { 2 };
        match self.sectors {
            0 => 0.0,
            sectors => directions as f64 * pairs as f64 / sectors as f64 / sectors as f64,
        }
    }

    pub fn mean_cylinders(&self) -> f64 {
        self.moments(f64::from).first
    }

    /// Returns the moments of a `time` that depends on the distance (liu05, equation 4.4).
    pub fn moments(&self, time: impl Fn(u32) -> f64) -> Moments {
        let weighted = |distance| {
            (
                self.probability(distance),
                Moments::constant(time(distance)),
            )
        };
        Moments::mixture((0..self.cylinders()).map(weighted))
    }

    /// Returns the moments of a time with these moments at each distance.
    pub(crate) fn mixture(&self, times: &[Moments]) -> Moments {
        let distances = (0..).zip(times);
        Moments::mixture(distances.map(|(distance, time)| (self.probability(distance), *time)))
    }
}

/// Returns the number of sectors in `blocks` in each cylinder of the drive.
pub(crate) fn sectors_by_cylinder(blocks: &Range<Lbn>, layout: &Layout) -> Vec<u64> {
    let mut sectors = vec![0; layout.cylinders() as usize];
    let mut at = blocks.start;
    while at < blocks.end {
        let run = layout.extent(at);
        let left = blocks.end.0 - at.0;
        sectors[run.cylinder.0 as usize] += run.sectors.0.min(left);
        at = at + run.sectors;
    }
    sectors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::tests::plain;

    /// Enumerates all ordered pairs of cylinders.
    fn enumerated(sectors: &[u64]) -> Vec<f64> {
        let total: u64 = sectors.iter().sum();
        let mut pairs = vec![0; sectors.len()];
        for (from, first) in sectors.iter().enumerate() {
            for (to, second) in sectors.iter().enumerate() {
                pairs[from.abs_diff(to)] += first * second;
            }
        }
        let square = total as f64 * total as f64;
        pairs.iter().map(|&pairs| pairs as f64 / square).collect()
    }

    fn assert_enumerated(sectors: &[u64]) {
        let found = Distances::from_cylinders(sectors);
        for (distance, expected) in (0..).zip(enumerated(sectors)) {
            let off = found.probability(distance) - expected;
            assert!(off.abs() < 1e-15, "{distance}: {expected} {off:+}");
        }
    }

    #[test]
    fn distances_match_an_enumeration_of_pairs() {
        assert_enumerated(&[7]);
        assert_enumerated(&[0, 3, 3, 0, 0, 5, 1, 0]);
        let zoned = (0..300).map(|k| 400 - 100 * (k / 90));
        assert_enumerated(&Vec::from_iter(zoned));
        let uneven = (0..200).map(|k| k * 7919 % 101);
        assert_enumerated(&Vec::from_iter(uneven));
    }

    #[test]
    fn distances_of_a_drive_match_its_blocks() {
        let layout = plain("hp-335h").1.layout;
        let mut sectors = vec![0; layout.cylinders() as usize];
        for lbn in 0..layout.sectors().0 {
            sectors[layout.pba(Lbn(lbn)).cylinder.0 as usize] += 1;
        }
        assert_eq!(Distances::new(&layout), Distances::from_cylinders(&sectors));
        assert_enumerated(&sectors);
    }

    /// The mean for C equal cylinders is (C^2 - 1) / 3 C, or about C / 3 if C is large.
    #[test]
    fn equal_cylinders_have_the_triangular_distribution() {
        for cylinders in [1, 2, 3, 10, 1_898] {
            let equal = Distances::equal(cylinders);
            let c = f64::from(cylinders);
            assert!((equal.probability(0) - 1.0 / c).abs() < 1e-15);
            for d in 1..cylinders {
                let expected = 2.0 * (c - f64::from(d)) / c / c;
                assert!((equal.probability(d) - expected).abs() < 1e-15);
            }
            assert!((equal.mean_cylinders() - (c * c - 1.0) / 3.0 / c).abs() < 1e-9);
            assert_eq!(equal.probability(cylinders), 0.0);
        }
    }

    /// The thesis' probabilities add up to 1 + 1 / C; those computed here add up to 1.
    #[test]
    fn the_printed_formula_for_equal_cylinders_does_not_add_up_to_one() {
        let cylinders = 10;
        let c = f64::from(cylinders);
        let printed = |d: u32| match d {
            0 => 1.0 / c,
            d => 2.0 * (c - f64::from(d)) / (c * (c - 1.0)),
        };
        let sum: f64 = (0..cylinders).map(printed).sum();
        assert!((sum - (1.0 + 1.0 / c)).abs() < 1e-12, "{sum}");
        let equal = Distances::equal(cylinders);
        let sum: f64 = (0..cylinders).map(|d| equal.probability(d)).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }
}
