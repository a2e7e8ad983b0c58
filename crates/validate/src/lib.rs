//! Validation: a model's response times beside those measured on the real drive.
//!
//! A measured trace is replayed closed-loop (the next request comes the measured pause after
//! the model's own completion) and judged by the distance between the two response-time
//! distributions, the *demerit* of worthington94 section 4.1. Where the platter stood when the
//! measurement began is not known, so the replay is repeated from evenly spaced angles.
//!
//! # What chance does
//! A closed-loop replay forgets the initial angle at its first media access: from then on all
//! happens relative to the sector that came round. So replays at different angles hardly differ,
//! and the demerit between them says little about how close a good model can come. What stays
//! unknown is the platter's phase at each request: most measured pauses are nominal or come from
//! a broken clock, and each completion that a model has a little wrong shifts the phase of the
//! next request. Therefore there is a second set of replays, in which every pause is lengthened
//! by its own random part of a revolution: the demerit between two of these is what two
//! measurements of one and the same drive would show, were the phases left to chance.
//!
//! # Order of work
//! A [`Validation`] names its replays ([`Validation::variants`]); each is a unit of work of its
//! own ([`Validation::replay`]), which a caller may give to any thread, and [`Figures::of`]
//! combines them.
//!
//! # Request by request
//! Where a trace's clock is unbroken, a model can be told what the drive did so far and asked what
//! it will do next: [`Locked`] follows a trace so, and [`LockedFigures`] judges the predictions.

mod figures;
mod locked;
mod residuals;

pub use figures::{Comparison, Figures};
pub use locked::{
    Accuracy, FIRST, Followed, Judged, Locked, LockedFigures, Served, UNBROKEN_RATIO, follow,
};
pub use residuals::{Distances, NEAR, Relation, Residual, Residuals, Sizes};

use std::sync::Arc;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Observer, Rejected, Replay, Step};
use diskarm_core::geometry::Layout;
use diskarm_core::request::Request;
use diskarm_core::spec::Spec;
use diskarm_core::stats::Sorted;
use diskarm_core::units::{Angle, Instant, Span};

/// How many evenly spaced initial angles a validation replays.
pub const ANGLES: u64 = 16;

/// Seeds of the replays with lengthened pauses, one a replay.
pub const PHASE_SEEDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// One row of a measured trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The request, and the pause after its completion.
    pub step: Step,
    /// From issue to completion; not negative.
    pub response: Span,
}

/// One of a validation's replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The platter at this angle at first.
    From(Angle),
    /// Every pause longer by its own uniform part of a revolution, the platter at angle zero at
    /// first.
    Phases {
        /// Of these parts.
        seed: u64,
    },
}

/// What one replay gives, in the order of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Response times of the model.
    pub responses: Vec<Span>,
    /// What the model's buffer did.
    pub outcomes: Vec<Outcome>,
}

/// A drive and a measured trace.
#[derive(Clone, Debug)]
pub struct Validation<'a> {
    spec: &'a Spec,
    layout: Arc<Layout>,
    rows: Vec<Measured>,
}

impl<'a> Validation<'a> {
    /// Sets the drive of `spec` against `rows`.
    ///
    /// # Panics
    /// Without rows.
    pub fn new(spec: &'a Spec, layout: Arc<Layout>, rows: Vec<Measured>) -> Self {
        assert!(!rows.is_empty(), "nothing was measured");
        Self { spec, layout, rows }
    }

    /// The replays that [`Figures::of`] wants, in its order: [`ANGLES`] angles from zero up, then
    /// [`PHASE_SEEDS`].
    pub fn variants() -> impl Iterator<Item = Variant> {
        let angles = (0..ANGLES).map(|i| Variant::From(Angle::of(i, ANGLES)));
        angles.chain(PHASE_SEEDS.map(|seed| Variant::Phases { seed }))
    }

    /// What was measured.
    pub fn rows(&self) -> &[Measured] {
        &self.rows
    }

    /// The measured response times.
    pub fn measured(&self) -> Sorted {
        self.rows.iter().map(|row| row.response).collect()
    }

    /// Makes one replay.
    ///
    /// # Errors
    /// When the drive refuses a request.
    pub fn replay(&self, variant: Variant) -> Result<Replayed, Rejected> {
        let steps = self.rows.iter().map(|row| row.step);
        match variant {
            Variant::From(origin) => self.run(steps, origin),
            Variant::Phases { seed } => {
                let mut generator = Pcg64Mcg::seed_from_u64(seed);
                let period = self.spec.mechanics.period_ns.round() as u128;
                let longer = move |step: Step| {
                    // The high half of a product: uniform in `[0, period)`.
                    let part = (u128::from(generator.next_u64()) * period) >> 64;
                    let think = step.think + Span::from_ns(part as i64);
                    Step { think, ..step }
                };
                self.run(steps.map(longer), Angle::ZERO)
            }
        }
    }

    fn run(&self, steps: impl Iterator<Item = Step>, origin: Angle) -> Result<Replayed, Rejected> {
        let mut drive = Drive::with_layout(self.spec, Arc::clone(&self.layout), origin);
        let mut seen = Replayed {
            responses: Vec::with_capacity(self.rows.len()),
            outcomes: Vec::with_capacity(self.rows.len()),
        };
        engine::run(
            &mut drive,
            &mut Replay::new(steps, Instant::START),
            &mut seen,
        )?;
        Ok(seen)
    }
}

/// One request at a time is outstanding, so that completions come in the order of the trace.
impl Observer for Replayed {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, completion: &Completion) {
        self.responses.push(completion.response());
        self.outcomes.push(completion.outcome);
    }
}

#[cfg(test)]
mod tests;
