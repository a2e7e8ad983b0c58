//! Cyclical LOOK.
//!
//! # What it does
//! Serves pending requests in ascending order of their first block; when none lies at or beyond
//! the block served last, it starts again from the lowest. By cylinders it goes on to the next
//! cylinder when no request is left ahead in this one, blocks ascending within each.
//!
//! # Origin
//! worthington94 sections 3.1, 5.1 and 5.2. The sweep's position is the first block of the request
//! served last, not its end, so that requests to one place are not starved (section 6.2).
//! Requests for the same block are served in the order of their arrival.
//!
//! # Cost
//! A binary search for an arrival, and for an arrival and a decision 16 bytes moved for each
//! request that waits with a higher block.
//!
//! # When it is bad
//! On random workloads its mean response is 5 to 10 % above SSTF's (worthington94 section
//! 5.1), and it ignores rotation altogether.
//!
//! # Example
//! ```
//! use diskarm_core::sched::Choice;
//! assert!(Choice::parse("clook(by=map)", "policy").is_ok());
//! ```

use super::sorted::Sorted;
use super::{Estimate, Info, Knowledge, Line, Pending, Policy, Rule};
use crate::request::Request;
use crate::text::{Args, Fault};
use crate::units::{Instant, Lbn};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CLook {
    /// The line of the sweep.
    pub by: Line,
}

impl Rule for CLook {
    const INFO: Info = Info {
        name: "clook",
        summary: "cyclical LOOK: always ascending, then from the lowest again",
        parameters: &[Line::PARAMETER],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, Fault> {
        let by = Line::read(args)?;
        Ok(Self { by })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        Box::new(Sweep {
            by: self.by,
            pending: Sorted::default(),
            sweep: (self.by.of(Lbn(0), drive), Lbn(0)),
            ahead: 0,
        })
    }
}

/// Ascending, and again.
#[derive(Debug)]
struct Sweep {
    by: Line,
    /// By place on the line, then by block.
    pending: Sorted<(u64, Lbn), Pending>,
    /// First block of the request served last, and its place on the line.
    sweep: (u64, Lbn),
    /// Index of the first request at or beyond it.
    ahead: usize,
}

impl Sweep {
    #[inline]
    fn key<E: Estimate>(&self, request: &Request, drive: &E) -> (u64, Lbn) {
        (self.by.of(request.start, drive), request.start)
    }
}

impl<E: Estimate> Policy<E> for Sweep {
    #[inline]
    fn add(&mut self, pending: Pending, drive: &E) {
        let key = self.key(&pending.request, drive);
        self.ahead += usize::from(key < self.sweep);
        self.pending.insert(key, pending);
    }

    fn passed(&mut self, request: &Request, drive: &E) {
        self.sweep = self.key(request, drive);
        self.ahead = self.pending.before(self.sweep);
    }

    #[inline]
    fn next(&mut self, _: Instant, _: &E) -> Option<Pending> {
        if self.pending.len() == 0 {
            return None;
        }
        if self.ahead == self.pending.len() {
            self.ahead = 0;
        }
        self.sweep = self.pending.key(self.ahead);
        Some(self.pending.remove(self.ahead))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let index = self.pending.find(|p| p.request.id == id)?;
        self.ahead -= usize::from(index < self.ahead);
        Some(self.pending.remove(index))
    }
}
