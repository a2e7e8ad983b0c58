//! Where one side overtakes another.

use std::sync::Arc;

use super::endless::is_endless;
use super::line::{Reached, along, lines};
use super::subject::{ALONG, AT_LEAST, AT_MOST, METRIC, Subject, TIE, WHERE};
use super::tally::Tally;
use super::{Check, CheckInfo, Found};
use crate::metric::Metric;
use crate::results::{Estimate, Outcome, Results};
use crate::select::Selection;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "crossing",
    holds: "the number from which on the metric of `of` exceeds that of `to` lies within the \
            bounds",
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
        Ok(Arc::new(Crossing {
            subject: Subject::read(keys)?,
            along: keys.along("along")?,
            of: keys.side("of")?,
            to: keys.side("to")?,
        }))
    },
};

#[derive(Debug)]
struct Crossing {
    subject: Subject,
    along: usize,
    of: Selection,
    to: Selection,
}

impl Check for Crossing {
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let is_endless = is_endless(results.columns, self.subject.metric);
        let mut tally = Tally::new(&self.subject.bounds);
        for line in lines(axes, self.along, &[&self.of, &self.subject.cells]) {
            let Some(other) = line.moved(&self.to) else {
                continue;
            };
            let pairs = line.steps.iter().zip(&other.steps);
            let differences = pairs.filter_map(|((x, of), (_, to))| {
                let sides = [of, to].map(|point| results.at(point));
                Some((*x, difference(sides, self.subject.metric, is_endless)?))
            });
            let differences: Vec<(f64, Estimate)> = differences.collect();
            let steps = differences.iter().map(|(x, d)| (*x, Some(d)));
            let found = along(&steps.collect::<Vec<_>>(), overtaken);
            tally.hold_load(found, line.place(axes, self.along));
        }
        tally.judged()
    }
}

/// By how much the first is above the second. If the metric grows without bound, a saturated cell
/// is above one that is not saturated by `f64::MAX`; two saturated cells cannot be compared.
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

/// Where the difference becomes positive: interpolated, or between two loads if one of them is
/// saturated. `None` if there are no differences.
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
    Some(match above == f64::MAX || below == -f64::MAX {
        true => Reached::Within(x, next),
        false => Reached::At(x + below / (below - above) * (next - x)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
