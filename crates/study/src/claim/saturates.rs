//! The largest load that is not saturated.

use std::sync::Arc;

use super::line::Line;
use super::load::Load;
use super::search::Search;
use super::subject::{ALONG, AT_LEAST, AT_MOST, TIE, WHERE};
use super::{Check, CheckInfo, Found};
use crate::axis::Point;
use crate::results::{Estimate, Results};

pub(super) const INFO: CheckInfo = CheckInfo {
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
    fn judge(&self, results: &Results<'_>) -> Found {
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

/// The limit: between the first saturated load and the load below it; unbounded if no load is
/// saturated. `None` without loads.
fn kept_up(line: &Line, results: &Results<'_>) -> Option<Load> {
    let is_saturated = |(_, point): &(f64, Point)| results.at(point).is_saturated;
    let (last, _) = line.steps.last()?;
    Some(match line.steps.iter().position(is_saturated) {
        None => Load::Within(*last, f64::INFINITY),
        Some(0) => Load::Within(0.0, line.steps[0].0),
        Some(first) => Load::Within(line.steps[first - 1].0, line.steps[first].0),
    })
}
