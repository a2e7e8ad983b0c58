//! A metric lies within bounds.

use std::sync::Arc;

use super::subject::{AT_LEAST, AT_MOST, METRIC, Subject, TIE, WHERE};
use super::tally::{Place, Tally};
use super::{Check, CheckInfo, Found, Verdict};
use crate::results::{Estimate, Results};

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "value",
    holds: "the metric of each cell lies within the bounds; a saturated cell is beyond them",
    keys: &[METRIC, WHERE, AT_LEAST, AT_MOST, TIE],
    read: |keys| Ok(Arc::new(Value(Subject::read(keys)?))),
};

#[derive(Debug)]
struct Value(Subject);

impl Check for Value {
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let mut tally = Tally::new(&self.0.bounds);
        for point in self.0.points(axes) {
            let (cell, at) = (results.at(&point), Place::cell(axes, &point));
            match cell.is_saturated {
                true => tally.add(Estimate::exact(f64::INFINITY), Verdict::Fails, at),
                false => tally.hold(cell.estimate(self.0.metric).cloned(), at),
            }
        }
        tally.judged()
    }
}
