//! Checks that compare one side's metric with another's: `ratio`, `equivalent`, `order`, `gain`.

use diskarm_core::text::InputError;

use super::check::{
    AT_LEAST, AT_MOST, Bounds, Check, CheckInfo, Finding, Key, Keys, METRIC, Subject, TIE, WHERE,
    is_unbounded,
};
use super::tally::{Tally, max_distance, quotient};
use crate::axis::{Point, Selection, describe, describe_except, points};
use crate::metric::Metric;
use crate::results::{Estimate, Results};

pub(super) const RATIO: CheckInfo = CheckInfo {
    name: "ratio",
    holds: "the ratio of the metric of `of` to that of `to` lies within the bounds",
    keys: &[
        METRIC,
        OF,
        TO,
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
        MEAN_OVER,
        (
            "equal",
            "a metric such as queue_mean: `to` is interpolated linearly along `along`, to the \
             value of this metric that `of` has; cells of `of` outside the range of `to` are left \
             out",
        ),
        ("along", "with `equal`, an axis of numbers"),
    ],
    read: |keys| {
        let subject = Subject::read(keys)?;
        let mut ratio = Ratio::new(subject, keys)?;
        let (equal, along) = (keys.metric_if_any("equal")?, keys.along_if_any()?);
        if equal.is_some() && along.is_none() {
            return Err(keys.missing("along", "an axis, as `equal` needs one"));
        }
        ratio.equal = equal.zip(along);
        Ok(Check::new(true, move |results| ratio.judge(results)))
    },
};

const OF: Key = ("of = {}", "the cells to compare");
const TO: Key = (
    "to = {}",
    "the cells to compare with; one value of each axis that it names",
);
const MEAN_OVER: Key = (
    "mean_over",
    "an axis: the geometric mean of the ratios over it is checked, instead of each ratio",
);

type RatioAt = (Point, Option<Estimate>);

struct Ratio {
    subject: Subject,
    /// Any number of cells, each compared with its counterpart in `to`.
    of: Selection,
    to: Selection,
    /// If present, the geometric means of the ratios over this axis are checked, not each ratio.
    mean_over: Option<usize>,
    /// If present, sides are compared at equal values of this metric along this axis.
    equal: Option<(Metric, usize)>,
}

impl Ratio {
    fn new(subject: Subject, keys: &mut Keys<'_>) -> Result<Self, InputError> {
        Ok(Self {
            subject,
            of: keys.required_selection("of")?,
            to: keys.side("to")?,
            mean_over: keys.axis_if_any("mean_over")?,
            equal: None,
        })
    }

    fn judge(&self, results: &Results<'_>) -> Finding {
        let mut tally = Tally::new(&self.subject.bounds, results.axes);
        let metric = self.subject.metric;
        let all = match self.equal {
            None => ratios(results, metric, &self.of, &self.to, &self.subject.cells),
            Some((equal, along)) => self.equal_ratios(results, equal, along),
        };
        let Some(axis) = self.mean_over else {
            for (point, ratio) in all {
                tally.add_cell(ratio, &point);
            }
            return tally.finding();
        };
        for (point, group) in groups(all, axis) {
            let known: Vec<&Estimate> = group.iter().flatten().collect();
            if let Some(mean) = mean(&known) {
                tally.leave_out(group.len() - known.len());
                let text = describe_except(results.axes, &point, axis);
                tally.add(Some(mean.into()), point, text);
            } else {
                tally.leave_out(group.len());
            }
        }
        tally.finding()
    }

    /// Returns the ratio of each cell to `to`, interpolated to an equal value of `equal`.
    fn equal_ratios(&self, results: &Results<'_>, equal: Metric, along: usize) -> Vec<RatioAt> {
        let step = |point: &Point| {
            let cell = results.outcome(point);
            cell.estimate(equal).zip(cell.estimate(self.subject.metric))
        };
        let points = self.subject.points(results.axes).into_iter();
        let points = points.filter(|point| self.of.contains(point));
        let ratios = points.map(|point| {
            let other = self.to.counterpart(&point);
            let loads = 0..results.axes[along].values.len();
            let base = loads.filter_map(|load| {
                let mut point = other.clone()?;
                point[along] = load;
                step(&point)
            });
            let base: Vec<EqualStep<'_>> = base.collect();
            let ratio = step(&point).and_then(|of| ratio_at_equal(of, &base));
            (point, ratio)
        });
        ratios.collect()
    }
}

/// Returns the ratios of `of` to `to` in `cells`, matched on the axes that neither side names. If
/// the metric grows without bound, the ratio is infinite where only `of` is saturated, and 0 where
/// only `to` is. A ratio is `None` if a metric is missing or both are 0.
pub(super) fn ratios(
    results: &Results<'_>,
    metric: Metric,
    of: &Selection,
    to: &Selection,
    cells: &Selection,
) -> Vec<RatioAt> {
    let is_unbounded = is_unbounded(results.columns, metric);
    let points = points(results.axes).into_iter();
    let points = points.filter(|point| of.contains(point) && cells.contains(point));
    let ratios = points.filter_map(|point| {
        let other = to.counterpart(&point)?;
        let sides = [&point, &other].map(|point| results.outcome(point));
        let are_beyond = sides.map(|side| is_unbounded && side.is_saturated);
        let ratio = match (sides.map(|side| side.estimate(metric)), are_beyond) {
            ([Some(top), Some(base)], _) => {
                Some(quotient(top, base)).filter(|ratio| !ratio.mean.is_nan())
            }
            // A saturated side exceeds one that is not.
            ([None, Some(_)], [true, _]) => Some(Estimate::exact(f64::INFINITY)),
            ([Some(_), None], [_, true]) => Some(Estimate::exact(0.0)),
            _ => None,
        };
        Some((point, ratio))
    });
    ratios.collect()
}

/// Groups ratios by all axes except `over`, whose index becomes 0.
fn groups(all: Vec<RatioAt>, over: usize) -> Vec<(Point, Vec<Option<Estimate>>)> {
    let mut groups: Vec<(Point, Vec<_>)> = Vec::new();
    for (mut base, ratio) in all {
        base[over] = 0;
        match groups.iter_mut().find(|(point, _)| *point == base) {
            Some((_, group)) => group.push(ratio),
            None => groups.push((base, vec![ratio])),
        }
    }
    groups
}

/// Returns the geometric mean of ratios, with an interval from the means of each replication. It
/// does not matter which side is the base, because the mean of the reciprocals is the reciprocal of
/// the mean. Returns `None` if there are no ratios, or if one is infinite and another is 0.
fn mean(all: &[&Estimate]) -> Option<Estimate> {
    let over_all = |value: &dyn Fn(&Estimate) -> f64| {
        let logarithms = all.iter().map(|estimate| value(estimate).ln());
        (logarithms.sum::<f64>() / all.len() as f64).exp()
    };
    let mean = over_all(&|estimate| estimate.mean);
    if mean.is_nan() {
        return None;
    }
    let replications = all.iter().map(|estimate| estimate.runs.len()).min()?;
    let runs = (0..replications).map(|number| over_all(&|estimate| estimate.runs[number]));
    let paired = Estimate::from_runs(runs.collect()).and_then(|mean| mean.half_width);
    let is_known = mean.is_finite() && all.iter().any(|estimate| estimate.half_width.is_some());
    let unpaired = || {
        let low = over_all(&|estimate| estimate.ends().0.max(0.0));
        max_distance(mean, (low, over_all(&|estimate| estimate.ends().1)))
    };
    let paired = paired.filter(|half| half.is_finite());
    let half_width = paired.or_else(|| is_known.then(unpaired));
    Some(Estimate::new(mean, half_width, Vec::new()))
}

/// The value that must be equal, and the metric, in one cell.
type EqualStep<'r> = (&'r Estimate, &'r Estimate);

/// Returns the ratio of the metric of `of` to that of `base` at an equal first value.
fn ratio_at_equal(of: EqualStep<'_>, base: &[EqualStep<'_>]) -> Option<Estimate> {
    let (equal, metric) = of;
    let ratio = |value: &dyn Fn(&Estimate) -> Option<f64>| {
        let steps = base.iter().map(|(x, y)| Some((value(x)?, value(y)?)));
        let steps: Vec<(f64, f64)> = steps.collect::<Option<_>>()?;
        Some(value(metric)? / interpolate(steps, value(equal)?)?)
    };
    let mean = ratio(&|estimate| Some(estimate.mean))?;
    // Only replications at the same load share requests, so each is interpolated separately.
    let runs = (0..metric.runs.len())
        .map_while(|number| ratio(&|estimate| estimate.runs.get(number).copied()));
    let runs: Vec<f64> = runs.collect();
    let half_width = if runs.len() == metric.runs.len() {
        Estimate::from_runs(runs.clone()).and_then(|all| all.half_width)
    } else {
        // In some replication, `of` is outside the range of `base`.
        Some(f64::INFINITY)
    };
    Some(Estimate::new(mean, half_width, runs))
}

/// Interpolates linearly between the steps at `x`; `None` outside their range.
fn interpolate(mut steps: Vec<(f64, f64)>, x: f64) -> Option<f64> {
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut pairs = steps.windows(2);
    let pair = pairs.find(|pair| pair[0].0 <= x && x <= pair[1].0)?;
    let [(low, at_low), (high, at_high)] = [pair[0], pair[1]];
    Some(if high > low {
        at_low + (x - low) / (high - low) * (at_high - at_low)
    } else {
        at_low
    })
}

pub(super) const EQUIVALENT: CheckInfo = CheckInfo {
    name: "equivalent",
    holds: "the metric of `of` and that of `to` differ by at most a percentage, whichever is the \
            base",
    keys: &[
        METRIC,
        OF,
        TO,
        WHERE,
        (
            "within",
            "the percentage: with `\"25 %\"` the ratio is between 0.8 and 1.25",
        ),
        MEAN_OVER,
    ],
    read: |keys| {
        let within = keys.share("within")?.filter(|share| *share > 0.0);
        let within = within.ok_or_else(|| keys.missing("within", "a percentage above 0"))?;
        let subject = Subject {
            metric: keys.metric()?,
            cells: keys.cells()?,
            bounds: Bounds::new(Some(1.0 / (1.0 + within)), Some(1.0 + within), 0.0),
        };
        let ratio = Ratio::new(subject, keys)?;
        Ok(Check::new(true, move |results| ratio.judge(results)))
    },
};

pub(super) const ORDER: CheckInfo = CheckInfo {
    name: "order",
    holds: "the metric increases from each side to the next",
    keys: &[
        METRIC,
        (
            "ascending = []",
            "two or more sides, the smallest first, each with one value of each axis that it names",
        ),
        WHERE,
        (
            "slack = \"0 %\"",
            "a decrease of up to this percentage is accepted",
        ),
        TIE,
    ],
    read: |keys| {
        let (metric, ascending) = (keys.metric()?, keys.sides("ascending")?);
        let cells = keys.cells()?;
        let slack = keys.share("slack")?.unwrap_or(0.0);
        let bounds = Bounds::new(None, Some(1.0 + slack), keys.tie()?);
        // Each number is the ratio of one side to the next, and may be at most 1 plus the slack.
        Ok(Check::new(true, move |results| {
            let mut tally = Tally::new(&bounds, results.axes);
            for pair in ascending.windows(2) {
                let next = pair[1].label(results.axes);
                for (point, ratio) in ratios(results, metric, &pair[0], &pair[1], &cells) {
                    let text = format!("{} to {next}", describe(results.axes, &point));
                    tally.add(ratio.map(Into::into), point, text);
                }
            }
            tally.finding()
        }))
    },
};

pub(super) const GAIN: CheckInfo = CheckInfo {
    name: "gain",
    holds: "the ratio of two sides, divided by the same ratio elsewhere, lies within the bounds",
    keys: &[
        ("metric", "the metric to compare"),
        ("of", "the numerator: one value of each axis that it names"),
        ("to", "the denominator, in the same form"),
        (
            "than",
            "the reference, for which the same ratio is computed",
        ),
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
    ],
    read: |keys| {
        let subject = Subject::read(keys)?;
        let sides = [keys.side("of")?, keys.side("to")?];
        let than = keys.side("than")?;
        Ok(Check::new(true, move |results| {
            gain(results, &subject, &sides, &than)
        }))
    },
};

/// Divides the ratio of the two sides in each cell by the same ratio in its counterpart in `than`.
/// A number below 1 means that `of` is smaller relative to `to` than in the counterpart.
fn gain(
    results: &Results<'_>,
    subject: &Subject,
    [of, to]: &[Selection; 2],
    than: &Selection,
) -> Finding {
    let all = ratios(results, subject.metric, of, to, &Selection::default());
    let mut tally = Tally::new(&subject.bounds, results.axes);
    for (point, ratio) in all
        .iter()
        .filter(|(point, _)| subject.cells.contains(point))
    {
        let base = than.counterpart(point);
        let base = all.iter().find(|(other, _)| Some(other) == base.as_ref());
        // There is no gain if a side is saturated.
        let is_known = |ratio: &&Estimate| ratio.mean.is_finite() && ratio.mean > 0.0;
        let base = base.and_then(|(_, base)| base.as_ref()).filter(is_known);
        let sides = ratio.as_ref().filter(is_known).zip(base);
        let gain = sides.map(|(ratio, base)| quotient(ratio, base));
        tally.add_cell(gain, point);
    }
    tally.finding()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metric_is_interpolated_between_queues() {
        let steps = vec![(4.0, 30.0), (0.0, 10.0), (1.0, 14.0)];
        assert_eq!(interpolate(steps.clone(), 0.5), Some(12.0));
        assert_eq!(interpolate(steps.clone(), 2.5), Some(22.0));
        assert_eq!(interpolate(steps.clone(), 4.0), Some(30.0));
        assert_eq!(interpolate(steps, 4.5), None);
    }
}
