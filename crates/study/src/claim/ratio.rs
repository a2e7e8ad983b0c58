//! One side's metric as a multiple of another's.

use std::sync::Arc;

use diskarm_core::text::InputError;

use super::endless::is_endless;
use super::keys::Keys;
use super::subject::{AT_LEAST, AT_MOST, Key, METRIC, Subject, TIE, WHERE};
use super::tally::{Place, Tally};
use super::{Check, CheckInfo, Found};
use crate::axis::{Point, describe_except, points};
use crate::metric::Metric;
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "ratio",
    holds: "the metric of `of` over that of `to` lies within the bounds",
    keys: &[METRIC, OF, TO, WHERE, AT_LEAST, AT_MOST, TIE, MEAN_OVER],
    read: |keys| {
        let subject = Subject::read(keys)?;
        Ok(Arc::new(Ratio::of(subject, keys)?))
    },
};

pub(super) const OF: Key = ("of = {}", "the cells to compare");
pub(super) const TO: Key = (
    "to = {}",
    "the cells to compare with; one value of each axis that it names",
);
pub(super) const MEAN_OVER: Key = (
    "mean_over",
    "an axis: the geometric mean of the ratios over it is checked, instead of each ratio",
);

#[derive(Debug)]
pub(super) struct Ratio {
    subject: Subject,
    /// Any number of cells, each compared with its counterpart in `to`.
    of: Selection,
    to: Selection,
    /// Check the geometric means of the ratios over this axis instead of each ratio.
    mean_over: Option<usize>,
}

impl Ratio {
    /// A check of `subject` with the keys [`OF`], [`TO`] and [`MEAN_OVER`].
    pub(super) fn of(subject: Subject, keys: &mut Keys<'_>) -> Result<Self, InputError> {
        Ok(Self {
            subject,
            of: keys.chosen("of")?,
            to: keys.side("to")?,
            mean_over: keys.axis_if_any("mean_over")?,
        })
    }
}

impl Check for Ratio {
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let mut tally = Tally::new(&self.subject.bounds);
        let all = ratios(
            results,
            self.subject.metric,
            &self.of,
            &self.to,
            &self.subject.cells,
        );
        let Some(axis) = self.mean_over else {
            for (point, ratio) in all {
                tally.hold(ratio, Place::cell(axes, &point));
            }
            return tally.judged();
        };
        for (point, group) in groups(all, axis) {
            let known: Vec<&Estimate> = group.iter().flatten().collect();
            match mean(&known) {
                Some(mean) => {
                    tally.leave_out(group.len() - known.len());
                    let text = describe_except(axes, &point, axis);
                    tally.hold(Some(mean), Place { point, text });
                }
                None => tally.leave_out(group.len()),
            }
        }
        tally.judged()
    }

    fn is_of_ratios(&self) -> bool {
        true
    }
}

/// The ratios of `of` to `to` in `cells`, matched on the axes that neither names. If the metric
/// grows without bound in saturation, the ratio is infinite where only `of` is saturated, and 0
/// where only `to` is. `None` where a metric is missing, or both are 0.
pub(super) fn ratios(
    results: &Results<'_>,
    metric: Metric,
    of: &Selection,
    to: &Selection,
    cells: &Selection,
) -> Vec<(Point, Option<Estimate>)> {
    let is_endless = is_endless(results.columns, metric);
    let mut ratios = Vec::new();
    for point in points(results.axes) {
        if !(of.has(&point) && cells.has(&point)) {
            continue;
        }
        let Some(other) = to.counterpart(&point) else {
            continue;
        };
        let sides = [&point, &other].map(|point| results.at(point));
        let are_beyond = sides.map(|side| is_endless && side.is_saturated);
        let ratio = match (sides.map(|side| side.estimate(metric)), are_beyond) {
            ([Some(top), Some(base)], _) => {
                Some(quotient(top, base)).filter(|ratio| !ratio.mean.is_nan())
            }
            // A saturated side exceeds one that is not.
            ([None, Some(_)], [true, _]) => Some(Estimate::exact(f64::INFINITY)),
            ([Some(_), None], [_, true]) => Some(Estimate::exact(0.0)),
            _ => None,
        };
        ratios.push((point, ratio));
    }
    ratios
}

/// The quotient, replication by replication, as those of one seed have the same requests. If they
/// cannot be paired, its interval covers all quotients of the two intervals.
pub(super) fn quotient(top: &Estimate, base: &Estimate) -> Estimate {
    let mean = top.mean / base.mean;
    let pairs = top.runs.iter().zip(&base.runs);
    let runs: Vec<f64> = pairs.map(|(top, base)| top / base).collect();
    let paired = Estimate::of(runs.clone()).and_then(|paired| paired.half_width);
    // A mean of 0 of numbers that are never negative has no uncertainty.
    let is_known = mean.is_finite() && (top.half_width.is_some() || base.half_width.is_some());
    let ends = || {
        let (top, base) = (ends(top), ends(base));
        match base.0 > 0.0 {
            true => farthest(mean, (top.0 / base.1, top.1 / base.0)),
            // The base may be 0.
            false => f64::INFINITY,
        }
    };
    let paired = paired.filter(|half| half.is_finite());
    Estimate {
        mean,
        half_width: paired.or_else(|| is_known.then(ends)),
        runs,
    }
}

/// The ends of its interval; the mean if there is none.
fn ends(estimate: &Estimate) -> (f64, f64) {
    let half = estimate.half_width.unwrap_or(0.0);
    (estimate.mean - half, estimate.mean + half)
}

/// The distance of the farther end from `mean`.
fn farthest(mean: f64, (low, high): (f64, f64)) -> f64 {
    (mean - low).max(high - mean)
}

/// A point, and the ratios along one axis through it.
type Group = (Point, Vec<Option<Estimate>>);

/// The ratios grouped by all axes except `over`.
fn groups(all: Vec<(Point, Option<Estimate>)>, over: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (point, ratio) in all {
        let mut base = point;
        base[over] = 0;
        match groups.iter_mut().find(|(point, _)| *point == base) {
            Some((_, group)) => group.push(ratio),
            None => groups.push((base, vec![ratio])),
        }
    }
    groups
}

/// The geometric mean of ratios, replication by replication. The mean of the reciprocals is its
/// reciprocal, so that it does not matter which side is the base. `None` without any ratios, and
/// where one is infinite and another is 0.
fn mean(all: &[&Estimate]) -> Option<Estimate> {
    let of_all = |value: &dyn Fn(&Estimate) -> f64| {
        let logarithms = all.iter().map(|estimate| value(estimate).ln());
        (logarithms.sum::<f64>() / all.len() as f64).exp()
    };
    let mean = of_all(&|estimate| estimate.mean);
    if mean.is_nan() {
        return None;
    }
    let replications = all.iter().map(|estimate| estimate.runs.len()).min()?;
    let runs = (0..replications).map(|number| of_all(&|estimate| estimate.runs[number]));
    let paired = Estimate::of(runs.collect()).and_then(|mean| mean.half_width);
    let is_known = mean.is_finite() && all.iter().any(|estimate| estimate.half_width.is_some());
    let unpaired = || {
        let low = of_all(&|estimate| ends(estimate).0.max(0.0));
        farthest(mean, (low, of_all(&|estimate| ends(estimate).1)))
    };
    let paired = paired.filter(|half| half.is_finite());
    Some(Estimate {
        mean,
        half_width: paired.or_else(|| is_known.then(unpaired)),
        runs: Vec::new(),
    })
}
