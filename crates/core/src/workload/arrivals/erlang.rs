//! Pauses more regular than exponential ones.

use rand_distr::{Distribution, Gamma};

use super::{Args, Generator, GeneratorInfo, InputError, Pause};
use crate::random::scale;
use crate::units::Span;

/// Pauses that are sums of `stages` exponential ones, with a squared coefficient of variation of `1
/// / stages`. They are sampled in constant time from the gamma distribution of that shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erlang {
    /// Number of exponential stages; at least one.
    pub stages: u32,
    /// Mean pause between arrivals; positive.
    pub mean: Span,
}

const MAX_STAGES: u64 = 1_000_000;

impl Pause for Erlang {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "erlang",
        summary: "sums of k exponential pauses, more regular than poisson",
        parameters: &[
            (
                "k=4",
                "number of stages; the squared coefficient of variation is 1/k",
            ),
            ("rate=60/s", "arrivals per second, or a pause as mean=TIME"),
        ],
        origin: "liu05 section 5.3.3 (four stages) and appendix B.5",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let stages = args.count("k", 1..=MAX_STAGES)? as u32;
        let mean = args.mean_or_rate()?;
        Ok(Self { stages, mean })
    }

    fn mean(&self) -> Span {
        self.mean
    }

    fn sampler(&self) -> impl Fn(&mut Generator) -> Span {
        let stages = f64::from(self.stages);
        let Ok(unit) = Gamma::new(stages, 1.0 / stages) else {
            panic!("no stages: {self:?}");
        };
        let mean = self.mean;
        move |generator| scale(unit.sample(generator), mean)
    }
}
