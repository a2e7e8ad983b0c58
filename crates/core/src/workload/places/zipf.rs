//! A few extents often, many seldom.

use super::{Args, Generator, GeneratorInfo, InputError, Placement, Room, Unplaced, within};
use crate::units::{Bytes, SectorCount};
use crate::workload::draw::{Alias, unit};

/// The disk in extents of one size; the `k`-th most popular is taken with a probability that
/// goes as `k^-exponent`, and within it every place alike. What is left after the last whole
/// extent is not used.
///
/// Popular extents lie scattered: the `k`-th is number `k s` modulo their number, `s` being a
/// step near the golden section of it that shares no factor with it. So every extent has its
/// turn once, and neighbours in popularity lie far apart.
///
/// The 16,384 most popular extents are drawn from a table. The others together are one entry of
/// it, behind which the rank is the inverse of the integral of `x^-exponent`, cut at half ranks:
/// there, the integral over a rank and its term differ by less than 2 in 10^8.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    /// The exponent, from 0, which makes all extents alike, to 10.
    pub exponent: f64,
    /// Size of an extent; at least that of the largest request.
    pub extent: SectorCount,
}

/// Size of an extent, unless told otherwise.
const EXTENT: Bytes = Bytes(1 << 20);

/// Ranks that have an entry of their own in the table: as many as leave it in a second-level
/// cache, half a megabyte.
const LISTED: u64 = 1 << 14;

impl Placement for Zipf {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "zipf",
        summary: "a few extents often, many seldom: the k-th goes as k^-exponent",
        parameters: &[
            ("exponent=1", "from 0, all alike, to 10"),
            (
                "extent=1MiB",
                "what one popularity holds for; 1 MiB when left out",
            ),
        ],
        origin: "Zipf's law; the table is Walker's, ACM Transactions on Mathematical Software \
                 3(3), 1977, filled as by Vose, IEEE Transactions on Software Engineering 17(9), \
                 1991",
    };

    type Draw = ZipfDraw;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let exponent = args.number("exponent", 0.0..=10.0)?;
        let disk = args.context;
        let default = SectorCount((EXTENT.0 / disk.sector.0).clamp(1, disk.sectors.0));
        let extent = args.maybe_size("extent", disk.sectors)?.unwrap_or(default);
        Ok(Self { exponent, extent })
    }

    fn error(&self, room: Room) -> Option<InputError> {
        (self.extent.0 / room.unit < room.max).then(|| {
            let found = format!("{} sectors", self.extent.0);
            let least = room.max * room.unit;
            let expected = format!("an extent of the largest request at least, {least} sectors");
            InputError::new("zipf.extent", &found, expected)
        })
    }

    fn ready(&self, room: Room) -> ZipfDraw {
        let extent = self.extent.0 / room.unit;
        let extents = room.units / extent;
        let listed = extents.min(LISTED);
        let mut weights: Vec<f64> = (1..=listed)
            .map(|rank| libm::pow(rank as f64, -self.exponent))
            .collect();
        let tail = (extents > listed).then(|| Tail::new(listed, extents, self.exponent));
        weights.extend(tail.as_ref().map(|tail| tail.weight));
        let step = scatter(extents);
        let number = |rank: usize| (rank as u128 * u128::from(step) % u128::from(extents)) as u64;
        ZipfDraw {
            listed: Alias::new(&weights, number),
            tail,
            extent,
            extents,
            step,
        }
    }
}

/// The step from one extent to the next in popularity, of this many.
fn scatter(extents: u64) -> u64 {
    let golden = (extents as f64 * 0.618_033_988_749_894_9) as u64;
    let mut steps = golden.max(1)..;
    let step = steps.find(|step| gcd(*step, extents) == 1);
    step.unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// [`Zipf`], ready.
#[derive(Clone, Debug)]
pub(in crate::workload) struct ZipfDraw {
    /// The numbers of the most popular extents, and behind them the tail.
    listed: Alias<u64>,
    /// The others; `None` where all are listed.
    tail: Option<Tail>,
    /// Units of an extent.
    extent: u64,
    extents: u64,
    step: u64,
}

impl ZipfDraw {
    #[inline]
    pub(in crate::workload) fn next(
        &mut self,
        generator: &mut Generator,
        request: &Unplaced,
    ) -> u64 {
        let (entry, number) = self.listed.take(generator);
        let number = match &self.tail {
            Some(tail) if entry as u64 == LISTED => self.number(tail.rank(generator)),
            _ => number,
        };
        let from = number * self.extent;
        within(generator, from, from + self.extent, request.size)
    }

    /// The number of the extent of this rank from 0 on.
    fn number(&self, rank: u64) -> u64 {
        match rank.checked_mul(self.step) {
            Some(product) => product % self.extents,
            // Apart, as a division of 128 bits takes ten times as long as the rest.
            None => (u128::from(rank) * u128::from(self.step) % u128::from(self.extents)) as u64,
        }
    }
}

/// Ranks that are not listed.
#[derive(Clone, Copy, Debug)]
struct Tail {
    /// Of all of them together, where that of rank 1 is 1.
    weight: f64,
    /// Half a rank before the first, ranks being counted from 1.
    begin: f64,
    /// One past the last, ranks being counted from 0.
    end: u64,
    /// The inverse of the integral is `begin * (1 + u * growth)^(1 / power)`, and in the limit
    /// of a power of 0 `begin * e^(u * growth)`.
    power: f64,
    growth: f64,
}

impl Tail {
    /// Of the ranks from `listed + 1` to `extents`.
    fn new(listed: u64, extents: u64, exponent: f64) -> Self {
        let begin = listed as f64 + 0.5;
        // In the logarithm of the rank.
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

    /// One of its ranks, counted from 0.
    fn rank(&self, generator: &mut Generator) -> u64 {
        let grown = unit(generator) * self.growth;
        let log = if self.power == 0.0 {
            grown
        } else {
            libm::log1p(grown) / self.power
        };
        let rank = self.begin * libm::exp(log);
        // Rounding must not lead beyond the last.
        ((rank - 0.5) as u64).clamp(LISTED, self.end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extent_has_one_popularity() {
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
