//! Policies that examine every pending request at each decision, and keep no other state.

use super::waiting::Waiting;
use super::{Estimate, Outlook, Pending, Policy};
use crate::units::Instant;

/// Selects the pending request to serve next.
pub(super) trait Select: Send {
    /// The index of the selected request, if any is pending.
    fn select<O: Outlook>(&self, now: Instant, outlook: &O, waiting: &Waiting) -> Option<usize>;
}

/// Serves what `rule` selects.
pub(super) struct Selector<S> {
    rule: S,
    waiting: Waiting,
}

impl<S> Selector<S> {
    pub fn by(rule: S) -> Self {
        let waiting = Waiting::default();
        Self { rule, waiting }
    }
}

impl<E: Estimate, S: Select> Policy<E> for Selector<S> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.waiting.add(pending, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.waiting.is_empty() {
            return None;
        }
        let outlook = drive.outlook(now);
        let index = self.rule.select(now, &outlook, &self.waiting)?;
        Some(self.waiting.remove(index))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.waiting.take(id)
    }
}
