//! C-SCAN with look-ahead of i.
//!
//! # What it does
//! Looks at the next `i` requests in the order of C-LOOK, tries all orders of them on a copy of the
//! drive, and serves the first request of the order that finishes earliest; ties go to the order
//! closest to C-LOOK's. It decides again after each request, so a new arrival ahead of the arm may
//! be among the next `i`. A request that was passed over stays among the `i` until it is served;
//! requests beyond the end of a sweep are not considered before those ahead are served.
//!
//! # Origin
//! liu05 sections 3.1 and 5.1 (CSCAN-LAi; LA2 and LA3 in section 5.2). Departures: the thesis does
//! not say that requests passed over stay among the `i`, and so cannot be passed over for more than
//! one sweep, but without this they would wait for the next sweep. Service times are those of the
//! drive itself, with its overheads and its buffer, where the thesis uses seek, rotation and
//! transfer. The sweep is C-LOOK's (see C-SCAN). With `i=1` it is C-LOOK.
//!
//! # Cost
//! Per decision, up to i + i(i-1) + ... + i! requests served on copies of the drive: 4 with i = 2,
//! 15 with i = 3, 64 with i = 4. With 64 outstanding on the HP C2247 a simulated request then takes
//! about 2, 6 and 19 µs, and less than one under C-LOOK.
//!
//! # When it is bad
//! It reorders only neighbours, so it gains where rotation decides between them and stays behind
//! SPTF: on the same workload the service time is 13.5, 13.1 and 12.9 ms with i = 2, 3 and 4,
//! between C-LOOK's 15.3 and SPTF's 12.4. It breaks up sequential streams unless the buffer holds
//! them. It has the bounds of C-LOOK.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("cscan-la(i=3, by=map)", "policy").is_ok());
//! ```

use super::along::{Along, InCylinder, Key};
use super::line::{Line, Mark, Measure};
use super::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rehearse, Rule};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CScanLa {
    /// Number of requests considered; at least 1.
    i: u64,
    /// The line of the sweep.
    pub measure: Measure,
}

impl Rule for CScanLa {
    const INFO: PolicyInfo = PolicyInfo {
        name: "cscan-la",
        summary: "the next few requests of clook in the order that finishes earliest",
        parameters: &[
            ("i=2", "the number of requests considered, from 1 to 5"),
            Line::PARAMETER,
            Mark::FIRST,
        ],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "liu05 sections 3.1 and 5.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            i: args.maybe_count("i", 1..=5)?.unwrap_or(2),
            measure: Measure::read(args, Mark::First)?,
        })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let (i, measure) = (self.i as usize, self.measure);
        match measure.by {
            Line::Lbn => Box::new(Ahead::<Lbn>::new(i, measure, drive)),
            Line::Fixed(_) | Line::Map => Box::new(Ahead::<InCylinder>::new(i, measure, drive)),
        }
    }
}

/// Looks a few requests ahead.
#[derive(Debug)]
struct Ahead<K> {
    i: usize,
    along: Along<K>,
    /// Requests passed over in this sweep, fewer than `i`, in the order of the sweep.
    passed_over: Vec<Pending>,
}

impl<K: Key> Ahead<K> {
    fn new<E: Estimate>(i: usize, measure: Measure, drive: &E) -> Self {
        Self {
            i,
            along: Along::new(measure, drive),
            passed_over: Vec::new(),
        }
    }

    /// Indices of the requests ahead that are considered.
    fn ahead(&self) -> Vec<usize> {
        let count = self.i - self.passed_over.len();
        let ahead: Vec<usize> = self.along.ascending().take(count).collect();
        if ahead.is_empty() && self.passed_over.is_empty() {
            // The sweep is over.
            (0..self.along.len()).take(count).collect()
        } else {
            ahead
        }
    }

    /// Removes the `chosen`-th request of `ahead`; those before it are passed over.
    fn serve<E: Estimate>(&mut self, ahead: &[usize], chosen: usize, drive: &E) -> Pending {
        let mut index = ahead[chosen];
        for (gone, &passed) in ahead[..chosen].iter().enumerate() {
            let before = ahead[..gone].iter().filter(|&&other| other < passed);
            self.passed_over
                .push(self.along.remove(passed - before.count()));
            index -= usize::from(passed < ahead[chosen]);
        }
        self.along.serve(index, drive)
    }
}

impl<E: Estimate, K: Key> Policy<E> for Ahead<K> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.along.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.along.passed(request, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let ahead = self.ahead();
        let passed_over = self.passed_over.iter();
        let looked_at = passed_over.chain(ahead.iter().map(|&index| self.along.get(index)));
        let requests: Vec<Request> = looked_at.map(|pending| pending.request).collect();
        let chosen = match requests.len() {
            0 => return None,
            1 => 0,
            _ => soonest(&drive.rehearse(), now, &requests).0,
        };
        Some(match chosen.checked_sub(self.passed_over.len()) {
            None => self.passed_over.remove(chosen),
            Some(chosen) => self.serve(&ahead, chosen, drive),
        })
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let mut passed_over = self.passed_over.iter();
        match passed_over.position(|pending| pending.request.id == id) {
            Some(index) => Some(self.passed_over.remove(index)),
            None => self.along.take(id),
        }
    }
}

/// The first request of the order that finishes earliest, and when it does; ties go to the
/// lexicographically first order.
fn soonest<R: Rehearse>(drive: &R, now: Instant, requests: &[Request]) -> (usize, Instant) {
    let mut best = (0, Instant::NEVER);
    for (first, request) in requests.iter().enumerate() {
        let mut drive = drive.clone();
        let mut done = drive.serve(now, request);
        if requests.len() > 1 {
            let rest = [&requests[..first], &requests[first + 1..]].concat();
            (_, done) = soonest(&drive, done, &rest);
        }
        if done < best.1 {
            best = (first, done);
        }
    }
    best
}
