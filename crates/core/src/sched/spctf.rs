//! Shortest positioning with cache time first.
//!
//! # What it does
//! SPTF with knowledge of the buffer: a request whose data are in the buffer, at least their
//! beginning, has a positioning time of zero. Ties go to the earliest arrival.
//!
//! # Origin
//! worthington94 section 6.3.
//!
//! # Cost
//! Per decision, a buffer lookup for every pending request, and the positioning time of those not
//! in the buffer.
//!
//! # When it is bad
//! It starves requests as SPTF does. On sequential reads it is slower than C-LOOK (worthington94
//! section 6.3), because it serves only parts of a stream in order.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("spctf", "policy").is_ok());
//! ```

use super::select::{Select, Selector};
use super::waiting::{Candidate, Waiting};
use super::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spctf;

impl Rule for Spctf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "spctf",
        summary: "shortest positioning time first; zero for buffered data",
        parameters: &[],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "worthington94 section 6.3",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::by(*self))
    }
}

impl Select for Spctf {
    fn select<O: Outlook>(&self, _: Instant, outlook: &O, waiting: &Waiting) -> Option<usize> {
        waiting.min(|c| positioning_with_cache(outlook, c))
    }
}

/// The positioning time, zero for buffered data.
pub(super) fn positioning_with_cache<O: Outlook>(outlook: &O, c: &Candidate) -> Span {
    if outlook.is_buffered(&c.pending.request) {
        Span::ZERO
    } else {
        c.positioning(outlook)
    }
}
