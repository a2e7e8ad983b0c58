//! Grouped shortest time first.
//!
//! # What it does
//! The cylinders are divided into groups of n. It serves the group of the request served last by
//! shortest access time first; when that group is empty, it moves to the next non-empty group,
//! upward and then again from the lowest.
//!
//! # Origin
//! liu05 sections 3.1 and 6.1, after Seltzer and others 1990. A request belongs to the group of its
//! first block. The default of n is ours.
//!
//! # Cost
//! Per decision, the cylinder of every pending request, and the access time of those in the group.
//!
//! # When it is bad
//! It saturates early, because the sweep leaves it few requests to choose from (liu05 section 6.1).
//! It never leaves a group to which requests keep arriving, so waits are unbounded.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("gstf(n=200)", "policy").is_ok());
//! ```

use super::waiting::{Candidate, Waiting};
use super::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::{Cylinder, Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gstf {
    /// Cylinders in a group; at least one.
    pub cylinders: u32,
}

impl Rule for Gstf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "gstf",
        summary: "groups of cylinders in turn, shortest access time first within each",
        parameters: &[("n=100", "the cylinders in a group, from 1 to 1000000000")],
        knowledge: Knowledge::Times,
        origin: "liu05 section 6.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let n = args.maybe_count("n", 1..=1_000_000_000)?;
        Ok(Self {
            cylinders: n.unwrap_or(100) as u32,
        })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Groups {
            rule: *self,
            group: 0,
            waiting: Waiting::default(),
        })
    }
}

/// Serves group after group.
struct Groups {
    rule: Gstf,
    /// The group of the request served last.
    group: u32,
    waiting: Waiting,
}

impl Groups {
    fn group_of(&self, cylinder: Cylinder) -> u32 {
        cylinder.0 / self.rule.cylinders
    }

    /// Orders groups as the sweep reaches them; lower ones come after the wrap.
    fn turn_of(&self, c: &Candidate) -> u32 {
        self.group_of(c.place.cylinder).wrapping_sub(self.group)
    }
}

impl<E: Estimate> Policy<E> for Groups {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.waiting.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.group = self.group_of(drive.locate(request).cylinder);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let turn = self.waiting.all().iter().map(|c| self.turn_of(c)).min()?;
        let outlook = drive.outlook(now);
        let index = self.waiting.min(|c| {
            let is_out = self.turn_of(c) != turn;
            let access = if is_out {
                Span::ZERO
            } else {
                c.access(&outlook)
            };
            (is_out, access)
        })?;
        self.group = self.group.wrapping_add(turn);
        Some(self.waiting.remove(index))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.waiting.take(id)
    }
}
