//! A few extents often, many seldom.

use rand_distr::Distribution;

use super::{Args, Asked, Fault, Generator, Info, Place, Room, within};
use crate::units::{Bytes, SectorCount};

/// The disk in extents of one size; the `k`-th most popular is taken with a probability that
/// goes as `k^-exponent`, and within it every place alike. What is left after the last whole
/// extent is not used.
///
/// Popular extents lie scattered: the `k`-th is number `k s` modulo their number, `s` being a
/// step near the golden section of it that shares no factor with it. So every extent has its
/// turn once, neighbours in popularity lie far apart, and no table is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    /// The exponent; 0 makes all extents alike.
    pub exponent: f64,
    /// Size of an extent; at least that of the largest request.
    pub extent: SectorCount,
}

/// Size of an extent, unless told otherwise.
const EXTENT: Bytes = Bytes(1 << 20);

impl Place for Zipf {
    const INFO: Info = Info {
        name: "zipf",
        summary: "a few extents often, many seldom: the k-th goes as k^-exponent",
        parameters: &[
            ("exponent=1", "from 0, all alike, to 10"),
            (
                "extent=1MiB",
                "what one popularity holds for; 1 MiB when left out",
            ),
        ],
        origin: "Zipf's law; drawn by the rejection-inversion of Hörmann and Derflinger, ACM \
                 TOMACS 6(3), 1996",
    };

    type Draw = ZipfDraw;

    fn read(args: &mut Args<'_>) -> Result<Self, Fault> {
        let exponent = args.number("exponent", 0.0..=10.0)?;
        let disk = args.context;
        let default = SectorCount((EXTENT.0 / disk.sector.0).clamp(1, disk.sectors.0));
        let extent = args.maybe_size("extent", disk.sectors)?.unwrap_or(default);
        Ok(Self { exponent, extent })
    }

    fn fault(&self, room: Room) -> Option<Fault> {
        (self.extent.0 / room.unit < room.most).then(|| {
            let found = format!("{} sectors", self.extent.0);
            let least = room.most * room.unit;
            let expected = format!("an extent of the largest request at least, {least} sectors");
            Fault::new("zipf.extent", &found, expected)
        })
    }

    fn ready(&self, room: Room) -> ZipfDraw {
        let extent = self.extent.0 / room.unit;
        let extents = room.units / extent;
        let Ok(rank) = rand_distr::Zipf::new(extents as f64, self.exponent) else {
            panic!("no extents: {self:?} in {room:?}");
        };
        ZipfDraw {
            rank,
            extent,
            extents,
            step: scatter(extents),
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
#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct ZipfDraw {
    rank: rand_distr::Zipf<f64>,
    /// Units of an extent.
    extent: u64,
    extents: u64,
    step: u64,
}

impl ZipfDraw {
    #[inline]
    pub(in crate::workload) fn next(&mut self, generator: &mut Generator, asked: &Asked) -> u64 {
        let rank = self.rank.sample(generator) as u64;
        // Ranks count from 1.
        let number = match (rank - 1).checked_mul(self.step) {
            Some(product) => product % self.extents,
            None => self.wide_number(rank - 1),
        };
        let from = number * self.extent;
        within(generator, from, from + self.extent, asked.size)
    }

    /// Apart, as a division of 128 bits takes ten times as long as the rest.
    #[cold]
    fn wide_number(&self, rank: u64) -> u64 {
        let product = u128::from(rank) * u128::from(self.step);
        (product % u128::from(self.extents)) as u64
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
