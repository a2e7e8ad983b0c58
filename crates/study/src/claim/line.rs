//! A metric along an axis of numbers.

use super::endless::is_endless;
use super::load::Load;
use crate::axis::{Axis, Point, describe_except, points};
use crate::metric::Metric;
use crate::results::{Estimate, Results};
use crate::select::Selection;

/// The cells along an axis, from its least number to its largest.
pub(super) struct Line {
    /// Where it lies; its place on the axis itself means nothing.
    pub(super) point: Point,
    /// The numbers of the axis, and where their cells lie.
    pub(super) steps: Vec<(f64, Point)>,
}

impl Line {
    /// What was measured along it: the number of the axis, and the estimate; `None` where the
    /// cell is saturated and the metric has no limit then. Other cells without a figure tell
    /// nothing and are left out.
    pub(super) fn estimates<'r>(
        &self,
        results: &'r Results<'_>,
        metric: Metric,
    ) -> Vec<(f64, Option<&'r Estimate>)> {
        let is_endless = is_endless(results.columns, metric);
        let steps = self.steps.iter();
        steps
            .map(|(x, point)| (*x, results.at(point)))
            .map(|(x, cell)| (x, cell.estimate(metric), is_endless && cell.is_saturated))
            .filter(|(_, estimate, is_beyond)| estimate.is_some() || *is_beyond)
            .map(|(x, estimate, _)| (x, estimate))
            .collect()
    }

    /// The counterpart of this line on `side`.
    pub(super) fn moved(&self, side: &Selection) -> Option<Self> {
        let steps = self
            .steps
            .iter()
            .map(|(x, point)| Some((*x, side.counterpart(point)?)));
        Some(Self {
            point: side.counterpart(&self.point)?,
            steps: steps.collect::<Option<_>>()?,
        })
    }

    /// Where it lies, as people read it.
    pub(super) fn describe(&self, axes: &[Axis], along: usize) -> String {
        describe_except(axes, &self.point, along)
    }
}

/// The lines along the axis `along` through the cells that all of `chosen` have.
pub(super) fn lines(axes: &[Axis], along: usize, chosen: &[&Selection]) -> Vec<Line> {
    let numbers = axes[along].numbers().unwrap_or_default();
    let mut lines: Vec<Line> = Vec::new();
    for point in points(axes)
        .into_iter()
        .filter(|p| chosen.iter().all(|c| c.has(p)))
    {
        let mut base = point.clone();
        base[along] = 0;
        let step = (numbers[point[along]], point);
        match lines.iter_mut().find(|line| line.point == base) {
            Some(line) => line.steps.push(step),
            None => lines.push(Line {
                point: base,
                steps: vec![step],
            }),
        }
    }
    for line in &mut lines {
        line.steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

/// Where on an axis something is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reached {
    /// There.
    At(f64),
    /// Somewhere above the one and up to the other.
    Within(f64, f64),
}

impl Reached {
    fn ends(self) -> (f64, f64) {
        match self {
            Self::At(x) => (x, x),
            Self::Within(low, high) => (low, high),
        }
    }
}

/// What `find` makes of the metric along a line: of the means, with the interval over what it
/// makes of each replication. Where a replication tells a range only, so do all together: from the
/// lower end of the interval over the lower ends to the upper one over the upper ends, as whatever
/// each one hides lies in between. `find` is given `None` for a load that is beyond all.
pub(super) fn along(
    estimates: &[(f64, Option<&Estimate>)],
    find: impl Fn(&[(f64, Option<f64>)]) -> Option<Reached>,
) -> Option<Load> {
    let found = |value: &dyn Fn(&Estimate) -> f64| {
        let steps = estimates.iter();
        let steps = steps.map(|(x, estimate)| (*x, estimate.map(value)));
        find(&steps.collect::<Vec<_>>())
    };
    let mean = found(&|estimate| estimate.mean)?;
    let counts = estimates.iter().filter_map(|(_, estimate)| *estimate);
    let replications = counts.map(|estimate| estimate.runs.len()).min();
    if replications.unwrap_or(0) == 0 {
        // Replications that are not paired from load to load leave the ends of the intervals.
        let ends = [-1.0, 1.0].map(|sign| {
            let end = found(&|e| e.mean + sign * e.half_width.unwrap_or(0.0));
            end.unwrap_or(mean).ends()
        });
        return Some(between(
            mean,
            [ends[0].0, ends[1].0],
            [ends[0].1, ends[1].1],
        ));
    }
    let each = (0..replications.unwrap_or(0))
        .filter_map(|number| found(&|estimate| estimate.runs[number]));
    let each: Vec<Reached> = each.collect();
    let runs = each.iter().map(|reached| match reached {
        Reached::At(x) => Some(*x),
        Reached::Within(..) => None,
    });
    let runs: Option<Vec<f64>> = runs.collect();
    if let (Some(runs), Reached::At(mean)) = (runs, mean) {
        return Some(Load::At(Estimate {
            mean,
            half_width: Estimate::of(runs.clone()).and_then(|each| each.half_width),
            runs,
        }));
    }
    let (low, high) = each.into_iter().map(Reached::ends).unzip();
    Some(between(mean, interval(low), interval(high)))
}

/// The ends of the 95 % interval over `numbers`; where one is infinite, so are both.
fn interval(numbers: Vec<f64>) -> [f64; 2] {
    if let Some(endless) = numbers.iter().find(|number| number.is_infinite()) {
        return [*endless; 2];
    }
    match Estimate::of(numbers) {
        Some(all) => {
            let half = all.half_width.unwrap_or(0.0);
            [all.mean - half, all.mean + half]
        }
        None => [f64::INFINITY, f64::NEG_INFINITY],
    }
}

/// From the least of `mean` and `low` to the greatest of `mean` and `high`.
fn between(mean: Reached, low: [f64; 2], high: [f64; 2]) -> Load {
    let (from, to) = mean.ends();
    let low = low.into_iter().fold(from, f64::min);
    let high = high.into_iter().fold(to, f64::max);
    match low == high {
        true => Load::At(Estimate::exact(low)),
        false => Load::Within(low, high),
    }
}
