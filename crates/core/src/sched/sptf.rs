//! Shortest positioning time first.
//!
//! # What it does
//! Serves the pending request whose media transfer could begin earliest: the least sum of seek and
//! rotational wait from where the head will be when the command has been processed.
//!
//! # Origin
//! worthington94 sections 3.2 and 5.3; jacobson91 section 4.2 (as SATF). As section 2.4 of the
//! former asks, the angle is taken after the command overhead. The buffer's contents are ignored
//! (SPCTF uses them).
//!
//! # Cost
//! Pending requests are kept by cylinder and angle (the module `field`): on the HP C2247 a decision
//! examines some ten of 64 random requests, or some forty of 1,000, and computes the exact time of
//! three to ten.
//!
//! # When it is bad
//! Starvation: the tail of its response times is the longest of all (worthington94 figure 5b),
//! and it breaks up sequential streams (section 6.3).
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("sptf", "policy").is_ok());
//! ```

use super::search::{Least, Search};
use super::waiting::Candidate;
use super::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule, Shape};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sptf;

impl Rule for Sptf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sptf",
        summary: "shortest positioning time first",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "worthington94 section 3.2, jacobson91 section 4.2",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        Box::new(Search::by(*self, drive.shape()))
    }
}

impl Least for Sptf {
    type Cost = Span;

    fn more_ns(&self, _: Shape, _: &Candidate) -> f64 {
        0.0
    }

    #[inline]
    fn cost<O: Outlook>(&self, _: Instant, outlook: &O, candidate: &Candidate) -> Span {
        candidate.positioning(outlook)
    }
}
