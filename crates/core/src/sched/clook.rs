//! Cyclical LOOK.
//!
//! # What it does
//! Serves pending requests in ascending order of their first block; when none is at or beyond the
//! block served last, it starts again from the lowest. By cylinders it serves all requests for the
//! current cylinder, those ahead of the block served last and then the others from the lowest,
//! before it moves to the next.
//!
//! # Origin
//! worthington94 sections 3.1, 5.1 and 5.2. The sweep's position is the first block of the request
//! served last, not its end (`from=last`), so that requests for the same place are not starved
//! (section 6.2). Requests for the same block are served in the order of their arrival.
//!
//! # Cost
//! Two heaps, one for requests ahead in this sweep and one for the next sweep: a few comparisons
//! per arrival, and logarithmically many per decision.
//!
//! # When it is bad
//! On random workloads its mean response is 5 to 10 % above SSTF's (worthington94 section 5.1), and
//! it ignores rotation altogether. No request waits for more than one sweep, but requests for the
//! arm's current place hold it there: a block, or by cylinders a cylinder (section 6.2).
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("clook(by=map)", "policy").is_ok());
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::along::{InCylinder, Key};
use super::line::{Line, Mark, Measure};
use super::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CLook {
    /// The line of the sweep.
    pub measure: Measure,
}

impl Rule for CLook {
    const INFO: PolicyInfo = PolicyInfo {
        name: "clook",
        summary: "cyclical LOOK: always ascending, then again from the lowest",
        parameters: &[Line::PARAMETER, Mark::FIRST],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let measure = Measure::read(args, Mark::First)?;
        Ok(Self { measure })
    }

    fn knowledge(&self) -> Knowledge {
        self.measure.by.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let measure = self.measure;
        match measure.by {
            Line::Lbn => Box::new(Sweep::<Lbn>::new(measure, drive)),
            Line::Fixed(_) | Line::Map => Box::new(Sweep::<InCylinder>::new(measure, drive)),
        }
    }
}

/// Repeated ascending sweeps. A sorted list would also work, but moves all entries after an
/// insertion.
#[derive(Debug)]
struct Sweep<K> {
    measure: Measure,
    /// The position of the sweep.
    at: K,
    /// Requests at or beyond the position; with `from=last` also those that the last step left
    /// behind.
    ahead: BinaryHeap<Reverse<Entry<K>>>,
    /// Requests behind it at the same place of the line.
    here: Vec<Reverse<Entry<K>>>,
    /// Requests behind it at lower places.
    behind: BinaryHeap<Reverse<Entry<K>>>,
    pending: Vec<Pending>,
    free: Vec<usize>,
    arrivals: u64,
}

/// A pending request. Equal keys are ordered by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<K> {
    key: K,
    arrival: u64,
    slot: usize,
}

impl<K: Key> Sweep<K> {
    fn new<E: Estimate>(measure: Measure, drive: &E) -> Self {
        Self {
            measure,
            at: K::of(measure.by, Lbn(0), drive),
            ahead: BinaryHeap::new(),
            here: Vec::new(),
            behind: BinaryHeap::new(),
            pending: Vec::new(),
            free: Vec::new(),
            arrivals: 0,
        }
    }

    #[inline]
    fn put(&mut self, entry: Reverse<Entry<K>>) {
        let Reverse(Entry { key, .. }) = entry;
        if key >= self.at {
            self.ahead.push(entry);
        } else if key.place() == self.at.place() {
            self.here.push(entry);
        } else {
            self.behind.push(entry);
        }
    }

    fn move_to(&mut self, at: K) {
        // Requests behind stay behind, and those ahead are checked when their turn comes.
        let is_simple = at >= self.at && (self.here.is_empty() || at.place() == self.at.place());
        self.at = at;
        if is_simple {
            return;
        }
        let mut all = std::mem::take(&mut self.here);
        all.extend(self.ahead.drain().chain(self.behind.drain()));
        all.into_iter().for_each(|entry| self.put(entry));
    }

    /// Removes the entry to serve next.
    #[inline]
    fn pop(&mut self) -> Option<Entry<K>> {
        while let Some(Reverse(entry)) = self.ahead.pop() {
            if entry.key < self.at {
                self.put(Reverse(entry));
            } else if self.here.is_empty() || entry.key.place() == self.at.place() {
                return Some(entry);
            } else {
                self.ahead.push(Reverse(entry));
                break;
            }
        }
        if self.here.is_empty() {
            std::mem::swap(&mut self.ahead, &mut self.behind);
        } else {
            // Go through this place again: it is below everything ahead.
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

impl<E: Estimate, K: Key> Policy<E> for Sweep<K> {
    #[inline]
    fn add(&mut self, pending: Pending, drive: &E) {
        let slot = self.free.pop().unwrap_or(self.pending.len());
        if slot == self.pending.len() {
            self.pending.push(pending);
        } else {
            self.pending[slot] = pending;
        }
        let key = K::of(self.measure.by, pending.request.start, drive);
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.put(Reverse(Entry { key, arrival, slot }));
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.move_to(self.measure.position_after(request, drive));
    }

    #[inline]
    fn next(&mut self, _: Instant, drive: &E) -> Option<Pending> {
        let Entry { key, slot, .. } = self.pop()?;
        let pending = self.release(slot);
        self.at = key;
        if self.measure.from == Mark::Last {
            self.move_to(self.measure.position_after(&pending.request, drive));
        }
        Some(pending)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let all = self.ahead.iter().chain(&self.here).chain(&self.behind);
        let mut slots = all.map(|Reverse(entry)| entry.slot);
        let slot = slots.find(|&slot| self.pending[slot].request.id == id)?;
        let others = |Reverse(entry): &Reverse<Entry<K>>| entry.slot != slot;
        self.ahead.retain(others);
        self.here.retain(others);
        self.behind.retain(others);
        Some(self.release(slot))
    }
}
