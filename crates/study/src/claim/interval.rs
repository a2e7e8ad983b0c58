//! How wide the intervals of a metric are.

use std::sync::Arc;

use super::subject::{AT_LEAST, AT_MOST, METRIC, Subject, TIE, WHERE};
use super::tally::{Place, Tally};
use super::{Check, CheckInfo, Found};
use crate::results::{Estimate, Results};

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "interval",
    holds: "half the width of the metric's 95 % interval, as a share of its mean, lies within \
            the bounds",
    keys: &[METRIC, WHERE, AT_LEAST, AT_MOST, TIE],
    read: |keys| Ok(Arc::new(Interval(Subject::read(keys)?))),
};

#[derive(Debug)]
struct Interval(Subject);

impl Check for Interval {
    /// The numbers are half widths of the 95 % intervals as shares of the means.
    fn judge(&self, results: &Results<'_>) -> Found {
        let axes = results.axes;
        let mut tally = Tally::new(&self.0.bounds);
        for point in self.0.points(axes) {
            let share = results.estimate(&point, self.0.metric).and_then(share);
            if let Some(share) = share {
                tally.hold(Some(Estimate::exact(share)), Place::cell(axes, &point));
            }
        }
        tally.judged()
    }
}

/// Half the width of the interval, as a share of the mean.
fn share(estimate: &Estimate) -> Option<f64> {
    Some(estimate.half_width? / estimate.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's factor for three runs is 4.303; of 9, 10 and 11 the deviation is 1, so that the
    /// half width is 4.303 / sqrt(3) = 2.484, a quarter of the mean.
    #[test]
    fn the_half_width_is_a_share_of_the_mean() {
        let estimate = Estimate::of(vec![9.0, 10.0, 11.0]).expect("three runs");
        let share = share(&estimate).expect("more than one run");
        assert!((share - 0.2484).abs() < 1e-4, "{share}");
        assert_eq!(
            Estimate::of(vec![9.0]).as_ref().and_then(super::share),
            None
        );
    }
}
