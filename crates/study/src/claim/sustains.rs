//! Checks of loads along an axis: `sustains`, `saturates`.

use std::sync::Arc;

use diskarm_core::text::InputError;

use super::check::{
    ALONG, AT_LEAST, AT_MOST, Check, CheckInfo, Finding, Keys, METRIC, TIE, WHERE, is_endless,
};
use super::line::{Line, Reached, Search, along};
use super::tally::Load;
use crate::axis::Point;
use crate::axis::Selection;
use crate::metric::Metric;
use crate::results::{Estimate, Outcome, Results};

pub(super) const SUSTAINS: CheckInfo = CheckInfo {
    name: "sustains",
    holds: "the load at which the metric of `of` first reaches the level, or its ratio to that \
            of `to`, lies within the bounds",
    keys: &[
        METRIC,
        (
            "level",
            "a number above 0, or a side such as { policy = \"sptf\" }, whose metric must be \
             exceeded from the load on",
        ),
        ALONG,
        ("of = {}", "one value of each axis that it names"),
        ("to = {}", "the same; optional"),
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
    ],
    read: |keys| {
        Ok(Arc::new(Sustains {
            metric: keys.metric()?,
            level: Level::read(keys)?,
            search: Search::read(keys)?,
        }))
    },
};

#[derive(Debug)]
struct Sustains {
    metric: Metric,
    level: Level,
    search: Search,
}

/// The level that the metric must reach.
#[derive(Debug)]
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
}

/// Returns the load at which the metric first reaches `level`; `None` is a saturated load, above
/// every level. Between two loads the reciprocal is interpolated linearly, as that of a response
/// time is linear near saturation. `None` without loads.
fn reached(steps: &[(f64, Option<f64>)], level: f64) -> Option<Reached> {
    let is_beyond = |(_, value): &(f64, Option<f64>)| value.is_none_or(|value| value >= level);
    let (last, _) = *steps.last()?;
    let Some(first) = steps.iter().position(is_beyond) else {
        return Some(Reached::Within(last, f64::INFINITY));
    };
    let (x, value) = steps[first];
    let Some((before, Some(below))) = first.checked_sub(1).map(|before| steps[before]) else {
        return Some(Reached::Within(0.0, x));
    };
    let Some(value) = value else {
        return Some(Reached::Within(before, x));
    };
    let (low, high) = (1.0 / below, 1.0 / value);
    let share = (low - 1.0 / level) / (low - high);
    Some(Reached::At(before + share * (x - before)))
}

impl Check for Sustains {
    fn judge(&self, results: &Results<'_>) -> Finding {
        self.search.judge(results, |line| match &self.level {
            Level::Number(level) => {
                let estimates = line.estimates(results, self.metric);
                along(&estimates, |steps| reached(steps, *level))
            }
            Level::Side(side) => overtaking(results, self.metric, line, side),
        })
    }
}

/// Returns the load from which on the metric exceeds that of `side`.
fn overtaking(
    results: &Results<'_>,
    metric: Metric,
    line: &Line,
    side: &Selection,
) -> Option<Load> {
    let is_endless = is_endless(results.columns, metric);
    let other = line.moved(side)?;
    let pairs = line.steps.iter().zip(&other.steps);
    let differences = pairs.filter_map(|((x, of), (_, to))| {
        let sides = [of, to].map(|point| results.at(point));
        Some((*x, difference(sides, metric, is_endless)?))
    });
    let differences: Vec<(f64, Estimate)> = differences.collect();
    let steps = differences
        .iter()
        .map(|(x, difference)| (*x, Some(difference)));
    along(&steps.collect::<Vec<_>>(), overtaken)
}
/// Returns the amount by which the first is above the second. If the metric grows without bound, a
/// saturated cell is above one that is not saturated by `f64::MAX`; two saturated cells cannot be
/// compared.
fn difference([of, to]: [&Outcome; 2], metric: Metric, is_endless: bool) -> Option<Estimate> {
    let endless = |sign: f64, like: &Estimate| Estimate {
        mean: sign * f64::MAX,
        half_width: None,
        runs: vec![sign * f64::MAX; like.runs.len()],
    };
    match (of.estimate(metric), to.estimate(metric)) {
        (Some(of), Some(to)) => Some(Estimate {
            mean: of.mean - to.mean,
            // An upper bound, used only where replications are not paired.
            half_width: of.half_width.zip(to.half_width).map(|(of, to)| of + to),
            runs: of
                .runs
                .iter()
                .zip(&to.runs)
                .map(|(of, to)| of - to)
                .collect(),
        }),
        (None, Some(to)) if is_endless && of.is_saturated => Some(endless(1.0, to)),
        (Some(of), None) if is_endless && to.is_saturated => Some(endless(-1.0, of)),
        _ => None,
    }
}

/// Returns the load at which the difference becomes positive: interpolated, or between two loads if
/// one of them is saturated. `None` if there are no differences.
fn overtaken(steps: &[(f64, Option<f64>)]) -> Option<Reached> {
    let known: Vec<(f64, f64)> = steps
        .iter()
        .filter_map(|(x, d)| Some((*x, (*d)?)))
        .collect();
    let (first, _) = *known.first()?;
    let Some(last_below) = known.iter().rposition(|(_, d)| *d <= 0.0) else {
        return Some(Reached::Within(f64::NEG_INFINITY, first));
    };
    let (x, below) = known[last_below];
    let Some((next, above)) = known.get(last_below + 1).copied() else {
        return Some(Reached::Within(x, f64::INFINITY));
    };
    Some(if above == f64::MAX || below == -f64::MAX {
        Reached::Within(x, next)
    } else {
        Reached::At(x + below / (below - above) * (next - x))
    })
}

pub(super) const SATURATES: CheckInfo = CheckInfo {
    name: "saturates",
    holds: "the largest load that is not saturated lies within the bounds; with `to`, the ratio \
            of the limits, each between that load and the next, does",
    keys: &[
        ALONG,
        ("of = {}", "one value of each axis that it names"),
        ("to = {}", "the same; optional"),
        WHERE,
        AT_LEAST,
        AT_MOST,
        TIE,
    ],
    read: |keys| {
        Ok(Arc::new(Saturates {
            search: Search::read(keys)?,
        }))
    },
};

#[derive(Debug)]
struct Saturates {
    search: Search,
}

impl Check for Saturates {
    fn judge(&self, results: &Results<'_>) -> Finding {
        let is_alone = self.search.is_alone();
        self.search
            .judge(results, |line| match kept_up(line, results)? {
                // A claim about the load itself is about the loads that were simulated.
                Load::Within(low, high) if is_alone && low > 0.0 && high.is_finite() => {
                    Some(Load::At(Estimate::exact(low)))
                }
                load => Some(load),
            })
    }
}

/// Returns the limit: between the first saturated load and the load below it; unbounded if no load
/// is saturated. `None` without loads.
fn kept_up(line: &Line, results: &Results<'_>) -> Option<Load> {
    let is_saturated = |(_, point): &(f64, Point)| results.at(point).is_saturated;
    let (last, _) = line.steps.last()?;
    Some(match line.steps.iter().position(is_saturated) {
        None => Load::Within(*last, f64::INFINITY),
        Some(0) => Load::Within(0.0, line.steps[0].0),
        Some(first) => Load::Within(line.steps[first - 1].0, line.steps[first].0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An M/M/1 queue served at 10: responses of 1 / (10 - x), so that 0.5 is reached at 8,
    /// wherever it is measured.
    #[test]
    fn a_response_time_is_followed_to_its_level() {
        let queue = |loads: &[f64]| -> Vec<(f64, Option<f64>)> {
            loads
                .iter()
                .map(|x| (*x, (*x < 10.0).then(|| 1.0 / (10.0 - x))))
                .collect()
        };
        let at = |loads: &[f64]| reached(&queue(loads), 0.5).unwrap();
        let Reached::At(load) = at(&[1.0, 5.0, 9.0, 12.0]) else {
            panic!("not found");
        };
        assert!((load - 8.0).abs() < 1e-12, "{load}");
        assert_eq!(at(&[1.0, 5.0, 7.0, 12.0]), Reached::Within(7.0, 12.0));
        assert_eq!(at(&[1.0, 5.0]), Reached::Within(5.0, f64::INFINITY));
        assert_eq!(at(&[9.0, 9.5]), Reached::Within(0.0, 9.0));
        assert_eq!(reached(&[], 0.5), None);
    }

    #[test]
    fn it_is_found_between_two_steps() {
        let steps = |values: &[f64]| -> Vec<(f64, Option<f64>)> {
            values
                .iter()
                .enumerate()
                .map(|(x, d)| (x as f64, Some(*d)))
                .collect()
        };
        assert_eq!(
            overtaken(&steps(&[-2.0, -1.0, 3.0, 4.0])),
            Some(Reached::At(1.25))
        );
        let never = Some(Reached::Within(1.0, f64::INFINITY));
        assert_eq!(overtaken(&steps(&[-2.0, -1.0])), never);
        assert_eq!(overtaken(&steps(&[2.0, -1.0])), never);
        let always = Some(Reached::Within(f64::NEG_INFINITY, 0.0));
        assert_eq!(overtaken(&steps(&[2.0, 1.0])), always);
        assert_eq!(overtaken(&[]), None);
        assert_eq!(
            overtaken(&steps(&[-2.0, f64::MAX])),
            Some(Reached::Within(0.0, 1.0))
        );
        // The last crossing counts: an earlier one is noise where both are nearly equal.
        assert_eq!(
            overtaken(&steps(&[-1.0, 1.0, -1.0, 1.0])),
            Some(Reached::At(2.5))
        );
    }
}
