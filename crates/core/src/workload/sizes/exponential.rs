//! Exponential sizes: many small requests and a few large ones.

use rand_distr::{Distribution, Exp1};

use super::{Args, Bounds, Generator, GeneratorInfo, InputError, Size};
use crate::units::SectorCount;

/// Exponential sizes in whole units: the geometric distribution, in which `k` units have
/// probability `q^(k - 1) (1 - q)`. Its mean `1 / (1 - q)` is exactly the requested one. With a
/// mean of `m` units, the variance is `m (m - 1)` square units.
///
/// Sizes above 16 times the mean, one in nine million, are reduced to that. So there is a largest
/// size, for which a zone of the disk must have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exponential {
    /// The mean; at least the unit.
    pub mean: SectorCount,
    /// Sizes and places are multiples of this; at least one.
    pub unit: SectorCount,
}

/// Ratio of the largest size to the mean.
const MAX_OVER_MEAN: u64 = 16;

impl Size for Exponential {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "exponential",
        summary: "exponentially distributed sizes, in whole units",
        parameters: &[
            ("mean=8KiB", "the mean"),
            (
                "unit=1sector",
                "sizes and places are multiples of this; one sector by default",
            ),
        ],
        origin: "worthington94 figure 2 and worthington96 section 6 (8 KB); lumb01. Departure: \
                 the sizes of the measured traces are rounded up, which makes their mean half a \
                 sector larger",
    };

    type Sampler = ExponentialSampler;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let max = args.context.max_sectors();
        let mean = args.size("mean", SectorCount((max.0 / MAX_OVER_MEAN).max(1)))?;
        let unit = args.maybe_size("unit", mean)?.unwrap_or(SectorCount(1));
        Ok(Self { mean, unit })
    }

    fn bounds(&self) -> Bounds {
        let units = self.mean.0 * MAX_OVER_MEAN / self.unit.0;
        Bounds {
            unit: self.unit,
            max: SectorCount(units * self.unit.0),
        }
    }

    fn sampler(&self, bounds: Bounds) -> ExponentialSampler {
        let stop = self.unit.0 as f64 / self.mean.0 as f64;
        ExponentialSampler {
            // Unlike std's logarithm, this is the same on all systems. 0 if all sizes are one unit.
            scale: -1.0 / libm::log1p(-stop),
            max: bounds.max.0 / bounds.unit.0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct ExponentialSampler {
    /// Mean of the exponential distribution whose values, rounded up, are the sizes in units.
    scale: f64,
    max: u64,
}

impl ExponentialSampler {
    #[inline]
    pub(super) fn next(&mut self, generator: &mut Generator) -> u64 {
        let unit: f64 = Exp1.sample(generator);
        (1 + (unit * self.scale) as u64).min(self.max)
    }
}
