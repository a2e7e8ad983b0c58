//! C-SCAN: C-LOOK's order, and with `to=edge` its strokes to the edges.
//!
//! # What it does
//! Serves in the order of C-SCAN, whose arm moves up to the last cylinder, returns to the first
//! without serving requests, and moves up again. By default the empty strokes to the edges take no
//! time; with `to=edge` the arm makes them (see `to_edge`).
//!
//! # Origin
//! worthington94 section 3.1; liu05 section 5.1 (CSCAN). Departure: by default the arm moves
//! only to serve a request, so that order and times are C-LOOK's; this understates the cost of
//! C-SCAN by the strokes to the last cylinder and from the first, once per sweep.
//!
//! # Cost
//! The same as C-LOOK.
//!
//! # When it is bad
//! As C-LOOK; with `to=edge` it also loses a full stroke per sweep.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("cscan(by=map)", "policy").is_ok());
//! ```

use super::line::{Line, Mark, Measure};
use super::to_edge::{self, ToEdge};
use super::{CLook, Estimate, Knowledge, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CScan {
    /// The line of the sweep.
    pub measure: Measure,
    /// Sweeps end at the edge of the disk.
    pub to_edge: bool,
}

impl Rule for CScan {
    const INFO: PolicyInfo = PolicyInfo {
        name: "cscan",
        summary: "serves as clook does; with to=edge a sweep goes on to the edge of the disk",
        parameters: &[Line::PARAMETER, Mark::FIRST, to_edge::PARAMETER],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1, liu05 section 5.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let measure = Measure::read(args, Mark::First)?;
        let to_edge = to_edge::read(args)?;
        Ok(Self { measure, to_edge })
    }

    fn knowledge(&self) -> Knowledge {
        if self.to_edge {
            return Knowledge::Cylinders;
        }
        self.measure.by.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let measure = self.measure;
        let order = CLook { measure }.policy(drive);
        if self.to_edge {
            return ToEdge::boxed(order, (measure, true), drive);
        }
        order
    }
}
