//! How far apart the values of an axis are.

use std::sync::Arc;

use super::bounds::Bounds;
use super::ratio::quotient;
use super::tally::Tally;
use super::{Check, Info, Judged};
use crate::axis::{Point, points};
use crate::cell::told;
use crate::metric::Metric;
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: Info = Info {
    name: "spread",
    holds: "the largest over the smallest metric among the values of an axis lies within the \
            bounds",
    keys: &[
        ("metric", "what is held"),
        ("among", "the axis"),
        ("where = {}", "the cells that count; all when left out"),
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
        let axes = &results.study.axes;
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
            let known = all.map(|point| results.estimate(&point, self.metric));
            let known: Option<Vec<&Estimate>> = known.collect();
            let by_mean = |a: &&&Estimate, b: &&&Estimate| a.mean.total_cmp(&b.mean);
            let known = known.unwrap_or_default();
            let ends = known
                .iter()
                .max_by(by_mean)
                .zip(known.iter().min_by(by_mean));
            if let Some((largest, smallest)) = ends {
                tally.hold(
                    quotient(largest, smallest),
                    &self.bounds,
                    told(axes, &point),
                );
            }
            seen.push(base);
        }
        tally.judged()
    }
}
