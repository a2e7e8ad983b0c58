//! Shortest positioning time first.
//!
//! # What it does
//! Serves the pending request whose media transfer could begin soonest: the least sum of seek
//! and rotational wait from where the head will be when the command has been processed.
//!
//! # Origin
//! worthington94 sections 3.2 and 5.3; jacobson91 section 4.2 (as SATF). As section 2.4 of the
//! former asks, the angle is taken after the command overhead. The buffer's contents are not
//! looked at (a policy that does is SPCTF there).
//!
//! # Cost
//! Pending requests are kept by cylinder and angle (the module `field`): on the HP C2247 a
//! decision looks at some ten of 64 random requests and of 1,000 at some forty, and asks three
//! to ten of them for their exact time.
//!
//! # When it is bad
//! Starvation: the tail of its response times is the longest of all (worthington94 figure 5b),
//! and it breaks up sequential streams (section 6.3).
//!
//! # Example
//! ```
//! use diskarm_core::sched::Choice;
//! assert!(Choice::parse("sptf", "policy").is_ok());
//! ```

use super::field::{Candidate, Field};
use super::{Estimate, Info, Knowledge, Outlook, Pending, Policy, Rule};
use crate::text::{Args, Fault};
use crate::units::Instant;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sptf;

impl Rule for Sptf {
    const INFO: Info = Info {
        name: "sptf",
        summary: "shortest positioning time first",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "worthington94 section 3.2, jacobson91 section 4.2",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let pending = Field::new(drive.shape());
        Box::new(Nearest { pending })
    }
}

/// Looks outward from the arm.
#[derive(Debug)]
struct Nearest {
    pending: Field,
}

impl<E: Estimate> Policy<E> for Nearest {
    #[inline]
    fn add(&mut self, pending: Pending, drive: &E) {
        self.pending.add(pending, drive, 0.0);
    }

    #[inline]
    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let outlook = drive.outlook(now);
        let positioning = |c: &Candidate| outlook.positioning(&c.pending.request, &c.place);
        let found = self.pending.least(&outlook, 0.0, positioning)?;
        Some(self.pending.remove(found))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.pending.take(id)
    }
}
