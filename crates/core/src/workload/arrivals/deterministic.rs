//! Constant pauses.

use super::{Args, Generator, GeneratorInfo, InputError, Pause, Pausing};
use crate::units::Span;

/// Always the same pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deterministic {
    /// The pause; not negative.
    pub mean: Span,
}

impl Pause for Deterministic {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "deterministic",
        summary: "constant pauses",
        parameters: &[("rate=60/s", "arrivals per second; or mean=TIME, the pause")],
        origin: "the D of Kendall's notation",
    };

    type Draw = Self;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let mean = args.mean_or_rate()?;
        Ok(Self { mean })
    }

    fn mean(&self) -> Span {
        self.mean
    }

    fn ready(&self) -> Self {
        *self
    }
}

impl Pausing for Deterministic {
    #[inline]
    fn next(&mut self, _: &mut Generator) -> Span {
        self.mean
    }
}
