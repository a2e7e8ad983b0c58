//! A metric lies within bounds.

use std::sync::Arc;

use super::bounds::Bounds;
use super::tally::Tally;
use super::{Check, CheckInfo, Judged, Verdict};
use crate::axis::{describe, points};
use crate::metric::Metric;
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "value",
    holds: "the metric of each cell lies within the bounds; a saturated cell is beyond them",
    keys: &[
        ("metric", "the metric to check"),
        ("where = {}", "the cells to check; all if omitted"),
        ("at_least", "the lower bound; it, at_most or both"),
        ("at_most", "the upper bound"),
    ],
    read: |keys| {
        Ok(Arc::new(Value {
            metric: keys.metric()?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
        }))
    },
};

#[derive(Debug)]
struct Value {
    metric: Metric,
    cells: Selection,
    bounds: Bounds,
}

impl Check for Value {
    fn judge(&self, results: &Results<'_>) -> Judged {
        let axes = results.axes;
        let mut tally = Tally::default();
        for point in points(axes).iter().filter(|point| self.cells.has(point)) {
            let at = describe(axes, point);
            match results.estimate(point, self.metric) {
                Some(estimate) => tally.hold(estimate.clone(), &self.bounds, at),
                None if results.at(point).is_saturated => {
                    tally.add(Estimate::exact(f64::INFINITY), Verdict::Fails, at);
                }
                None => tally.leave_out(1),
            }
        }
        tally.judged()
    }
}
