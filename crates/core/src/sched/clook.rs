//! C-LOOK (cyclical LOOK), and C-SCAN, which can continue to the edges of the disk.
//!
//! # What it does
//! C-LOOK serves pending requests in ascending order of their first block. When no request is at or
//! beyond the block served last, it starts again from the lowest. When ordering by cylinder, it
//! serves all requests for the current cylinder before it moves to the next: first those ahead of
//! the block served last, then the others from the lowest.
//!
//! C-SCAN's arm moves up to the last cylinder, returns to the first without serving requests, and
//! moves up again. By default, the strokes to the edges take no time, so it serves requests as
//! C-LOOK does. With `to=edge`, the arm makes these strokes, as under SCAN.
//!
//! # Origin
//! worthington94 sections 3.1, 5.1 and 5.2; C-SCAN is also in liu05 section 5.1 (CSCAN). The
//! position of the sweep is the first block of the request served last, not its end (`from=last`),
//! so that requests for the same location are not starved (worthington94 section 6.2). Requests for
//! the same block are served in the order of their arrival. Departures: by default, C-SCAN's arm
//! moves only to serve a request, so each sweep omits the strokes to the last cylinder and from the
//! first. With `to=edge`, SCAN's departures apply.
//!
//! # Cost
//! Two heaps, one for requests ahead in this sweep and one for the next sweep: a few comparisons
//! per arrival, and logarithmically many per decision. With `to=edge` and an order by cylinder,
//! each request served also costs address translations.
//!
//! # When it is bad
//! On random workloads, its mean response time is 5 to 10 % above SSTF's (worthington94 section
//! 5.1), and it ignores rotation. No request waits for more than one sweep, unless requests for the
//! current block (or cylinder) keep the arm there (section 6.2). With `to=edge`, C-SCAN also loses
//! a full stroke per sweep.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::line::{InCylinder, Line, Metric, Origin, Position};
use super::policy::{Estimate, Pending, Policy};
use crate::request::Request;
use crate::units::{Instant, Lbn};

/// Creates a policy that serves requests by `metric` in repeated ascending sweeps.
pub(super) fn cyclic<E: Estimate>(metric: Metric, drive: &E) -> Box<dyn Policy<E>> {
    match metric.line {
        Line::Lbn => Box::new(Ascending::<Lbn>::new(metric, drive)),
        Line::Fixed(_) | Line::Map => Box::new(Ascending::<InCylinder>::new(metric, drive)),
    }
}

/// Repeated ascending sweeps. Requests are in heaps, because an insertion into a sorted list would
/// move all later entries.
#[derive(Debug)]
struct Ascending<P> {
    metric: Metric,
    at: P,
    /// Requests at or beyond the position; with `from=last` also those just passed.
    ahead: BinaryHeap<Reverse<Entry<P>>>,
    /// Requests before the position, but at the same coordinate.
    here: Vec<Reverse<Entry<P>>>,
    passed: BinaryHeap<Reverse<Entry<P>>>,
    pending: Vec<Pending>,
    free: Vec<usize>,
    arrivals: u64,
}

/// A pending request. Equal keys are ordered by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<P> {
    key: P,
    arrival: u64,
    slot: usize,
}

impl<P: Position> Ascending<P> {
    fn new<E: Estimate>(metric: Metric, drive: &E) -> Self {
        Self {
            metric,
            at: P::new(metric.line, Lbn(0), drive),
            ahead: BinaryHeap::new(),
            here: Vec::new(),
            passed: BinaryHeap::new(),
            pending: Vec::new(),
            free: Vec::new(),
            arrivals: 0,
        }
    }

    #[inline]
    fn put(&mut self, entry: Reverse<Entry<P>>) {
        let Reverse(Entry { key, .. }) = entry;
        if key >= self.at {
            self.ahead.push(entry);
        } else if key.coordinate() == self.at.coordinate() {
            self.here.push(entry);
        } else {
            self.passed.push(entry);
        }
    }

    fn move_to(&mut self, at: P) {
        // Passed requests stay passed, and those ahead are checked when their turn comes.
        let is_simple =
            at >= self.at && (self.here.is_empty() || at.coordinate() == self.at.coordinate());
        self.at = at;
        if is_simple {
            return;
        }
        let mut all = std::mem::take(&mut self.here);
        all.extend(self.ahead.drain().chain(self.passed.drain()));
        all.into_iter().for_each(|entry| self.put(entry));
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry<P>> {
        while let Some(Reverse(entry)) = self.ahead.pop() {
            if entry.key < self.at {
                self.put(Reverse(entry));
            } else if self.here.is_empty() || entry.key.coordinate() == self.at.coordinate() {
                return Some(entry);
            } else {
                self.ahead.push(Reverse(entry));
                break;
            }
        }
        if self.here.is_empty() {
            std::mem::swap(&mut self.ahead, &mut self.passed);
        } else {
            // Requests at this coordinate are next, because it is below all coordinates ahead.
            self.ahead.extend(self.here.drain(..));
        }
        self.ahead.pop().map(|Reverse(entry)| entry)
    }

    #[inline]
    fn release(&mut self, slot: usize) -> Pending {
        self.free.push(slot);
        self.pending[slot]
    }
}

impl<E: Estimate, P: Position> Policy<E> for Ascending<P> {
    #[inline]
    fn add(&mut self, pending: Pending, drive: &E) {
        let slot = self.free.pop().unwrap_or(self.pending.len());
        if slot == self.pending.len() {
            self.pending.push(pending);
        } else {
            self.pending[slot] = pending;
        }
        let key = P::new(self.metric.line, pending.request.start, drive);
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.put(Reverse(Entry { key, arrival, slot }));
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.move_to(self.metric.position_after(request, drive));
    }

    #[inline]
    fn next(&mut self, _: Instant, drive: &E) -> Option<Pending> {
        let Entry { key, slot, .. } = self.pop()?;
        let pending = self.release(slot);
        self.at = key;
        if self.metric.origin == Origin::Last {
            self.move_to(self.metric.position_after(&pending.request, drive));
        }
        Some(pending)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let all = self.ahead.iter().chain(&self.here).chain(&self.passed);
        let mut slots = all.map(|Reverse(entry)| entry.slot);
        let slot = slots.find(|&slot| self.pending[slot].request.id == id)?;
        let others = |Reverse(entry): &Reverse<Entry<P>>| entry.slot != slot;
        self.ahead.retain(others);
        self.here.retain(others);
        self.passed.retain(others);
        Some(self.release(slot))
    }
}
