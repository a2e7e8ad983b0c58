//! The results of a study: a mean with its interval for each cell and metric.

use diskarm_core::stats::t95_factor;
use serde::Serialize;

use crate::axis::{Axis, Point, names};
use crate::cell::Cell;
use crate::metric::{Column, Metric};

/// A mean over replications.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean of the replications; for a maximum (`_max`), the largest of them.
    pub mean: f64,
    /// Half the width of Student's 95 % interval of the mean; `None` with fewer than two
    /// replications, and for a maximum.
    pub half_width: Option<f64>,
    /// The value of each replication.
    pub runs: Vec<f64>,
}

impl Estimate {
    /// The mean of `runs`; `None` without any.
    pub fn of(runs: Vec<f64>) -> Option<Self> {
        let mean = runs.iter().sum::<f64>() / runs.len() as f64;
        (!runs.is_empty()).then(|| Self {
            mean,
            half_width: Self::half_width(&runs, mean),
            runs,
        })
    }

    /// A number without an interval.
    pub(crate) fn exact(mean: f64) -> Self {
        Self {
            mean,
            half_width: None,
            runs: Vec::new(),
        }
    }

    /// Half the width of the 95 % interval of the mean of independent values; `None` below two.
    fn half_width(values: &[f64], mean: f64) -> Option<f64> {
        let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / degrees as f64 / values.len() as f64).sqrt();
        Some(t95_factor(degrees as u64) * error)
    }

    /// The largest of `runs`.
    fn largest(runs: Vec<f64>) -> Option<Self> {
        let mean = runs.iter().copied().reduce(f64::max)?;
        Some(Self {
            mean,
            half_width: None,
            runs,
        })
    }

    /// Returns true if half the width of its interval is at most `share` of the mean.
    pub(crate) fn is_narrow(&self, share: f64) -> bool {
        self.half_width
            .is_some_and(|half| half <= share * self.mean)
    }

    /// The estimate times `factor`, which is at least 0.
    pub(crate) fn times(&self, factor: f64) -> Self {
        Self {
            mean: self.mean * factor,
            half_width: self.half_width.map(|half| half * factor),
            runs: self.runs.iter().map(|run| run * factor).collect(),
        }
    }
}

/// The outcome of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The seeds of its replications.
    pub seeds: Vec<u64>,
    /// True if requests arrived faster than they were served in one of them: then it has no
    /// metrics.
    pub is_saturated: bool,
    /// An estimate for each column of the study.
    figures: Vec<Option<Estimate>>,
}

/// The results of a study.
#[derive(Clone, Debug)]
pub struct Results<'s> {
    /// The axes of the study.
    pub axes: &'s [Axis],
    /// Its columns.
    pub columns: &'s [Column],
    /// Its cells.
    pub cells: &'s [Cell],
    /// The outcome of each cell, in the order of the cells.
    pub outcomes: Vec<Outcome>,
}

/// The runs of a cell.
pub(crate) enum Replicated {
    /// For each replication, a number for each column of the measure.
    Measured(Vec<Vec<Option<f64>>>),
    /// One of them was saturated.
    Saturated,
}

impl<'s> Results<'s> {
    /// The cells that reached the maximum number of replications before their interval was as
    /// narrow as requested: how many, and the widest half width as a share of its mean.
    pub fn wide(&self) -> Option<(usize, f64)> {
        let cells = self.cells.iter().zip(&self.outcomes);
        let wide = cells.filter_map(|(cell, outcome)| {
            let share = cell.replications.until_ci95?;
            let first = outcome.estimate(Metric(0))?;
            let is_wide = !first.is_narrow(share);
            is_wide.then(|| {
                first
                    .half_width
                    .map_or(f64::INFINITY, |half| half / first.mean)
            })
        });
        wide.map(|share| (1, share))
            .reduce(|all, one| (all.0 + 1, all.1.max(one.1)))
    }

    /// Formats them as text, for summaries.
    pub fn wide_text(&self) -> Option<String> {
        self.wide().map(|(count, widest)| {
            let percent = 100.0 * widest;
            format!("{count} short of until_ci95, the widest \u{b1} {percent:.0} %")
        })
    }

    /// The results of `cells`, given the seeds and runs of each in the same order.
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
            figures: match runs {
                Replicated::Saturated => vec![None; columns.len()],
                Replicated::Measured(runs) => figures(axes, columns, &cell.point, &runs),
            },
        });
        Self {
            axes,
            columns,
            cells,
            outcomes: outcomes.collect(),
        }
    }

    /// The index of the cell at `point`.
    fn place(&self, point: &Point) -> usize {
        let axes = self.axes.iter().zip(point);
        axes.fold(0, |place, (axis, value)| place * axis.values.len() + value)
    }

    /// The outcome of the cell at `point`.
    pub fn at(&self, point: &Point) -> &Outcome {
        &self.outcomes[self.place(point)]
    }

    /// The estimate of a metric in the cell at `point`; `None` where the cell is saturated or does
    /// not have the metric.
    pub fn estimate(&self, point: &Point, metric: Metric) -> Option<&Estimate> {
        self.at(point).estimate(metric)
    }
}

impl Outcome {
    /// Returns the estimate of a metric.
    pub fn estimate(&self, metric: Metric) -> Option<&Estimate> {
        self.figures[metric.0].as_ref()
    }
}

fn figures(
    axes: &[Axis],
    columns: &[Column],
    point: &Point,
    runs: &[Vec<Option<f64>>],
) -> Vec<Option<Estimate>> {
    let names = names(axes, point);
    let number = |name: &str| names.get(name)?.number();
    let mut figures: Vec<Option<Estimate>> = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let figure = match column.multiple(columns, number) {
            Some((of, factor)) if factor.is_finite() => {
                figures[of].as_ref().map(|figure| figure.times(factor))
            }
            Some(_) => None,
            None => {
                let values: Vec<f64> = runs.iter().filter_map(|run| run[place]).collect();
                let is_whole = values.len() == runs.len();
                let estimate = if column.name.ends_with("_max") {
                    Estimate::largest(values)
                } else {
                    Estimate::of(values)
                };
                // Runs are paired with those of other cells by index.
                estimate.map(|estimate| match is_whole {
                    true => estimate,
                    false => Estimate {
                        runs: Vec::new(),
                        ..estimate
                    },
                })
            }
        };
        figures.push(figure);
    }
    figures
}
