//! Uniformly distributed pauses.

use super::{Args, Generator, GeneratorInfo, InputError, Pause, Pausing};
use crate::random::below;
use crate::units::Span;

/// Pauses uniform between two times, inclusive, in whole nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// The shortest; not negative.
    pub from: Span,
    /// The longest; not below the shortest.
    pub to: Span,
}

impl Pause for Uniform {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "uniform",
        summary: "pauses uniform between two times",
        parameters: &[
            ("to=22ms", "the longest pause"),
            ("from=0ms", "the shortest; 0 by default"),
        ],
        origin: "worthington94 figure 2 and worthington96 section 6, 0 to 22 ms: as their traces \
                 show, the pause after each completion, closed(clients=1, \
                 think=uniform(to=22ms))",
    };

    type Draw = Self;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let (from, to) = (args.time_or_none("from")?, args.time("to")?);
        if from > to {
            let expected = format!("at most {to}, which is {}", args.field("to"));
            return Err(InputError::new(
                args.field("from"),
                &from.to_string(),
                expected,
            ));
        }
        Ok(Self { from, to })
    }

    fn mean(&self) -> Span {
        Span::from_ns((self.from + self.to).as_ns() / 2)
    }

    fn ready(&self) -> Self {
        *self
    }
}

impl Pausing for Uniform {
    #[inline]
    fn next(&mut self, generator: &mut Generator) -> Span {
        let lengths = (self.to - self.from).as_ns() as u64 + 1;
        self.from + Span::from_ns(below(generator, lengths) as i64)
    }
}
