//! One side's metric as a multiple of another's.

use std::sync::Arc;

use super::bounds::Bounds;
use super::tally::Tally;
use super::{Check, Info, Judged};
use crate::axis::{Point, points};
use crate::cell::told;
use crate::metric::Metric;
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: Info = Info {
    name: "ratio",
    holds: "the metric of `of` over that of `to` lies within the bounds",
    keys: &[
        ("metric", "what is held"),
        ("of = {}", "the cells that are set beside others"),
        (
            "to = {}",
            "the others; one value of each axis that it names",
        ),
        ("where = {}", "the cells that count; all when left out"),
        ("at_least", "the lower bound; it, at_most or both"),
        ("at_most", "the upper bound"),
        (
            "take = \"each\"",
            "each ratio is held to the bounds; with \"mean\" their mean",
        ),
    ],
    read: |keys| {
        let take = keys.text("take")?;
        Ok(Arc::new(Ratio {
            metric: keys.metric()?,
            of: keys.chosen("of")?,
            to: keys.side("to")?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
            takes_mean: match take.as_deref() {
                None | Some("each") => false,
                Some("mean") => true,
                Some(other) => return Err(keys.wrong("take", other, "\"each\" or \"mean\"")),
            },
        }))
    },
};

#[derive(Debug)]
struct Ratio {
    metric: Metric,
    /// Any number of cells, each of which is set beside its counterpart in `to`.
    of: Selection,
    to: Selection,
    cells: Selection,
    bounds: Bounds,
    /// The mean of the ratios is held to the bounds, not each.
    takes_mean: bool,
}

impl Check for Ratio {
    fn judge(&self, results: &Results<'_>) -> Judged {
        let axes = &results.study.axes;
        let mut tally = Tally::default();
        let mut all = Vec::new();
        for (point, ratio) in ratios(results, self.metric, &self.of, &self.to, &self.cells) {
            match self.takes_mean {
                true => all.push(ratio),
                false => tally.hold(ratio, &self.bounds, told(axes, &point)),
            }
        }
        if let Some(mean) = mean(&all) {
            tally.hold(mean, &self.bounds, String::new());
        }
        tally.judged()
    }
}

/// The ratios of `of` to `to` in `cells`, matched on the axes that neither names: infinite where
/// `of` alone is saturated, 0 where `to` alone is, and left out where both are.
pub(super) fn ratios(
    results: &Results<'_>,
    metric: Metric,
    of: &Selection,
    to: &Selection,
    cells: &Selection,
) -> Vec<(Point, Estimate)> {
    let mut ratios = Vec::new();
    for point in points(&results.study.axes) {
        if !(of.has(&point) && cells.has(&point)) {
            continue;
        }
        let Some(other) = to.counterpart(&point) else {
            continue;
        };
        let sides = (
            results.estimate(&point, metric),
            results.estimate(&other, metric),
        );
        let are_saturated = [&point, &other].map(|point| results.at(point).is_saturated);
        let ratio = match (sides, are_saturated) {
            ((Some(top), Some(base)), _) => quotient(top, base),
            // Whoever cannot keep up is beyond whoever can.
            (_, [true, false]) => Estimate::exact(f64::INFINITY),
            (_, [false, true]) => Estimate::exact(0.0),
            _ => continue,
        };
        ratios.push((point, ratio));
    }
    ratios
}

/// Replication by replication, as those of one seed have the same requests.
pub(super) fn quotient(top: &Estimate, base: &Estimate) -> Estimate {
    let pairs = top.runs.iter().zip(&base.runs);
    let paired = Estimate::of(pairs.map(|(top, base)| top / base).collect());
    Estimate {
        mean: top.mean / base.mean,
        half_width: paired.as_ref().and_then(|paired| paired.half_width),
        runs: paired.map(|paired| paired.runs).unwrap_or_default(),
    }
}

/// The mean of estimates, replication by replication.
fn mean(all: &[Estimate]) -> Option<Estimate> {
    let replications = all.iter().map(|estimate| estimate.runs.len()).min()?;
    let of_all =
        |value: &dyn Fn(&Estimate) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    let runs = (0..replications).map(|number| of_all(&|estimate| estimate.runs[number]));
    let half_width = Estimate::of(runs.collect()).and_then(|mean| mean.half_width);
    Some(Estimate {
        mean: of_all(&|estimate| estimate.mean),
        half_width,
        runs: Vec::new(),
    })
}
