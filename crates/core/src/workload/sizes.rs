//! Sizes of requests.

mod exponential;
mod mixed;

use super::{Args, Disk, GeneratorInfo, family, names};
use crate::random::Generator;
use crate::text::{Call, InputError};
use crate::units::SectorCount;

pub use exponential::Exponential;
pub use mixed::Mixed;

pub(super) trait Size: Sized {
    const INFO: GeneratorInfo;

    type Sampler;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError>;

    fn bounds(&self) -> Bounds;

    /// Creates a sampler of sizes, which are in units of `bounds.unit`.
    fn sampler(&self, bounds: Bounds) -> Self::Sampler;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// All sizes and starts are multiples of this.
    pub(super) unit: SectorCount,
    pub(super) max: SectorCount,
}

family! {
    /// Sizes of requests, independent of one another.
    Sizes: Size [Fixed, Exponential, Mixed]
    fn bounds() -> Bounds { () }
    samplers SizeSampler(Bounds) {
        fn next(generator: &mut Generator) -> u64 { (generator) }
    }
}

impl Sizes {
    pub(super) fn fixed(sectors: SectorCount) -> Self {
        Self::Fixed(Fixed { sectors })
    }

    /// Parses a size, or a call that names a distribution. `field` is the field in errors.
    pub(super) fn of_text(text: &str, disk: Disk, field: &str) -> Result<Self, InputError> {
        let call = Call::read(text, field)?;
        let mut args = Args::new(&call, disk);
        if let Some(read) = Self::read(&call, &mut args) {
            let sizes = read?;
            args.finish()?;
            return Ok(sizes);
        }
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let max = disk.max_sectors();
            let size = disk.size(text, max).map(Self::fixed);
            return size.ok_or_else(|| InputError::new(field, text, disk.size_expected(max)));
        }
        let what = "a size such as 8KiB, or a distribution of sizes";
        Err(InputError::unknown(
            field,
            call.name,
            what,
            &names(Self::INFOS),
        ))
    }
}

/// A constant size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The size; at least one sector.
    pub sectors: SectorCount,
}

impl Size for Fixed {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "fixed",
        summary: "one size; size=8KiB is short for size=fixed(size=8KiB)",
        parameters: &[("size=8KiB", "the size")],
        origin: "worthington94 section 5; jacobson91 section 6 (8 KB)",
    };

    type Sampler = Self;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let sectors = args.size("size", args.context.max_sectors());
        sectors.map(|sectors| Self { sectors })
    }

    fn bounds(&self) -> Bounds {
        let (unit, max) = (self.sectors, self.sectors);
        Bounds { unit, max }
    }

    fn sampler(&self, _: Bounds) -> Self {
        *self
    }
}

impl Fixed {
    #[inline]
    pub(super) fn next(&mut self, _: &mut Generator) -> u64 {
        1
    }
}
