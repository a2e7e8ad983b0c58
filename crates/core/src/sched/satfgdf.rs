//! Shortest access time first with guided delayed forcing.
//!
//! # What it does
//! As `satfdf` with one request forced: once the oldest has waited for `age`, it gets a deadline,
//! some revolutions after the earliest possible instant. Until then, of the requests after which
//! the deadline can still be met, the next is the one that leaves the largest area of the disk
//! within reach: the sum, over all cylinders, of the time that the head could spend there between
//! the request's end and the deadline.
//!
//! # Origin
//! jacobson91 section 5.1, figures 7 to 9: SATFGDF. This "area" depends on the time left and on the
//! distance to the forced request's cylinder; for each remaining time it is a quadratic fitted to
//! the drive's minimum seek times when the policy is created, with no linear term and as if no edge
//! were near. Departures: the paper does not define "too old", the default is ours, and its figure,
//! which always forces, is `age=0s`; the forced request itself is taken only when nothing else fits
//! (the figure also compares its area, and does not say from where); a stay of several revolutions
//! counts in full (the paper does not say; counted once, the area of a long gap is the whole disk
//! wherever the head goes); the remaining time has a
//! resolution of a 64th of a revolution, not of a sector, as sectors differ between zones; and
//! whether the deadline can be met is tried on a copy of the drive.
//!
//! # Cost
//! A scan of all pending requests; while it forces, two requests tried on copies of the drive for
//! each pending one.
//! Memory: 16 bytes for each 64th of a revolution in two of the longest seeks.
//!
//! # When it is bad
//! It sustains less throughput than SATF and ASATF (jacobson91 section 6.1).
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("satfgdf(revolutions=4, age=500 ms)", "policy").is_ok());
//! ```

use super::area::Area;
use super::forced::{AGE, Forcing, Gap, Splice, age};
use super::{Estimate, Knowledge, Policy, PolicyInfo, Rehearse, Rule};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SatfGdf {
    /// The slack, in revolutions.
    pub revolutions: u64,
    /// Age of the oldest request at which it is forced.
    pub age: Span,
}

impl Rule for SatfGdf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "satfgdf",
        summary: "SATF, but the arm is guided to the oldest request when it is too old",
        parameters: &[
            (
                "revolutions=5",
                "the slack before the forced request, from 1 to 20",
            ),
            AGE,
        ],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 5.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let revolutions = args.maybe_count("revolutions", 1..=20)?.unwrap_or(5);
        Ok(Self {
            revolutions,
            age: age(args)?,
        })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let shape = drive.shape();
        let area = Area::new(shape, &drive.outlook(Instant::START));
        let slack = shape.revolution * self.revolutions;
        Box::new(Forcing::new(1, self.age, slack, Guided { area }))
    }
}

/// Keeps as much of the disk within reach as possible.
#[derive(Debug)]
struct Guided {
    area: Area,
}

impl Splice for Guided {
    fn choose<R: Rehearse>(&self, gap: &Gap<'_, R>) -> Option<usize> {
        let start = gap.start();
        let end = gap.end();
        let to = &end.candidate;
        let mut best: Option<(f64, usize)> = None;
        for index in gap.free() {
            let candidate = &gap.all[index];
            let after = start.served(candidate);
            if gap.kept(&after).is_none() {
                continue;
            }
            // The head must be there when the transfer begins.
            let (_, transfer) = after.reach(to);
            let left = end.due - after.at - transfer;
            let distance = candidate.place.cylinder.distance(to.place.cylinder);
            let share = self.area.reachable(left, distance);
            if best.is_none_or(|(max, _)| share > max) {
                best = Some((share, index));
            }
        }
        best.map(|(_, index)| index)
    }
}
