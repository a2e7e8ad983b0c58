//! Pauses less regular than exponential ones.

use super::{Args, Generator, GeneratorInfo, InputError, Pause};
use crate::random::{Chance, exponential};
use crate::units::Span;

/// Exponential pauses of two kinds, long and short, each with its own mean.
///
/// With share `p` and ratio `r`, the mean is `m (p r + 1 - p)`, where `m` is the mean of the short
/// pauses. The squared coefficient of variation is `2 (p r² + 1 - p) / (p r + 1 - p)² - 1`. For
/// liu05's `p = 0.1` and `r = 9`, it is 41/9; the thesis omits the `- 1` and gives 50/9.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyperexponential {
    /// Share of the long pauses, above 0 and below 1.
    pub long_share: f64,
    /// Ratio of the mean long pause to the mean short one; at least 1.
    pub ratio: f64,
    /// Mean of all pauses; positive.
    pub mean: Span,
}

impl Pause for Hyperexponential {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "hyperexponential",
        summary: "long and short exponential pauses: less regular than poisson",
        parameters: &[
            ("long=10%", "share of the long pauses"),
            ("ratio=9", "ratio of the mean long to the mean short pause"),
            ("rate=60/s", "arrivals per second, or a pause as mean=TIME"),
        ],
        origin: "liu05 section 5.3.3 (p = 0.1, a ratio of 9) and appendix B.5",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            long_share: args.partial_share("long")?,
            ratio: args.number("ratio", 1.0..=1e6)?,
            mean: args.mean_or_rate()?,
        })
    }

    fn mean(&self) -> Span {
        self.mean
    }

    fn sampler(&self) -> impl Fn(&mut Generator) -> Span {
        let Self {
            long_share,
            ratio,
            mean,
        } = *self;
        let short_ns = mean.as_ns() as f64 / (long_share * ratio + 1.0 - long_share);
        let chance = Chance::new(long_share);
        let [short, long] = [short_ns, short_ns * ratio].map(|ns| Span::from_ns(ns.round() as i64));
        move |generator| {
            let mean = if chance.hits(generator) { long } else { short };
            exponential(generator, mean)
        }
    }
}
