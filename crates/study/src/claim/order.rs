//! Several sides stand in an order.

use std::sync::Arc;

use super::bounds::Bounds;
use super::ratio::ratios;
use super::subject::{METRIC, TIE, WHERE};
use super::tally::{Place, Tally};
use super::{Check, CheckInfo, Found};
use crate::axis::describe;
use crate::metric::Metric;
use crate::results::Results;
use crate::select::Selection;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "order",
    holds: "the metric ascends from side to side",
    keys: &[
        METRIC,
        (
            "ascending = []",
            "two sides or more, the least first; each names one value of each of its axes",
        ),
        WHERE,
        (
            "slack = \"0 %\"",
            "a decrease of up to this share is accepted",
        ),
        TIE,
    ],
    read: |keys| {
        Ok(Arc::new(Order {
            metric: keys.metric()?,
            ascending: keys.sides("ascending")?,
            cells: keys.selection("where")?,
            slack: keys.share("slack")?.unwrap_or(0.0),
            tie: keys.tie()?,
        }))
    },
};

#[derive(Debug)]
struct Order {
    metric: Metric,
    ascending: Vec<Selection>,
    cells: Selection,
    /// The share by which a side may be above the next.
    slack: f64,
    tie: f64,
}

impl Check for Order {
    /// The numbers are the ratios of each side to the next: at most 1 plus the slack.
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let bounds = Bounds {
            tie: self.tie,
            ..Bounds::up_to(1.0 + self.slack)
        };
        let mut tally = Tally::new(&bounds);
        for pair in self.ascending.windows(2) {
            for (point, ratio) in ratios(results, self.metric, &pair[0], &pair[1], &self.cells) {
                let text = format!("{} to {}", describe(axes, &point), pair[1].label(axes));
                tally.hold(ratio, Place { point, text });
            }
        }
        tally.judged()
    }

    fn is_of_ratios(&self) -> bool {
        true
    }
}
