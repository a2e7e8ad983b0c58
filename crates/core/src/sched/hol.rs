//! Head of line: reads before writes, or one priority class before the next.
//!
//! # What it does
//! Serves no write while a read is pending. With `by=priority`, it serves no request while one of a
//! higher priority class is pending. Each class is served in order of arrival, or with
//! `within=sptf` by shortest positioning time.
//!
//! # Origin
//! liu05 sections 7.4 and 8.2.1 and appendix B.4: reads are the high-priority class, and each class
//! is FCFS. With `within=sptf`, it is SPTF-CP(0), which section 7.4 calls a read priority policy.
//! Table 6.3 labels it SPTF, which according to the text is SPTF-CP(1). `by=priority` does the same
//! for priority classes given by the host.
//!
//! # Cost
//! Per decision, a scan of every pending request; with `within=sptf`, its positioning time.
//!
//! # When it is bad
//! Writes starve as soon as reads alone keep the drive busy. With `within=sptf`, reads can starve
//! too, as under SPTF. Its throughput does not exceed that of FCFS (liu05 section 8.2.1).

use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule, read_word};
use super::waiting::{Select, Selector, Waiting};
use crate::request::Priority;
use crate::text::{Args, InputError};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hol {
    /// True if the classes are those of [`Priority`] instead of reads and writes.
    is_by_priority: bool,
    /// True if each class is served by shortest positioning time instead of order of arrival.
    is_shortest_first: bool,
}

impl Rule for Hol {
    const INFO: PolicyInfo = PolicyInfo {
        name: "hol",
        summary: "head of line: reads before writes",
        parameters: &[
            (
                "by=direction",
                "the classes: reads before writes (direction), or high before normal before low \
                 priority (priority, set by programs that use the library)",
            ),
            (
                "within=fcfs",
                "the order within a class: arrival (fcfs) or shortest positioning time \
                 (sptf)",
            ),
        ],
        knowledge: Knowledge::Times,
        origin: "liu05 sections 7.4 and 8.2.1",
        example: "hol(within=sptf)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let by = read_word(args, "by", [("direction", false), ("priority", true)])?;
        let within = read_word(args, "within", [("fcfs", false), ("sptf", true)])?;
        Ok(Self {
            is_by_priority: by.unwrap_or(false),
            is_shortest_first: within.unwrap_or(false),
        })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::new(*self))
    }
}

impl Select for Hol {
    fn select<O: Outlook>(&mut self, _: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        queue.min(|c| {
            let time = self.is_shortest_first.then(|| c.positioning(outlook));
            let request = &c.pending.request;
            let class = if self.is_by_priority {
                request.priority
            } else if request.op.is_read() {
                Priority::High
            } else {
                Priority::Normal
            };
            (class, time)
        })
    }
}
