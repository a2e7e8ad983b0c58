//! The largest load that is kept up with.

use std::sync::Arc;

use super::bounds::Bounds;
use super::line::{Line, lines};
use super::tally::Tally;
use super::{Check, Info, Judged};
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: Info = Info {
    name: "saturates",
    holds: "the largest load that is not saturated, or its ratio to that of `to`, lies within \
            the bounds",
    keys: &[
        ("along", "an axis of numbers"),
        ("of = {}", "one value of each axis that it names"),
        ("to = {}", "the same; may be left out"),
        ("where = {}", "the cells that count; all when left out"),
        ("at_least", "the lower bound; it, at_most or both"),
        ("at_most", "the upper bound"),
    ],
    read: |keys| {
        Ok(Arc::new(Saturates {
            along: keys.along("along")?,
            of: keys.side("of")?,
            to: keys.side_if_any("to")?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
        }))
    },
};

#[derive(Debug)]
struct Saturates {
    along: usize,
    of: Selection,
    /// Where it is absent, the load itself is held to the bounds, else the ratio.
    to: Option<Selection>,
    cells: Selection,
    bounds: Bounds,
}

/// The load below the first that is saturated; the largest of all, where none is.
fn kept_up(line: &Line, results: &Results<'_>) -> Option<f64> {
    let steps = line.steps.iter();
    let kept = steps.take_while(|(_, point)| !results.at(point).is_saturated);
    kept.last().map(|(load, _)| *load)
}

impl Check for Saturates {
    fn judge(&self, results: &Results<'_>) -> Judged {
        let axes = &results.study.axes;
        let mut tally = Tally::default();
        for line in lines(axes, self.along, &[&self.of, &self.cells]) {
            let load = kept_up(&line, results);
            let found = match &self.to {
                None => load,
                Some(to) => {
                    let base = line.moved(to).and_then(|line| kept_up(&line, results));
                    load.zip(base).map(|(top, base)| top / base)
                }
            };
            if let Some(mean) = found {
                let estimate = Estimate {
                    mean,
                    half_width: None,
                    runs: Vec::new(),
                };
                tally.hold(estimate, &self.bounds, line.told(axes, self.along));
            }
        }
        tally.judged()
    }
}
