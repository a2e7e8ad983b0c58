//! The load up to which a metric stays below a level.

use std::sync::Arc;

use super::bounds::Bounds;
use super::line::{Line, along, lines};
use super::ratio::quotient;
use super::tally::Tally;
use super::{Check, Info, Judged};
use crate::metric::Metric;
use crate::results::{Estimate, Results};
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
    fn load(&self, line: &Line, results: &Results<'_>) -> Option<Estimate> {
        let estimates = line.estimates(results, self.metric);
        let reached = |steps: &[(f64, Option<f64>)]| reached(steps, self.level);
        let found = along(&estimates, |steps| reached(steps).map(|(load, _)| load))?;
        // Between the last load that is kept up with and the first that is not, nothing is known.
        let means = estimates
            .iter()
            .map(|(x, estimate)| (*x, estimate.map(|e| e.mean)));
        let gap = reached(&means.collect::<Vec<_>>()).map_or(0.0, |(_, gap)| gap);
        Some(match gap > 0.0 {
            true => Estimate {
                half_width: Some(gap),
                ..found
            },
            false => found,
        })
    }
}

/// Where the metric first reaches `level`, and by how much that may be off because the next load
/// is saturated. Between two loads the reciprocal is taken to be straight, as that of a response
/// time is near saturation.
fn reached(steps: &[(f64, Option<f64>)], level: f64) -> Option<(f64, f64)> {
    let first = steps
        .iter()
        .position(|(_, value)| value.is_none_or(|value| value >= level))?;
    let (x, value) = steps[first];
    let (before, below) = *first.checked_sub(1).map(|before| &steps[before])?;
    let Some(value) = value else {
        return Some(((before + x) / 2.0, (x - before) / 2.0));
    };
    let (low, high) = (1.0 / below?, 1.0 / value);
    let share = (low - 1.0 / level) / (low - high);
    Some((before + share * (x - before), 0.0))
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
                    load.zip(base).map(|(top, base)| ratio(&top, &base))
                }
            };
            if let Some(found) = found {
                tally.hold(found, &self.bounds, line.told(axes, self.along));
            }
        }
        tally.judged()
    }
}

/// Paired where both have all replications; else as far off as both together.
fn ratio(top: &Estimate, base: &Estimate) -> Estimate {
    let paired = quotient(top, base);
    let share = |e: &Estimate| e.half_width.unwrap_or(0.0) / e.mean;
    let together = paired.mean * (share(top) + share(base));
    let is_known = [top, base].iter().any(|e| e.half_width.is_some());
    Estimate {
        half_width: paired.half_width.or_else(|| is_known.then_some(together)),
        ..paired
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
        let (load, gap) = reached(&queue(&[1.0, 5.0, 9.0, 12.0]), 0.5).unwrap();
        assert!((load - 8.0).abs() < 1e-12 && gap == 0.0, "{load}");
        assert_eq!(
            reached(&queue(&[1.0, 5.0, 7.0, 12.0]), 0.5),
            Some((9.5, 2.5))
        );
        assert_eq!(reached(&queue(&[1.0, 5.0]), 0.5), None);
        assert_eq!(reached(&queue(&[9.0, 9.5]), 0.5), None);
    }
}
