//! Shortest access time first.
//!
//! # What it does
//! Serves the pending request whose media transfer could end earliest: positioning, the transfer
//! itself, and track changes within it.
//!
//! # Origin
//! jacobson91 section 4.2; liu05 section 3.1. With requests of one size, as in both, it differs
//! from SPTF only by the number of sectors per track and by transfers that change tracks;
//! jacobson91's access time T_A in fact ends where the transfer begins (section 4), which is SPTF
//! here. With several sizes the transfer favours small requests.
//!
//! # Cost
//! As SPTF; an access time takes slightly longer to compute than a positioning time.
//!
//! # When it is bad
//! Like SPTF it starves requests, especially large ones.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("satf", "policy").is_ok());
//! ```

use super::search::{Least, Search};
use super::waiting::Candidate;
use super::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule, Shape};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Satf;

impl Rule for Satf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "satf",
        summary: "shortest access time first: positioning and transfer",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "jacobson91 section 4.2, liu05 section 3.1",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        Box::new(Search::by(*self, drive.shape()))
    }
}

impl Least for Satf {
    type Cost = Span;

    /// The transfer of the blocks on the first track, which is a lower bound.
    fn more_ns(&self, shape: Shape, candidate: &Candidate) -> f64 {
        let Candidate { pending, place } = candidate;
        let sectors = place.sectors.min(pending.request.sectors).0;
        let revolutions = place.sector_angle.as_revolutions() * sectors as f64;
        revolutions * shape.revolution.as_ns() as f64
    }

    #[inline]
    fn cost<O: Outlook>(&self, _: Instant, outlook: &O, candidate: &Candidate) -> Span {
        candidate.access(outlook)
    }
}
