//! Uniform placement.

use super::{Args, Generator, GeneratorInfo, InputError, Placement, Room, Unplaced, within};

/// All places on the disk equally likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform;

impl Placement for Uniform {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "uniform",
        summary: "all places equally likely",
        parameters: &[],
        origin: "worthington94 section 5; jacobson91 section 6; liu05 section 4.2",
    };

    type Draw = UniformDraw;

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self)
    }

    fn error(&self, _: Room) -> Option<InputError> {
        None
    }

    fn ready(&self, room: Room) -> UniformDraw {
        UniformDraw { units: room.units }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct UniformDraw {
    units: u64,
}

impl UniformDraw {
    #[inline]
    pub(in crate::workload) fn next(
        &mut self,
        generator: &mut Generator,
        request: &Unplaced,
    ) -> u64 {
        within(generator, 0, self.units, request.size)
    }
}
