//! Arrival times of the requests of a stream: independent, or triggered by completions.

mod bursts;
mod closed;
mod deterministic;
mod erlang;
mod hyperexponential;
mod poisson;
mod uniform;

pub use bursts::Bursts;
pub use closed::Closed;
pub use deterministic::Deterministic;
pub use erlang::Erlang;
pub use hyperexponential::Hyperexponential;
pub use poisson::Poisson;
pub use uniform::Uniform;

use super::family::{GeneratorInfo, family};
use super::{Args, Disk};
use crate::random::{Generator, Purpose, generator};
use crate::text::{Call, InputError};
use crate::units::{Instant, Span};

/// A distribution of the pauses between arrivals, each independent of the others.
pub(super) trait Pause: Sized {
    const INFO: GeneratorInfo;

    type Draw: Pausing;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError>;

    /// The mean of its pauses.
    fn mean(&self) -> Span;

    fn ready(&self) -> Self::Draw;
}

/// A sampler of pauses.
pub(super) trait Pausing {
    fn next(&mut self, generator: &mut Generator) -> Span;

    fn fill(&mut self, generator: &mut Generator, batch: &mut [Span]) {
        // A copy stays in registers.
        let mut own = generator.clone();
        for pause in batch {
            *pause = self.next(&mut own);
        }
        *generator = own;
    }
}

family! {
    /// Pauses between arrivals, independent and identically distributed.
    Pauses: Pause [Poisson, Uniform, Deterministic, Erlang, Hyperexponential, Bursts]
    fn mean() -> Span { () }
    fn ready() -> PauseDraw { () }
    fn fill(generator: &mut Generator, batch: &mut [Span]) { (generator, batch) }
}

/// When the requests of a stream arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// After these pauses, regardless of the device.
    Open(Pauses),
    /// When earlier ones are completed.
    Closed(Closed),
}

impl Arrivals {
    /// The documentation of each kind of arrivals.
    pub fn infos() -> impl Iterator<Item = &'static GeneratorInfo> {
        Pauses::INFOS.iter().chain([&Closed::INFO])
    }

    /// The minimum mean time that a request adds to a run: the pause between arrivals, or the think
    /// time.
    pub fn mean_pause(&self) -> Span {
        match self {
            Self::Open(pauses) => pauses.mean(),
            Self::Closed(closed) => closed.think.mean(),
        }
    }

    /// Parses one call; `field` is the field in errors about unknown names.
    pub(super) fn read(text: &str, disk: Disk, field: &str) -> Result<Self, InputError> {
        let call = Call::read(text, field)?;
        let mut args = Args::new(&call, disk);
        let read = if call.name == Closed::INFO.name {
            Closed::read(&mut args).map(Self::Closed)?
        } else {
            let pauses = Pauses::read(&call, &mut args);
            pauses
                .unwrap_or_else(|| Err(unknown(field, call.name)))
                .map(Self::Open)?
        };
        args.finish()?;
        Ok(read)
    }
}

fn unknown(field: &str, found: &str) -> InputError {
    let known: Vec<&str> = Arrivals::infos().map(|info| info.name).collect();
    InputError::unknown(field, found, "arrivals", &known)
}

/// Number of pauses generated at a time: one loop per distribution avoids dispatching for each
/// pause and keeps the generator in registers.
const BATCH: usize = 32;

/// An endless sequence of pauses.
#[derive(Clone, Debug)]
struct PauseStream {
    /// Generated pauses; those from `next` on have not been returned yet.
    batch: [Span; BATCH],
    next: usize,
    generator: Generator,
    pause: PauseDraw,
}

impl PauseStream {
    fn new(pauses: &Pauses, generator: Generator) -> Self {
        Self {
            batch: [Span::ZERO; BATCH],
            next: BATCH,
            generator,
            pause: pauses.ready(),
        }
    }

    #[inline]
    fn next(&mut self) -> Span {
        if let Some(pause) = self.batch.get(self.next) {
            self.next += 1;
            return *pause;
        }
        self.refill()
    }

    /// Generates the next batch and returns its first pause.
    #[cold]
    fn refill(&mut self) -> Span {
        self.pause.fill(&mut self.generator, &mut self.batch);
        self.next = 1;
        self.batch[0]
    }
}

/// An endless ascending sequence of arrival instants.
#[derive(Clone, Debug)]
pub struct Times {
    pauses: PauseStream,
    now: Instant,
}

impl Times {
    /// Arrivals with these pauses, generated from `seed` for the `stream`-th stream of a workload.
    /// The first arrival is one pause after the start.
    pub fn new(pauses: &Pauses, seed: u64, stream: usize) -> Self {
        Self {
            pauses: PauseStream::new(pauses, generator(seed, stream, Purpose::Arrivals)),
            now: Instant::START,
        }
    }

    /// The next instant; there always is one.
    #[inline]
    pub fn next_instant(&mut self) -> Instant {
        self.now += self.pauses.next();
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

/// An endless sequence of think times.
#[derive(Clone, Debug)]
pub struct Thinking(PauseStream);

impl Thinking {
    /// Think times with these pauses, generated from `seed` for the `stream`-th stream of a
    /// workload.
    pub fn new(pauses: &Pauses, seed: u64, stream: usize) -> Self {
        Self(PauseStream::new(
            pauses,
            generator(seed, stream, Purpose::Thinking),
        ))
    }
}

impl Iterator for Thinking {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        Some(self.0.next())
    }
}
