//! The function that a search maximises: the likelihood of a trace, with the means of its classes.

use std::cell::Cell;
use std::sync::Arc;

use diskarm_core::device::Outcome;
use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Observation};
use diskarm_core::request::Op;
use diskarm_core::spec::Spec;

use crate::calibrate::candidate::Candidate;
use crate::calibrate::likelihood::{self, KINDS, Noise, Row, Trace};
use crate::validate::Relation;

/// The limit on errors in a mean. Without it, one long retry would outweigh all other errors.
const MAX_REVOLUTIONS: f64 = 2.0;

pub struct Parts {
    /// The logarithm of the density of each row.
    pub rows: Vec<f64>,
    /// Each mean error, in standard deviations.
    pub means: Vec<f64>,
}

/// The likelihood of a trace under a candidate, and the candidate's prior.
pub struct Objective<'a> {
    trace: &'a Trace,
    /// The centre of the prior.
    pub given: &'a Spec,
    continuity: Continuity,
    pub noise: Noise,
    pub evaluations: Cell<u64>,
}

impl<'a> Objective<'a> {
    pub fn new(trace: &'a Trace, given: &'a Spec, continuity: Continuity) -> Self {
        Self {
            trace,
            given,
            continuity,
            noise: Noise::UNKNOWN,
            evaluations: 0.into(),
        }
    }

    /// Returns a copy whose evaluations are counted from zero.
    pub fn restarted(&self) -> Self {
        Self {
            noise: self.noise.clone(),
            evaluations: 0.into(),
            ..*self
        }
    }

    /// Returns the logarithm of the posterior density, up to a constant.
    pub fn of(&self, candidate: &Candidate) -> f64 {
        self.ln_likelihood(candidate) + candidate.ln_prior(self.given)
    }

    /// Follows the trace with a drive that has this specification, and passes each row to `each`.
    fn rows(&self, spec: &Spec, layout: &Arc<Layout>, mut each: impl FnMut(Row)) {
        let mut classes = self.trace.classes.iter();
        let each = |is_locked: bool, seen: &Observation| {
            let &(kind, relation) = classes.next().expect("each row has a class");
            each(Row {
                predicted: seen.predicted,
                explained: seen.explained,
                response: seen.predicted.response() + seen.error,
                is_locked,
                kind,
                relation,
            });
        };
        self.trace.follow(spec, layout, self.continuity, each);
    }

    pub fn ln_likelihood(&self, candidate: &Candidate) -> f64 {
        let mut sum = 0.0;
        let (means, period_ms) = self.follow(candidate, |ln| sum += ln);
        sum + means.ln_density(self.continuity, period_ms)
    }

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

    /// Returns the classes of requests, with the number of requests that `candidate` explains.
    pub fn classes(&self, candidate: &Candidate) -> Vec<Class> {
        let (rows, period_ms) = self.all_rows(candidate);
        let mut classes: Vec<Class> = Vec::new();
        for row in &rows {
            let request = &row.predicted.request;
            let key = (request.op, row.relation, row.predicted.outcome);
            let is_same = |class: &Class| (class.op, class.relation, class.outcome) == key;
            let at = classes.iter().position(is_same).unwrap_or(classes.len());
            if at == classes.len() {
                let (op, relation, outcome) = key;
                classes.push(Class {
                    op,
                    relation,
                    outcome,
                    count: 0,
                    explained: 0,
                });
            }
            classes[at].count += 1;
            classes[at].explained += u64::from(self.noise.explains(row, period_ms));
        }
        classes
    }

    /// Sets the noise to the errors that `candidate` does not explain.
    pub fn learn_noise(&mut self, candidate: &Candidate) {
        let (rows, period_ms) = self.all_rows(candidate);
        self.noise.learn(&rows, period_ms);
    }

    /// Sets the random behaviours of `spec`, which is that of `candidate`, to those of the trace.
    pub fn add_randomness(&self, spec: &mut Spec, candidate: &Candidate) {
        let (rows, period_ms) = self.all_rows(candidate);
        likelihood::set_random_behaviour(spec, &self.noise, &rows, period_ms);
    }

    fn all_rows(&self, candidate: &Candidate) -> (Vec<Row>, f64) {
        let spec = candidate.build();
        let mut rows = Vec::new();
        self.rows(&spec, &candidate.layout, |row| rows.push(row));
        (rows, spec.mechanics.period_ns / 1e6)
    }
}

/// Requests of one direction, with one relation to the previous request and one predicted outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    pub op: Op,
    pub relation: Relation,
    /// The outcome in the buffer of the fitted drive.
    pub outcome: Outcome,
    pub count: u64,
    pub explained: u64,
}

/// The minimum number of unexplained requests of a class that stands out.
const MIN_UNEXPLAINED: u64 = 10;

/// The minimum share of unexplained requests in a class that stands out.
const MIN_SHARE: f64 = 0.1;

impl Class {
    pub fn unexplained(&self) -> u64 {
        self.count - self.explained
    }

    /// Returns true if many of its requests are unexplained: the model probably lacks a behaviour
    /// of the real drive.
    fn stands_out(&self) -> bool {
        let unexplained = self.unexplained();
        unexplained >= MIN_UNEXPLAINED && unexplained as f64 >= MIN_SHARE * self.count as f64
    }
}

/// Returns the classes that stand out, the one with the most unexplained requests first.
pub fn standing_out(mut classes: Vec<Class>) -> Vec<Class> {
    classes.retain(Class::stands_out);
    classes.sort_by_key(|class| std::cmp::Reverse(class.unexplained()));
    classes
}

pub fn explained_fraction(classes: &[Class]) -> f64 {
    let sum = |number: fn(&Class) -> u64| classes.iter().map(number).sum::<u64>() as f64;
    sum(|class| class.explained) / sum(|class| class.count)
}

/// The mean errors of similar rows: those with the same direction and similar distances. The
/// likelihood of single rows ignores outliers, including lost revolutions that are not evenly
/// distributed; nevertheless, the mean response of each kind must be right.
pub struct Means {
    /// The number of rows of each kind, and the sum of their errors in milliseconds.
    kinds: [(f64, f64); KINDS],
}

impl Default for Means {
    fn default() -> Self {
        Self {
            kinds: [(0.0, 0.0); KINDS],
        }
    }
}

/// The share of requests that lose or gain a revolution, if the angle is known.
const SLIP_SHARE: f64 = 0.02;

impl Means {
    pub fn record(&mut self, kind: usize, error_ms: f64) {
        self.kinds[kind].0 += 1.0;
        self.kinds[kind].1 += error_ms;
    }

    /// Returns the log density of the means of all kinds and directions, up to a constant.
    pub fn ln_density(&self, continuity: Continuity, period_ms: f64) -> f64 {
        let variance = variance_ms2(continuity, period_ms);
        let ln = |(count, sum): (f64, f64)| -0.5 * sum * sum / (count.max(1.0) * variance);
        self.terms().map(ln).sum()
    }

    /// Returns the means in standard deviations. Their squares add up to -2 [`Self::ln_density`].
    pub fn deviations(&self, continuity: Continuity, period_ms: f64) -> Vec<f64> {
        let variance = variance_ms2(continuity, period_ms);
        let deviation = |(count, sum): (f64, f64)| sum / (count.max(1.0) * variance).sqrt();
        self.terms().map(deviation).collect()
    }

    /// Returns the number of rows and the sum of errors of each kind and each direction.
    fn terms(&self) -> impl Iterator<Item = (f64, f64)> {
        let direction = |first: usize| {
            let all = self.kinds[first..].iter().step_by(2);
            all.fold((0.0, 0.0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1))
        };
        let kinds = self.kinds.iter().copied();
        kinds.chain([direction(0), direction(1)])
    }
}

fn variance_ms2(continuity: Continuity, period_ms: f64) -> f64 {
    let share = match continuity {
        Continuity::Unbroken => SLIP_SHARE,
        // The wait is uniform over a revolution.
        Continuity::Unknown => 1.0 / 12.0,
    };
    period_ms * period_ms * share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(count: u64, explained: u64) -> Class {
        Class {
            op: Op::Read,
            relation: Relation::Far,
            outcome: Outcome::Miss,
            count,
            explained,
        }
    }

    #[test]
    fn classes_stand_out_by_number_and_share() {
        assert!(class(100, 90).stands_out());
        assert!(!class(101, 91).stands_out());
        assert!(!class(9, 0).stands_out());
        assert!(class(10, 0).stands_out());
    }

    #[test]
    fn the_explained_fraction_covers_all_requests() {
        assert_eq!(explained_fraction(&[class(30, 27), class(10, 3)]), 0.75);
    }

    const PERIOD_MS: f64 = 10.0;

    fn ln_density(errors_ms: &[(usize, f64)], continuity: Continuity) -> f64 {
        let mut means = Means::default();
        for &(kind, error_ms) in errors_ms {
            means.record(kind, error_ms);
        }
        let squares = means.deviations(continuity, PERIOD_MS).into_iter();
        let ln = means.ln_density(continuity, PERIOD_MS);
        assert!((squares.map(|z| z * z / -2.0).sum::<f64>() - ln).abs() < 1e-12);
        ln
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    /// A sum of `n` errors has `n` times the variance of one error: 2 % of the squared period if
    /// the angle is known, a twelfth of the squared period otherwise.
    #[test]
    fn means_have_the_density_of_a_normal_distribution() {
        let (known, unknown) = (Continuity::Unbroken, Continuity::Unknown);
        near(ln_density(&[], known), 0.0);
        // 3^2 / (2 * 2), once for the kind and once for the direction.
        near(ln_density(&[(4, 3.0)], known), 2.0 * -9.0 / 4.0);
        near(ln_density(&[(4, 3.0)], unknown), 2.0 * -9.0 * 6.0 / 100.0);
        // Four errors of 1.5 ms: 6^2 / (2 * 4 * 2).
        near(ln_density(&[(4, 1.5); 4], known), 2.0 * -36.0 / 16.0);
    }

    #[test]
    fn errors_of_one_direction_are_added_up() {
        let known = Continuity::Unbroken;
        // Each kind has an error, but they cancel out in the direction.
        near(ln_density(&[(2, 3.0), (6, -3.0)], known), 2.0 * -9.0 / 4.0);
        near(ln_density(&[(2, 3.0), (5, -3.0)], known), 4.0 * -9.0 / 4.0);
        let both = 2.0 * -9.0 / 4.0 - 36.0 / 8.0;
        near(ln_density(&[(3, 3.0), (5, 3.0)], known), both);
        let last = KINDS - 1;
        near(ln_density(&[(last, 2.0), (1, -2.0)], known), -2.0);
    }
}
