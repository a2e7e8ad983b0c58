//! C-SCAN, in C-LOOK's order.
//!
//! # What it does
//! Serves in the order of C-SCAN, whose arm goes up to the last cylinder, returns to the first
//! without serving on its way, and goes up again. The empty ways to the edges are not travelled
//! here.
//!
//! # Origin
//! worthington94 section 3.1; liu05 section 5.1 (CSCAN). Departure: an arm moves here only to
//! serve a request, so that the empty ways to the last cylinder and from the first take no time,
//! nothing can arrive during them, and the next request is the lowest, which C-LOOK serves. So the
//! order is C-LOOK's, and so are all times: this entry understates what C-SCAN costs by these
//! ways, once a sweep.
//!
//! # Cost
//! C-LOOK's.
//!
//! # When it is bad
//! As C-LOOK. A real arm under C-SCAN also loses a full stroke a sweep, which weighs most at light
//! load.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("cscan(by=map)", "policy").is_ok());
//! ```

use super::line::{Line, Mark, Measure};
use super::{CLook, Estimate, Knowledge, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CScan {
    /// The line of the sweep.
    pub measure: Measure,
}

impl Rule for CScan {
    const INFO: PolicyInfo = PolicyInfo {
        name: "cscan",
        summary: "up to the edge, again from the lowest: the order only, which is clook's",
        parameters: &[Line::PARAMETER, Mark::FIRST],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1, liu05 section 5.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let measure = Measure::read(args, Mark::First)?;
        Ok(Self { measure })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let measure = self.measure;
        CLook { measure }.policy(drive)
    }
}
