//! LOOK, the elevator.
//!
//! # What it does
//! Continues in the direction in which the arm last moved as long as there are requests ahead, then
//! reverses. By cylinders it serves all requests for the current cylinder, as C-LOOK does, before
//! it moves on. A request that found the drive idle also sets the direction, if it moved the arm.
//!
//! # Origin
//! worthington94 sections 3.1, 5.1 and 5.2. The position is the first block of the previous request
//! (section 6.2); with `from=last` a repeated request waits for the return sweep.
//!
//! # Cost
//! A binary search per arrival, up to three per decision, and for each, 16 bytes (24 by cylinders)
//! moved for every request pending at a higher block.
//!
//! # When it is bad
//! Requests near the edges wait up to twice as long as under C-LOOK. On the way down it serves
//! sequential requests backwards by block number (worthington94 section 6.1). No request waits for
//! more than two sweeps, but requests for the arm's current place hold it there: a block, or by
//! cylinders a cylinder (section 6.2 says so of all policies by cylinders).
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("look(by=1024)", "policy").is_ok());
//! ```

use super::along::{Along, Key, Way};
use super::line::{Line, Mark, Measure};
use super::two_way::{Turn, two_way};
use super::{Estimate, Knowledge, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The line of the sweeps.
    pub measure: Measure,
}

impl Rule for Look {
    const INFO: PolicyInfo = PolicyInfo {
        name: "look",
        summary: "up and down, reversing where no request is left ahead",
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
        two_way(self.measure, Onward, drive)
    }
}

#[derive(Debug)]
struct Onward;

impl Turn for Onward {
    fn turn<K: Key>(&self, _: &Along<K>, way: Way, _: usize, _: usize) -> Way {
        way
    }
}
