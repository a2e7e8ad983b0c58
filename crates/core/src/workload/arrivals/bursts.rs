//! Arrivals in bursts.

use super::{Args, Generator, GeneratorInfo, InputError, Pause};
use crate::random::exponential;
use crate::units::Span;

/// The interrupted Poisson process: alternately on and off, with exponentially distributed lengths.
///
/// The process is on after each arrival, and exponential times have no memory. So pauses are
/// independent, and no state is carried from one to the next. With rate `λ` within bursts, mean on
/// time `a` and mean off time `b`, the mean pause is `(a + b) / (a λ)` and the squared coefficient
/// of variation is `1 + 2 λ a b² / (a + b)²`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Mean pause within a burst; positive.
    pub pause: Span,
    /// Mean length of a burst; positive.
    pub on: Span,
    /// Mean time from the end of one burst to the beginning of the next; positive.
    pub off: Span,
}

/// Maximum average number of bursts per arrival.
const MAX_BURSTS: u64 = 1_000;

impl Pause for Bursts {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "bursts",
        summary: "poisson arrivals, switched on and off for exponentially distributed times",
        parameters: &[
            ("on=100ms", "mean length of a burst"),
            ("off=900ms", "mean time between bursts"),
            (
                "rate=600/s",
                "arrivals per second within a burst, or a pause as mean=TIME",
            ),
        ],
        origin: "Kuczura, \"The interrupted Poisson process as an overflow process\", Bell \
                 System Technical Journal 52(3), 1973",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let bursts = Self {
            on: args.time("on")?,
            off: args.time("off")?,
            pause: args.mean_or_rate()?,
        };
        // Empty bursts are skipped one at a time, so there must be few between arrivals.
        if bursts.on * MAX_BURSTS < bursts.pause {
            let min = Span::from_ns(bursts.pause.as_ns() / MAX_BURSTS as i64);
            let found = bursts.on.to_string();
            let expected = format!("at least {min}, for one arrival in {MAX_BURSTS} bursts");
            return Err(InputError::new(args.field("on"), &found, expected));
        }
        Ok(bursts)
    }

    fn mean(&self) -> Span {
        let (on, off) = (self.on.as_ns() as f64, self.off.as_ns() as f64);
        Span::from_ns((self.pause.as_ns() as f64 * (on + off) / on).round() as i64)
    }

    fn sampler(&self) -> impl Fn(&mut Generator) -> Span {
        let Self { pause, on, off } = *self;
        move |generator| {
            let mut length = Span::ZERO;
            loop {
                let arrives = exponential(generator, pause);
                let ends = exponential(generator, on);
                if arrives <= ends {
                    return length + arrives;
                }
                length += ends + exponential(generator, off);
            }
        }
    }
}
