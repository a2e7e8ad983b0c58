//! Where one side gains more over another than elsewhere.

use std::sync::Arc;

use super::bounds::Bounds;
use super::ratio::{quotient, ratios};
use super::tally::Tally;
use super::{Check, CheckInfo, Judged};
use crate::axis::describe;
use crate::metric::Metric;
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "gain",
    holds: "the ratio of two sides over the same ratio elsewhere lies within the bounds",
    keys: &[
        ("metric", "the metric to compare"),
        ("of", "the numerator: one value of each axis that it names"),
        ("to", "the denominator, in the same form"),
        ("than", "the reference: the same ratio is taken there"),
        ("where = {}", "the cells to check; all if omitted"),
        ("at_least", "the lower bound; it, at_most or both"),
        ("at_most", "the upper bound"),
    ],
    read: |keys| {
        Ok(Arc::new(Gain {
            metric: keys.metric()?,
            of: keys.side("of")?,
            to: keys.side("to")?,
            than: keys.side("than")?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
        }))
    },
};

#[derive(Debug)]
struct Gain {
    metric: Metric,
    of: Selection,
    to: Selection,
    /// Where the ratio is taken that those in `cells` are compared with.
    than: Selection,
    cells: Selection,
    bounds: Bounds,
}

impl Check for Gain {
    /// The numbers are ratios of the two sides over the same ratio at the counterpart in `than`:
    /// below 1 where `of` is smaller in relation to `to` than it is there.
    fn judge(&self, results: &Results<'_>) -> Judged {
        let axes = results.axes;
        let all = ratios(
            results,
            self.metric,
            &self.of,
            &self.to,
            &Selection::default(),
        );
        let mut tally = Tally::default();
        for (point, ratio) in all.iter().filter(|(point, _)| self.cells.has(point)) {
            let base = self.than.counterpart(point);
            let base = all
                .iter()
                .find(|(other, _)| Some(other) == base.as_ref())
                .and_then(|(_, base)| base.as_ref());
            // A saturated side has no gain.
            let is_known = |ratio: &&Estimate| ratio.mean.is_finite() && ratio.mean > 0.0;
            let sides = ratio.as_ref().filter(is_known).zip(base.filter(is_known));
            match sides {
                Some((ratio, base)) => {
                    tally.hold(quotient(ratio, base), &self.bounds, describe(axes, point));
                }
                None => tally.leave_out(1),
            }
        }
        tally.judged()
    }
}
