//! C-SCAN, in C-LOOK's order.
//!
//! # What it does
//! Serves in the order of C-SCAN, whose arm moves up to the last cylinder, returns to the first
//! without serving requests, and moves up again. The empty strokes to the edges are not simulated.
//!
//! # Origin
//! worthington94 section 3.1; liu05 section 5.1 (CSCAN). Departure: here the arm moves only to
//! serve a request, so the empty strokes to the last cylinder and from the first take no time,
//! nothing can arrive during them, and the next request is the lowest, which C-LOOK serves. So the
//! order and all times are C-LOOK's: this policy understates the cost of C-SCAN by these strokes,
//! once per sweep.
//!
//! # Cost
//! The same as C-LOOK.
//!
//! # When it is bad
//! As C-LOOK. A real arm under C-SCAN also loses a full stroke per sweep, which matters most at
//! light load.
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
        summary: "up to the edge, then again from the lowest; simulated in the order of clook",
        parameters: &[Line::PARAMETER, Mark::FIRST],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1, liu05 section 5.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let measure = Measure::read(args, Mark::First)?;
        Ok(Self { measure })
    }

    fn knowledge(&self) -> Knowledge {
        self.measure.by.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let measure = self.measure;
        CLook { measure }.policy(drive)
    }
}
