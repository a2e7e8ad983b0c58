//! Policies that serve the request of least cost, where the cost exceeds the positioning time, and
//! keep no other state.

use super::field::{Cost, Field};
use super::waiting::Candidate;
use super::{Estimate, Outlook, Pending, Policy, Shape};
use crate::units::Instant;

/// A cost that [`Field`] can minimise.
pub(super) trait Least: Send + 'static {
    type Cost: Cost;

    /// Whether the excess of costs over positioning times grows with arrival time.
    const GROWS_WITH_ARRIVAL: bool = false;

    /// Minimum excess of a candidate's cost over its positioning time, before [`Least::less_ns`] is
    /// subtracted: constant over time, in nanoseconds.
    fn more_ns(&self, shape: Shape, candidate: &Candidate) -> f64;

    /// Subtracted from all costs at `now`, in nanoseconds.
    fn less_ns(&self, _: Instant) -> f64 {
        0.0
    }

    /// The cost at `now`.
    fn cost<O: Outlook>(&self, now: Instant, outlook: &O, candidate: &Candidate) -> Self::Cost;
}

/// Serves the request of least cost; ties go to the earliest arrival.
pub(super) struct Search<L> {
    rule: L,
    shape: Shape,
    field: Field,
}

impl<L: Least> Search<L> {
    pub fn by(rule: L, shape: Shape) -> Self {
        Self {
            rule,
            shape,
            field: Field::new(shape, L::GROWS_WITH_ARRIVAL),
        }
    }
}

impl<E: Estimate, L: Least> Policy<E> for Search<L> {
    #[inline]
    fn add(&mut self, pending: Pending, drive: &E) {
        let candidate = Candidate::of(pending, drive);
        let more_ns = self.rule.more_ns(self.shape, &candidate);
        self.field.add(candidate, more_ns);
    }

    #[inline]
    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let outlook = drive.outlook(now);
        let rule = &self.rule;
        let cost = |candidate: &Candidate| rule.cost(now, &outlook, candidate);
        let found = self.field.min(&outlook, rule.less_ns(now), cost)?;
        Some(self.field.remove(found))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.field.take(id)
    }
}
