//! The load up to which a metric stays below a level.

use std::sync::Arc;

use super::bounds::Bounds;
use super::line::{Line, along, lines};
use super::load::Load;
use super::tally::Tally;
use super::{Check, Info, Judged};
use crate::metric::Metric;
use crate::results::Results;
use crate::select::Selection;

pub(super) const INFO: Info = Info {
    name: "sustains",
    holds: "the load at which the metric of `of` first reaches the level, or its ratio to that \
            of `to`, lies within the bounds",
    keys: &[
        ("metric", "what is held"),
        ("level", "above 0"),
        ("along", "an axis of numbers"),
        ("of = {}", "one value of each axis that it names"),
        ("to = {}", "the same; may be left out"),
        ("where = {}", "the cells that count; all when left out"),
        ("at_least", "the lower bound; it, at_most or both"),
        ("at_most", "the upper bound"),
    ],
    read: |keys| {
        Ok(Arc::new(Sustains {
            metric: keys.metric()?,
            level: match keys.number("level")? {
                Some(level) if level > 0.0 => level,
                _ => return Err(keys.missing("level", "a number above 0")),
            },
            along: keys.along("along")?,
            of: keys.side("of")?,
            to: keys.side_if_any("to")?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
        }))
    },
};

#[derive(Debug)]
struct Sustains {
    metric: Metric,
    level: f64,
    along: usize,
    of: Selection,
    /// Where it is absent, the load itself is held to the bounds, else the ratio.
    to: Option<Selection>,
    cells: Selection,
    bounds: Bounds,
}

impl Sustains {
    fn load(&self, line: &Line, results: &Results<'_>) -> Option<Load> {
        let estimates = line.estimates(results, self.metric);
        let means = estimates.iter().map(|(x, e)| (*x, e.map(|e| e.mean)));
        match reached(&means.collect::<Vec<_>>(), self.level)? {
            Reached::Within(low, high) => Some(Load::Within(low, high)),
            Reached::At(_) => {
                let at = |steps: &[(f64, Option<f64>)]| match reached(steps, self.level) {
                    Some(Reached::At(load)) => Some(load),
                    _ => None,
                };
                along(&estimates, at).map(Load::At)
            }
        }
    }
}

/// Where a metric reaches a level.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reached {
    /// There.
    At(f64),
    /// Somewhere above the one and up to the other.
    Within(f64, f64),
}

/// Where the metric first reaches `level`; a load without a figure is saturated, beyond every
/// level. Between two loads the reciprocal is taken to be straight, as that of a response time is
/// near saturation. `None` without loads.
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
    fn judge(&self, results: &Results<'_>) -> Judged {
        let axes = &results.study.axes;
        let mut tally = Tally::default();
        for line in lines(axes, self.along, &[&self.of, &self.cells]) {
            let load = self.load(&line, results);
            let found = match &self.to {
                None => load,
                Some(to) => {
                    let base = line.moved(to).and_then(|line| self.load(&line, results));
                    load.zip(base).map(|(top, base)| top.over(&base))
                }
            };
            if let Some(found) = found {
                tally.hold_load(found, &self.bounds, line.told(axes, self.along));
            }
        }
        tally.judged()
    }
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
}
