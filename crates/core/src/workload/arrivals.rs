//! Arrival times of a stream: independent of the device, or triggered by completions.

mod bursts;
mod erlang;
mod hyperexponential;

use super::{Args, Disk, GeneratorInfo, family, names};
use crate::random::{Generator, Purpose, below, exponential, generator};
use crate::text::{Call, InputError, quantity};
use crate::units::{Instant, Span};

pub use bursts::Bursts;
pub use erlang::Erlang;
pub use hyperexponential::Hyperexponential;

/// A distribution of the pauses between arrivals, each independent of the others.
pub(super) trait Pause: Sized {
    const INFO: GeneratorInfo;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError>;

    fn mean(&self) -> Span;

    fn sampler(&self) -> impl Fn(&mut Generator) -> Span;

    /// Fills `batch` with samples: one loop per distribution avoids dispatching for each pause.
    fn fill(&self, generator: &mut Generator, batch: &mut [Span]) {
        let next = self.sampler();
        // A copy stays in registers.
        let mut local = generator.clone();
        for pause in batch {
            *pause = next(&mut local);
        }
        *generator = local;
    }
}

family! {
    /// Pauses between arrivals, independent and identically distributed.
    Pauses: Pause [Poisson, Uniform, Deterministic, Erlang, Hyperexponential, Bursts]
    fn mean() -> Span { () }
    fn fill(generator: &mut Generator, batch: &mut [Span]) { (generator, batch) }
}

impl Pauses {
    /// Creates exponential pauses with this mean.
    pub fn poisson(mean: Span) -> Self {
        Self::Poisson(Poisson { mean })
    }

    /// Parses one call; `kind` describes the pauses and `known` lists their names in errors.
    fn read_call(
        call: &Call<'_>,
        disk: Disk,
        field: &str,
        kind: &str,
        known: &[&str],
    ) -> Result<Self, InputError> {
        let mut args = Args::new(call, disk);
        let pauses = Self::read(call, &mut args)
            .unwrap_or_else(|| Err(InputError::unknown(field, call.name, kind, known)))?;
        args.finish()?;
        Ok(pauses)
    }
}

/// The arrivals of a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Arrivals separated by these pauses, regardless of the device.
    Open(Pauses),
    /// Arrivals upon completion of earlier requests.
    Closed(Closed),
}

impl Arrivals {
    /// Returns the documentation of each kind of arrivals.
    pub fn infos() -> impl Iterator<Item = &'static GeneratorInfo> {
        Pauses::INFOS.iter().chain([&Closed::INFO])
    }

    /// Returns the mean pause or think time, the minimum time that a request adds to a run.
    pub fn mean_pause(&self) -> Span {
        match self {
            Self::Open(pauses) => pauses.mean(),
            Self::Closed(closed) => closed.think.mean(),
        }
    }

    /// Parses one call; `field` is the field in errors about unknown names.
    pub(super) fn read(text: &str, disk: Disk, field: &str) -> Result<Self, InputError> {
        let call = Call::read(text, field)?;
        if call.name == Closed::INFO.name {
            let mut args = Args::new(&call, disk);
            let closed = Closed::read(&mut args)?;
            args.finish()?;
            return Ok(Self::Closed(closed));
        }
        let known: Vec<&str> = Self::infos().map(|info| info.name).collect();
        Pauses::read_call(&call, disk, field, "arrivals", &known).map(Self::Open)
    }
}

/// Number of pauses generated at a time.
const BATCH: usize = 32;

/// An endless sequence of pauses, such as think times.
#[derive(Clone, Debug)]
pub struct PauseStream {
    /// Generated pauses; those from `next` on have not been returned yet.
    batch: [Span; BATCH],
    next: usize,
    generator: Generator,
    pauses: Pauses,
}

impl PauseStream {
    /// Creates pauses for one purpose of the `stream`-th stream of a workload, from `seed`.
    pub fn new(pauses: &Pauses, seed: u64, stream: usize, purpose: Purpose) -> Self {
        Self {
            batch: [Span::ZERO; BATCH],
            next: BATCH,
            generator: generator(seed, stream, purpose),
            pauses: pauses.clone(),
        }
    }

    #[inline]
    fn next_pause(&mut self) -> Span {
        if let Some(pause) = self.batch.get(self.next) {
            self.next += 1;
            return *pause;
        }
        self.refill()
    }

    /// Generates the next batch and returns its first pause.
    #[cold]
    fn refill(&mut self) -> Span {
        self.pauses.fill(&mut self.generator, &mut self.batch);
        self.next = 1;
        self.batch[0]
    }
}

impl Iterator for PauseStream {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        Some(self.next_pause())
    }
}

/// An endless ascending sequence of arrival instants.
#[derive(Clone, Debug)]
pub struct Times {
    pauses: PauseStream,
    now: Instant,
}

impl Times {
    /// Creates arrivals of the `stream`-th stream from `seed`. The first arrival follows one pause.
    pub fn new(pauses: &Pauses, seed: u64, stream: usize) -> Self {
        Self {
            pauses: PauseStream::new(pauses, seed, stream, Purpose::Arrivals),
            now: Instant::START,
        }
    }

    /// Returns the next instant of the endless sequence.
    #[inline]
    pub fn next_instant(&mut self) -> Instant {
        self.now += self.pauses.next_pause();
        self.now
    }
}

impl Iterator for Times {
    type Item = Instant;

    #[inline]
    fn next(&mut self) -> Option<Instant> {
        Some(self.next_instant())
    }
}

/// Clients that each issue a request, wait for its completion, think, and issue the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// The multiprogramming level; at least one.
    pub clients: usize,
    /// Times from a completion to the client's next request.
    pub think: Pauses,
}

const MAX_CLIENTS: u64 = 10_000_000;

impl Closed {
    pub(super) const INFO: GeneratorInfo = GeneratorInfo {
        name: "closed",
        summary: "clients, each of which issues a request when its previous one is completed",
        parameters: &[
            ("clients=64", "the multiprogramming level"),
            (
                "think=3ms",
                "the pause before a client's next request: a time, or a distribution such as \
                 poisson(mean=3ms); none by default",
            ),
        ],
        origin: "lumb01, experimental setup; worthington96 section 6",
    };

    pub(super) fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let clients = args.count("clients", 1..=MAX_CLIENTS)? as usize;
        let disk = args.context;
        let field = args.field("think");
        let think = args.maybe("think", "", |text| Some(text.to_owned()))?;
        let think = match think.as_deref() {
            None => Pauses::Deterministic(Deterministic { mean: Span::ZERO }),
            Some(text) if text.contains('(') => {
                let call = Call::read(text, &field)?;
                Pauses::read_call(&call, disk, &field, "pauses", &names(Pauses::INFOS))?
            }
            Some(text) => {
                let expected = "a time from 0 to an hour with its unit, such as \"5 ms\", or a \
                                distribution such as poisson(mean=5ms)";
                let mean = quantity::span(text)
                    .filter(|span| *span >= Span::ZERO)
                    .ok_or_else(|| InputError::new(&field, text, expected))?;
                Pauses::Deterministic(Deterministic { mean })
            }
        };
        Ok(Self { clients, think })
    }
}

/// A constant pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deterministic {
    /// The pause; not negative.
    pub mean: Span,
}

impl Pause for Deterministic {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "deterministic",
        summary: "constant pauses",
        parameters: &[("rate=60/s", "arrivals per second, or a pause as mean=TIME")],
        origin: "the D of Kendall's notation",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        args.mean_or_rate().map(|mean| Self { mean })
    }

    fn mean(&self) -> Span {
        self.mean
    }

    fn sampler(&self) -> impl Fn(&mut Generator) -> Span {
        |_| self.mean
    }
}

/// A Poisson process: pauses are exponential, with a squared coefficient of variation of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poisson {
    /// Mean pause between arrivals; positive.
    pub mean: Span,
}

impl Pause for Poisson {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "poisson",
        summary: "exponential pauses",
        parameters: &[("rate=60/s", "arrivals per second, or a pause as mean=TIME")],
        origin: "worthington94 section 5; jacobson91 section 6; liu05 section 4.2",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        args.mean_or_rate().map(|mean| Self { mean })
    }

    fn mean(&self) -> Span {
        self.mean
    }

    fn sampler(&self) -> impl Fn(&mut Generator) -> Span {
        let mean = self.mean;
        move |generator| exponential(generator, mean)
    }
}

/// Pauses distributed uniformly between two times, inclusive, in whole nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// The shortest pause; not negative.
    pub from: Span,
    /// The longest pause; not below the shortest.
    pub to: Span,
}

impl Pause for Uniform {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "uniform",
        summary: "pauses distributed uniformly between two times",
        parameters: &[
            ("to=22ms", "the longest pause"),
            ("from=0ms", "the shortest pause; 0 by default"),
        ],
        origin: "worthington94 figure 2 and worthington96 section 6, 0 to 22 ms: their traces \
             show that it is the pause after each completion, closed(clients=1, \
             think=uniform(to=22ms))",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let (from, to) = (args.time_or_none("from")?, args.time("to")?);
        if from > to {
            let expected = format!("at most {to}, which is {}", args.field("to"));
            let found = from.to_string();
            return Err(InputError::new(args.field("from"), &found, expected));
        }
        Ok(Self { from, to })
    }

    fn mean(&self) -> Span {
        Span::from_ns((self.from + self.to).as_ns() / 2)
    }

    fn sampler(&self) -> impl Fn(&mut Generator) -> Span {
        let lengths = (self.to - self.from).as_ns() as u64 + 1;
        let from = self.from;
        move |generator| from + Span::from_ns(below(generator, lengths) as i64)
    }
}
