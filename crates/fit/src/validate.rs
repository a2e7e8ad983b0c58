//! Validation: compares a model's response times with those measured on the real drive.
//!
//! A measured trace is replayed closed-loop (each request is issued when the measured pause has
//! passed since the model's own completion of the previous one) and judged by the distance between
//! the measured and simulated response-time distributions, the *demerit* of worthington94 section
//! 4.1. The platter's angle when the measurement began is unknown, so the replay is repeated from
//! evenly spaced angles.
//!
//! # The effect of chance
//! A closed-loop replay forgets the initial angle at its first media access: from then on
//! everything happens relative to the sector that was accessed. Replays from different angles
//! hardly differ, so the demerit between them does not show how close to the measurement a good
//! model can come. The platter's phase at each request remains unknown: most measured pauses are
//! nominal or come from a broken clock, and each small error of the model in a completion shifts
//! the phase of the next request. Therefore there is a second set of replays, in which every pause
//! is lengthened by a random part of a revolution: the demerit between two of these is what two
//! measurements of the same drive with random phases would show.
//!
//! # Replays on several threads
//! A [`Validation`] lists its replays ([`Validation::variants`]). Each is a separate unit of work
//! ([`Validation::replay`]), which callers may run on any thread. [`Figures::of`] combines them.
//!
//! # Request by request
//! If a trace's clock is unbroken, a model can follow what the drive has done so far and predict
//! what it will do next: [`FollowedTrace`] follows a trace in this way, and [`PredictionFigures`]
//! evaluates the predictions.

mod locked;
mod replay;

pub use locked::{
    Accuracy, FIRST, FollowedRequest, FollowedTrace, Judgement, PredictedService,
    PredictionFigures, UNBROKEN_RATIO, follow,
};
pub use replay::{
    ANGLES, Distances, MeasuredRequest, NEAR, PHASE_SEEDS, Relation, ReplayResult, Residual,
    Residuals, Sizes, Validation, Variant,
};

use diskarm_core::request::Op;
use diskarm_core::stats::{SortedSpans, demerit};
use diskarm_core::units::Span;
use replay::{mean, moments};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    pub all: Comparison,
    pub reads: Option<Comparison>,
    pub writes: Option<Comparison>,
    pub residuals: Residuals,
}

/// Measured and simulated response times of a set of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub count: u64,
    pub measured_mean: Span,
    /// The mean response of the model, over all initial angles.
    pub simulated_mean: Span,
    /// The mean demerit against the measurement, over all initial angles.
    pub demerit: Span,
    /// The standard deviation of the demerit, over all initial angles.
    pub demerit_sd: Span,
    /// The mean demerit between the model's replays from different initial angles.
    pub floor: Span,
    /// The mean demerit between those of the model's replays in which the platter's phase at each
    /// request is random (see the module's documentation).
    pub floor_phase: Span,
}

impl Comparison {
    /// Returns the demerit as a percentage of the measured mean; `None` if the mean is zero.
    pub fn demerit_percent(&self) -> Option<f64> {
        let mean = self.measured_mean.as_ns();
        (mean > 0).then(|| 100.0 * self.demerit.as_ns() as f64 / mean as f64)
    }

    /// Compares the responses; `None` if there are none.
    fn of(measured: &SortedSpans, angles: &[SortedSpans], phases: &[SortedSpans]) -> Option<Self> {
        let distances = moments(angles.iter().filter_map(|model| demerit(measured, model)));
        let simulated = angles.iter().flat_map(|model| model.as_slice()).copied();
        Some(Self {
            count: measured.as_slice().len() as u64,
            measured_mean: mean(measured.as_slice().iter().copied())?,
            simulated_mean: mean(simulated)?,
            demerit: distances.mean()?,
            demerit_sd: distances.std()?,
            floor: mean_demerit(angles)?,
            floor_phase: mean_demerit(phases)?,
        })
    }
}

impl Figures {
    /// Combines the replays of [`Validation::variants`], in that order. Panics on any other number.
    pub fn of(validation: &Validation<'_>, replays: &[ReplayResult]) -> Self {
        let rows = validation.rows();
        assert_eq!(replays.len(), ANGLES as usize + PHASE_SEEDS.len());
        assert!(replays.iter().all(|r| r.responses.len() == rows.len()));
        let compare = |is_included: fn(&MeasuredRequest) -> bool| {
            let measured = rows.iter().filter(|row| is_included(row));
            let measured = measured.map(|row| row.response);
            let sorted = replays.iter().map(|replay| {
                let pairs = rows.iter().zip(&replay.responses);
                let included = pairs.filter(|(row, _)| is_included(row));
                included.map(|(_, &response)| response).collect()
            });
            let sorted: Vec<SortedSpans> = sorted.collect();
            let (angles, phases) = sorted.split_at(ANGLES as usize);
            Comparison::of(&measured.collect(), angles, phases)
        };
        Self {
            all: compare(|_| true).expect("a validation has rows"),
            reads: compare(|row| row.step.request.op == Op::Read),
            writes: compare(|row| row.step.request.op == Op::Write),
            residuals: Residuals::of(rows, &validation.mechanism.layout, &replays[0]),
        }
    }
}

fn mean_demerit(samples: &[SortedSpans]) -> Option<Span> {
    let numbered = samples.iter().enumerate();
    let pairs = numbered.flat_map(|(i, a)| samples[..i].iter().map(move |b| (a, b)));
    mean(pairs.filter_map(|(a, b)| demerit(a, b)))
}

#[cfg(test)]
mod tests;
