//! Placement with Zipf popularity: a few extents are used often, many rarely.

use super::{
    Args, Generator, GeneratorInfo, InputError, Placement, PlacementSpace, Sample, UnplacedRequest,
    start_within,
};
use crate::random::{Alias, uniform_fraction};
use crate::units::{Bytes, SectorCount, gcd};

/// The disk is divided into extents of one size; the `k`-th most popular has a probability
/// proportional to `k^-exponent`, and within it all places are equally likely. The incomplete
/// extent at the end is not used.
///
/// Popular extents are scattered: the `k`-th is number `k s` modulo their count, where the step `s`
/// is coprime to the count and about 0.618 times as large. Extents of similar ranks are far apart.
///
/// The 16,384 most popular extents are selected from a table. The others share one entry of that
/// table: their ranks are found by inverting the integral of `x^-exponent`, cut at half ranks. For
/// these, the integral over a rank differs from the exact term by less than 2 in 10^8.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    /// The exponent, from 0 (all extents equally popular) to 10.
    pub exponent: f64,
    /// Size of an extent; no smaller than the largest request.
    pub extent: SectorCount,
}

/// Default size of an extent.
const EXTENT: Bytes = Bytes(1 << 20);

/// Number of ranks with their own table entry. The table, of half a megabyte, fits in an L2 cache.
const LISTED: u64 = 1 << 14;

impl Placement for Zipf {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "zipf",
        summary: "a few extents are used often, many rarely: the k-th has weight k^-exponent",
        parameters: &[
            ("exponent=1", "from 0 (all equally popular) to 10"),
            ("extent=1MiB", "size of the extents; 1 MiB by default"),
        ],
        origin: "Zipf's law; the table is Walker's, ACM Transactions on Mathematical Software \
                 3(3), 1977, filled as by Vose, IEEE Transactions on Software Engineering 17(9), \
                 1991",
    };

    type Sampler = ZipfSampler;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let exponent = args.number("exponent", 0.0..=10.0)?;
        let disk = args.context;
        let default = SectorCount((EXTENT.0 / disk.sector.0).clamp(1, disk.sectors.0));
        let extent = args.maybe_size("extent", disk.sectors)?.unwrap_or(default);
        Ok(Self { exponent, extent })
    }

    fn error(&self, space: PlacementSpace) -> Option<InputError> {
        (self.extent.0 / space.unit < space.max).then(|| {
            let found = format!("{} sectors", self.extent.0);
            let min = space.max * space.unit;
            let expected = format!("an extent of at least {min} sectors, the largest request");
            InputError::new("zipf.extent", &found, expected)
        })
    }

    fn sampler(&self, space: PlacementSpace) -> ZipfSampler {
        let extent = self.extent.0 / space.unit;
        let extents = space.units / extent;
        let listed = extents.min(LISTED);
        let mut weights: Vec<f64> = (1..=listed)
            .map(|rank| libm::pow(rank as f64, -self.exponent))
            .collect();
        let tail = (extents > listed).then(|| Tail::new(listed, extents, self.exponent));
        weights.extend(tail.as_ref().map(|tail| tail.weight));
        let step = scatter(extents);
        let number = |rank: usize| (rank as u128 * u128::from(step) % u128::from(extents)) as u64;
        ZipfSampler {
            listed: Alias::new(&weights, number),
            tail,
            extent,
            extents,
            step,
        }
    }
}

/// Returns the step between extents of consecutive ranks, for this many extents.
fn scatter(extents: u64) -> u64 {
    let golden = (extents as f64 * 0.618_033_988_749_894_9) as u64;
    let mut steps = golden.max(1)..;
    let step = steps.find(|step| gcd(*step, extents) == 1);
    step.unwrap_or(1)
}

#[derive(Clone, Debug)]
pub(in crate::workload) struct ZipfSampler {
    /// The numbers of the most popular extents, then the tail.
    listed: Alias<u64>,
    /// The other ranks; `None` if all are listed.
    tail: Option<Tail>,
    /// Units of an extent.
    extent: u64,
    extents: u64,
    step: u64,
}

impl Sample for ZipfSampler {
    #[inline]
    fn next(&mut self, generator: &mut Generator, request: &mut UnplacedRequest) -> u64 {
        let (entry, number) = self.listed.take(generator);
        let number = match &self.tail {
            Some(tail) if entry as u64 == LISTED => self.number(tail.rank(generator)),
            _ => number,
        };
        let from = number * self.extent;
        start_within(generator, from, from + self.extent, request.size)
    }
}

impl ZipfSampler {
    /// Returns the number of the extent of this rank, counted from 0.
    fn number(&self, rank: u64) -> u64 {
        match rank.checked_mul(self.step) {
            Some(product) => product % self.extents,
            // Handled separately, because a 128-bit division takes ten times as long as the rest.
            None => (u128::from(rank) * u128::from(self.step) % u128::from(self.extents)) as u64,
        }
    }
}

/// Ranks that are not listed.
#[derive(Clone, Copy, Debug)]
struct Tail {
    /// Total weight of all these ranks, relative to rank 1.
    weight: f64,
    /// Half a rank below the first rank, counted from 1.
    begin: f64,
    /// One past the last rank, counted from 0.
    end: u64,
    /// The inverse of the integral is `begin * (1 + u * growth)^(1 / power)`, or, if the power is
    /// 0, `begin * e^(u * growth)`.
    power: f64,
    growth: f64,
}

impl Tail {
    /// Creates the tail of the ranks from `listed + 1` to `extents`.
    fn new(listed: u64, extents: u64, exponent: f64) -> Self {
        let begin = listed as f64 + 0.5;
        // The width in the logarithm of the rank.
        let width = libm::log((extents as f64 + 0.5) / begin);
        let power = 1.0 - exponent;
        let scale = libm::pow(begin, power);
        let (growth, weight) = if power == 0.0 {
            (width, scale * width)
        } else {
            let growth = libm::expm1(power * width);
            (growth, scale * growth / power)
        };
        Self {
            weight,
            begin,
            end: extents,
            power,
            growth,
        }
    }

    /// Returns a random rank of the tail, counted from 0.
    fn rank(&self, generator: &mut Generator) -> u64 {
        let grown = uniform_fraction(generator) * self.growth;
        let log = if self.power == 0.0 {
            grown
        } else {
            libm::log1p(grown) / self.power
        };
        let rank = self.begin * libm::exp(log);
        // Rounding must not go beyond the last rank.
        ((rank - 0.5) as u64).clamp(LISTED, self.end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extent_has_exactly_one_rank() {
        for extents in 1..2_000 {
            let step = scatter(extents);
            let mut seen = vec![false; extents as usize];
            for rank in 0..extents {
                let number = (rank * step % extents) as usize;
                assert!(!std::mem::replace(&mut seen[number], true), "{extents}");
            }
        }
    }
}
