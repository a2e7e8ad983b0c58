//! Checks of single metrics, and of the values of an axis: `value`, `spread`, `exists`.

use super::check::{
    AT_LEAST, AT_MOST, Check, CheckInfo, Finding, Key, METRIC, Subject, TIE, Verdict, WHERE,
    is_unbounded,
};
use super::ratio::ratios;
use super::tally::{Tally, quotient};
use crate::axis::{Point, Selection};
use crate::metric::Metric;
use crate::results::{Estimate, Outcome, Results};

pub(super) const VALUE: CheckInfo = CheckInfo {
    name: "value",
    holds: "the metric of each cell lies within the bounds; a saturated cell is beyond them",
    keys: &[
        METRIC,
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
        (
            "statistic = \"mean\"",
            "`half_width` checks the half-width of the metric's 95 % interval relative to its \
             mean; cells without an interval are not checked",
        ),
    ],
    read: |keys| {
        let subject = Subject::read(keys)?;
        match keys.text("statistic")?.as_deref() {
            None | Some("mean") => Ok(Check::new(false, move |results| means(results, &subject))),
            Some("half_width") => Ok(Check::new(false, move |results| {
                half_widths(results, &subject)
            })),
            Some(_) => Err(keys.missing("statistic", "mean or half_width")),
        }
    },
};

fn means(results: &Results<'_>, subject: &Subject) -> Finding {
    let mut tally = Tally::new(&subject.bounds, results.axes);
    for point in subject.points(results.axes) {
        let cell = results.outcome(&point);
        if cell.is_saturated {
            tally.add_saturated(&point);
        } else {
            tally.add_cell(cell.estimate(subject.metric).cloned(), &point);
        }
    }
    tally.finding()
}

fn half_widths(results: &Results<'_>, subject: &Subject) -> Finding {
    let mut tally = Tally::new(&subject.bounds, results.axes);
    for point in subject.points(results.axes) {
        let estimate = results.estimate(&point, subject.metric);
        if let Some(share) = estimate.and_then(relative_half_width) {
            tally.add_cell(Some(Estimate::exact(share)), &point);
        }
    }
    tally.finding()
}

fn relative_half_width(estimate: &Estimate) -> Option<f64> {
    Some(estimate.half_width? / estimate.mean)
}

const AMONG: Key = ("among", "the axis");

pub(super) const SPREAD: CheckInfo = CheckInfo {
    name: "spread",
    holds: "the ratio of the largest to the smallest metric among the values of an axis lies \
            within the bounds",
    keys: &[METRIC, AMONG, WHERE, AT_LEAST, AT_MOST, TIE],
    read: |keys| {
        let (subject, among) = (Subject::read(keys)?, keys.among()?);
        Ok(Check::new(true, move |results| {
            spread(results, &subject, among)
        }))
    },
};

fn spread(results: &Results<'_>, subject: &Subject, among: usize) -> Finding {
    let is_unbounded = is_unbounded(results.columns, subject.metric);
    let mut tally = Tally::new(&subject.bounds, results.axes);
    let mut seen: Vec<Point> = Vec::new();
    for point in subject.points(results.axes) {
        let at = |index: usize| {
            let mut moved = point.clone();
            moved[among] = index;
            moved
        };
        if seen.contains(&at(0)) {
            continue;
        }
        let points = (0..results.axes[among].values.len()).map(at);
        let selected = points.filter(|point| subject.cells.contains(point));
        let all: Vec<&Outcome> = selected.map(|point| results.outcome(&point)).collect();
        let spread = largest_over_smallest(&all, subject.metric, is_unbounded);
        tally.add_cell(spread, &point);
        seen.push(at(0));
    }
    tally.finding()
}

/// Returns the spread. It is infinite if the metric grows without bound and some cells, but not
/// all, are saturated; it is `None` if another value is missing or all are 0.
fn largest_over_smallest(all: &[&Outcome], metric: Metric, is_unbounded: bool) -> Option<Estimate> {
    let is_beyond = |cell: &&&Outcome| is_unbounded && cell.is_saturated;
    let unsaturated = all.iter().filter(|cell| !is_beyond(cell));
    let known: Option<Vec<&Estimate>> = unsaturated.map(|cell| cell.estimate(metric)).collect();
    let known = known?;
    let by_mean = |a: &&&Estimate, b: &&&Estimate| a.mean.total_cmp(&b.mean);
    let largest = known.iter().max_by(by_mean)?;
    let smallest = known.iter().min_by(by_mean)?;
    if known.len() < all.len() {
        return Some(Estimate::exact(f64::INFINITY));
    }
    Some(quotient(largest, smallest)).filter(|spread| !spread.mean.is_nan())
}

pub(super) const EXISTS: CheckInfo = CheckInfo {
    name: "exists",
    holds: "for one value of an axis, the same in all cells, the metric lies within the bounds, or \
            its ratio to the metric of `to` does",
    keys: &[
        METRIC,
        AMONG,
        ("to = {}", "one value of each axis that it names; optional"),
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
    ],
    read: |keys| {
        let (subject, among) = (Subject::read(keys)?, keys.among()?);
        let to = keys.side_if_any("to")?;
        Ok(Check::new(to.is_some(), move |results| {
            exists(results, &subject, among, to.as_ref())
        }))
    },
};

/// Checks the ratios to `to` if it is present, otherwise the metric itself. Returns the finding on
/// the best value: the one with the fewest failing cells and, among equals, the fewest unsure ones.
fn exists(
    results: &Results<'_>,
    subject: &Subject,
    among: usize,
    to: Option<&Selection>,
) -> Finding {
    let all = match to {
        Some(to) => {
            let everything = Selection::default();
            ratios(results, subject.metric, &everything, to, &subject.cells)
        }
        None => {
            let points = subject.points(results.axes).into_iter();
            let numbers = points.map(|point| {
                let cell = results.outcome(&point);
                let saturated = cell.is_saturated.then(|| Estimate::exact(f64::INFINITY));
                let number = saturated.or_else(|| cell.estimate(subject.metric).cloned());
                (point, number)
            });
            numbers.collect()
        }
    };
    let values = results.axes[among].values.iter().enumerate();
    let found = values.map(|(index, value)| {
        let mut tally = Tally::new(&subject.bounds, results.axes);
        for (point, number) in all.iter().filter(|(point, _)| point[among] == index) {
            match number {
                Some(number) if number.mean == f64::INFINITY => tally.add_saturated(point),
                number => tally.add_cell(number.clone(), point),
            }
        }
        let mut found = tally.finding();
        found.ours = format!("with {}: {}", value.label, found.ours);
        found
    });
    let measured = found.filter(|found| found.verdict != Verdict::NotMeasured);
    let best = measured.min_by_key(|found| {
        let numbers = found.numbers.iter();
        let count = |verdict| numbers.clone().filter(|n| n.verdict == verdict).count();
        (found.verdict, count(Verdict::Fails), count(Verdict::Unsure))
    });
    best.unwrap_or_else(|| Tally::new(&subject.bounds, results.axes).finding())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's factor for three runs is 4.303; the deviation of 9, 10 and 11 is 1, so the
    /// half-width is 4.303 / sqrt(3) = 2.484, a quarter of the mean.
    #[test]
    fn the_half_width_is_a_share_of_the_mean() {
        let share = |runs| relative_half_width(&Estimate::from_runs(runs).expect("there are runs"));
        let three = share(vec![9.0, 10.0, 11.0]).expect("more than one run");
        assert!((three - 0.2484).abs() < 1e-4, "{three}");
        assert_eq!(share(vec![9.0]), None);
    }
}
