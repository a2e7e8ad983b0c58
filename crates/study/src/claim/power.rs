//! The exponent by which a metric falls along an axis.

use std::sync::Arc;

use super::line::{Reached, along, lines};
use super::subject::{ALONG, AT_LEAST, AT_MOST, METRIC, Subject, TIE, WHERE};
use super::tally::Tally;
use super::{Check, CheckInfo, Found};
use crate::results::Results;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "power",
    holds: "p of the metric as along^-p, taken as 1 at along = 1 and fitted by least squares, \
            lies within the bounds",
    keys: &[METRIC, ALONG, WHERE, AT_LEAST, AT_MOST, TIE],
    read: |keys| {
        Ok(Arc::new(Power {
            subject: Subject::read(keys)?,
            along: keys.along("along")?,
        }))
    },
};

#[derive(Debug)]
struct Power {
    subject: Subject,
    along: usize,
}

impl Check for Power {
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let mut tally = Tally::new(&self.subject.bounds);
        for line in lines(axes, self.along, &[&self.subject.cells]) {
            let found = along(&line.estimates(results, self.subject.metric), exponent);
            tally.hold_load(found, line.place(axes, self.along));
        }
        tally.judged()
    }
}

/// The p that brings x^-p nearest to the metric over its value at x = 1, by least squares: the
/// curve is fitted, not its logarithm (liu05 section 5.3.3, table 5.1).
fn exponent(steps: &[(f64, Option<f64>)]) -> Option<Reached> {
    let (_, one) = steps.iter().find(|(x, _)| *x == 1.0)?;
    let one = (*one)?;
    let points = steps.iter().map(|(x, y)| Some((*x, (*y)? / one)));
    let points: Vec<(f64, f64)> = points.collect::<Option<_>>()?;
    // The derivative of the sum of squares by p, up to a factor; it crosses 0 once, upwards.
    let slope = |p: f64| -> f64 {
        let terms = points
            .iter()
            .map(|(x, y)| (y - x.powf(-p)) * x.powf(-p) * x.ln());
        terms.sum()
    };
    let (mut low, mut high) = (-1.0, 4.0);
    if slope(low) > 0.0 {
        return Some(Reached::Within(f64::NEG_INFINITY, low));
    }
    if slope(high) < 0.0 {
        return Some(Reached::Within(high, f64::INFINITY));
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match slope(middle) < 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    Some(Reached::At((low + high) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_power_is_found() {
        for p in [0.2, 0.0, 1.5] {
            let step = |x: u32| (f64::from(x), Some(7.0 * f64::from(x).powf(-p)));
            let steps: Vec<(f64, Option<f64>)> = (1..=50).map(step).collect();
            let Some(Reached::At(found)) = exponent(&steps) else {
                panic!("not found");
            };
            assert!((found - p).abs() < 1e-9, "{found} {p}");
        }
        assert_eq!(exponent(&[(2.0, Some(1.0))]), None);
    }
}
