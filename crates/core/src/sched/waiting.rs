//! Pending requests in order of arrival, with their locations, for policies that examine all of
//! them at every decision.

use std::collections::VecDeque;

use super::policy::{Estimate, Outlook, Pending, Policy};
use crate::extent::Extent;
use crate::request::Request;
use crate::units::{Instant, Span};

#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub pending: Pending,
    pub location: Extent,
}

impl Candidate {
    #[inline]
    pub fn new<E: Estimate>(pending: Pending, drive: &E) -> Self {
        let location = drive.locate(&pending.request);
        Self { pending, location }
    }

    #[inline]
    pub fn positioning<O: Outlook>(&self, outlook: &O) -> Span {
        outlook.positioning(&self.pending.request, &self.location)
    }

    #[inline]
    pub fn access<O: Outlook>(&self, outlook: &O) -> Span {
        outlook.access(&self.pending.request, &self.location)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Vec<Candidate>);

impl Waiting {
    pub fn add<E: Estimate>(&mut self, pending: Pending, drive: &E) {
        self.0.push(Candidate::new(pending, drive));
    }

    pub fn push(&mut self, candidate: Candidate) {
        self.0.push(candidate);
    }

    pub fn append(&mut self, others: &mut Self) {
        self.0.append(&mut others.0);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn all(&self) -> &[Candidate] {
        &self.0
    }

    pub fn oldest(&self, n: usize) -> &[Candidate] {
        &self.0[..n.min(self.0.len())]
    }

    /// Returns the index of the candidate with the minimum `cost`; ties go to the first.
    pub fn min<K: PartialOrd>(&self, cost: impl FnMut(&Candidate) -> K) -> Option<usize> {
        self.min_of_oldest(self.0.len(), cost)
    }

    pub fn min_of_oldest<K: PartialOrd>(
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

    pub fn remove(&mut self, index: usize) -> Pending {
        self.0.remove(index).pending
    }

    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let index = self.0.iter().position(|c| c.pending.request.id == id)?;
        Some(self.remove(index))
    }
}

/// A rule that examines every pending request at each decision.
pub(super) trait Select: Send {
    /// Returns the index of the request to serve next.
    fn select<O: Outlook>(&mut self, now: Instant, outlook: &O, queue: &Waiting) -> Option<usize>;

    /// Records a request that is served without being selected.
    fn note_bypass<E: Estimate>(&mut self, _: &Request, _: &E) {}
}

/// A policy that serves the request selected by `rule`.
pub(super) struct Selector<S> {
    rule: S,
    waiting: Waiting,
}

impl<S> Selector<S> {
    pub fn new(rule: S) -> Self {
        let waiting = Waiting::default();
        Self { rule, waiting }
    }
}

impl<E: Estimate, S: Select> Policy<E> for Selector<S> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.waiting.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.rule.note_bypass(request, drive);
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

/// A rule that plans one or more requests at each decision.
pub(super) trait Plan: Send {
    /// Returns the indices of the requests to serve before the next decision, in order.
    fn plan<E: Estimate>(&self, now: Instant, drive: &E, waiting: &Waiting) -> Vec<usize>;
}

/// A policy that serves the requests planned by `rule`, regardless of new arrivals.
pub(super) struct Planner<P> {
    rule: P,
    waiting: Waiting,
    planned: VecDeque<u64>,
}

impl<P> Planner<P> {
    pub fn new(rule: P) -> Self {
        Self {
            rule,
            waiting: Waiting::default(),
            planned: VecDeque::new(),
        }
    }
}

impl<E: Estimate, P: Plan> Policy<E> for Planner<P> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.waiting.add(pending, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.planned.is_empty() && !self.waiting.is_empty() {
            let order = self.rule.plan(now, drive, &self.waiting);
            let id = |index: usize| self.waiting.all()[index].pending.request.id;
            self.planned = order.into_iter().map(id).collect();
        }
        let id = self.planned.pop_front()?;
        self.waiting.take(id)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.planned.retain(|&other| other != id);
        self.waiting.take(id)
    }
}
