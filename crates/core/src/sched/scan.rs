//! SCAN, in LOOK's order.
//!
//! # What it does
//! Serves in the order of SCAN, whose arm shuttles from edge to edge and turns at the edges only.
//! The empty way to the edge and back is not travelled here.
//!
//! # Origin
//! worthington94 section 3.1; jacobson91 section 2; liu05 section 3.1. Departure: an arm moves
//! here only to serve a request, so that SCAN's empty way beyond the last request ahead takes no
//! time; and as nothing can arrive during no time, the next request is that which LOOK serves. So
//! the order is LOOK's, and so are all times: this entry understates what SCAN costs by the way to
//! the edge and back at each turn. Studies that compare the two (liu05 section 5.2) can be
//! repeated in their order, not in that cost. Where jacobson91 says that VSCAN(1) is SCAN, it
//! means LOOK too.
//!
//! # Cost
//! A binary search for an arrival, up to three for a decision, and for each 16 bytes (24 by
//! cylinders) moved for every request that waits at a higher block.
//!
//! # When it is bad
//! As LOOK. A real arm under SCAN also loses the empty ways, which weigh most at light load.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("scan(by=map)", "policy").is_ok());
//! ```

use super::line::{Line, Mark, Measure};
use super::{Estimate, Knowledge, Look, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The line of the sweeps.
    pub measure: Measure,
}

impl Rule for Scan {
    const INFO: PolicyInfo = PolicyInfo {
        name: "scan",
        summary: "up and down from edge to edge: the order only, which is look's",
        parameters: &[Line::PARAMETER, Mark::FIRST],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let measure = Measure::read(args, Mark::First)?;
        Ok(Self { measure })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let measure = self.measure;
        Look { measure }.policy(drive)
    }
}
