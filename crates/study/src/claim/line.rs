//! A metric along an axis of numbers, and searches for a load on it.

use diskarm_core::text::InputError;

use super::check::{Bounds, Finding, Keys, is_endless};
use super::tally::{Load, Place, Tally};
use crate::axis::Selection;
use crate::axis::{Axis, Point, describe_except, points};
use crate::metric::Metric;
use crate::results::{Estimate, Results};

/// The cells along an axis, in ascending order of its numbers.
pub(super) struct Line {
    /// Its position on the other axes; that on the axis itself is 0.
    pub(super) point: Point,
    /// The numbers of the axis and the points of their cells.
    pub(super) steps: Vec<(f64, Point)>,
}

impl Line {
    /// Returns the estimates along it, with the numbers of the axis; `None` for a saturated cell if
    /// the metric grows without bound. Other cells without the metric are left out.
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

    /// Returns the counterpart of this line on `side`.
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

    /// Returns its position on the other axes.
    pub(super) fn place(&self, axes: &[Axis], along: usize) -> Place {
        Place {
            point: self.point.clone(),
            text: describe_except(axes, &self.point, along),
        }
    }
}

/// Returns the lines along the axis `along` through the cells in all of the selections `chosen`.
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

/// A number on an axis that was searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reached {
    At(f64),
    /// Above the first number and up to the second.
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

/// Searches the means along a line with `find`, and each replication for the interval. If a
/// replication has only a range, the result is a range: from the lower end of the interval over the
/// lower ends to the upper end of the interval over the upper ends. `find` gets `None` for a
/// saturated load.
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
        // Without paired replications, use the ends of the intervals.
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

/// Returns the ends of the 95 % interval over `numbers`; if one number is infinite, so are both
/// ends.
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

/// Returns the range from the minimum of `mean` and `low` to the maximum of `mean` and `high`.
fn between(mean: Reached, low: [f64; 2], high: [f64; 2]) -> Load {
    let (from, to) = mean.ends();
    let low = low.into_iter().fold(from, f64::min);
    let high = high.into_iter().fold(to, f64::max);
    if low == high {
        Load::At(Estimate::exact(low))
    } else {
        Load::Within(low, high)
    }
}

/// A search for a load along an axis, on one side or on two.
#[derive(Debug)]
pub(super) struct Search {
    along: usize,
    of: Selection,
    /// If present, the ratio of the two loads is checked, otherwise the load itself.
    to: Option<Selection>,
    cells: Selection,
    bounds: Bounds,
}

impl Search {
    pub(super) fn read(keys: &mut Keys<'_>) -> Result<Self, InputError> {
        Ok(Self {
            along: keys.along("along")?,
            of: keys.side("of")?,
            to: keys.side_if_any("to")?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
        })
    }

    /// Returns true if the load itself is checked, not a ratio of two.
    pub(super) fn is_alone(&self) -> bool {
        self.to.is_none()
    }

    /// Checks the load that `find` returns for each line against the bounds.
    pub(super) fn judge(
        &self,
        results: &Results<'_>,
        find: impl Fn(&Line) -> Option<Load>,
    ) -> Finding {
        let axes = results.axes;
        let mut tally = Tally::new(&self.bounds);
        for line in lines(axes, self.along, &[&self.of, &self.cells]) {
            let load = find(&line);
            let found = match &self.to {
                None => load,
                Some(to) => {
                    let base = line.moved(to).and_then(|line| find(&line));
                    load.zip(base).map(|(top, base)| top.over(&base))
                }
            };
            tally.hold_load(found, line.place(axes, self.along));
        }
        tally.judged()
    }
}
