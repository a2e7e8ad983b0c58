//! Where along an axis a metric is least.

use std::sync::Arc;

use super::bounds::Bounds;
use super::line::lines;
use super::ratio::quotient;
use super::subject::{ALONG, AT_LEAST, AT_MOST, METRIC, Subject, TIE, WHERE};
use super::tally::Tally;
use super::{Check, CheckInfo, Found, Verdict};
use crate::results::{Estimate, Results};

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "least",
    holds: "the number at which the metric is least lies within the bounds",
    keys: &[METRIC, ALONG, WHERE, AT_LEAST, AT_MOST, TIE],
    read: |keys| {
        Ok(Arc::new(Least {
            subject: Subject::read(keys)?,
            along: keys.along("along")?,
        }))
    },
};

#[derive(Debug)]
struct Least {
    subject: Subject,
    along: usize,
}

impl Check for Least {
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let mut tally = Tally::new(&self.subject.bounds);
        for line in lines(axes, self.along, &[&self.subject.cells]) {
            let estimates = line.estimates(results, self.subject.metric);
            let known: Vec<(f64, &Estimate)> = estimates
                .iter()
                .filter_map(|(x, estimate)| Some((*x, (*estimate)?)))
                .collect();
            let min = |inside: bool| {
                let all = known
                    .iter()
                    .filter(|(x, _)| !inside || self.subject.bounds.hold(*x));
                all.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
            };
            let Some((x, overall)) = min(false) else {
                continue;
            };
            let verdict = match min(true) {
                Some((_, inside)) if inside.mean == overall.mean => Verdict::Holds,
                // No worse than noise.
                Some((_, inside)) => Bounds::up_to(1.0).verdict(&quotient(inside, overall)),
                None => Verdict::Fails,
            };
            let found = Estimate::exact(*x);
            tally.add(found, verdict, line.place(axes, self.along));
        }
        tally.judged()
    }
}
