//! Where one side overtakes another.

use std::sync::Arc;

use super::bounds::Bounds;
use super::line::{along, lines};
use super::tally::Tally;
use super::{Check, Info, Judged, Verdict};
use crate::metric::Metric;
use crate::results::{Estimate, Results};
use crate::select::Selection;

pub(super) const INFO: Info = Info {
    name: "crossing",
    holds: "the number from which on the metric of `of` exceeds that of `to` lies within the \
            bounds",
    keys: &[
        ("metric", "what is held"),
        ("along", "an axis of numbers"),
        ("of = {}", "one value of each axis that it names"),
        ("to = {}", "the same"),
        ("where = {}", "the cells that count; all when left out"),
        ("at_least", "the lower bound; it, at_most or both"),
        ("at_most", "the upper bound"),
    ],
    read: |keys| {
        Ok(Arc::new(Crossing {
            metric: keys.metric()?,
            along: keys.along("along")?,
            of: keys.side("of")?,
            to: keys.side("to")?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
        }))
    },
};

#[derive(Debug)]
struct Crossing {
    metric: Metric,
    along: usize,
    of: Selection,
    to: Selection,
    cells: Selection,
    bounds: Bounds,
}

impl Check for Crossing {
    fn judge(&self, results: &Results<'_>) -> Judged {
        let axes = &results.study.axes;
        let mut tally = Tally::default();
        for line in lines(axes, self.along, &[&self.of, &self.cells]) {
            let Some(other) = line.moved(&self.to) else {
                continue;
            };
            let of = line.estimates(results, self.metric);
            let to = other.estimates(results, self.metric);
            let differences: Vec<Option<Estimate>> = of
                .iter()
                .zip(&to)
                .map(|((_, of), (_, to))| difference(*of, *to))
                .collect();
            let steps = of
                .iter()
                .zip(&differences)
                .map(|((x, _), d)| (*x, d.as_ref()));
            let at = line.told(axes, self.along);
            match along(&steps.collect::<Vec<_>>(), overtaken) {
                Some(found) => tally.hold(found, &self.bounds, at),
                None => tally.add(
                    never(),
                    Verdict::Fails,
                    format!("{at}, where it never does"),
                ),
            }
        }
        tally.judged()
    }
}

fn never() -> Estimate {
    Estimate::exact(f64::INFINITY)
}

/// By how much `of` is above `to`. A side that is saturated is above one that is not, by more than
/// counts; of two that are nothing is known.
fn difference(of: Option<&Estimate>, to: Option<&Estimate>) -> Option<Estimate> {
    let endless = |sign: f64, like: &Estimate| Estimate {
        mean: sign * f64::MAX,
        half_width: None,
        runs: vec![sign * f64::MAX; like.runs.len()],
    };
    match (of, to) {
        (Some(of), Some(to)) => Some(Estimate {
            mean: of.mean - to.mean,
            half_width: None,
            runs: of
                .runs
                .iter()
                .zip(&to.runs)
                .map(|(of, to)| of - to)
                .collect(),
        }),
        (None, Some(to)) => Some(endless(1.0, to)),
        (Some(of), None) => Some(endless(-1.0, of)),
        (None, None) => None,
    }
}

/// Where the difference turns from below 0 to above, interpolated.
fn overtaken(steps: &[(f64, Option<f64>)]) -> Option<f64> {
    let known: Vec<(f64, f64)> = steps
        .iter()
        .filter_map(|(x, d)| Some((*x, (*d)?)))
        .collect();
    let turn = known
        .windows(2)
        .rfind(|pair| pair[0].1 <= 0.0 && pair[1].1 > 0.0)?;
    let ((x, below), (next, above)) = (turn[0], turn[1]);
    let share = match above == f64::MAX {
        true => 0.5,
        false => below / (below - above),
    };
    Some(x + share * (next - x))
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
        assert_eq!(overtaken(&steps(&[-2.0, -1.0, 3.0, 4.0])), Some(1.25));
        assert_eq!(overtaken(&steps(&[-2.0, -1.0])), None);
        assert_eq!(overtaken(&steps(&[2.0, 1.0])), None);
        assert_eq!(overtaken(&steps(&[-2.0, f64::MAX])), Some(0.5));
        // The last turn counts: an earlier one is noise where both are alike.
        assert_eq!(overtaken(&steps(&[-1.0, 1.0, -1.0, 1.0])), Some(2.5));
    }
}
