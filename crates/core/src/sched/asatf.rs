//! Aged shortest access time first: ASPTF with its original unit.
//!
//! # What it does
//! Serves the pending request with the greatest merit w T_age - T_A / tau: T_age is how long it
//! has waited, T_A its access time, tau the time of one sector.
//!
//! # Origin
//! jacobson91 section 5.3. T_A is seek and rotational wait without the transfer (section 4), so
//! ASATF(w) is ASPTF(W) with W = w tau, to the bit, whatever the requests' sizes; W is w tau
//! rounded to a nanosecond per second. Where zones differ, tau is the time of one sector at block
//! 0; on the HP 97560, with one zone, it is 0.21 ms everywhere.
//!
//! # Cost
//! The same as ASPTF.
//!
//! # When it is bad
//! As ASPTF. A request is overtaken only by those that arrive within P / (w tau) after it, P
//! being the longest positioning time.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("asatf(w=30)", "policy").is_ok());
//! ```

use super::asptf::Asptf;
use super::{Estimate, Knowledge, Policy, PolicyInfo, Rule};
use crate::request::{Op, Request};
use crate::text::{Args, InputError};
use crate::units::{Angle, Lbn, SectorCount, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asatf {
    /// w: sectors subtracted from an access time per second of waiting.
    pub credit_sectors_per_s: f64,
}

impl Rule for Asatf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "asatf",
        summary: "ASPTF with the weight in sectors per second",
        parameters: &[(
            "w=30",
            "w in sectors per second of waiting, from 0 to 10^12; a sector counts as its time \
             at block 0",
        )],
        knowledge: Knowledge::Times,
        origin: "jacobson91 section 5.3",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let w = args.maybe_number("w", 0.0..=1e12)?;
        Ok(Self {
            credit_sectors_per_s: w.unwrap_or(30.0),
        })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let ns = self.credit_sectors_per_s * sector_ns(drive);
        let credit = Span::from_ns(ns.round() as i64);
        Asptf { credit }.policy(drive)
    }
}

/// Time of one sector at block 0.
fn sector_ns<E: Estimate>(drive: &E) -> f64 {
    let first = Request::new(0, Op::Read, Lbn(0), SectorCount(1));
    let angle = drive.locate(&first).sector_angle;
    // A single sector on its track takes the whole revolution.
    let turn = if angle == Angle::ZERO {
        1.0
    } else {
        angle.as_revolutions()
    };
    drive.shape().revolution.as_ns() as f64 * turn
}
