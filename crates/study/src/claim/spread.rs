//! How far apart the values of an axis are.

use std::sync::Arc;

use super::endless::is_endless;
use super::ratio::quotient;
use super::subject::{AT_LEAST, AT_MOST, METRIC, Subject, TIE, WHERE};
use super::tally::{Place, Tally};
use super::{Check, CheckInfo, Found};
use crate::axis::Point;
use crate::metric::Metric;
use crate::results::{Estimate, Outcome, Results};

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "spread",
    holds: "the largest over the smallest metric among the values of an axis lies within the \
            bounds",
    keys: &[METRIC, ("among", "the axis"), WHERE, AT_LEAST, AT_MOST, TIE],
    read: |keys| {
        Ok(Arc::new(Spread {
            subject: Subject::read(keys)?,
            among: keys.axis("among")?,
        }))
    },
};

#[derive(Debug)]
struct Spread {
    subject: Subject,
    among: usize,
}

impl Check for Spread {
    /// The numbers are the largest estimate over the smallest, at each point of the other axes.
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let is_endless = is_endless(results.columns, self.subject.metric);
        let mut tally = Tally::new(&self.subject.bounds);
        let mut seen: Vec<Point> = Vec::new();
        for point in self.subject.points(axes) {
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
            let all = all.filter(|point| self.subject.cells.has(point));
            let all: Vec<&Outcome> = all.map(|point| results.at(&point)).collect();
            let found = largest_over_smallest(&all, self.subject.metric, is_endless);
            tally.hold(found, Place::cell(axes, &point));
            seen.push(base);
        }
        tally.judged()
    }

    fn is_of_ratios(&self) -> bool {
        true
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
