//! Checks along an axis of numbers. `power` and `birth_death` compare a metric with a model (liu05,
//! section 5.3.3); `sustains` and `saturates` check the load at which something happens.

use diskarm_core::text::InputError;
use diskarm_queueing::queues;

use super::check::{
    ALONG, AT_LEAST, AT_MOST, Bounds, Check, CheckInfo, Finding, Key, Keys, METRIC, Subject, TIE,
    WHERE, is_unbounded,
};
use super::tally::{Quantity, Tally};
use crate::axis::{Axis, Point, Selection, describe_except, points};
use crate::metric::Metric;
use crate::results::{Estimate, Outcome, Results};

/// The cells along an axis, in ascending order of its numbers.
struct Line {
    /// The indices on the other axes; the index on the axis of the line is 0.
    point: Point,
    steps: Vec<(f64, Point)>,
}

impl Line {
    /// Returns the estimates along the line, each with its number on the axis: `None` for a
    /// saturated cell if the metric grows without bound. Other cells without it are left out.
    fn estimates<'r>(
        &self,
        results: &'r Results<'_>,
        metric: Metric,
    ) -> Vec<(f64, Option<&'r Estimate>)> {
        let is_unbounded = is_unbounded(results.columns, metric);
        let estimates = self.steps.iter().filter_map(|(x, point)| {
            let cell = results.outcome(point);
            let estimate = cell.estimate(metric);
            let is_beyond = is_unbounded && cell.is_saturated;
            (estimate.is_some() || is_beyond).then_some((*x, estimate))
        });
        estimates.collect()
    }

    fn counterpart(&self, side: &Selection) -> Option<Self> {
        let steps = self.steps.iter();
        let steps = steps.map(|(x, point)| Some((*x, side.counterpart(point)?)));
        Some(Self {
            point: side.counterpart(&self.point)?,
            steps: steps.collect::<Option<_>>()?,
        })
    }

    fn add(self, load: Option<Quantity>, tally: &mut Tally<'_>, along: usize) {
        let text = describe_except(tally.axes, &self.point, along);
        tally.add(load, self.point, text);
    }
}

/// Returns the lines along the axis `along` through the cells that all `selections` contain.
fn lines(axes: &[Axis], along: usize, selections: &[&Selection]) -> Vec<Line> {
    let numbers = axes[along].numbers().unwrap_or_default();
    let mut lines: Vec<Line> = Vec::new();
    for point in points(axes) {
        if !selections
            .iter()
            .all(|selection| selection.contains(&point))
        {
            continue;
        }
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

/// The result of a search for a number on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crossing {
    At(f64),
    /// Above the first number and up to the second.
    Within(f64, f64),
}

impl Crossing {
    fn ends(self) -> (f64, f64) {
        match self {
            Self::At(x) => (x, x),
            Self::Within(low, high) => (low, high),
        }
    }
}

/// Calls `find` with the means along a line, and with each replication to obtain an interval.
/// `find` gets `None` for a saturated load. If it returns a range for any replication, the result
/// is also a range. It covers the intervals of the lower ends and of the upper ends.
fn search(
    estimates: &[(f64, Option<&Estimate>)],
    find: impl Fn(&[(f64, Option<f64>)]) -> Option<Crossing>,
) -> Option<Quantity> {
    let found = |value: &dyn Fn(&Estimate) -> f64| {
        let steps = estimates.iter();
        let steps = steps.map(|(x, estimate)| (*x, estimate.map(value)));
        find(&steps.collect::<Vec<_>>())
    };
    let mean = found(&|estimate| estimate.mean)?;
    let known = estimates.iter().filter_map(|(_, estimate)| *estimate);
    let counts = known.map(|estimate| estimate.runs.len());
    let replications = counts.min().unwrap_or(0);
    if replications == 0 {
        // Without paired replications, use the ends of the intervals.
        let [one, other] = [-1.0, 1.0].map(|sign| {
            let end = found(&|e| e.mean + sign * e.half_width.unwrap_or(0.0));
            end.unwrap_or(mean).ends()
        });
        return Some(quantity_range(mean, [one.0, other.0], [one.1, other.1]));
    }
    let each = (0..replications).filter_map(|number| found(&|estimate| estimate.runs[number]));
    let each: Vec<Crossing> = each.collect();
    let runs = each.iter().map(|crossing| match crossing {
        Crossing::At(x) => Some(*x),
        Crossing::Within(..) => None,
    });
    let runs: Option<Vec<f64>> = runs.collect();
    if let (Some(runs), Crossing::At(mean)) = (runs, mean) {
        let half_width = Estimate::from_runs(runs.clone()).and_then(|each| each.half_width);
        return Some(Estimate::new(mean, half_width, runs).into());
    }
    let (low, high) = each.into_iter().map(Crossing::ends).unzip();
    Some(quantity_range(mean, interval(low), interval(high)))
}

/// Returns the ends of the 95 % interval of `numbers`. If a number is infinite, both ends are.
fn interval(numbers: Vec<f64>) -> [f64; 2] {
    if let Some(infinite) = numbers.iter().find(|number| number.is_infinite()) {
        return [*infinite; 2];
    }
    let all = Estimate::from_runs(numbers);
    all.map_or([f64::INFINITY, f64::NEG_INFINITY], |all| all.ends().into())
}

fn quantity_range(mean: Crossing, low: [f64; 2], high: [f64; 2]) -> Quantity {
    let (from, to) = mean.ends();
    let low = low.into_iter().fold(from, f64::min);
    let high = high.into_iter().fold(to, f64::max);
    if low == high {
        Estimate::exact(low).into()
    } else {
        Quantity::Within(low, high)
    }
}

pub(super) const POWER: CheckInfo = CheckInfo {
    name: "power",
    holds: "the exponent p of along^-p, fitted by least squares to the metric divided by its value \
            at along = 1, lies within the bounds",
    keys: &[METRIC, ALONG, WHERE, AT_LEAST, AT_MOST, TIE],
    read: |keys| {
        let (subject, along) = (Subject::read(keys)?, keys.along()?);
        Ok(Check::new(false, move |results| {
            let mut tally = Tally::new(&subject.bounds, results.axes);
            for line in lines(results.axes, along, &[&subject.cells]) {
                let power = search(&line.estimates(results, subject.metric), exponent);
                line.add(power, &mut tally, along);
            }
            tally.finding()
        }))
    },
};

/// Fits x^-p by least squares to the metric divided by its value at x = 1, and returns p. The curve
/// is fitted, not its logarithm (liu05 section 5.3.3, table 5.1).
fn exponent(steps: &[(f64, Option<f64>)]) -> Option<Crossing> {
    let (_, one) = steps.iter().find(|(x, _)| *x == 1.0)?;
    let one = (*one)?;
    let points = steps.iter().map(|(x, y)| Some((*x, (*y)? / one)));
    let points: Vec<(f64, f64)> = points.collect::<Option<_>>()?;
    // The derivative of the sum of squares with respect to p, up to a factor. It crosses 0 once,
    // from below.
    let slope = |p: f64| -> f64 {
        let points = points.iter();
        let terms = points.map(|(x, y)| (y - x.powf(-p)) * x.powf(-p) * x.ln());
        terms.sum()
    };
    let (mut low, mut high) = (-1.0, 4.0);
    if slope(low) > 0.0 {
        return Some(Crossing::Within(f64::NEG_INFINITY, low));
    }
    if slope(high) < 0.0 {
        return Some(Crossing::Within(high, f64::INFINITY));
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(Crossing::At((low + high) / 2.0))
}

pub(super) const BIRTH_DEATH: CheckInfo = CheckInfo {
    name: "birth_death",
    holds: "the ratio of the metric, a mean response time in units of the mean service time of \
            FCFS, to that of a birth-death model lies within the bounds; `along` is the load, \
            which is 1 where FCFS saturates; the model serves a request in m^-power if it can \
            choose from m; loads that saturate the model are left out",
    keys: &[
        METRIC,
        ALONG,
        ("power", "from 0 to 1"),
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
    ],
    read: |keys| {
        let (subject, along) = (Subject::read(keys)?, keys.along()?);
        let given = keys.number("power")?;
        let share = given.filter(|power| (0.0..=1.0).contains(power));
        let power = share.ok_or_else(|| keys.missing("power", "a number from 0 to 1"))?;
        Ok(Check::new(false, move |results| {
            over_birth_death(results, &subject, along, power)
        }))
    },
};

fn over_birth_death(results: &Results<'_>, subject: &Subject, along: usize, power: f64) -> Finding {
    let is_unbounded = is_unbounded(results.columns, subject.metric);
    // The unit of time is the mean service time of one request.
    let services = queues::satf_services(1.0, power);
    let mut tally = Tally::new(&subject.bounds, results.axes);
    for line in lines(results.axes, along, &[&subject.cells]) {
        for (load, point) in &line.steps {
            let cell = results.outcome(point);
            let measured = if cell.is_saturated && is_unbounded {
                Some(Estimate::exact(f64::INFINITY))
            } else {
                cell.estimate(subject.metric).cloned()
            };
            let model = queues::satf_response(*load, &services);
            let ratio = model.zip(measured);
            let ratio = ratio.map(|(model, measured)| measured.times(1.0 / model));
            tally.add_cell(ratio, point);
        }
    }
    tally.finding()
}

struct Search {
    along: usize,
    of: Selection,
    /// If present, the ratio of the two sides' loads is checked instead of the load.
    to: Option<Selection>,
    cells: Selection,
    bounds: Bounds,
}

impl Search {
    fn read(keys: &mut Keys<'_>) -> Result<Self, InputError> {
        Ok(Self {
            along: keys.along()?,
            of: keys.side("of")?,
            to: keys.side_if_any("to")?,
            cells: keys.cells()?,
            bounds: keys.bounds()?,
        })
    }

    fn judge(&self, results: &Results<'_>, find: impl Fn(&Line) -> Option<Quantity>) -> Finding {
        let mut tally = Tally::new(&self.bounds, results.axes);
        for line in lines(results.axes, self.along, &[&self.of, &self.cells]) {
            let load = find(&line);
            let load = match &self.to {
                None => load,
                Some(to) => {
                    let base = line.counterpart(to).and_then(|line| find(&line));
                    load.zip(base).map(|(top, base)| top.over(&base))
                }
            };
            line.add(load, &mut tally, self.along);
        }
        tally.finding()
    }
}

const OF: Key = ("of = {}", "one value of each axis that it names");
const TO: Key = ("to = {}", "the same; optional");

pub(super) const SUSTAINS: CheckInfo = CheckInfo {
    name: "sustains",
    holds: "the load at which the metric of `of` first reaches the level, or the ratio of this \
            load to that of `to`, lies within the bounds",
    keys: &[
        METRIC,
        (
            "level",
            "a number above 0, or a side such as { policy = \"sptf\" }: the load is then the one \
             above which the metric of `of` exceeds that of this side",
        ),
        ALONG,
        OF,
        TO,
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
    ],
    read: |keys| {
        let metric = keys.metric()?;
        let (level, search) = (Level::read(keys)?, Search::read(keys)?);
        Ok(Check::new(false, move |results| {
            search.judge(results, |line| level.reached(results, metric, line))
        }))
    },
};

enum Level {
    Number(f64),
    /// The metric of this side at the same load.
    Side(Selection),
}

impl Level {
    fn read(keys: &mut Keys<'_>) -> Result<Self, InputError> {
        if keys.is_table("level") {
            return keys.side("level").map(Self::Side);
        }
        match keys.number("level")? {
            Some(level) if level > 0.0 => Ok(Self::Number(level)),
            _ => Err(keys.missing("level", "a number above 0")),
        }
    }

    fn reached(&self, results: &Results<'_>, metric: Metric, line: &Line) -> Option<Quantity> {
        match self {
            Self::Number(level) => {
                let estimates = line.estimates(results, metric);
                search(&estimates, |steps| first_reaching(steps, *level))
            }
            Self::Side(side) => overtaking_load(results, metric, line, side),
        }
    }
}

/// Returns the load at which the metric first reaches `level`; `None` if there are no loads. At a
/// saturated load, the metric is `None` and counts as above every level. Between loads, its
/// reciprocal is interpolated, because that of a response time is linear near saturation.
fn first_reaching(steps: &[(f64, Option<f64>)], level: f64) -> Option<Crossing> {
    let is_beyond = |(_, value): &(f64, Option<f64>)| value.is_none_or(|value| value >= level);
    let (last, _) = *steps.last()?;
    let Some(first) = steps.iter().position(is_beyond) else {
        return Some(Crossing::Within(last, f64::INFINITY));
    };
    let (x, value) = steps[first];
    let Some((before, Some(below))) = first.checked_sub(1).map(|before| steps[before]) else {
        return Some(Crossing::Within(0.0, x));
    };
    let Some(value) = value else {
        return Some(Crossing::Within(before, x));
    };
    let (low, high) = (1.0 / below, 1.0 / value);
    let share = (low - 1.0 / level) / (low - high);
    Some(Crossing::At(before + share * (x - before)))
}

/// Returns the load above which the metric exceeds the metric of `side`.
fn overtaking_load(
    results: &Results<'_>,
    metric: Metric,
    line: &Line,
    side: &Selection,
) -> Option<Quantity> {
    let is_unbounded = is_unbounded(results.columns, metric);
    let other = line.counterpart(side)?;
    let pairs = line.steps.iter().zip(&other.steps);
    let differences = pairs.filter_map(|((x, of), (_, to))| {
        let sides = [of, to].map(|point| results.outcome(point));
        Some((*x, difference(sides, metric, is_unbounded)?))
    });
    let differences: Vec<(f64, Estimate)> = differences.collect();
    let steps = differences.iter().map(|(x, d)| (*x, Some(d)));
    search(&steps.collect::<Vec<_>>(), last_above)
}

/// Returns the amount by which `of` exceeds `to`. If the metric grows without bound, a saturated
/// cell exceeds any other by `f64::MAX`, and two saturated cells cannot be compared.
fn difference([of, to]: [&Outcome; 2], metric: Metric, is_unbounded: bool) -> Option<Estimate> {
    let extreme = |end: f64, like: &Estimate| Estimate::new(end, None, vec![end; like.runs.len()]);
    match (of.estimate(metric), to.estimate(metric)) {
        (Some(of), Some(to)) => {
            // This is an upper bound, used only if replications are not paired.
            let half_width = of.half_width.zip(to.half_width).map(|(of, to)| of + to);
            let runs = of.runs.iter().zip(&to.runs).map(|(of, to)| of - to);
            Some(Estimate::new(of.mean - to.mean, half_width, runs.collect()))
        }
        (None, Some(to)) if is_unbounded && of.is_saturated => Some(extreme(f64::MAX, to)),
        (Some(of), None) if is_unbounded && to.is_saturated => Some(extreme(-f64::MAX, of)),
        _ => None,
    }
}

/// Returns the load above which the difference stays positive; `None` if there are no differences.
/// The load is interpolated, or only a range if a neighbouring load is saturated.
fn last_above(steps: &[(f64, Option<f64>)]) -> Option<Crossing> {
    let known = steps.iter().filter_map(|(x, d)| Some((*x, (*d)?)));
    let known: Vec<(f64, f64)> = known.collect();
    let (first, _) = *known.first()?;
    let Some(last_below) = known.iter().rposition(|(_, d)| *d <= 0.0) else {
        return Some(Crossing::Within(f64::NEG_INFINITY, first));
    };
    let (x, below) = known[last_below];
    let Some((next, above)) = known.get(last_below + 1).copied() else {
        return Some(Crossing::Within(x, f64::INFINITY));
    };
    Some(if above == f64::MAX || below == -f64::MAX {
        Crossing::Within(x, next)
    } else {
        Crossing::At(x + below / (below - above) * (next - x))
    })
}

pub(super) const SATURATES: CheckInfo = CheckInfo {
    name: "saturates",
    holds: "the largest unsaturated load lies within the bounds; with `to`, the ratio of the \
            limits of `of` and `to` does; a limit is between this load and the next",
    keys: &[ALONG, OF, TO, WHERE, AT_LEAST, AT_MOST, TIE],
    read: |keys| {
        let search = Search::read(keys)?;
        let is_alone = search.to.is_none();
        Ok(Check::new(false, move |results| {
            search.judge(results, |line| match saturation(line, results)? {
                // A claim about the load itself refers to the loads that were simulated.
                Quantity::Within(low, high) if is_alone && low > 0.0 && high.is_finite() => {
                    Some(Estimate::exact(low).into())
                }
                load => Some(load),
            })
        }))
    },
};

/// Returns the range in which saturation begins: from the last unsaturated load to the next load.
fn saturation(line: &Line, results: &Results<'_>) -> Option<Quantity> {
    let is_saturated = |(_, point): &(f64, Point)| results.outcome(point).is_saturated;
    let (last, _) = line.steps.last()?;
    Some(match line.steps.iter().position(is_saturated) {
        None => Quantity::Within(*last, f64::INFINITY),
        Some(0) => Quantity::Within(0.0, line.steps[0].0),
        Some(first) => Quantity::Within(line.steps[first - 1].0, line.steps[first].0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_power_is_found() {
        for p in [0.2, 0.0, 1.5] {
            let step = |x: u32| (f64::from(x), Some(7.0 * f64::from(x).powf(-p)));
            let steps: Vec<(f64, Option<f64>)> = (1..=50).map(step).collect();
            let Some(Crossing::At(found)) = exponent(&steps) else {
                panic!("not found");
            };
            assert!((found - p).abs() < 1e-9, "{found} {p}");
        }
        assert_eq!(exponent(&[(2.0, Some(1.0))]), None);
    }

    /// The response time of an M/M/1 queue with a service rate of 10 is 1 / (10 - x): 0.5 at 8.
    #[test]
    fn the_load_that_reaches_a_level_is_interpolated() {
        let at = |loads: &[f64]| {
            let step = |x: &f64| (*x, (*x < 10.0).then(|| 1.0 / (10.0 - x)));
            let steps: Vec<(f64, Option<f64>)> = loads.iter().map(step).collect();
            first_reaching(&steps, 0.5)
        };
        let Some(Crossing::At(load)) = at(&[1.0, 5.0, 9.0, 12.0]) else {
            panic!("not found");
        };
        assert!((load - 8.0).abs() < 1e-12, "{load}");
        let within = |low, high| Some(Crossing::Within(low, high));
        assert_eq!(at(&[1.0, 5.0, 7.0, 12.0]), within(7.0, 12.0));
        assert_eq!(at(&[1.0, 5.0]), within(5.0, f64::INFINITY));
        assert_eq!(at(&[9.0, 9.5]), within(0.0, 9.0));
        assert_eq!(at(&[]), None);
    }

    #[test]
    fn the_last_crossing_is_found() {
        let found = |values: &[f64]| {
            let steps = values.iter().enumerate();
            let steps = steps.map(|(x, d)| (x as f64, Some(*d)));
            last_above(&steps.collect::<Vec<_>>())
        };
        let within = |low, high| Some(Crossing::Within(low, high));
        assert_eq!(found(&[-2.0, -1.0, 3.0, 4.0]), Some(Crossing::At(1.25)));
        assert_eq!(found(&[-2.0, -1.0]), within(1.0, f64::INFINITY));
        assert_eq!(found(&[2.0, -1.0]), within(1.0, f64::INFINITY));
        assert_eq!(found(&[2.0, 1.0]), within(f64::NEG_INFINITY, 0.0));
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[-2.0, f64::MAX]), within(0.0, 1.0));
        // The last crossing counts: an earlier one is noise where both are nearly equal.
        assert_eq!(found(&[-1.0, 1.0, -1.0, 1.0]), Some(Crossing::At(2.5)));
    }
}
