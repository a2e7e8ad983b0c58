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
//! shortest possible movement exceeds the best found, so that it meets few candidates: about a
//! third of a queue of 64 random requests, a tenth of 256.
//!
//! # When it is bad
//! Starvation: the tail of its response times is the longest of all (worthington94 figure 5b),
//! and it breaks up sequential streams (section 6.3).
//!
//! # Example
//! ```
//! use diskarm_core::sched;
//! use diskarm_core::drive::Drive;
//! assert!(sched::policy::<Drive>("sptf").is_some());
//! ```

use super::{Estimate, Info, Outlook, Pending, Policy};
use crate::geometry::Extent;
use crate::units::{Instant, Span};

/// How the table describes it.
pub const INFO: Info = Info {
    name: "sptf",
    summary: "shortest positioning time first",
    origin: "worthington94 section 3.2, jacobson91 section 4.2",
};

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Sptf {
    /// In ascending order of cylinder, then of arrival.
    candidates: Vec<Candidate>,
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

impl Sptf {
    fn best<O: Outlook>(&self, outlook: &O) -> usize {
        let arm = outlook.cylinder();
        let mut above = self.candidates.partition_point(|c| c.place.cylinder < arm);
        let mut below = above;
        let mut best = Best {
            index: 0,
            positioning: Span::from_ns(i64::MAX),
            arrival: 0,
        };
        let mut look = |index: usize| {
            let c = &self.candidates[index];
            if outlook.least(c.place.cylinder.distance(arm)) > best.positioning {
                return false;
            }
            let positioning = outlook.positioning(&c.pending.request, &c.place);
            if (positioning, c.arrival) < (best.positioning, best.arrival) {
                best = Best {
                    index,
                    positioning,
                    arrival: c.arrival,
                };
            }
            true
        };
        // Both ways in turn, so that the bound tightens from near to far.
        let (mut up, mut down) = (true, true);
        while up || down {
            up = up && above < self.candidates.len() && look(above);
            above += 1;
            down = down && below > 0 && look(below - 1);
            below = below.saturating_sub(1);
        }
        best.index
    }
}

impl<E: Estimate + ?Sized> Policy<E> for Sptf {
    fn add(&mut self, pending: Pending, drive: &E) {
        let place = drive.locate(&pending.request);
        let candidate = Candidate {
            place,
            arrival: self.arrivals,
            pending,
        };
        self.arrivals += 1;
        let at = self
            .candidates
            .partition_point(|c| c.place.cylinder <= place.cylinder);
        self.candidates.insert(at, candidate);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.candidates.is_empty() {
            return None;
        }
        let index = self.best(&drive.outlook(now));
        Some(self.candidates.remove(index).pending)
    }

    fn len(&self) -> usize {
        self.candidates.len()
    }
}
