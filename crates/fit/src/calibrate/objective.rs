//! The function that a search maximises.

use std::cell::Cell;
use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Observation};
use diskarm_core::spec::Spec;

use crate::calibrate::candidate::Candidate;
use crate::calibrate::chance;
use crate::calibrate::classes::Class;
use crate::calibrate::likelihood::{Noise, Row};
use crate::calibrate::means::Means;
use crate::calibrate::trace::Trace;

/// Errors are limited to this in a mean, so that a single retry of a second does not
/// outweigh all others.
const MAX_REVOLUTIONS: f64 = 2.0;

/// The parts of the likelihood of a trace under a candidate.
pub struct Parts {
    /// Logarithm of the density of each row.
    pub rows: Vec<f64>,
    /// Each mean error in its standard deviations.
    pub means: Vec<f64>,
}

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
            noise: self.noise.clone(),
            evaluations: 0.into(),
            ..*self
        }
    }

    /// Logarithm of the posterior density, up to a constant.
    pub fn of(&self, candidate: &Candidate) -> f64 {
        self.ln_likelihood(candidate) + candidate.ln_prior(self.given)
    }

    /// Follows the trace with a candidate of specification `spec`, and passes each row to `each`.
    fn rows(&self, spec: &Spec, layout: &Arc<Layout>, mut each: impl FnMut(Row)) {
        let mut kinds = self.trace.kinds().iter().zip(self.trace.relations());
        let each = |locked: bool, seen: &Observation| {
            let Some((&kind, &relation)) = kinds.next() else {
                return;
            };
            each(Row {
                predicted: seen.predicted,
                explained: seen.explained,
                response: seen.predicted.response() + seen.error,
                locked,
                kind,
                relation,
            });
        };
        self.trace.follow(spec, layout, self.continuity, each);
    }

    /// Logarithm of the likelihood of the trace.
    pub fn ln_likelihood(&self, candidate: &Candidate) -> f64 {
        let mut sum = 0.0;
        let (means, period_ms) = self.follow(candidate, |ln| sum += ln);
        sum + means.ln_density(self.continuity, period_ms)
    }

    /// What the logarithm of the likelihood is made of: that of each row, and each mean in its
    /// standard deviations.
    pub fn parts(&self, candidate: &Candidate) -> Parts {
        let mut rows = Vec::new();
        let (means, period_ms) = self.follow(candidate, |ln| rows.push(ln));
        let means = means.deviations(self.continuity, period_ms);
        Parts { rows, means }
    }

    /// Follows the trace, passes the logarithm of each row's density to `each`, and returns the
    /// mean errors and the period of the platter in milliseconds.
    fn follow(&self, candidate: &Candidate, mut each: impl FnMut(f64)) -> (Means, f64) {
        self.evaluations.set(self.evaluations.get() + 1);
        let spec = candidate.build();
        let period_ms = spec.mechanics.period_ns / 1e6;
        let mut means = Means::default();
        let max_ms = MAX_REVOLUTIONS * period_ms;
        self.rows(&spec, &candidate.layout, |row| {
            each(self.noise.ln_density(&row, period_ms));
            let error_ms = match self.continuity {
                Continuity::Unbroken => row.error_ms(),
                Continuity::Unknown => row.error_at_any_angle_ms(period_ms),
            };
            means.record(row.kind, error_ms.clamp(-max_ms, max_ms));
        });
        (means, period_ms)
    }

    /// The classes of requests, and how many of each `candidate` explains.
    pub fn classes(&self, candidate: &Candidate) -> Vec<Class> {
        let (rows, period_ms) = self.all_rows(candidate);
        let mut classes: Vec<Class> = Vec::new();
        for row in &rows {
            let request = &row.predicted.request;
            let (op, relation, outcome) = (request.op, row.relation, row.predicted.outcome);
            let is_same = |class: &&mut Class| {
                (class.op, class.relation, class.outcome) == (op, relation, outcome)
            };
            let class = match classes.iter_mut().find(is_same) {
                Some(class) => class,
                None => {
                    classes.push(Class {
                        op,
                        relation,
                        outcome,
                        count: 0,
                        explained: 0,
                    });
                    classes.last_mut().expect("just added")
                }
            };
            class.count += 1;
            class.explained += u64::from(self.noise.explains(row, period_ms));
        }
        classes
    }

    pub fn given(&self) -> &Spec {
        self.given
    }

    /// Sets the noise to what `candidate` leaves unexplained.
    pub fn learn_noise(&mut self, candidate: &Candidate) {
        let (rows, period_ms) = self.all_rows(candidate);
        self.noise.learn(&rows, period_ms);
    }

    /// Sets the random behaviours of `spec`, which `candidate` has, to those that the trace shows.
    pub fn set_chance(&self, spec: &mut Spec, candidate: &Candidate) {
        let (rows, period_ms) = self.all_rows(candidate);
        chance::set(spec, &self.noise, &rows, period_ms);
    }

    /// All rows, and the period of the platter in milliseconds.
    fn all_rows(&self, candidate: &Candidate) -> (Vec<Row>, f64) {
        let spec = candidate.build();
        let mut rows = Vec::new();
        self.rows(&spec, &candidate.layout, |row| rows.push(row));
        (rows, spec.mechanics.period_ns / 1e6)
    }
}
