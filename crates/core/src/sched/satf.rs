//! Shortest access time first.
//!
//! # What it does
//! Serves the pending request whose media transfer could end soonest: positioning, the transfer
//! itself, and the changes of track within it.
//!
//! # Origin
//! jacobson91 section 4.2; liu05 section 3.1. Where requests are of one size, as in both, it
//! differs from SPTF only by the number of sectors on a track and by transfers that change
//! tracks; jacobson91's access time T_A in fact ends where the transfer begins (section 4), which
//! is SPTF here. With several sizes the transfer makes small requests go before large ones.
//!
//! # Cost
//! As SPTF's; an access time takes a little longer to tell than a positioning time.
//!
//! # When it is bad
//! As SPTF it starves requests, large ones above all.
//!
//! # Example
//! ```
//! use diskarm_core::sched::Choice;
//! assert!(Choice::parse("satf", "policy").is_ok());
//! ```

use super::field::{Candidate, Field};
use super::{Estimate, Info, Knowledge, Outlook, Pending, Policy, Rule};
use crate::extent::Extent;
use crate::request::Request;
use crate::text::{Args, Fault};
use crate::units::{Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Satf;

impl Rule for Satf {
    const INFO: Info = Info {
        name: "satf",
        summary: "shortest access time first: positioning and transfer",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "jacobson91 section 4.2, liu05 section 3.1",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let shape = drive.shape();
        Box::new(Nearest {
            pending: Field::new(shape),
            revolution: shape.revolution,
        })
    }
}

/// Looks outward from the arm.
#[derive(Debug)]
struct Nearest {
    pending: Field,
    revolution: Span,
}

impl Nearest {
    /// What of a request's transfer is sure, in nanoseconds: that of the blocks on its first track.
    fn transfer_ns(&self, request: &Request, place: &Extent) -> f64 {
        let sectors = place.sectors.min(request.sectors).0;
        let revolutions = place.sector_angle.as_revolutions() * sectors as f64;
        revolutions * self.revolution.as_ns() as f64
    }
}

impl<E: Estimate> Policy<E> for Nearest {
    #[inline]
    fn add(&mut self, pending: Pending, drive: &E) {
        let request = &pending.request;
        let transfer_ns = self.transfer_ns(request, &drive.locate(request));
        self.pending.add(pending, drive, transfer_ns);
    }

    #[inline]
    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let outlook = drive.outlook(now);
        let access = |c: &Candidate| outlook.access(&c.pending.request, &c.place);
        let found = self.pending.least(&outlook, 0.0, access)?;
        Some(self.pending.remove(found))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.pending.take(id)
    }
}
