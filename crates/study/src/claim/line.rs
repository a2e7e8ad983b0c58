//! A metric along an axis of numbers.

use crate::axis::{Axis, Point, points};
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
    /// What was measured along it: the number of the axis, and the estimate where there is one.
    pub(super) fn estimates<'r>(
        &self,
        results: &'r Results<'_>,
        metric: Metric,
    ) -> Vec<(f64, Option<&'r Estimate>)> {
        let steps = self.steps.iter();
        steps
            .map(|(x, point)| (*x, results.estimate(point, metric)))
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
    pub(super) fn told(&self, axes: &[Axis], along: usize) -> String {
        told_but(axes, &self.point, along)
    }
}

/// Where `point` lies on all axes but one, as people read it.
pub(super) fn told_but(axes: &[Axis], point: &Point, but: usize) -> String {
    let others = axes.iter().zip(point).enumerate();
    let others = others.filter(|(number, _)| *number != but);
    let labels =
        others.map(|(_, (axis, place))| format!("{} = {}", axis.name, axis.values[*place].label));
    labels.collect::<Vec<String>>().join(", ")
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

/// An estimate of what `find` makes of the metric along a line: of the means, with the interval
/// over what it makes of each replication. A replication's numbers are `None` where its cell has
/// none.
pub(super) fn along(
    estimates: &[(f64, Option<&Estimate>)],
    find: impl Fn(&[(f64, Option<f64>)]) -> Option<f64>,
) -> Option<Estimate> {
    let numbers = |value: &dyn Fn(&Estimate) -> f64| {
        let steps = estimates.iter();
        steps
            .map(|(x, estimate)| (*x, estimate.map(value)))
            .collect::<Vec<_>>()
    };
    let mean = find(&numbers(&|estimate| estimate.mean))?;
    let counts = estimates.iter().filter_map(|(_, estimate)| *estimate);
    let replications = counts.map(|estimate| estimate.runs.len()).min()?;
    let each = (0..replications).filter_map(|k| find(&numbers(&|estimate| estimate.runs[k])));
    let runs: Vec<f64> = each.collect();
    let is_whole = runs.len() == replications;
    Some(Estimate {
        mean,
        half_width: Estimate::of(runs.clone())
            .filter(|_| is_whole)
            .and_then(|e| e.half_width),
        runs: match is_whole {
            true => runs,
            // Runs are paired with those of other lines by their places.
            false => Vec::new(),
        },
    })
}
