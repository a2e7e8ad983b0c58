//! A metric lies within bounds.

use std::sync::Arc;

use super::bounds::Bounds;
use super::tally::Tally;
use super::{Check, Info, Judged};
use crate::axis::points;
use crate::cell::told;
use crate::metric::Metric;
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: Info = Info {
    name: "value",
    holds: "the metric of each cell lies within the bounds; a saturated cell is beyond them",
    keys: &[
        ("metric", "what is held"),
        ("where = {}", "the cells that count; all when left out"),
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
        let axes = &results.study.axes;
        let mut tally = Tally::default();
        for point in points(axes).iter().filter(|point| self.cells.has(point)) {
            // A cell without a figure is saturated: beyond every bound.
            let estimate = results.estimate(point, self.metric).cloned();
            let beyond = || Estimate {
                mean: f64::INFINITY,
                half_width: None,
                runs: Vec::new(),
            };
            tally.hold(
                estimate.unwrap_or_else(beyond),
                &self.bounds,
                told(axes, point),
            );
        }
        tally.judged()
    }
}
