//! Two sides where the same number of requests waits.

use std::sync::Arc;

use super::line::{Line, lines};
use super::subject::{ALONG, AT_LEAST, AT_MOST, METRIC, Subject, TIE, WHERE};
use super::tally::{Place, Tally};
use super::{Check, CheckInfo, Found};
use crate::axis::Point;
use crate::metric::Metric;
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "equal_queue",
    holds: "the metric of `of` over that of `to` lies within the bounds where as many requests \
            wait (`queue_mean`): `to` is interpolated linearly between its loads; cells of `of` \
            with fewer or more waiting than in any of `to` are left out",
    keys: &[
        METRIC,
        ALONG,
        ("of = {}", "one value of each axis that it names"),
        ("to = {}", "the same"),
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
    ],
    read: |keys| {
        Ok(Arc::new(EqualQueue {
            subject: Subject::read(keys)?,
            queue: keys.metric_called("queue_mean", "metric")?,
            along: keys.along("along")?,
            of: keys.side("of")?,
            to: keys.side("to")?,
        }))
    },
};

#[derive(Debug)]
struct EqualQueue {
    subject: Subject,
    /// The mean number of requests that wait.
    queue: Metric,
    /// The axis of loads.
    along: usize,
    of: Selection,
    to: Selection,
}

impl Check for EqualQueue {
    /// The numbers are ratios at each load of `of` in `where`.
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let mut tally = Tally::new(&self.subject.bounds);
        for line in lines(axes, self.along, &[&self.of, &self.subject.cells]) {
            let base = self.base(results, &line);
            for (_, point) in &line.steps {
                let ratio = self.ratio(results, point, &base);
                tally.hold(ratio, Place::cell(axes, point));
            }
        }
        tally.judged()
    }

    fn is_of_ratios(&self) -> bool {
        true
    }
}

/// The mean queue and the metric at a load.
type Step<'r> = (&'r Estimate, &'r Estimate);

impl EqualQueue {
    /// `to` at all its loads.
    fn base<'r>(&self, results: &'r Results<'_>, line: &Line) -> Vec<Step<'r>> {
        let loads = 0..results.axes[self.along].values.len();
        let points = loads.filter_map(|load| {
            let mut point = self.to.counterpart(&line.point)?;
            point[self.along] = load;
            Some(point)
        });
        let steps = points.filter_map(|point| self.step(results, &point));
        steps.collect()
    }

    fn step<'r>(&self, results: &'r Results<'_>, point: &Point) -> Option<Step<'r>> {
        let cell = results.at(point);
        cell.estimate(self.queue)
            .zip(cell.estimate(self.subject.metric))
    }

    fn ratio(&self, results: &Results<'_>, point: &Point, base: &[Step<'_>]) -> Option<Estimate> {
        let (queue, metric) = self.step(results, point)?;
        let ratio = |value: &dyn Fn(&Estimate) -> Option<f64>| {
            let steps = base.iter().map(|(q, m)| Some((value(q)?, value(m)?)));
            let steps: Vec<(f64, f64)> = steps.collect::<Option<_>>()?;
            Some(value(metric)? / interpolated(steps, value(queue)?)?)
        };
        let mean = ratio(&|estimate| Some(estimate.mean))?;
        // Replications have the same requests at one load only, but each has all its own loads.
        let runs = (0..metric.runs.len())
            .map_while(|number| ratio(&|estimate| estimate.runs.get(number).copied()));
        let runs: Vec<f64> = runs.collect();
        let half_width = match runs.len() == metric.runs.len() {
            true => Estimate::of(runs.clone()).and_then(|all| all.half_width),
            // Some replication is beyond the ends of `to`.
            false => Some(f64::INFINITY),
        };
        Some(Estimate {
            mean,
            half_width,
            runs,
        })
    }
}

/// The metric where the queue is `queue`, by linear interpolation; `None` beyond the steps.
fn interpolated(mut steps: Vec<(f64, f64)>, queue: f64) -> Option<f64> {
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let pair = steps
        .windows(2)
        .find(|pair| pair[0].0 <= queue && queue <= pair[1].0)?;
    let [(low, at_low), (high, at_high)] = [pair[0], pair[1]];
    Some(match high > low {
        true => at_low + (queue - low) / (high - low) * (at_high - at_low),
        false => at_low,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metric_is_interpolated_between_queues() {
        let steps = vec![(4.0, 30.0), (0.0, 10.0), (1.0, 14.0)];
        assert_eq!(interpolated(steps.clone(), 0.5), Some(12.0));
        assert_eq!(interpolated(steps.clone(), 2.5), Some(22.0));
        assert_eq!(interpolated(steps.clone(), 4.0), Some(30.0));
        assert_eq!(interpolated(steps, 4.5), None);
    }
}
