//! Aged shortest positioning time first.
//!
//! # What it does
//! Serves the pending request with the least positioning time less W times the time that it has
//! waited, T_pos - W T_wait.
//!
//! # Origin
//! worthington94 section 5.3. The unit of W is not printed there; it is milliseconds of
//! positioning for each second of waiting, because jacobson91's 30 sectors per second are said to
//! be approximately ASPTF(6.3) and a sector of the HP 97560 takes 0.21 ms. ASPTF(0) is SPTF. With
//! a large W it is FCFS; requests that arrive in the same instant have waited equally long, and go
//! by positioning time under any W. Differences are computed exactly, in integers.
//!
//! # Cost
//! The positioning time of every waiting request at each decision.
//!
//! # When it is bad
//! A large W turns it into FCFS when the drive saturates (worthington94 figure 5a). A request is
//! overtaken only by those that arrive within P / W after it, P being the longest positioning
//! time: 4 s at W = 6 and 24 ms.
//!
//! # Example
//! ```
//! use diskarm_core::sched::Choice;
//! assert!(Choice::parse("asptf(w=6.3)", "policy").is_ok());
//! ```

use super::select::{Select, Selector};
use super::waiting::Waiting;
use super::{Estimate, Info, Knowledge, Outlook, Policy, Rule};
use crate::text::{Args, Fault};
use crate::units::{Instant, Span};

const NS_PER_S: i128 = 1_000_000_000;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asptf {
    /// What is taken off a positioning time for each second of waiting.
    pub credit: Span,
}

impl Rule for Asptf {
    const INFO: Info = Info {
        name: "asptf",
        summary: "shortest positioning time first, less a credit for waiting",
        parameters: &[CREDIT],
        knowledge: Knowledge::Times,
        origin: "worthington94 section 5.3",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, Fault> {
        let credit = read_credit(args)?;
        Ok(Self { credit })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::by(*self))
    }
}

impl Select for Asptf {
    fn select<O: Outlook>(&self, now: Instant, outlook: &O, waiting: &Waiting) -> Option<usize> {
        waiting.least(|c| {
            let positioning = outlook.positioning(&c.pending.request, &c.place);
            aged(positioning, c.pending.arrived, now, self.credit)
        })
    }
}

/// What lists say of W.
pub(super) const CREDIT: (&str, &str) = (
    "w=6",
    "W in ms of positioning for each second of waiting, from 0 to 10^12",
);

/// Reads W.
pub(super) fn read_credit(args: &mut Args<'_>) -> Result<Span, Fault> {
    Ok(Span::from_ms(
        args.maybe_number("w", 0.0..=1e12)?.unwrap_or(6.0),
    ))
}

/// `time` less the credit for waiting from `arrived` until `now`, in units of 10^-18 s.
pub(super) fn aged(time: Span, arrived: Instant, now: Instant, credit: Span) -> i128 {
    let waited = now.since_or_zero(arrived);
    i128::from(time.as_ns()) * NS_PER_S - i128::from(credit.as_ns()) * i128::from(waited.as_ns())
}
