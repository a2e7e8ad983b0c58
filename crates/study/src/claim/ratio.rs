//! One side's metric as a multiple of another's.

use std::sync::Arc;

use super::bounds::Bounds;
use super::line::told_but;
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
            "mean_over",
            "an axis: not each ratio is held, but their mean over it; each when left out",
        ),
    ],
    read: |keys| {
        Ok(Arc::new(Ratio {
            metric: keys.metric()?,
            of: keys.chosen("of")?,
            to: keys.side("to")?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
            mean_over: keys.axis_if_any("mean_over")?,
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
    /// The means of the ratios over this axis are held to the bounds, not each.
    mean_over: Option<usize>,
}

impl Check for Ratio {
    fn judge(&self, results: &Results<'_>) -> Judged {
        let axes = &results.study.axes;
        let mut tally = Tally::default();
        let all = ratios(results, self.metric, &self.of, &self.to, &self.cells);
        match self.mean_over {
            None => {
                for (point, ratio) in all {
                    tally.hold(ratio, &self.bounds, told(axes, &point));
                }
            }
            Some(axis) => {
                for (point, mean) in means(&all, axis) {
                    tally.hold(mean, &self.bounds, told_but(axes, &point, axis));
                }
            }
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

/// The means of ratios over the axis `over`: one for each point of the other axes.
fn means(all: &[(Point, Estimate)], over: usize) -> Vec<(Point, Estimate)> {
    let mut groups: Vec<(Point, Vec<&Estimate>)> = Vec::new();
    for (point, ratio) in all {
        let mut base = point.clone();
        base[over] = 0;
        match groups.iter_mut().find(|(point, _)| *point == base) {
            Some((_, group)) => group.push(ratio),
            None => groups.push((base, vec![ratio])),
        }
    }
    let means = groups.into_iter();
    means
        .filter_map(|(point, group)| Some((point, mean(&group)?)))
        .collect()
}

/// The mean of estimates, replication by replication.
fn mean(all: &[&Estimate]) -> Option<Estimate> {
    let replications = all.iter().map(|estimate| estimate.runs.len()).min()?;
    let of_all = |value: &dyn Fn(&Estimate) -> f64| {
        all.iter().map(|estimate| value(estimate)).sum::<f64>() / all.len() as f64
    };
    let runs = (0..replications).map(|number| of_all(&|estimate| estimate.runs[number]));
    let half_width = Estimate::of(runs.collect()).and_then(|mean| mean.half_width);
    Some(Estimate {
        mean: of_all(&|estimate| estimate.mean),
        half_width,
        runs: Vec::new(),
    })
}
