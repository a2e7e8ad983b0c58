//! Shortest positioning time first.
//!
//! # What it does
//! Serves the pending request whose media transfer could begin soonest: the least sum of seek
//! and rotational wait from where the head will be when the command has been processed.
//!
//! # Origin
//! worthington94 sections 3.2 and 5.3; jacobson91 section 4.2 (as SATF). As section 2.4 of the
//! former asks, the angle is taken after the command overhead. The buffer's contents are not
//! looked at (a policy that does is SPCTF there).
//!
//! # Cost
//! Pending requests are kept by cylinder. A decision looks outward from the arm until the
//! shortest possible movement exceeds the best found, so that it meets few candidates: on the
//! HP C2247 nine of 64 random requests, fifteen of 256.
//!
//! # When it is bad
//! Starvation: the tail of its response times is the longest of all (worthington94 figure 5b),
//! and it breaks up sequential streams (section 6.3).
//!
//! # Example
//! ```
//! use diskarm_core::sched::Choice;
//! assert!(Choice::parse("sptf", "policy").is_ok());
//! ```

use super::sorted::Sorted;
use super::{Estimate, Info, Knowledge, Outlook, Pending, Policy, Rule};
use crate::extent::Extent;
use crate::text::{Args, Fault};
use crate::units::{Cylinder, Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sptf;

impl Rule for Sptf {
    const INFO: Info = Info {
        name: "sptf",
        summary: "shortest positioning time first",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "worthington94 section 3.2, jacobson91 section 4.2",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Nearest::default())
    }
}

/// Looks outward from the arm.
#[derive(Debug, Default)]
struct Nearest {
    pending: Sorted<Cylinder, Candidate>,
    arrivals: u64,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    place: Extent,
    arrival: u64,
    pending: Pending,
}

/// The best candidate so far.
struct Best {
    index: usize,
    positioning: Span,
    arrival: u64,
}

impl Nearest {
    /// The index of the candidate to serve; there must be one.
    #[inline]
    fn best<O: Outlook>(&self, outlook: &O) -> usize {
        let mut best = Best {
            index: 0,
            positioning: Span::from_ns(i64::MAX),
            arrival: 0,
        };
        for (index, distance, c) in self.pending.outward_from(outlook.cylinder()) {
            // Nor can any that is farther away be better.
            if outlook.least(distance) > best.positioning {
                break;
            }
            let positioning = outlook.positioning(&c.pending.request, &c.place);
            let sooner = positioning < best.positioning;
            if sooner || (positioning == best.positioning && c.arrival < best.arrival) {
                best = Best {
                    index,
                    positioning,
                    arrival: c.arrival,
                };
            }
        }
        best.index
    }
}

impl<E: Estimate> Policy<E> for Nearest {
    fn add(&mut self, pending: Pending, drive: &E) {
        let place = drive.locate(&pending.request);
        let candidate = Candidate {
            place,
            arrival: self.arrivals,
            pending,
        };
        self.arrivals += 1;
        self.pending.insert(place.cylinder, candidate);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.pending.len() == 0 {
            return None;
        }
        let index = self.best(&drive.outlook(now));
        Some(self.pending.remove(index).pending)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let index = self.pending.find(|c| c.pending.request.id == id)?;
        Some(self.pending.remove(index).pending)
    }
}
