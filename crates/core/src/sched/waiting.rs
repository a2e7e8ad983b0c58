//! Pending requests in order of arrival, with their places: for policies that look at all of
//! them at every decision.

use super::{Estimate, Outlook, Pending};
use crate::extent::Extent;
use crate::units::Span;

/// A pending request and where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub pending: Pending,
    /// Of its first block.
    pub place: Extent,
}

impl Candidate {
    /// A request and where `drive` has it.
    #[inline]
    pub fn of<E: Estimate>(pending: Pending, drive: &E) -> Self {
        let place = drive.locate(&pending.request);
        Self { pending, place }
    }

    /// See [`Outlook::positioning`].
    #[inline]
    pub fn positioning<O: Outlook>(&self, outlook: &O) -> Span {
        outlook.positioning(&self.pending.request, &self.place)
    }

    /// See [`Outlook::access`].
    #[inline]
    pub fn access<O: Outlook>(&self, outlook: &O) -> Span {
        outlook.access(&self.pending.request, &self.place)
    }
}

/// Candidates in order of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Vec<Candidate>);

impl Waiting {
    /// Takes a request in.
    pub fn add<E: Estimate>(&mut self, pending: Pending, drive: &E) {
        self.0.push(Candidate::of(pending, drive));
    }

    /// Takes in a candidate behind all others.
    pub fn push(&mut self, candidate: Candidate) {
        self.0.push(candidate);
    }

    /// Takes in all of `others` behind these, and leaves none there.
    pub fn append(&mut self, others: &mut Self) {
        self.0.append(&mut others.0);
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, the oldest first.
    pub fn all(&self) -> &[Candidate] {
        &self.0
    }

    /// The `n` oldest, or all where fewer wait.
    pub fn oldest(&self, n: usize) -> &[Candidate] {
        &self.0[..n.min(self.0.len())]
    }

    /// The index of the candidate with the least `cost`; of several the first.
    pub fn least<K: PartialOrd>(&self, cost: impl FnMut(&Candidate) -> K) -> Option<usize> {
        self.least_of(self.0.len(), cost)
    }

    /// The same among the `count` oldest.
    pub fn least_of<K: PartialOrd>(
        &self,
        count: usize,
        mut cost: impl FnMut(&Candidate) -> K,
    ) -> Option<usize> {
        let mut all = self.0.iter().take(count).enumerate();
        let (mut least, first) = all.next()?;
        let mut lowest = cost(first);
        for (index, candidate) in all {
            let own = cost(candidate);
            if own < lowest {
                (least, lowest) = (index, own);
            }
        }
        Some(least)
    }

    /// Takes out the candidate at `index`.
    pub fn remove(&mut self, index: usize) -> Pending {
        self.0.remove(index).pending
    }

    /// Takes out the request called `id`.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let index = self.0.iter().position(|c| c.pending.request.id == id)?;
        Some(self.remove(index))
    }
}
