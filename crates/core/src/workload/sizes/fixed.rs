//! Requests of one size.

use super::{Args, Bounds, Generator, GeneratorInfo, InputError, Size};
use crate::units::SectorCount;

/// Always the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The size; at least one sector.
    pub sectors: SectorCount,
}

impl Size for Fixed {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "fixed",
        summary: "one size; size=8KiB means size=fixed(size=8KiB)",
        parameters: &[("size=8KiB", "the size")],
        origin: "worthington94 section 5; jacobson91 section 6 (8 KB)",
    };

    type Draw = Self;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let sectors = args.size("size", args.context.max_sectors())?;
        Ok(Self { sectors })
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            unit: self.sectors,
            max: self.sectors,
        }
    }

    fn ready(&self, _: Bounds) -> Self {
        *self
    }
}

impl Fixed {
    #[inline]
    pub(super) fn next(&mut self, _: &mut Generator) -> u64 {
        1
    }
}
