//! Where one side gains more over another than elsewhere.

use std::sync::Arc;

use super::ratio::{quotient, ratios};
use super::subject::{AT_LEAST, AT_MOST, Subject, TIE, WHERE};
use super::tally::{Place, Tally};
use super::{Check, CheckInfo, Found};
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
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
    ],
    read: |keys| {
        Ok(Arc::new(Gain {
            subject: Subject::read(keys)?,
            of: keys.side("of")?,
            to: keys.side("to")?,
            than: keys.side("than")?,
        }))
    },
};

#[derive(Debug)]
struct Gain {
    subject: Subject,
    of: Selection,
    to: Selection,
    /// Where the ratio is taken that those in `cells` are compared with.
    than: Selection,
}

impl Check for Gain {
    /// The numbers are ratios of the two sides over the same ratio at the counterpart in `than`:
    /// below 1 where `of` is smaller in relation to `to` than it is there.
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let all = ratios(
            results,
            self.subject.metric,
            &self.of,
            &self.to,
            &Selection::default(),
        );
        let mut tally = Tally::new(&self.subject.bounds);
        for (point, ratio) in all
            .iter()
            .filter(|(point, _)| self.subject.cells.has(point))
        {
            let base = self.than.counterpart(point);
            let base = all
                .iter()
                .find(|(other, _)| Some(other) == base.as_ref())
                .and_then(|(_, base)| base.as_ref());
            // A saturated side has no gain.
            let is_known = |ratio: &&Estimate| ratio.mean.is_finite() && ratio.mean > 0.0;
            let sides = ratio.as_ref().filter(is_known).zip(base.filter(is_known));
            let gain = sides.map(|(ratio, base)| quotient(ratio, base));
            tally.hold(gain, Place::cell(axes, point));
        }
        tally.judged()
    }

    fn is_of_ratios(&self) -> bool {
        true
    }
}
