//! Checks of models of a metric along an axis: `power`, and `birth_death` (liu05, section 5.3.3).

use std::sync::Arc;

use diskarm_queueing::queues::{satf_response, satf_services};

use super::check::{
    ALONG, AT_LEAST, AT_MOST, Check, CheckInfo, Finding, METRIC, Subject, TIE, WHERE, is_endless,
};
use super::line::{Reached, along, lines};
use super::tally::{Place, Tally};
use crate::results::{Estimate, Results};

pub(super) const POWER: CheckInfo = CheckInfo {
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
    fn judge(&self, results: &Results<'_>) -> Finding {
        let axes = results.axes;
        let mut tally = Tally::new(&self.subject.bounds);
        for line in lines(axes, self.along, &[&self.subject.cells]) {
            let found = along(&line.estimates(results, self.subject.metric), exponent);
            tally.hold_load(found, line.place(axes, self.along));
        }
        tally.judged()
    }
}

/// Returns the p that brings x^-p nearest to the metric over its value at x = 1, by least squares:
/// the curve is fitted, not its logarithm (liu05 section 5.3.3, table 5.1).
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
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(Reached::At((low + high) / 2.0))
}

pub(super) const BIRTH_DEATH: CheckInfo = CheckInfo {
    name: "birth_death",
    holds: "the metric, a mean response time in mean services of FCFS, over that of a birth-death \
            model lies within the bounds: `along` is the load, one where FCFS saturates; the mean \
            service of m requests to choose from is m^-power; saturated models are left out",
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
        Ok(Arc::new(BirthDeath {
            subject: Subject::read(keys)?,
            along: keys.along("along")?,
            power: match keys.number("power")? {
                Some(power) if (0.0..=1.0).contains(&power) => power,
                _ => return Err(keys.missing("power", "a number from 0 to 1")),
            },
        }))
    },
};

#[derive(Debug)]
struct BirthDeath {
    subject: Subject,
    along: usize,
    power: f64,
}

impl Check for BirthDeath {
    fn judge(&self, results: &Results<'_>) -> Finding {
        let axes = results.axes;
        let is_endless = is_endless(results.columns, self.subject.metric);
        let mut tally = Tally::new(&self.subject.bounds);
        for line in lines(axes, self.along, &[&self.subject.cells]) {
            for (load, point) in &line.steps {
                let cell = results.at(point);
                let measured = if cell.is_saturated && is_endless {
                    Some(Estimate::exact(f64::INFINITY))
                } else {
                    cell.estimate(self.subject.metric).cloned()
                };
                let ratio = response(*load, self.power)
                    .zip(measured)
                    .map(|(model, measured)| measured.times(1.0 / model));
                tally.hold(ratio, Place::cell(axes, point));
            }
        }
        tally.judged()
    }
}

/// Returns the mean response time at `load`, in mean services of one request; `None` if it is
/// saturated.
fn response(load: f64, power: f64) -> Option<f64> {
    satf_response(load, &satf_services(1.0, power))
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
