//! Aged shortest positioning time first.
//!
//! # What it does
//! Serves the pending request with the least aged positioning time, T_pos - W T_wait, where T_wait
//! is the time it has waited.
//!
//! # Origin
//! worthington94 section 5.3. The unit of W is not printed there; we use milliseconds of
//! positioning per second of waiting, because jacobson91's 30 sectors per second are said to be
//! approximately ASPTF(6.3) and a sector of the HP 97560 takes 0.21 ms. ASPTF(0) is SPTF. With a
//! large W it is FCFS; requests that arrive at the same instant have waited equally long, and are
//! ordered by positioning time under any W. Differences are computed exactly, in integers.
//!
//! # Cost
//! As SPTF, but a decision examines more requests: no ring of cylinders can be skipped while it
//! might contain a request as old as the oldest. Above W = 100 every decision computes the time of
//! every pending request.
//!
//! # When it is bad
//! A large W turns it into FCFS when the drive saturates (worthington94 figure 5a). A request is
//! overtaken only by those that arrive within P / W after it, P being the longest positioning
//! time: 4 s at W = 6 and 24 ms.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("asptf(w=6.3)", "policy").is_ok());
//! ```

use super::search::{Least, Search};
use super::select::{Select, Selector};
use super::waiting::{Candidate, Waiting};
use super::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule, Shape};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

const NS_PER_S: i128 = 1_000_000_000;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asptf {
    /// Subtracted from the positioning time per second of waiting.
    pub credit: Span,
}

impl Rule for Asptf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "asptf",
        summary: "shortest positioning time first, less a credit for waiting",
        parameters: &[CREDIT],
        knowledge: Knowledge::Times,
        origin: "worthington94 section 5.3",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let credit = read_credit(args)?;
        Ok(Self { credit })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        if self.credit > MAX_SEARCHED {
            return Box::new(Selector::by(*self));
        }
        Box::new(Search::by(*self, drive.shape()))
    }
}

/// Up to this credit, costs stay within the range of a search for years of simulated time.
const MAX_SEARCHED: Span = Span::from_ns(100_000_000);

impl Asptf {
    /// How much less credit a request that arrived at `at` has than one that arrived at the start,
    /// in nanoseconds.
    fn credit_ns(&self, at: Instant) -> f64 {
        self.credit.as_ns() as f64 * at.as_s()
    }

    fn effective<O: Outlook>(&self, now: Instant, outlook: &O, c: &Candidate) -> i128 {
        aged(c.positioning(outlook), c.pending.arrived, now, self.credit)
    }
}

impl Least for Asptf {
    type Cost = i128;

    const GROWS_WITH_ARRIVAL: bool = true;

    fn more_ns(&self, _: Shape, candidate: &Candidate) -> f64 {
        self.credit_ns(candidate.pending.arrived)
    }

    fn less_ns(&self, now: Instant) -> f64 {
        self.credit_ns(now)
    }

    #[inline]
    fn cost<O: Outlook>(&self, now: Instant, outlook: &O, candidate: &Candidate) -> i128 {
        self.effective(now, outlook, candidate)
    }
}

impl Select for Asptf {
    fn select<O: Outlook>(&self, now: Instant, outlook: &O, waiting: &Waiting) -> Option<usize> {
        waiting.min(|c| self.effective(now, outlook, c))
    }
}

pub(super) const CREDIT: (&str, &str) = (
    "w=6",
    "W in ms of positioning per second of waiting, from 0 to 10^12",
);

pub(super) fn read_credit(args: &mut Args<'_>) -> Result<Span, InputError> {
    Ok(Span::from_ms(
        args.maybe_number("w", 0.0..=1e12)?.unwrap_or(6.0),
    ))
}

/// `time` less the credit for waiting from `arrived` until `now`, in units of 10^-18 s.
pub(super) fn aged(time: Span, arrived: Instant, now: Instant, credit: Span) -> i128 {
    let waited = now.since_or_zero(arrived);
    i128::from(time.as_ns()) * NS_PER_S - i128::from(credit.as_ns()) * i128::from(waited.as_ns())
}
