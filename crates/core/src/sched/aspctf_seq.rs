//! Aged shortest positioning with cache time first, sequential reads in ascending order.
//!
//! # What it does
//! Parts the pending reads into runs: in the order of their first blocks (of equal ones in order
//! of arrival) a read belongs to the run of the one before it if it begins where that ends or up to
//! `gap` blocks behind, else it begins a run; so reads that overlap are not sequential. Of each run
//! only the first read may go next; every write is a run of its own. Among those ASPCTF decides,
//! where a run has waited as long as the oldest of its reads.
//!
//! # Origin
//! worthington94 section 6.3 ends with the conjecture that an ASPCTF which schedules sequential
//! requests in ascending order beats C-LOOK in all cases, and leaves it to future research; it
//! does not say how. The rules are ours. Writes are left out, because no buffer serves them: the
//! paper's reason is the prefetching cache. Reads that overlap are left apart, because a request
//! among many that overlap is better chosen by its angle. Where no read begins up to `gap` blocks
//! behind the end of another it is ASPCTF.
//!
//! # Cost
//! The positioning time of every run at each decision, and a sort of the pending requests.
//!
//! # When it is bad
//! Where sequential reads are few it is ASPCTF at a higher cost, and far beyond saturation the
//! credit turns it into FCFS. Where a drive's write cache joins sequential writes it is behind
//! C-LOOK. docs/aspctf-seq.md shows where it beats which policy.
//!
//! # Example
//! ```
//! use diskarm_core::sched::Choice;
//! assert!(Choice::parse("aspctf-seq(w=6, gap=16)", "policy").is_ok());
//! ```

use super::asptf::{CREDIT, aged, read_credit};
use super::spctf::positioning_with_cache;
use super::waiting::Waiting;
use super::{Estimate, Info, Knowledge, Outlook, Pending, Policy, Rule};
use crate::text::{Args, Fault};
use crate::units::{Instant, Lbn, SectorCount, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AspctfSeq {
    /// What is taken off a positioning time for each second of waiting.
    pub credit: Span,
    /// Blocks that sequential reads may leave out.
    pub gap: SectorCount,
}

impl Rule for AspctfSeq {
    const INFO: Info = Info {
        name: "aspctf-seq",
        summary: "ASPCTF with sequential reads in ascending order",
        parameters: &[
            CREDIT,
            (
                "gap=0",
                "blocks that sequential reads may leave out, from 0 to 10^9",
            ),
        ],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "new; conjectured in worthington94 section 6.3",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, Fault> {
        let credit = read_credit(args)?;
        let gap = args.maybe_count("gap", 0..=1_000_000_000)?.unwrap_or(0);
        let gap = SectorCount(gap);
        Ok(Self { credit, gap })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Runs {
            rule: *self,
            waiting: Waiting::default(),
            order: Vec::new(),
        })
    }
}

/// Pending requests by run.
struct Runs {
    rule: AspctfSeq,
    waiting: Waiting,
    /// Indices of the pending requests in ascending order, kept for its memory.
    order: Vec<u32>,
}

/// A run: the read that may go next, and since when the oldest of its reads has waited.
struct Run {
    first: usize,
    end: Lbn,
    oldest: Instant,
}

impl Runs {
    /// The index of the request to serve next, if any waits.
    fn select<O: Outlook>(&mut self, now: Instant, outlook: &O) -> Option<usize> {
        let all = self.waiting.all();
        self.order.clear();
        self.order.extend(0..all.len() as u32);
        let start = |&index: &u32| all[index as usize].pending.request.start;
        self.order.sort_by_key(start);
        let mut best: Option<(i128, usize)> = None;
        let mut consider = |run: &Run| {
            let time = positioning_with_cache(outlook, &all[run.first]);
            let own = (aged(time, run.oldest, now, self.rule.credit), run.first);
            // Of equals the one whose first read came first.
            if best.is_none_or(|least| own < least) {
                best = Some(own);
            }
        };
        let gap = self.rule.gap;
        let mut run: Option<Run> = None;
        for &index in &self.order {
            let first = index as usize;
            let Pending { request, arrived } = all[first].pending;
            let single = Run {
                first,
                end: request.end(),
                oldest: arrived,
            };
            if !request.op.is_read() {
                consider(&single);
                continue;
            }
            match &mut run {
                Some(run) if run.end <= request.start && request.start <= run.end + gap => {
                    run.end = request.end();
                    run.oldest = run.oldest.min(arrived);
                }
                _ => {
                    if let Some(done) = run.replace(single) {
                        consider(&done);
                    }
                }
            }
        }
        if let Some(last) = run {
            consider(&last);
        }
        best.map(|(_, index)| index)
    }
}

impl<E: Estimate> Policy<E> for Runs {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.waiting.add(pending, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.waiting.is_empty() {
            return None;
        }
        let index = self.select(now, &drive.outlook(now))?;
        Some(self.waiting.remove(index))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.waiting.take(id)
    }
}
