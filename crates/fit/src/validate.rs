//! Validation: compares a model's response times with those measured on the real drive.
//!
//! A measured trace is replayed closed-loop (each request is issued the measured pause after
//! the model's own completion of the previous one) and judged by the distance between the two
//! response-time distributions, the *demerit* of worthington94 section 4.1. The platter's angle
//! when the measurement began is unknown. The replay is therefore repeated from evenly spaced
//! angles.
//!
//! # The effect of chance
//! A closed-loop replay forgets the initial angle at its first media access: from then on
//! everything happens relative to the sector that was accessed. Replays at different angles hardly
//! differ, and the demerit between them is no measure of how close a good model can come. The
//! platter's phase at each request remains unknown: most measured pauses are nominal or come from a
//! broken clock, and each small error of the model in a completion shifts the phase of the next
//! request. Therefore there is a second set of replays, in which every pause is lengthened by a
//! random part of a revolution: the demerit between two of these is the distance between two
//! measurements of the same drive with random phases.
//!
//! # Order of work
//! A [`Validation`] lists its replays ([`Validation::variants`]); each is a separate unit of
//! work ([`Validation::replay`]), which a caller may give to any thread, and [`Figures::of`]
//! combines them.
//!
//! # Request by request
//! If a trace's clock is unbroken, a model can follow what the drive did so far and predict what
//! it will do next: [`Locked`] follows a trace in this way, and [`LockedFigures`] judges the
//! predictions.

mod locked;
mod replay;

pub use locked::{
    Accuracy, FIRST, Followed, Judged, Locked, LockedFigures, Served, UNBROKEN_RATIO, follow,
};
pub use replay::{
    ANGLES, Distances, Measured, NEAR, PHASE_SEEDS, Relation, Replayed, Residual, Residuals, Sizes,
    Validation, Variant,
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
    /// Mean response of the model, over all initial angles.
    pub simulated_mean: Span,
    /// Mean over the initial angles of the demerit against the measurement.
    pub demerit: Span,
    /// Its standard deviation over the initial angles.
    pub demerit_sd: Span,
    /// Mean demerit between two of the model's own replays at different initial angles.
    pub floor: Span,
    /// Mean demerit between two of the model's own replays in which the platter's phase at each
    /// request is random (see the module's documentation).
    pub floor_phase: Span,
}

impl Comparison {
    /// The demerit in percent of the measured mean; `None` if that is zero.
    pub fn demerit_percent(&self) -> Option<f64> {
        let mean = self.measured_mean.as_ns();
        (mean > 0).then(|| 100.0 * self.demerit.as_ns() as f64 / mean as f64)
    }

    /// `None` if there are no requests.
    fn of(measured: &SortedSpans, angles: &[SortedSpans], phases: &[SortedSpans]) -> Option<Self> {
        let distances = moments(angles.iter().filter_map(|model| demerit(measured, model)));
        let simulated = angles.iter().flat_map(|model| model.as_slice()).copied();
        Some(Self {
            count: measured.as_slice().len() as u64,
            measured_mean: mean(measured.as_slice().iter().copied())?,
            simulated_mean: mean(simulated)?,
            demerit: distances.mean()?,
            demerit_sd: distances.std()?,
            floor: between(angles)?,
            floor_phase: between(phases)?,
        })
    }
}

impl Figures {
    /// Combines the replays of [`Validation::variants`], in that order. Panics if one is missing.
    pub fn of(validation: &Validation<'_>, replays: &[Replayed]) -> Self {
        let rows = validation.rows();
        assert_eq!(replays.len(), ANGLES as usize + PHASE_SEEDS.len());
        assert!(replays.iter().all(|r| r.responses.len() == rows.len()));
        let compare = |keep: fn(&Measured) -> bool| {
            let measured = rows.iter().filter(|row| keep(row)).map(|row| row.response);
            let sorted = replays.iter().map(|replay| {
                let pairs = rows.iter().zip(&replay.responses);
                let kept = pairs.filter(|(row, _)| keep(row));
                kept.map(|(_, &response)| response).collect()
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

fn between(samples: &[SortedSpans]) -> Option<Span> {
    let numbered = samples.iter().enumerate();
    let pairs = numbered.flat_map(|(i, a)| samples[..i].iter().map(move |b| (a, b)));
    mean(pairs.filter_map(|(a, b)| demerit(a, b)))
}

#[cfg(test)]
mod tests;
