//! From replays to the figures that are reported.

use super::{ANGLES, Measured, PHASE_SEEDS, Replayed, Residuals, Validation};
use diskarm_core::request::Op;
use diskarm_core::stats::{Moments, Sorted, demerit};
use diskarm_core::units::Span;

/// All results of a validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// All requests.
    pub all: Comparison,
    /// The reads, if any.
    pub reads: Option<Comparison>,
    /// The writes, if any.
    pub writes: Option<Comparison>,
    /// The sources of the distance.
    pub residuals: Residuals,
}

/// Measured and simulated response times of a set of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The number of requests.
    pub count: u64,
    /// Mean response of the real drive.
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
    fn of(measured: &Sorted, angles: &[Sorted], phases: &[Sorted]) -> Option<Self> {
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
    /// Combines the replays of [`Validation::variants`], in that order.
    ///
    /// # Panics
    /// If these are not those replays.
    pub fn of(validation: &Validation<'_>, replays: &[Replayed]) -> Self {
        let rows = validation.rows();
        assert_eq!(replays.len(), ANGLES as usize + PHASE_SEEDS.len());
        assert!(replays.iter().all(|r| r.responses.len() == rows.len()));
        let compare = |keep: fn(&Measured) -> bool| {
            let measured = rows.iter().filter(|row| keep(row)).map(|row| row.response);
            let sorted: Vec<Sorted> = replays.iter().map(|r| kept(rows, r, keep)).collect();
            let (angles, phases) = sorted.split_at(ANGLES as usize);
            Comparison::of(&measured.collect(), angles, phases)
        };
        let Some(all) = compare(|_| true) else {
            panic!("a validation without rows");
        };
        Self {
            all,
            reads: compare(|row| row.step.request.op == Op::Read),
            writes: compare(|row| row.step.request.op == Op::Write),
            residuals: Residuals::of(rows, &validation.mechanism.layout, &replays[0]),
        }
    }
}

fn kept(rows: &[Measured], replay: &Replayed, keep: fn(&Measured) -> bool) -> Sorted {
    let pairs = rows.iter().zip(&replay.responses);
    pairs
        .filter(|(row, _)| keep(row))
        .map(|(_, &response)| response)
        .collect()
}

/// Mean demerit over all pairs.
fn between(samples: &[Sorted]) -> Option<Span> {
    let pairs = samples
        .iter()
        .enumerate()
        .flat_map(|(i, a)| samples[..i].iter().map(move |b| (a, b)));
    mean(pairs.filter_map(|(a, b)| demerit(a, b)))
}

pub(super) fn mean(spans: impl Iterator<Item = Span>) -> Option<Span> {
    moments(spans).mean()
}

fn moments(spans: impl Iterator<Item = Span>) -> Moments {
    let mut moments = Moments::default();
    spans.for_each(|span| moments.record(span));
    moments
}
