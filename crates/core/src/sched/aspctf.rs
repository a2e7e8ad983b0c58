//! Aged shortest positioning with cache time first.
//!
//! # What it does
//! Serves the pending request with the least aged positioning time of ASPTF, where the positioning
//! time of a request whose data are in the buffer, at least their beginning, counts as zero before
//! the credit for waiting is subtracted.
//!
//! # Origin
//! worthington94 section 6.3, with the aging of section 5.3. ASPCTF(0) is SPCTF.
//!
//! # Cost
//! The same as SPCTF.
//!
//! # When it is bad
//! On sequential reads it is slower than C-LOOK (worthington94 section 6.3). As with ASPTF, a
//! request is overtaken only by those that arrive within P / W after it.
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
    /// Subtracted from the positioning time per second of waiting.
    pub credit: Span,
}

impl Rule for Aspctf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "aspctf",
        summary: "ASPTF; zero positioning time for buffered data",
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
        waiting.min(|c| {
            let time = positioning_with_cache(outlook, c);
            aged(time, c.pending.arrived, now, self.credit)
        })
    }
}
