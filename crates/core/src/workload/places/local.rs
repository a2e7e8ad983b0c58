//! Placement near the last request.

use rand_distr::{Distribution, StandardNormal};

use super::{
    Args, Generator, GeneratorInfo, InputError, Placement, PlacementSpace, Sample, UnplacedRequest,
    start_within,
};
use crate::units::SectorCount;

/// A normally distributed distance of mean zero from the start of the stream's last request. A
/// place beyond either end of the disk is rejected and generated again.
///
/// "10000 sector variance" in worthington94 is the standard deviation: in the HP C2247's trace the
/// distances of local requests have a standard deviation of 9,800 sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// Standard deviation of the distance; positive.
    pub deviation: SectorCount,
}

impl Placement for Local {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "local",
        summary: "at a normally distributed distance from the last request",
        parameters: &[(
            "deviation=10000sectors",
            "standard deviation of the distance",
        )],
        origin: "worthington94 figure 2 and worthington96 section 6 (30 % local)",
    };

    type Sampler = LocalSampler;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        // Up to this deviation, a third of the places are on the disk, even if the last request was
        // at its end.
        let deviation = args.size("deviation", args.context.sectors)?;
        Ok(Self { deviation })
    }

    fn sampler(&self, space: PlacementSpace) -> LocalSampler {
        LocalSampler {
            units: space.units,
            deviation: self.deviation.0 as f64 / space.unit as f64,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct LocalSampler {
    units: u64,
    deviation: f64,
}

impl Sample for LocalSampler {
    #[inline]
    fn next(&mut self, generator: &mut Generator, request: &mut UnplacedRequest) -> u64 {
        let last_place = self.units - request.size;
        let Some(last) = request.last else {
            return start_within(generator, 0, self.units, request.size);
        };
        // A large request cannot start where a small one did at the end of the disk.
        let from = last.start.min(last_place);
        loop {
            let normal: f64 = StandardNormal.sample(generator);
            let distance = (normal * self.deviation + 0.5).floor() as i64;
            if let Some(start) = from.checked_add_signed(distance)
                && start <= last_place
            {
                return start;
            }
        }
    }
}
