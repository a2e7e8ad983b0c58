//! Optimal access time: the bound of all policies on a closed batch.
//!
//! # What it does
//! Serves all pending requests in the order whose last request completes earliest. The order is
//! exact: it is found by trying orders on copies of the drive, including its buffer, and found
//! again when a request arrives. The cost is factorial, so this is done for at most `most`
//! requests; while more are pending, the one with the shortest access time goes next, and the order
//! is not a bound.
//!
//! # Origin
//! jacobson91 section 4.1; liu05 appendix C. Departures: it minimises the instant at which the last
//! request completes, not a sum of access times, which would ignore overheads and the buffer; and
//! the default limit is 8, where the papers went up to 10 requests, off line. Ties go to the order
//! that comes first when compared by age.
//!
//! # Cost
//! For n pending requests, up to e times n! requests tried (110,000 for 8), each at the cost of one
//! simulated request, though usually a few percent of that; none while nothing arrives.
//!
//! # When it is bad
//! With arrivals: it travels far for a first request to gain time later, which new arrivals then
//! spoil (jacobson91 section 4.1). It minimises neither the mean response nor the longest wait.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("oat(most=7)", "policy").is_ok());
//! ```

use std::collections::VecDeque;

use super::orders::optimal;
use super::waiting::{Candidate, Waiting};
use super::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::Instant;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oat {
    /// Maximum number of requests that are ordered exactly.
    pub max: usize,
}

impl Rule for Oat {
    const INFO: PolicyInfo = PolicyInfo {
        name: "oat",
        summary: "optimal order of all pending requests, if there are few: a bound",
        parameters: &[(
            "most=8",
            "the requests ordered exactly, from 1 to 10; with more, the shortest access time goes \
             first",
        )],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 4.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let max = args.maybe_count("most", 1..=10)?.unwrap_or(8) as usize;
        Ok(Self { max })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Optimal {
            max: self.max,
            waiting: Waiting::default(),
            planned: VecDeque::new(),
        })
    }
}

/// Follows its plan until something unplanned happens.
#[derive(Debug)]
struct Optimal {
    max: usize,
    waiting: Waiting,
    /// All pending requests in the best order: their ids, and when each is chosen.
    planned: VecDeque<(u64, Instant)>,
}

impl Optimal {
    fn plan<E: Estimate>(&mut self, now: Instant, drive: &E) {
        let all = self.waiting.all();
        let order = optimal(&drive.rehearse(), now, all);
        let named = order
            .iter()
            .map(|step| (all[step.index].pending.request.id, step.at));
        self.planned = named.collect();
    }
}

impl<E: Estimate> Policy<E> for Optimal {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.planned.clear();
        self.waiting.add(pending, drive);
    }

    fn note_bypass(&mut self, _: &Request, _: &E) {
        self.planned.clear();
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.waiting.all().len() > self.max {
            let outlook = drive.outlook(now);
            let access = |c: &Candidate| c.access(&outlook);
            let index = self.waiting.min(access)?;
            return Some(self.waiting.remove(index));
        }
        if self.planned.front().is_none_or(|&(_, at)| at != now) {
            self.plan(now, drive);
        }
        let (id, _) = self.planned.pop_front()?;
        self.waiting.take(id)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.planned.clear();
        self.waiting.take(id)
    }
}
