//! Checks of single metrics, and of the values of an axis: `value`, `spread`, `exists`.

use std::sync::Arc;

use super::check::{
    AT_LEAST, AT_MOST, Check, CheckInfo, Finding, METRIC, Subject, TIE, Verdict, WHERE, is_endless,
};
use super::ratio::ratios;
use super::tally::{Place, Tally, quotient};
use crate::axis::Point;
use crate::axis::Selection;
use crate::metric::Metric;
use crate::results::{Estimate, Outcome, Results};

pub(super) const VALUE: CheckInfo = CheckInfo {
    name: "value",
    holds: "the metric of each cell lies within the bounds; a saturated cell is beyond them",
    keys: &[
        METRIC,
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
        (
            "statistic = \"mean\"",
            "`half_width` checks half the width of the metric's 95 % interval as a share of its \
             mean; cells without an interval are not checked",
        ),
    ],
    read: |keys| {
        let subject = Subject::read(keys)?;
        match keys.text("statistic")?.as_deref() {
            None | Some("mean") => Ok(Arc::new(Value(subject))),
            Some("half_width") => Ok(Arc::new(HalfWidth(subject))),
            Some(_) => Err(keys.missing("statistic", "mean or half_width")),
        }
    },
};

#[derive(Debug)]
struct Value(Subject);

impl Check for Value {
    fn judge(&self, results: &Results<'_>) -> Finding {
        let axes = results.axes;
        let mut tally = Tally::new(&self.0.bounds);
        for point in self.0.points(axes) {
            let (cell, at) = (results.at(&point), Place::cell(axes, &point));
            if cell.is_saturated {
                tally.add(Estimate::exact(f64::INFINITY), Verdict::Fails, at);
            } else {
                tally.hold(cell.estimate(self.0.metric).cloned(), at);
            }
        }
        tally.judged()
    }
}

#[derive(Debug)]
struct HalfWidth(Subject);

impl Check for HalfWidth {
    /// The numbers are half widths of the 95 % intervals as shares of the means.
    fn judge(&self, results: &Results<'_>) -> Finding {
        let axes = results.axes;
        let mut tally = Tally::new(&self.0.bounds);
        for point in self.0.points(axes) {
            let relative_half_width = results
                .estimate(&point, self.0.metric)
                .and_then(relative_half_width);
            if let Some(relative_half_width) = relative_half_width {
                tally.hold(
                    Some(Estimate::exact(relative_half_width)),
                    Place::cell(axes, &point),
                );
            }
        }
        tally.judged()
    }
}

/// Returns half the width of the interval as a share of the mean.
fn relative_half_width(estimate: &Estimate) -> Option<f64> {
    Some(estimate.half_width? / estimate.mean)
}

pub(super) const SPREAD: CheckInfo = CheckInfo {
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
    fn judge(&self, results: &Results<'_>) -> Finding {
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

/// Returns the spread: infinite if some but not all are saturated and the metric grows without
/// bound; `None` if another value is missing, or all are 0.
fn largest_over_smallest(all: &[&Outcome], metric: Metric, is_endless: bool) -> Option<Estimate> {
    let is_beyond = |cell: &&&Outcome| is_endless && cell.is_saturated;
    let kept_up = all.iter().filter(|cell| !is_beyond(cell));
    let known: Option<Vec<&Estimate>> = kept_up.map(|cell| cell.estimate(metric)).collect();
    let known = known?;
    let by_mean = |a: &&&Estimate, b: &&&Estimate| a.mean.total_cmp(&b.mean);
    let largest = known.iter().max_by(by_mean)?;
    let smallest = known.iter().min_by(by_mean)?;
    if known.len() < all.len() {
        return Some(Estimate::exact(f64::INFINITY));
    }
    Some(quotient(largest, smallest)).filter(|spread| !spread.mean.is_nan())
}

pub(super) const EXISTS: CheckInfo = CheckInfo {
    name: "exists",
    holds: "for one value of an axis, the same in all cells, the metric lies within the bounds, \
            or its ratio to that of `to`",
    keys: &[
        METRIC,
        ("among", "the axis"),
        ("to = {}", "one value of each axis that it names; optional"),
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
    ],
    read: |keys| {
        Ok(Arc::new(Exists {
            subject: Subject::read(keys)?,
            among: keys.axis("among")?,
            to: keys.side_if_any("to")?,
        }))
    },
};

#[derive(Debug)]
struct Exists {
    subject: Subject,
    among: usize,
    /// If present, the ratios to this side are checked, otherwise the metric itself.
    to: Option<Selection>,
}

impl Check for Exists {
    /// The verdict is that of the value that comes nearest: the fewest of its cells fail, and then
    /// the fewest are unsure. The numbers are those of this value.
    fn judge(&self, results: &Results<'_>) -> Finding {
        let axis = &results.axes[self.among];
        let all = self.numbers(results);
        let found = axis.values.iter().enumerate().map(|(place, value)| {
            let mut tally = Tally::new(&self.subject.bounds);
            for (point, number) in all.iter().filter(|(point, _)| point[self.among] == place) {
                let place = Place::cell(results.axes, point);
                match number {
                    // A saturated cell is beyond any bounds.
                    Some(number) if number.mean == f64::INFINITY => {
                        tally.add(number.clone(), Verdict::Fails, place);
                    }
                    number => tally.hold(number.clone(), place),
                }
            }
            let found = tally.judged();
            Finding {
                ours: format!("with {}: {}", value.label, found.ours),
                ..found
            }
        });
        let measured = found.filter(|found| found.verdict != Verdict::NotMeasured);
        let count = |found: &Finding, verdict: Verdict| {
            let such = found.numbers.iter().filter(|n| n.verdict == verdict);
            such.count()
        };
        let best = measured.min_by_key(|found| {
            (
                found.verdict,
                count(found, Verdict::Fails),
                count(found, Verdict::Unsure),
            )
        });
        best.unwrap_or_else(|| Tally::new(&self.subject.bounds).judged())
    }

    fn is_of_ratios(&self) -> bool {
        self.to.is_some()
    }
}

impl Exists {
    fn numbers(&self, results: &Results<'_>) -> Vec<(Point, Option<Estimate>)> {
        let Subject { metric, cells, .. } = &self.subject;
        if let Some(to) = &self.to {
            return ratios(results, *metric, &Selection::default(), to, cells);
        }
        let points = self.subject.points(results.axes).into_iter();
        let estimates = points.map(|point| {
            let cell = results.at(&point);
            let number = if cell.is_saturated {
                Some(Estimate::exact(f64::INFINITY))
            } else {
                cell.estimate(*metric).cloned()
            };
            (point, number)
        });
        estimates.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's factor for three runs is 4.303; of 9, 10 and 11 the deviation is 1, so that the
    /// half width is 4.303 / sqrt(3) = 2.484, a quarter of the mean.
    #[test]
    fn the_half_width_is_a_share_of_the_mean() {
        let estimate = Estimate::of(vec![9.0, 10.0, 11.0]).expect("three runs");
        let share = relative_half_width(&estimate).expect("more than one run");
        assert!((share - 0.2484).abs() < 1e-4, "{share}");
        assert_eq!(
            Estimate::of(vec![9.0])
                .as_ref()
                .and_then(super::relative_half_width),
            None
        );
    }
}
