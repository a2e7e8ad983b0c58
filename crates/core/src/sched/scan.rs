//! SCAN: LOOK's order, and with `to=edge` its strokes to the edges.
//!
//! # What it does
//! Serves in the order of SCAN, whose arm moves from edge to edge and reverses only there. By
//! default the empty strokes to the edges and back take no time; with `to=edge` the arm makes
//! them (see `to_edge`).
//!
//! # Origin
//! worthington94 section 3.1; jacobson91 section 2; liu05 section 3.1. Departure: by default the
//! arm moves only to serve a request, so that order and times are LOOK's; this understates the cost
//! of SCAN by the stroke to the edge and back at each reversal. Where jacobson91 says that VSCAN(1)
//! is SCAN, it means LOOK too.
//!
//! # Cost
//! A binary search per arrival, up to three per decision, and for each, 16 bytes (24 by cylinders)
//! moved for every request pending at a higher block.
//!
//! # When it is bad
//! As LOOK; with `to=edge` it also loses the empty strokes.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("scan(by=map)", "policy").is_ok());
//! ```

use super::line::{Line, Mark, Measure};
use super::to_edge::{self, ToEdge};
use super::{Estimate, Knowledge, Look, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The line of the sweeps.
    pub measure: Measure,
    /// Sweeps end at the edge of the disk.
    pub to_edge: bool,
}

impl Rule for Scan {
    const INFO: PolicyInfo = PolicyInfo {
        name: "scan",
        summary: "serves as look does; with to=edge a sweep goes on to the edge of the disk",
        parameters: &[Line::PARAMETER, Mark::FIRST, to_edge::PARAMETER],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1",
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
        let order = Look { measure }.policy(drive);
        if self.to_edge {
            return ToEdge::boxed(order, (measure, false), drive);
        }
        order
    }
}
