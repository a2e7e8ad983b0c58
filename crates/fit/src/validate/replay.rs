//! Replays of a measured trace by a model.

use std::sync::Arc;

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Observer, RejectedRequest, Replay, ReplayStep};
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::Request;
use diskarm_core::spec::Spec;
use diskarm_core::stats::SortedSpans;
use diskarm_core::units::{Angle, Instant, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The number of evenly spaced initial angles that a validation replays.
pub const ANGLES: u64 = 16;

/// Seeds of the replays with lengthened pauses, one per replay.
pub const PHASE_SEEDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// One row of a measured trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The request, and the pause after its completion.
    pub step: ReplayStep,
    /// From issue to completion; not negative.
    pub response: Span,
}

/// One of a validation's replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The platter starts at this angle.
    From {
        /// The angle.
        angle: Angle,
        /// The seed of what the drive does at random.
        seed: u64,
    },
    /// Every pause is longer by a uniform random part of a revolution; the platter starts at
    /// angle zero.
    Phases {
        /// The seed of these parts, and of what the drive does at random.
        seed: u64,
    },
}

/// The results of one replay, in the order of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Response times of the model.
    pub responses: Vec<Span>,
    /// Outcomes in the model's buffer.
    pub outcomes: Vec<Outcome>,
}

/// A drive and a measured trace.
#[derive(Clone, Debug)]
pub struct Validation<'a> {
    spec: &'a Spec,
    pub(super) mechanism: Mechanism,
    rows: Vec<Measured>,
}

impl<'a> Validation<'a> {
    /// A validation of the drive of `spec` against `rows`.
    ///
    /// # Panics
    /// If there are no rows.
    pub fn new(spec: &'a Spec, layout: Arc<Layout>, rows: Vec<Measured>) -> Self {
        assert!(!rows.is_empty(), "nothing was measured");
        Self {
            spec,
            mechanism: Mechanism::new(spec, layout, Angle::ZERO),
            rows,
        }
    }

    /// The replays that [`Figures::of`] needs, in that order: [`ANGLES`] angles from zero up, then
    /// [`PHASE_SEEDS`].
    pub fn variants() -> impl Iterator<Item = Variant> {
        let angles = (0..ANGLES).map(|i| Variant::From {
            angle: Angle::from_fraction(i, ANGLES),
            seed: i,
        });
        angles.chain(PHASE_SEEDS.map(|seed| Variant::Phases { seed }))
    }

    /// The measured rows.
    pub fn rows(&self) -> &[Measured] {
        &self.rows
    }

    /// The measured response times.
    pub fn measured(&self) -> SortedSpans {
        self.rows.iter().map(|row| row.response).collect()
    }

    /// Runs one replay.
    ///
    /// # Errors
    /// If the drive refuses a request.
    pub fn replay(&self, variant: Variant) -> Result<Replayed, RejectedRequest> {
        let steps = self.rows.iter().map(|row| row.step);
        match variant {
            Variant::From { angle, seed } => self.run(steps, angle, seed),
            Variant::Phases { seed } => {
                let mut generator = Pcg64Mcg::seed_from_u64(seed);
                let period = self.spec.mechanics.period_ns.round() as u128;
                let longer = move |step: ReplayStep| {
                    // The high half of a product: uniform in `[0, period)`.
                    let part = (u128::from(generator.next_u64()) * period) >> 64;
                    let think = step.think + Span::from_ns(part as i64);
                    ReplayStep { think, ..step }
                };
                self.run(steps.map(longer), Angle::ZERO, seed)
            }
        }
    }

    fn run(
        &self,
        steps: impl Iterator<Item = ReplayStep>,
        origin: Angle,
        seed: u64,
    ) -> Result<Replayed, RejectedRequest> {
        let drive = Drive::with_mechanism(self.spec, self.mechanism.at_angle(origin));
        let mut drive = drive.seeded(seed);
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

/// One request at a time is outstanding: completions come in the order of the trace.
impl Observer for Replayed {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, completion: &Completion) {
        self.responses.push(completion.response());
        self.outcomes.push(completion.outcome);
    }
}
