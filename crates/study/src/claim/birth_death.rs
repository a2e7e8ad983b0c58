//! A mean response time beside that of a birth-death model (liu05, section 5.3.3).

use std::sync::Arc;

use diskarm_queueing::birth_death;

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

/// The mean response time at `load`, in mean services of one request; `None` if it is saturated.
fn response(load: f64, power: f64) -> Option<f64> {
    birth_death::response(load, &birth_death::services(1.0, power))
}
