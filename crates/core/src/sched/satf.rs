//! Shortest access time first.
//!
//! # What it does
//! Serves the pending request whose media transfer could end soonest: positioning, the transfer
//! itself, and the changes of track within it.
//!
//! # Origin
//! jacobson91 section 4.2; liu05 section 3.1. Where requests are of one size, as in both, it
//! differs from SPTF only by the number of sectors on a track and by transfers that change
//! tracks; jacobson91's access time T_A in fact ends where the transfer begins (section 4), which
//! is SPTF here. With several sizes the transfer makes small requests go before large ones.
//!
//! # Cost
//! The access time of every waiting request at each decision.
//!
//! # When it is bad
//! As SPTF it starves requests, large ones above all.
//!
//! # Example
//! ```
//! use diskarm_core::sched::Choice;
//! assert!(Choice::parse("satf", "policy").is_ok());
//! ```

use super::select::{Select, Selector};
use super::waiting::Waiting;
use super::{Estimate, Info, Knowledge, Outlook, Policy, Rule};
use crate::text::{Args, Fault};
use crate::units::Instant;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Satf;

impl Rule for Satf {
    const INFO: Info = Info {
        name: "satf",
        summary: "shortest access time first: positioning and transfer",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "jacobson91 section 4.2, liu05 section 3.1",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::by(*self))
    }
}

impl Select for Satf {
    fn select<O: Outlook>(&self, _: Instant, outlook: &O, waiting: &Waiting) -> Option<usize> {
        waiting.least(|c| outlook.access(&c.pending.request, &c.place))
    }
}
