//! The function that a search maximises.

use std::cell::Cell;

use diskarm_core::device::Outcome;
use diskarm_core::predict::Continuity;
use diskarm_core::spec::Spec;

use crate::candidate::Candidate;
use crate::likelihood::Noise;
use crate::means::Means;
use crate::trace::Trace;

/// Errors are limited to this in a mean, so that a single retry of a second does not
/// outweigh all others.
const MAX_REVOLUTIONS: f64 = 2.0;

/// The likelihood of a trace under a candidate, and the candidate's prior.
pub struct Objective<'a> {
    trace: &'a Trace,
    given: &'a Spec,
    continuity: Continuity,
    /// The scatter of measurements.
    pub noise: Noise,
    /// The number of candidates evaluated.
    pub evaluations: Cell<u64>,
}

impl<'a> Objective<'a> {
    /// The objective for `trace`, with `given` as the centre of the prior.
    pub fn new(trace: &'a Trace, given: &'a Spec, continuity: Continuity) -> Self {
        Self {
            trace,
            given,
            continuity,
            noise: Noise::UNKNOWN,
            evaluations: 0.into(),
        }
    }

    /// A copy with its count at zero.
    pub fn again(&self) -> Self {
        Self {
            evaluations: 0.into(),
            ..*self
        }
    }

    /// Logarithm of the posterior density, up to a constant.
    pub fn of(&self, candidate: &Candidate) -> f64 {
        self.ln_likelihood(candidate) + candidate.ln_prior(self.given)
    }

    /// Logarithm of the likelihood of the trace.
    pub fn ln_likelihood(&self, candidate: &Candidate) -> f64 {
        self.evaluations.set(self.evaluations.get() + 1);
        let spec = candidate.build();
        let mut sum = 0.0;
        let layout = &candidate.layout;
        let period_ms = spec.mechanics.period_ns / 1e6;
        let mut means = Means::default();
        let max_ms = MAX_REVOLUTIONS * period_ms;
        let mut kinds = self.trace.kinds().iter();
        self.trace
            .follow(&spec, layout, self.continuity, |locked, row| {
                let response = row.predicted.response() + row.error;
                sum += self
                    .noise
                    .ln_density(&row.predicted, response, locked, period_ms);
                if let Some(&kind) = kinds.next() {
                    means.record(kind, row.error.as_ms().clamp(-max_ms, max_ms));
                }
            });
        sum + means.ln_density(self.continuity, period_ms)
    }

    /// Share of the requests that `candidate` explains.
    pub fn explained(&self, candidate: &Candidate) -> f64 {
        let spec = candidate.build();
        let period_ms = spec.mechanics.period_ns / 1e6;
        let (mut explained, mut all) = (0u64, 0u64);
        self.trace
            .follow(&spec, &candidate.layout, self.continuity, |locked, row| {
                let response = row.predicted.response() + row.error;
                let explains = self
                    .noise
                    .explains(&row.predicted, response, locked, period_ms);
                explained += u64::from(explains);
                all += 1;
            });
        explained as f64 / all as f64
    }

    /// The given specification.
    pub fn given(&self) -> &Spec {
        self.given
    }

    /// Sets the noise to what `candidate` leaves unexplained.
    pub fn learn_noise(&mut self, candidate: &Candidate) {
        let spec = candidate.build();
        let (mut buffer, mut media) = (Vec::new(), Vec::new());
        let period_ms = spec.mechanics.period_ns / 1e6;
        self.trace
            .follow(&spec, &candidate.layout, self.continuity, |locked, row| {
                let error = row.error.as_ms().abs();
                match row.predicted.outcome {
                    Outcome::Hit | Outcome::Absorbed => buffer.push(error),
                    Outcome::Miss | Outcome::PartialHit if locked => {
                        media.push(error.min((error - period_ms).abs()));
                    }
                    Outcome::Miss | Outcome::PartialHit => {}
                }
            });
        // The median of a Laplace distribution's absolute errors is ln 2 of their mean.
        let scale = |errors: &mut Vec<f64>, unknown: f64| {
            if errors.is_empty() {
                return unknown;
            }
            errors.sort_by(f64::total_cmp);
            (errors[errors.len() / 2] / std::f64::consts::LN_2).clamp(0.02, 0.5)
        };
        self.noise.buffer_ms = scale(&mut buffer, Noise::UNKNOWN.buffer_ms);
        self.noise.media_ms = scale(&mut media, Noise::UNKNOWN.media_ms);
        let arms = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6];
        let scored = arms.map(|arm_ms| {
            let mut tried = self.again();
            tried.noise.arm_ms = arm_ms;
            (tried.of(candidate), arm_ms)
        });
        let best = scored.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        self.noise.arm_ms = best.map_or(self.noise.arm_ms, |(_, arm_ms)| arm_ms);
    }
}
