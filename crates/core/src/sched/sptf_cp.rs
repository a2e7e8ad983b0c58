//! Shortest positioning time first with conditional priorities.
//!
//! # What it does
//! Serves the request with the shortest positioning time if it is a read, or a write whose
//! positioning time is below t times the best read's; otherwise serves that read.
//!
//! # Origin
//! liu05 section 6.1, with reads as the high-priority class, as in section 7.4. SPTF-CP(0) is HOL
//! with SPTF within each class. SPTF-CP(1) is exactly SPTF: if a write and a read have equal times,
//! the earlier one is served, although the inequality alone would select the read.
//!
//! # Cost
//! Per decision, the positioning time of every pending request; computed twice if a write has the
//! shortest.
//!
//! # When it is bad
//! With a small t, writes starve and throughput drops (liu05 section 8.2.1). With any t, requests
//! can starve, as under SPTF.

use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use super::waiting::{Candidate, Select, Selector, Waiting};
use crate::text::{Args, InputError};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SptfCp {
    threshold_factor: f64,
}

impl Rule for SptfCp {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sptf-cp",
        summary: "shortest positioning time first, favouring reads",
        parameters: &[(
            "t=0.6",
            "a write must take less than this fraction of the best read's time, from 0 to 1",
        )],
        knowledge: Knowledge::Times,
        origin: "liu05 section 6.1",
        example: "sptf-cp(t=0.6)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let threshold_factor = args.maybe_number("t", 0.0..=1.0)?.unwrap_or(0.6);
        Ok(Self { threshold_factor })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::new(*self))
    }
}

impl Select for SptfCp {
    fn select<O: Outlook>(&mut self, _: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        let positioning = |c: &Candidate| c.positioning(outlook);
        let is_write = |c: &Candidate| !c.pending.request.op.is_read();
        let all = queue.all();
        let winner = queue.min(positioning)?;
        if !is_write(&all[winner]) || self.threshold_factor == 1.0 {
            return Some(winner);
        }
        let read = queue.min(|c| (is_write(c), positioning(c)))?;
        // Exact in a double: positioning times are far below 2^53 ns.
        let ns = |index: usize| positioning(&all[index]).as_ns() as f64;
        let wins = is_write(&all[read]) || ns(winner) < ns(read) * self.threshold_factor;
        Some(if wins { winner } else { read })
    }
}
