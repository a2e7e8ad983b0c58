//! Aged shortest positioning with cache time first.
//!
//! # What it does
//! Serves the pending request with the least of ASPTF's aged positioning times, where that of a
//! request whose data are at least partly in the buffer, from their beginning, counts as zero
//! before the credit for waiting is taken off.
//!
//! # Origin
//! worthington94 section 6.3, with the aging of section 5.3. ASPCTF(0) is SPCTF.
//!
//! # Cost
//! As SPCTF's.
//!
//! # When it is bad
//! On sequential reads it is behind C-LOOK (worthington94 section 6.3). As with ASPTF a request
//! is overtaken only by those that arrive within P / W after it.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("aspctf(w=6)", "policy").is_ok());
//! ```

use super::asptf::{CREDIT, aged, read_credit};
use super::select::{Select, Selector};
use super::spctf::positioning_with_cache;
use super::waiting::Waiting;
use super::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aspctf {
    /// What is taken off a positioning time for each second of waiting.
    pub credit: Span,
}

impl Rule for Aspctf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "aspctf",
        summary: "ASPTF; no positioning time for what the buffer has",
        parameters: &[CREDIT],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "worthington94 section 6.3",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let credit = read_credit(args)?;
        Ok(Self { credit })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Selector::by(*self))
    }
}

impl Select for Aspctf {
    fn select<O: Outlook>(&self, now: Instant, outlook: &O, waiting: &Waiting) -> Option<usize> {
        waiting.least(|c| {
            let time = positioning_with_cache(outlook, c);
            aged(time, c.pending.arrived, now, self.credit)
        })
    }
}
