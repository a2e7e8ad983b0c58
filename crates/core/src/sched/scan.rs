//! SCAN, in LOOK's order.
//!
//! # What it does
//! Serves in the order of SCAN, whose arm moves from edge to edge and reverses only there. The
//! empty strokes to the edges and back are not simulated.
//!
//! # Origin
//! worthington94 section 3.1; jacobson91 section 2; liu05 section 3.1. Departure: here the arm
//! moves only to serve a request, so SCAN's empty stroke beyond the last request ahead takes no
//! time; nothing can arrive meanwhile, and the next request is the one that LOOK serves. So the
//! order and all times are LOOK's: this policy understates the cost of SCAN by the stroke to the
//! edge and back at each reversal. Studies that compare the two (liu05 section 5.2) can be
//! reproduced in their order, but not in that cost. Where jacobson91 says that VSCAN(1) is SCAN, it
//! means LOOK too.
//!
//! # Cost
//! A binary search per arrival, up to three per decision, and for each, 16 bytes (24 by cylinders)
//! moved for every request pending at a higher block.
//!
//! # When it is bad
//! As LOOK. A real arm under SCAN also loses the empty strokes, which matter most at light load.
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
        summary: "up and down from edge to edge; simulated in the order of look",
        parameters: &[Line::PARAMETER, Mark::FIRST],
        knowledge: Knowledge::Blocks,
        origin: "worthington94 section 3.1",
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
        Look { measure }.policy(drive)
    }
}
