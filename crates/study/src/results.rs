//! The results of a study: a mean with its interval for each cell and metric.

use diskarm_core::stats::half_width_95_of_numbers;
use diskarm_core::text::with_noun;
use serde::Serialize;

use crate::axis::{Axis, Point, names};
use crate::cell::Cell;
use crate::metric::{Column, Metric};

/// A mean over replications.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean of the replications; for a maximum (`_max`), the largest of them.
    pub mean: f64,
    /// The half-width of Student's 95 % interval; `None` for one replication or a maximum.
    pub half_width: Option<f64>,
    /// The value of each replication.
    pub runs: Vec<f64>,
}

impl Estimate {
    pub(crate) fn new(mean: f64, half_width: Option<f64>, runs: Vec<f64>) -> Self {
        Self {
            mean,
            half_width,
            runs,
        }
    }

    /// Returns the mean of `runs`; `None` if there are none.
    pub fn from_runs(runs: Vec<f64>) -> Option<Self> {
        let mean = runs.iter().sum::<f64>() / runs.len() as f64;
        (!runs.is_empty()).then(|| Self::new(mean, half_width_95_of_numbers(&runs), runs))
    }

    pub(crate) fn exact(mean: f64) -> Self {
        Self::new(mean, None, Vec::new())
    }

    /// Returns the ends of its interval; if it has none, both are the mean.
    pub(crate) fn ends(&self) -> (f64, f64) {
        let half = self.half_width.unwrap_or(0.0);
        (self.mean - half, self.mean + half)
    }

    fn largest(runs: Vec<f64>) -> Option<Self> {
        let mean = runs.iter().copied().reduce(f64::max)?;
        Some(Self::new(mean, None, runs))
    }

    /// Returns true if half the width of its interval is at most `share` times the mean.
    pub(crate) fn is_narrow(&self, share: f64) -> bool {
        self.half_width
            .is_some_and(|half| half <= share * self.mean)
    }

    /// Returns the estimate times `factor`, which is at least 0.
    pub(crate) fn times(&self, factor: f64) -> Self {
        let half_width = self.half_width.map(|half| half * factor);
        let runs = self.runs.iter().map(|run| run * factor).collect();
        Self::new(self.mean * factor, half_width, runs)
    }
}

/// The outcome of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The seeds of its replications.
    pub seeds: Vec<u64>,
    /// True if requests arrived faster than they were served: then the cell has no metrics.
    pub is_saturated: bool,
    estimates: Vec<Option<Estimate>>,
}

/// The results of a study.
#[derive(Clone, Debug)]
pub struct Results<'s> {
    /// The axes of the study.
    pub axes: &'s [Axis],
    /// The columns of the study.
    pub columns: &'s [Column],
    /// The cells of the study.
    pub cells: &'s [Cell],
    /// The outcome of each cell, in the order of the cells.
    pub outcomes: Vec<Outcome>,
}

pub(crate) enum Replicated {
    /// For each replication, a number for each column of the measure.
    Measured(Vec<Vec<Option<f64>>>),
    Saturated,
}

impl<'s> Results<'s> {
    /// Returns the number of cells whose interval is wider than requested after the maximum number
    /// of replications, and the largest half-width relative to the mean.
    pub fn wide_cells(&self) -> Option<(usize, f64)> {
        let cells = self.cells.iter().zip(&self.outcomes);
        let wide = cells.filter_map(|(cell, outcome)| {
            let share = cell.replications.until_ci95?;
            let first = outcome.estimate(Metric(0))?;
            let relative = |half| half / first.mean;
            let relative = first.half_width.map_or(f64::INFINITY, relative);
            (!first.is_narrow(share)).then_some(relative)
        });
        let wide: Vec<f64> = wide.collect();
        let widest = wide.iter().copied().reduce(f64::max)?;
        Some((wide.len(), widest))
    }

    /// Formats the result of [`Self::wide_cells`], for summaries.
    pub fn wide_text(&self) -> Option<String> {
        let (count, widest) = self.wide_cells()?;
        let (cells, percent) = (with_noun(count, "cell"), 100.0 * widest);
        Some(format!(
            "{cells} did not reach until_ci95, the widest interval is \u{b1} {percent:.0} %"
        ))
    }

    /// Returns the results of `cells`, given the seeds and runs of each in the same order.
    pub(crate) fn new(
        axes: &'s [Axis],
        columns: &'s [Column],
        cells: &'s [Cell],
        replicated: Vec<(Vec<u64>, Replicated)>,
    ) -> Self {
        let outcomes = cells.iter().zip(replicated);
        let outcomes = outcomes.map(|(cell, (seeds, runs))| Outcome {
            seeds,
            is_saturated: matches!(runs, Replicated::Saturated),
            estimates: match runs {
                Replicated::Saturated => vec![None; columns.len()],
                Replicated::Measured(runs) => estimates(axes, columns, &cell.point, &runs),
            },
        });
        Self {
            axes,
            columns,
            cells,
            outcomes: outcomes.collect(),
        }
    }

    /// Returns the outcome of the cell at `point`.
    pub fn outcome(&self, point: &Point) -> &Outcome {
        let axes = self.axes.iter().zip(point);
        let index = axes.fold(0, |index, (axis, value)| index * axis.values.len() + value);
        &self.outcomes[index]
    }

    /// Returns the estimate of a metric in the cell at `point`, if the cell has it.
    pub fn estimate(&self, point: &Point, metric: Metric) -> Option<&Estimate> {
        self.outcome(point).estimate(metric)
    }
}

impl Outcome {
    pub fn estimate(&self, metric: Metric) -> Option<&Estimate> {
        self.estimates[metric.0].as_ref()
    }
}

fn estimates(
    axes: &[Axis],
    columns: &[Column],
    point: &Point,
    runs: &[Vec<Option<f64>>],
) -> Vec<Option<Estimate>> {
    let names = names(axes, point);
    let number = |name: &str| names.get(name)?.number();
    let mut estimates: Vec<Option<Estimate>> = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        estimates.push(match column.multiple(columns, number) {
            Some((of, factor)) => {
                let base = estimates[of].as_ref().filter(|_| factor.is_finite());
                base.map(|base| base.times(factor))
            }
            None => measured_estimate(column, runs.iter().map(|run| run[index])),
        });
    }
    estimates
}

fn measured_estimate(
    column: &Column,
    runs: impl Iterator<Item = Option<f64>> + Clone,
) -> Option<Estimate> {
    let values: Vec<f64> = runs.clone().flatten().collect();
    let is_complete = values.len() == runs.count();
    let mut estimate = if column.name.ends_with("_max") {
        Estimate::largest(values)?
    } else {
        Estimate::from_runs(values)?
    };
    if !is_complete {
        // Runs are paired with those of other cells by index, which a missing run would shift.
        estimate.runs = Vec::new();
    }
    Some(estimate)
}
