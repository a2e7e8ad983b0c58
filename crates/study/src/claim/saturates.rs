//! The largest load that is kept up with.

use std::sync::Arc;

use super::bounds::Bounds;
use super::line::{Line, lines};
use super::load::Load;
use super::tally::Tally;
use super::{Check, Info, Judged};
use crate::axis::Point;
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

/// The load below the first that is saturated; no more than a bound of it where the axis ends
/// before, or where its first load is saturated. `None` without loads.
fn kept_up(line: &Line, results: &Results<'_>) -> Option<Load> {
    let is_saturated = |(_, point): &(f64, Point)| results.at(point).is_saturated;
    let (last, _) = line.steps.last()?;
    Some(match line.steps.iter().position(is_saturated) {
        None => Load::Within(*last, f64::INFINITY),
        Some(0) => Load::Within(0.0, line.steps[0].0),
        Some(first) => Load::At(Estimate::exact(line.steps[first - 1].0)),
    })
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
                    load.zip(base).map(|(top, base)| top.over(&base))
                }
            };
            if let Some(found) = found {
                tally.hold_load(found, &self.bounds, line.told(axes, self.along));
            }
        }
        tally.judged()
    }
}
