//! A mean response time beside that of a birth-death model (liu05, section 5.3.3).

use std::sync::Arc;

use super::endless::is_endless;
use super::line::lines;
use super::subject::{ALONG, AT_LEAST, AT_MOST, METRIC, Subject, TIE, WHERE};
use super::tally::{Place, Tally};
use super::{Check, CheckInfo, Found};
use crate::results::{Estimate, Results};

pub(super) const INFO: CheckInfo = CheckInfo {
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
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let is_endless = is_endless(results.columns, self.subject.metric);
        let mut tally = Tally::new(&self.subject.bounds);
        for line in lines(axes, self.along, &[&self.subject.cells]) {
            for (load, point) in &line.steps {
                let cell = results.at(point);
                let measured = match cell.is_saturated && is_endless {
                    true => Some(Estimate::exact(f64::INFINITY)),
                    false => cell.estimate(self.subject.metric).cloned(),
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

/// The most requests that shorten the mean service (liu05: "say M' = 128").
const MOST: u32 = 128;

/// The mean response time at `load`, in mean services of one request; `None` if it is saturated.
///
/// The state is the number of requests m. Arrivals are Poisson with rate `load`, services
/// exponential with mean x\[m\] = m^-`power`, and that of [`MOST`] from there on. By
/// P\[m\] = `load` x\[m\] P\[m - 1\] and Little's law (liu05, section 5.3.3, "Computation of mean
/// response time in SATF").
fn response(load: f64, power: f64) -> Option<f64> {
    let step = |m: u32| load * f64::from(m).powf(-power);
    let last = step(MOST);
    if load <= 0.0 || last >= 1.0 {
        return None;
    }
    let (mut weight, mut sum, mut number) = (1.0, 1.0, 0.0);
    for m in 1..MOST {
        weight *= step(m);
        sum += weight;
        number += f64::from(m) * weight;
    }
    // From MOST on the weights are a geometric series.
    weight *= last;
    sum += weight / (1.0 - last);
    number += weight * (f64::from(MOST) / (1.0 - last) + last / (1.0 - last).powi(2));
    Some(number / sum / load)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a power of 0 it is M/M/1, whose mean response is 1 / (1 - load).
    #[test]
    fn without_a_choice_it_is_one_server() {
        for load in [0.1, 0.5, 0.9, 0.99] {
            let found = response(load, 0.0).unwrap();
            assert!((found * (1.0 - load) - 1.0).abs() < 1e-9, "{load} {found}");
        }
        assert_eq!(response(1.0, 0.0), None);
    }

    /// With a power of 1 every request is as good as served alone: M/M/infinity.
    #[test]
    fn with_services_as_short_as_the_queue_is_long_nothing_waits() {
        for load in [0.1, 1.0, 5.0, 40.0] {
            let found = response(load, 1.0).unwrap();
            assert!((found - 1.0).abs() < 1e-9, "{load} {found}");
        }
    }

    /// By hand up to three requests, at a load at which more are rare.
    #[test]
    fn weights_follow_the_powers() {
        let by_hand = |load: f64| {
            let second = load * load / 2_f64.sqrt();
            let third = second * load / 3_f64.sqrt();
            let sum = 1.0 + load + second + third;
            (load + 2.0 * second + 3.0 * third) / sum / load
        };
        // The fourth weight is below load^4 / sqrt(24).
        let (load, found) = (0.01, response(0.01, 0.5).unwrap());
        assert!((found - by_hand(load)).abs() < 1e-5, "{found}");
    }

    #[test]
    fn it_saturates_where_the_longest_queue_does() {
        let most = f64::from(MOST).powf(0.2);
        assert!(response(most * 0.999, 0.2).is_some());
        assert_eq!(response(most, 0.2), None);
    }
}
