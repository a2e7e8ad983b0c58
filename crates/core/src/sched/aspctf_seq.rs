//! Aged shortest positioning (with cache) time first, serving sequential reads in ascending order.
//!
//! # What it does
//! Serves requests like ASPCTF, but holds a read back while an older read that it continues is
//! pending: one that ends where the read begins, or up to `gap` blocks earlier.
//!
//! # Origin
//! worthington94 section 6.3 conjectures that an ASPCTF that serves sequential requests in
//! ascending order beats C-LOOK in all cases, but leaves the method to future research. The rules
//! are ours. Writes are not held back, because the conjecture is based on a prefetching cache.
//! Overlapping reads do not count as sequential, because the best order of many such reads depends
//! on the angle. Only an older read holds another back, so that new arrivals cannot starve it.
//!
//! # Cost
//! Per decision, the positioning time of every request that is not held back, and a sort of the
//! pending requests.
//!
//! # When it is bad
//! With few sequential reads, it is ASPCTF at a higher cost. Far beyond saturation, the credit
//! turns it into FCFS. If the drive's write cache combines sequential writes, this policy is slower
//! than C-LOOK. docs/aspctf-seq.md shows which policies it beats on which workloads.

use super::asptf::Credit;
use super::policy::{Estimate, Knowledge, Outlook, Pending, Policy, PolicyInfo, Rule};
use super::sptf::{CachedPositioning, Time};
use super::waiting::{Select, Selector, Waiting};
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn, SectorCount};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AspctfSeq {
    credit: Credit,
    gap: SectorCount,
}

impl Rule for AspctfSeq {
    const INFO: PolicyInfo = PolicyInfo {
        name: "aspctf-seq",
        summary: "ASPCTF with sequential reads in ascending order",
        parameters: &[
            Credit::PARAMETER,
            (
                "gap=0",
                "the number of blocks that may lie between sequential reads, from 0 to 10^9",
            ),
        ],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "new; conjectured in worthington94 section 6.3",
        example: "aspctf-seq(w=6, gap=16)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let credit = Credit::read(args)?;
        let gap = args.maybe_count("gap", 0..=1_000_000_000)?.unwrap_or(0);
        Ok(Self {
            credit,
            gap: SectorCount(gap),
        })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::new(AscendingReads {
            rule: *self,
            ends: Vec::new(),
        }))
    }
}

struct AscendingReads {
    rule: AspctfSeq,
    /// The end and the index of every pending read, in ascending order; reused to avoid allocation.
    ends: Vec<(Lbn, usize)>,
}

impl AscendingReads {
    /// Returns true if the read at `index`, which begins at `start`, continues an older one.
    fn is_held_back(&self, start: Lbn, index: usize) -> bool {
        let earliest = Lbn(start.0.saturating_sub(self.rule.gap.0));
        let from = self.ends.partition_point(|&(end, _)| end < earliest);
        let near = self.ends[from..].iter();
        near.take_while(|(end, _)| *end <= start)
            .any(|&(_, other)| other < index)
    }
}

impl Select for AscendingReads {
    fn select<O: Outlook>(&mut self, now: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        let candidates = || queue.all().iter().enumerate();
        let requests = candidates().map(|(index, c)| (&c.pending.request, index));
        let reads = requests.filter(|(request, _)| request.op.is_read());
        self.ends.clear();
        self.ends
            .extend(reads.map(|(request, index)| (request.end(), index)));
        self.ends.sort_unstable();
        let costs = candidates().filter_map(|(index, candidate)| {
            let Pending { request, arrived } = candidate.pending;
            if request.op.is_read() && self.is_held_back(request.start, index) {
                return None;
            }
            let time = CachedPositioning::time(outlook, candidate);
            Some((self.rule.credit.subtract_from(time, arrived, now), index))
        });
        costs.min().map(|(_, index)| index)
    }
}
