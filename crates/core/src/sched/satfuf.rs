//! Shortest access time first with urgent forcing.
//!
//! # What it does
//! Serves requests by shortest access time until the oldest has waited for `age`. Then the n oldest
//! are forced: they are served immediately, in greedy order. Before them, only requests that do not
//! delay them are served, by shortest access time. The access time ends where the transfer begins,
//! as in jacobson91 section 4, so the policy is `sptf` until it forces requests.
//!
//! # Origin
//! jacobson91 section 5.1, figure 6: SATFUF, and SATFUF(N). Departures: the paper does not define
//! "too old", so the default is ours; it does not give the order of N forced requests, which is
//! greedy here, as in its batches (section 5.2); and delays are determined to the nanosecond on a
//! copy of the drive and its buffer, not from sums of access times.
//!
//! # Cost
//! A scan of all pending requests; while some are forced, one trial on a copy of the drive for each
//! pending request, and up to n more.
//!
//! # When it is bad
//! Under load, the oldest requests are always too old and few others fit between them, so it
//! behaves like FCFS, with equally long queues (jacobson91 section 5.1). A forced request is
//! delayed only by other forced ones; a request that becomes too old waits for those forced before
//! it.

use super::forced::{AGE, Forcing, Greedy, read_age};
use super::policy::{Estimate, Knowledge, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};
use crate::units::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SatfUf {
    n: usize,
    age: Span,
}

impl Rule for SatfUf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "satfuf",
        summary: "SATF, but requests that are too old are forced immediately",
        parameters: &[("n=1", "requests forced at a time, from 1 to 1000"), AGE],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 5.1",
        example: "satfuf(n=4, age=500ms)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let n = args.maybe_count("n", 1..=1000)?.unwrap_or(1) as usize;
        let age = read_age(args)?;
        Ok(Self { n, age })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Forcing::new(self.n, self.age, Span::ZERO, Greedy))
    }
}
