//! The load up to which a metric stays below a level.

use std::sync::Arc;

use super::line::{Reached, along};
use super::search::Search;
use super::subject::{ALONG, AT_LEAST, AT_MOST, METRIC, TIE, WHERE};
use super::{Check, CheckInfo, Found};
use crate::metric::Metric;
use crate::results::Results;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "sustains",
    holds: "the load at which the metric of `of` first reaches the level, or its ratio to that \
            of `to`, lies within the bounds",
    keys: &[
        METRIC,
        ("level", "above 0"),
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
            level: match keys.number("level")? {
                Some(level) if level > 0.0 => level,
                _ => return Err(keys.missing("level", "a number above 0")),
            },
            search: Search::read(keys)?,
        }))
    },
};

#[derive(Debug)]
struct Sustains {
    metric: Metric,
    level: f64,
    search: Search,
}

/// Where the metric first reaches `level`; `None` is a saturated load, above every level. Between
/// two loads the reciprocal is interpolated linearly, as that of a response time is linear near
/// saturation. `None` without loads.
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
    fn judge(&self, results: &Results<'_>) -> Found {
        self.search.judge(results, |line| {
            let estimates = line.estimates(results, self.metric);
            along(&estimates, |steps| reached(steps, self.level))
        })
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
