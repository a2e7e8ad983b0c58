//! How far apart the values of an axis are.

use std::sync::Arc;

use super::bounds::Bounds;
use super::endless::is_endless;
use super::ratio::quotient;
use super::tally::Tally;
use super::{Check, CheckInfo, Judged};
use crate::axis::{Point, describe, points};
use crate::metric::Metric;
use crate::results::{Estimate, Outcome, Results};
use crate::select::Selection;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "spread",
    holds: "the largest over the smallest metric among the values of an axis lies within the \
            bounds",
    keys: &[
        ("metric", "the metric to check"),
        ("among", "the axis"),
        ("where = {}", "the cells to check; all if omitted"),
        ("at_least", "the lower bound; it, at_most or both"),
        ("at_most", "the upper bound"),
    ],
    read: |keys| {
        Ok(Arc::new(Spread {
            metric: keys.metric()?,
            among: keys.axis("among")?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
        }))
    },
};

#[derive(Debug)]
struct Spread {
    metric: Metric,
    among: usize,
    cells: Selection,
    bounds: Bounds,
}

impl Check for Spread {
    /// The numbers are the largest estimate over the smallest, at each point of the other axes.
    fn judge(&self, results: &Results<'_>) -> Judged {
        let axes = results.axes;
        let is_endless = is_endless(results.columns, self.metric);
        let mut tally = Tally::default();
        let mut seen: Vec<Point> = Vec::new();
        for point in points(axes)
            .into_iter()
            .filter(|point| self.cells.has(point))
        {
            let at = |place: usize| {
                let mut moved = point.clone();
                moved[self.among] = place;
                moved
            };
            let base = at(0);
            if seen.contains(&base) {
                continue;
            }
            let all = (0..axes[self.among].values.len()).map(at);
            let all = all.filter(|point| self.cells.has(point));
            let all: Vec<&Outcome> = all.map(|point| results.at(&point)).collect();
            match largest_over_smallest(&all, self.metric, is_endless) {
                Some(found) => tally.hold(found, &self.bounds, describe(axes, &point)),
                None => tally.leave_out(1),
            }
            seen.push(base);
        }
        tally.judged()
    }
}

/// Infinite where some but not all are saturated and the metric grows without bound; `None` where
/// another value is missing, or all are 0.
fn largest_over_smallest(all: &[&Outcome], metric: Metric, is_endless: bool) -> Option<Estimate> {
    let is_beyond = |cell: &&&Outcome| is_endless && cell.is_saturated;
    let kept_up = all.iter().filter(|cell| !is_beyond(cell));
    let known: Option<Vec<&Estimate>> = kept_up.map(|cell| cell.estimate(metric)).collect();
    let known = known?;
    let by_mean = |a: &&&Estimate, b: &&&Estimate| a.mean.total_cmp(&b.mean);
    let largest = known.iter().max_by(by_mean)?;
    let smallest = known.iter().min_by(by_mean)?;
    match known.len() < all.len() {
        true => Some(Estimate::exact(f64::INFINITY)),
        false => Some(quotient(largest, smallest)).filter(|found| !found.mean.is_nan()),
    }
}
