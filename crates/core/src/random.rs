//! Random numbers: the generator, its streams, and the distributions that models and workloads use.

use rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use crate::units::Span;

/// Generator of all random numbers: PCG XSL 128/64 (MCG), fixed to keep results comparable.
pub type Generator = Pcg64Mcg;

/// Creates the generator of the `stream`-th stream of a run for one `purpose`.
pub fn generator(seed: u64, stream: usize, purpose: Purpose) -> Generator {
    // The factor is odd, so seeds differ between streams. Seeding scatters the bits.
    let stream_seed = seed ^ (stream as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Generator::seed_from_u64(stream_seed ^ purpose as u64)
}

/// The purpose of the random numbers of one stream. Numbers for different purposes are independent.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub enum Purpose {
    /// Locations, sizes and directions of requests.
    Requests = 0,
    /// Times between arrivals of requests.
    Arrivals = 0x5bd1_e995_9d1b_58d3,
    /// Think times of closed workloads.
    Thinking = 0x2545_f491_4f6c_dd1d,
    /// Seeds of other runs.
    Replications = 0x9fb2_1c65_1e98_df25,
    /// Random behaviour of a drive.
    Drive = 0x8cb9_2ba7_2f3d_8dd7,
    /// Injected errors and delays.
    Faults = 0xd6e8_feb8_6659_fd93,
    /// The member of a mirrored pair that serves a read.
    Routing = 0xa24b_aed4_963e_e407,
    /// Starting angles of platters.
    Spindle = 0xc2b2_ae3d_27d4_eb4f,
}

/// Returns an endless sequence of seeds for independent runs of one model. The first is `seed`
/// itself. The others are random, so that neighbouring seeds have no runs in common, and below
/// `2^53`, so that programs that treat all numbers as floats preserve them.
pub fn replication_seeds(seed: u64) -> impl Iterator<Item = u64> {
    let mut generator = generator(seed, 0, Purpose::Replications);
    let others = std::iter::repeat_with(move || generator.next_u64() >> 11);
    std::iter::once(seed).chain(others)
}

/// Returns a uniform number in `[0, bound)`. Probabilities are off by less than `bound / 2^64`.
#[inline]
pub fn below(generator: &mut Generator, bound: u64) -> u64 {
    ((u128::from(generator.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// A random event with a fixed probability.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    /// A 64-bit number below this is a hit.
    below: u64,
    is_certain: bool,
}

impl Chance {
    /// Creates an event with the probability `share`, from 0 to 1.
    pub fn new(share: f64) -> Self {
        Self {
            below: (share * 2f64.powi(64)) as u64,
            is_certain: share >= 1.0,
        }
    }

    /// Returns true if the event happens.
    #[inline]
    pub fn hits(self, generator: &mut Generator) -> bool {
        generator.next_u64() < self.below || self.is_certain
    }
}

/// A value and its share in a random choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share<T> {
    /// Probability of the value, from 0 to 1.
    pub share: f64,
    /// The value.
    pub value: T,
}

/// A random choice among a few values with fixed shares.
#[derive(Clone, Debug)]
pub struct WeightedChoice<T> {
    /// Thresholds and values. The first threshold above a random 64-bit number selects its value.
    first: Vec<(u64, T)>,
    last: T,
}

impl<T> WeightedChoice<T> {
    /// Creates a choice among `parts`, whose shares add up to one; `None` if there are none.
    pub fn new(mut parts: Vec<Share<T>>) -> Option<Self> {
        let last = parts.pop()?.value;
        let mut sum = 0.0;
        let first = parts.into_iter().map(|part| {
            sum += part.share;
            ((sum * 2f64.powi(64)) as u64, part.value)
        });
        Some(Self {
            first: first.collect(),
            last,
        })
    }

    /// Returns the value if there is only one.
    pub fn only(&self) -> Option<&T> {
        self.first.is_empty().then_some(&self.last)
    }

    /// Selects a value. A single value consumes no random number.
    #[inline]
    pub fn take(&mut self, generator: &mut Generator) -> &mut T {
        if self.first.is_empty() {
            return &mut self.last;
        }
        let number = generator.next_u64();
        let chosen = self.first.iter_mut().find(|(below, _)| number < *below);
        chosen.map_or(&mut self.last, |(_, value)| value)
    }
}

/// A table of weighted values from which one is selected in constant time (Walker's alias method;
/// see the origin of `zipf`). All entries are equally likely. Each selects its own value below a
/// threshold, and the value of another entry above it.
#[derive(Clone, Debug)]
pub struct Alias<T> {
    entries: Vec<Entry<T>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    /// A 64-bit number below this selects the entry's own value.
    below: u64,
    own: T,
    /// The other value, with its index in the table.
    other: (usize, T),
}

impl<T: Copy> Alias<T> {
    /// Creates a table of `value(index)` for each of `weights`. There must be at least one, and
    /// none may be negative.
    pub fn new(weights: &[f64], value: impl Fn(usize) -> T) -> Self {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut left: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let entry = |index| Entry {
            below: u64::MAX,
            own: value(index),
            other: (index, value(index)),
        };
        let mut entries: Vec<Entry<T>> = (0..left.len()).map(entry).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..left.len()).partition(|index| left[*index] < 1.0);
        while let (Some(poor), Some(rich)) = (small.pop(), large.pop()) {
            entries[poor].below = (left[poor] * 2f64.powi(64)) as u64;
            entries[poor].other = (rich, entries[rich].own);
            // Adding in this order loses no precision if the rich entry is large.
            left[rich] = (left[rich] + left[poor]) - 1.0;
            let next = if left[rich] < 1.0 {
                &mut small
            } else {
                &mut large
            };
            next.push(rich);
        }
        // The remaining entries have a share of one, except for rounding.
        Self { entries }
    }

    /// Selects a value and its index. One half of a product selects the entry, the other the value.
    #[inline]
    pub fn take(&self, generator: &mut Generator) -> (usize, T) {
        let product = u128::from(generator.next_u64()) * self.entries.len() as u128;
        let index = (product >> 64) as usize;
        let entry = &self.entries[index];
        if (product as u64) < entry.below {
            (index, entry.own)
        } else {
            entry.other
        }
    }
}

/// Returns a uniform number in `[0, 1)`, a multiple of `2^-53`.
#[inline]
pub fn uniform_fraction(generator: &mut Generator) -> f64 {
    (generator.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

/// Returns an exponentially distributed time with this mean.
#[inline]
pub fn exponential(generator: &mut Generator, mean: Span) -> Span {
    let unit: f64 = Exp1.sample(generator);
    scale(unit, mean)
}

/// Returns `factor` times the `span`, rounded down to the nanosecond.
#[inline]
pub fn scale(factor: f64, span: Span) -> Span {
    Span::from_ns((factor * span.as_ns() as f64) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_seeds_share_no_replications() {
        let first = |seed| replication_seeds(seed).take(1_000).collect::<Vec<u64>>();
        let mut all = [first(0), first(1), first(2), first(u64::MAX)].concat();
        // A change here changes every recorded result.
        let recorded = [7, 2_696_458_974_202_583, 1_168_061_179_187_503];
        assert_eq!(first(7)[..3], recorded);
        assert!(first(1).iter().all(|seed| *seed < 1 << 53));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4_000);
    }

    #[test]
    fn alias_table_gives_each_value_its_weight() {
        // The weights are exact, because a table of four entries can represent twelfths.
        let table = Alias::new(&[1.0, 0.0, 8.0, 3.0], |index| index);
        let mut shares = [0.0; 4];
        for (index, entry) in table.entries.iter().enumerate() {
            let own = entry.below as f64 / 2f64.powi(64);
            assert_eq!((entry.own, entry.other.0), (index, entry.other.1));
            shares[index] += own / 4.0;
            shares[entry.other.1] += (1.0 - own) / 4.0;
        }
        for (share, parts) in shares.into_iter().zip([1.0, 0.0, 8.0, 3.0]) {
            assert!((share - parts / 12.0).abs() < 1e-15, "{shares:?}");
        }
    }
}
