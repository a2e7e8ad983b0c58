//! Grouped shortest time first.
//!
//! # What it does
//! Divides the cylinders into groups of n. Within the group of the request served last, it serves
//! requests by shortest access time. When that group is empty, it moves up to the next non-empty
//! group or, if all higher ones are empty, to the lowest.
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

use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use super::waiting::{Candidate, Select, Selector, Waiting};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::{Cylinder, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gstf {
    /// Number of cylinders in a group; at least one.
    cylinders: u32,
}

impl Rule for Gstf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "gstf",
        summary: "groups of cylinders in turn, shortest access time first within each",
        parameters: &[("n=100", "cylinders per group, from 1 to 1000000000")],
        knowledge: Knowledge::Times,
        origin: "liu05 section 6.1",
        example: "gstf(n=200)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let cylinders = args.maybe_count("n", 1..=1_000_000_000)?.unwrap_or(100) as u32;
        Ok(Self { cylinders })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        let (rule, group) = (*self, 0);
        Box::new(Selector::new(Groups { rule, group }))
    }
}

struct Groups {
    rule: Gstf,
    group: u32,
}

impl Groups {
    fn group(&self, cylinder: Cylinder) -> u32 {
        cylinder.0 / self.rule.cylinders
    }
}

impl Select for Groups {
    fn select<O: Outlook>(&mut self, _: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        // The number of groups from the current one up to the candidate's, with wrap-around.
        let turn = |c: &Candidate| self.group(c.location.cylinder).wrapping_sub(self.group);
        let nearest = queue.all().iter().map(turn).min()?;
        let index = queue.min(|c| {
            let is_outside = turn(c) != nearest;
            (is_outside, (!is_outside).then(|| c.access(outlook)))
        });
        self.group = self.group.wrapping_add(nearest);
        index
    }

    fn note_bypass<E: Estimate>(&mut self, request: &Request, drive: &E) {
        self.group = self.group(drive.locate(request).cylinder);
    }
}
