//! One setting of several does what is claimed.

use std::sync::Arc;

use super::ratio::ratios;
use super::subject::{AT_LEAST, AT_MOST, METRIC, Subject, TIE, WHERE};
use super::tally::{Place, Tally};
use super::{Check, CheckInfo, Found, Verdict};
use crate::axis::Point;
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: CheckInfo = CheckInfo {
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
    fn judge(&self, results: &Results<'_>) -> Found {
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
            Found {
                ours: format!("with {}: {}", value.label, found.ours),
                ..found
            }
        });
        let measured = found.filter(|found| found.verdict != Verdict::NotMeasured);
        let count = |found: &Found, verdict: Verdict| {
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
            let number = match cell.is_saturated {
                true => Some(Estimate::exact(f64::INFINITY)),
                false => cell.estimate(*metric).cloned(),
            };
            (point, number)
        });
        estimates.collect()
    }
}
