//! Placement in a few zones.

use super::{
    Args, Generator, GeneratorInfo, InputError, Placement, PlacementSpace, Sample, UnplacedRequest,
    below, start_within,
};
use crate::text::percent;

/// A random place within one of a few zones. All zones are equally wide and equally likely.
#[derive(Clone, Debug, PartialEq)]
pub struct Hot {
    /// Start of each zone, as a share of the disk from 0 to 1.
    pub at_share: Vec<f64>,
    /// Width of each zone, as a share of the disk from 0 to 1.
    pub width_share: f64,
}

/// The width in liu05.
const WIDTH_SHARE: f64 = 0.01;

impl Placement for Hot {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "hot",
        summary: "random places within a few zones",
        parameters: &[
            ("at=0%, at=50%", "the start of each zone"),
            ("width=1%", "width of each zone; 1 % of the disk by default"),
        ],
        origin: "liu05 figure 6.1 (two zones of 1 % each, the outermost and the central)",
    };

    type Sampler = HotSampler;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let at_share = args.shares("at")?;
        let width_share = args.maybe_share("width")?.unwrap_or(WIDTH_SHARE);
        let invalid = at_share.iter().find(|at| **at + width_share > 1.0 + 1e-9);
        if let Some(at) = invalid {
            let max = percent(1.0 - width_share);
            let expected = format!("at most {max}, because of the width of the zone");
            return Err(InputError::new(args.field("at"), &percent(*at), expected));
        }
        Ok(Self {
            at_share,
            width_share,
        })
    }

    fn error(&self, space: PlacementSpace) -> Option<InputError> {
        let is_narrow = |(from, to): (u64, u64)| to - from < space.max;
        self.zones(space).into_iter().any(is_narrow).then(|| {
            let found = percent(self.width_share);
            let min = space.max * space.unit;
            let expected = format!("a zone at least as wide as the largest request, {min} sectors");
            InputError::new("hot.width", &found, expected)
        })
    }

    fn sampler(&self, space: PlacementSpace) -> HotSampler {
        HotSampler {
            zones: self.zones(space),
        }
    }
}

impl Hot {
    /// Returns the units of each zone, as a half-open range.
    fn zones(&self, space: PlacementSpace) -> Vec<(u64, u64)> {
        let unit = |share: f64| ((share * space.units as f64).round() as u64).min(space.units);
        let zone = |at: &f64| (unit(*at), unit(at + self.width_share));
        self.at_share.iter().map(zone).collect()
    }
}

#[derive(Clone, Debug)]
pub(in crate::workload) struct HotSampler {
    zones: Vec<(u64, u64)>,
}

impl Sample for HotSampler {
    #[inline]
    fn next(&mut self, generator: &mut Generator, request: &mut UnplacedRequest) -> u64 {
        let zone = below(generator, self.zones.len() as u64) as usize;
        let (from, to) = self.zones[zone];
        start_within(generator, from, to, request.size)
    }
}
