//! Placement of requests.
//!
//! Places are counted in units: all sizes and starts of a stream are multiples of its unit.

mod hot;
mod local;
mod sequential;
mod zipf;

use super::sizes::Bounds;
use super::{Args, Disk, GeneratorInfo, family, names};
use crate::random::{Generator, Share, WeightedChoice, below};
use crate::request::Op;
use crate::text::{Call, InputError, percent};

pub use hot::Hot;
pub use local::Local;
pub use sequential::Sequential;
pub use zipf::Zipf;

pub(super) trait Placement: Sized {
    const INFO: GeneratorInfo;

    type Sampler: Sample;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError>;

    /// Returns a requirement that the space does not meet, if any.
    fn error(&self, _: PlacementSpace) -> Option<InputError> {
        None
    }

    fn sampler(&self, space: PlacementSpace) -> Self::Sampler;
}

pub(super) trait Sample {
    /// Returns the first unit of a request, and may change its direction.
    fn next(&mut self, generator: &mut Generator, request: &mut UnplacedRequest) -> u64;
}

/// The sizes of the disk and of a stream's requests, in the stream's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacementSpace {
    /// Units of the disk; an incomplete last one is not used.
    pub(super) units: u64,
    /// Units of the largest request.
    pub(super) max: u64,
    /// Sectors of a unit.
    pub(super) unit: u64,
}

impl PlacementSpace {
    pub(super) fn new(disk: Disk, bounds: Bounds) -> Self {
        Self {
            units: disk.sectors.0 / bounds.unit.0,
            max: bounds.max.0 / bounds.unit.0,
            unit: bounds.unit.0,
        }
    }
}

/// A request that is being placed.
pub(super) struct UnplacedRequest {
    /// Its size in units.
    pub(super) size: u64,
    /// Its direction, which a rule that continues another request may change.
    pub(super) op: Op,
    /// The stream's previous request.
    pub(super) last: Option<PlacedRequest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacedRequest {
    pub(super) start: u64,
    /// One past the last unit.
    pub(super) end: u64,
    pub(super) op: Op,
}

/// Returns a random start such that a request of `size` lies within `[from, to)`.
#[inline]
fn start_within(generator: &mut Generator, from: u64, to: u64, size: u64) -> u64 {
    from + below(generator, to - from - size + 1)
}

family! {
    /// Rules for the placement of requests.
    Places: Placement [Uniform, Sequential, Local, Hot, Zipf]
    fn error(space: PlacementSpace) -> Option<InputError> { (space) }
    samplers PlaceSampler(PlacementSpace) {
        fn next(generator: &mut Generator, request: &mut UnplacedRequest) -> u64 {
            (generator, request)
        }
    }
}

/// A random mix of placement rules.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceMix {
    /// The rules; their shares add up to one.
    pub parts: Vec<Share<Places>>,
}

impl PlaceMix {
    /// Creates a mix of one rule, for all requests.
    pub fn single(places: Places) -> Self {
        Self {
            parts: vec![Share {
                share: 1.0,
                value: places,
            }],
        }
    }

    /// Parses rules, all but one of which must have a share. Errors about names report `field`.
    pub(super) fn read(words: &[&str], disk: Disk, field: &str) -> Result<Self, InputError> {
        let mut rules: Vec<(Option<f64>, Places)> = Vec::new();
        for word in words {
            let call = Call::read(word, field)?;
            let mut args = Args::new(&call, disk);
            let share = args.maybe_share("share")?;
            let places = Places::read(&call, &mut args).unwrap_or_else(|| {
                let known = names(Places::INFOS);
                Err(InputError::unknown(field, call.name, "places", &known))
            })?;
            args.finish()?;
            rules.push((share, places));
        }
        let given = rules.iter().filter_map(|(share, _)| *share).sum::<f64>();
        let without_share = rules.iter().filter(|(share, _)| share.is_none()).count();
        if without_share > 1 {
            let expected = "a share for every rule except one, such as sequential(share=30%)";
            return Err(InputError::new(field, &words.join(" "), expected));
        }
        if given > 1.0 + ROUNDING || (without_share == 0 && given < 1.0 - ROUNDING) {
            let expected = "shares that add up to 100 %, or one rule without a share";
            return Err(InputError::new(field, &percent(given), expected));
        }
        let remaining = (1.0 - given).max(0.0);
        let parts = rules.into_iter().map(|(share, value)| Share {
            share: share.unwrap_or(remaining),
            value,
        });
        Ok(Self {
            parts: parts.collect(),
        })
    }

    /// Returns the unmet requirement of the first rule that does not fit.
    pub(super) fn error(&self, space: PlacementSpace) -> Option<InputError> {
        self.parts.iter().find_map(|part| part.value.error(space))
    }

    pub(super) fn sampler(&self, space: PlacementSpace) -> WeightedChoice<PlaceSampler> {
        let parts = self.parts.iter().map(|part| Share {
            share: part.share,
            value: part.value.sampler(space),
        });
        let choice = WeightedChoice::new(parts.collect());
        choice.unwrap_or_else(|| panic!("no placement rules: {self:?}"))
    }
}

/// The rounding error of a sum of percentages is below this.
const ROUNDING: f64 = 1e-9;

/// Placement with all places on the disk equally likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform;

impl Placement for Uniform {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "uniform",
        summary: "all places equally likely",
        parameters: &[],
        origin: "worthington94 section 5; jacobson91 section 6; liu05 section 4.2",
    };

    type Sampler = UniformSampler;

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self)
    }

    fn sampler(&self, space: PlacementSpace) -> UniformSampler {
        UniformSampler { units: space.units }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct UniformSampler {
    units: u64,
}

impl Sample for UniformSampler {
    #[inline]
    fn next(&mut self, generator: &mut Generator, request: &mut UnplacedRequest) -> u64 {
        start_within(generator, 0, self.units, request.size)
    }
}
