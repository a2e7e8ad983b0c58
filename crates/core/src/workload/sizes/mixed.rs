//! A few sizes, each with its share.

use super::{Args, Bounds, Generator, GeneratorInfo, InputError, Size};
use crate::random::{Share, WeightedChoice};
use crate::text::{invalid_share, percent, share};
use crate::units::{SectorCount, gcd};

/// Sizes with their shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixed {
    /// The sizes; their shares add up to one.
    pub parts: Vec<Share<SectorCount>>,
}

impl Size for Mixed {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "mixed",
        summary: "a few sizes, each with its share",
        parameters: &[(
            "4KiB=96%, 24KiB=4%",
            "sizes and their shares, which add up to 100 %",
        )],
        origin: "liu05 section 4.2 (airline reservations: 96 % are 4 KB, 4 % are 24 KB)",
    };

    type Sampler = MixedSampler;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let (disk, max) = (args.context, args.context.max_sectors());
        let mut parts = Vec::new();
        for (size, text) in args.pairs() {
            let value = disk
                .size(size, max)
                .ok_or_else(|| InputError::new("mixed", size, disk.size_expected(max)))?;
            let share = share(text).ok_or_else(|| invalid_share(&args.field(size), text))?;
            parts.push(Share { share, value });
        }
        let sum: f64 = parts.iter().map(|part| part.share).sum();
        if (sum - 1.0).abs() > 1e-9 {
            let expected = "shares that add up to 100 %";
            return Err(InputError::new("mixed", &percent(sum), expected));
        }
        Ok(Self { parts })
    }

    fn bounds(&self) -> Bounds {
        let sizes = || self.parts.iter().map(|part| part.value.0);
        Bounds {
            unit: SectorCount(sizes().fold(0, gcd)),
            max: SectorCount(sizes().max().unwrap_or(0)),
        }
    }

    fn sampler(&self, bounds: Bounds) -> MixedSampler {
        let parts = self.parts.iter().map(|part| Share {
            share: part.share,
            value: part.value.0 / bounds.unit.0,
        });
        let Some(units) = WeightedChoice::new(parts.collect()) else {
            panic!("no sizes: {self:?}");
        };
        MixedSampler { units }
    }
}

#[derive(Clone, Debug)]
pub(in crate::workload) struct MixedSampler {
    units: WeightedChoice<u64>,
}

impl MixedSampler {
    #[inline]
    pub(super) fn next(&mut self, generator: &mut Generator) -> u64 {
        *self.units.take(generator)
    }
}
