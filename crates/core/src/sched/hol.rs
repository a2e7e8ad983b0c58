//! Head of line: reads before writes.
//!
//! # What it does
//! While a read waits, no write is served. Each class goes by shortest positioning time.
//!
//! # Origin
//! liu05 sections 6.1, 7.4 and 8.2.1, with reads as the class of high priority. There each class
//! may be FCFS; SPTF makes it SPTF-CP(0).
//!
//! # Cost
//! The positioning time of every waiting request at each decision.
//!
//! # When it is bad
//! Writes starve as soon as reads alone keep the drive busy, and within either class a request
//! can starve as under SPTF. Its throughput is far below SPTF's (liu05 section 6.1).
//!
//! # Example
//! ```
//! use diskarm_core::sched::Choice;
//! assert!(Choice::parse("hol", "policy").is_ok());
//! ```

use super::select::{Select, Selector};
use super::waiting::Waiting;
use super::{Estimate, Info, Knowledge, Outlook, Policy, Rule};
use crate::text::{Args, Fault};
use crate::units::Instant;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hol;

impl Rule for Hol {
    const INFO: Info = Info {
        name: "hol",
        summary: "reads before writes, each by shortest positioning time",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "liu05 section 8.2.1",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::by(*self))
    }
}

impl Select for Hol {
    fn select<O: Outlook>(&self, _: Instant, outlook: &O, waiting: &Waiting) -> Option<usize> {
        waiting.least(|c| {
            let request = &c.pending.request;
            let positioning = outlook.positioning(request, &c.place);
            (!request.op.is_read(), positioning)
        })
    }
}
