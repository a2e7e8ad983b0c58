//! Exponential pauses.

use super::{Args, Generator, GeneratorInfo, InputError, Pause, Pausing};
use crate::random::exponential;
use crate::units::Span;

/// A Poisson process: pauses are exponential, with a squared coefficient of variation of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poisson {
    /// Mean pause; positive.
    pub mean: Span,
}

impl Pause for Poisson {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "poisson",
        summary: "exponential pauses",
        parameters: &[("rate=60/s", "arrivals per second; or mean=TIME, the pause")],
        origin: "worthington94 section 5; jacobson91 section 6; liu05 section 4.2",
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

impl Pausing for Poisson {
    #[inline]
    fn next(&mut self, generator: &mut Generator) -> Span {
        exponential(generator, self.mean)
    }
}
