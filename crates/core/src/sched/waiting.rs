//! Pending requests in order of arrival, with their locations: for policies that examine all of
//! them at every decision.

use super::{Estimate, Outlook, Pending};
use crate::extent::Extent;
use crate::units::Span;

/// A pending request and its location.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub pending: Pending,
    /// Location of its first block.
    pub place: Extent,
}

impl Candidate {
    /// A request, located on `drive`.
    #[inline]
    pub fn of<E: Estimate>(pending: Pending, drive: &E) -> Self {
        let place = drive.locate(&pending.request);
        Self { pending, place }
    }

    #[inline]
    pub fn positioning<O: Outlook>(&self, outlook: &O) -> Span {
        outlook.positioning(&self.pending.request, &self.place)
    }

    #[inline]
    pub fn access<O: Outlook>(&self, outlook: &O) -> Span {
        outlook.access(&self.pending.request, &self.place)
    }
}

/// Candidates in order of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Vec<Candidate>);

impl Waiting {
    pub fn add<E: Estimate>(&mut self, pending: Pending, drive: &E) {
        self.0.push(Candidate::of(pending, drive));
    }

    pub fn push(&mut self, candidate: Candidate) {
        self.0.push(candidate);
    }

    /// Appends all of `others`, leaving it empty.
    pub fn append(&mut self, others: &mut Self) {
        self.0.append(&mut others.0);
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All candidates, oldest first.
    pub fn all(&self) -> &[Candidate] {
        &self.0
    }

    /// The `n` oldest, or all if there are fewer.
    pub fn oldest(&self, n: usize) -> &[Candidate] {
        &self.0[..n.min(self.0.len())]
    }

    /// The index of the candidate with the least `cost`; ties go to the first.
    pub fn min<K: PartialOrd>(&self, cost: impl FnMut(&Candidate) -> K) -> Option<usize> {
        self.least_of(self.0.len(), cost)
    }

    /// The same among the `count` oldest.
    pub fn least_of<K: PartialOrd>(
        &self,
        count: usize,
        mut cost: impl FnMut(&Candidate) -> K,
    ) -> Option<usize> {
        let mut all = self.0.iter().take(count).enumerate();
        let (mut min, first) = all.next()?;
        let mut lowest = cost(first);
        for (index, candidate) in all {
            let own = cost(candidate);
            if own < lowest {
                (min, lowest) = (index, own);
            }
        }
        Some(min)
    }

    /// Removes the candidate at `index`.
    pub fn remove(&mut self, index: usize) -> Pending {
        self.0.remove(index).pending
    }

    /// Removes the request `id`.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let index = self.0.iter().position(|c| c.pending.request.id == id)?;
        Some(self.remove(index))
    }
}
