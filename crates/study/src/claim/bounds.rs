//! The bounds of a number.

use super::Verdict;
use crate::results::Estimate;

/// From `at_least` to `at_most`, both included; unbounded where one is absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) at_least: Option<f64>,
    pub(super) at_most: Option<f64>,
}

impl Bounds {
    /// Up to `max`.
    pub(super) fn up_to(max: f64) -> Self {
        Self {
            at_least: None,
            at_most: Some(max),
        }
    }

    pub(super) fn hold(&self, number: f64) -> bool {
        self.at_least.is_none_or(|least| number >= least)
            && self.at_most.is_none_or(|most| number <= most)
    }

    /// Whether an estimate is within; unsure where its interval contains a bound.
    pub(super) fn verdict(&self, estimate: &Estimate) -> Verdict {
        let half = estimate.half_width.unwrap_or(0.0);
        match estimate.mean.is_nan() {
            // NaN is not within any bounds.
            true => Verdict::Fails,
            false => self.verdict_between(estimate.mean - half, estimate.mean + half),
        }
    }

    /// The same for a number of which only a range is known.
    pub(super) fn verdict_between(&self, low: f64, high: f64) -> Verdict {
        let is_beyond = self.at_least.is_some_and(|least| high < least)
            || self.at_most.is_some_and(|most| low > most);
        match (self.hold(low) && self.hold(high), is_beyond) {
            (true, _) => Verdict::Holds,
            (false, true) => Verdict::Fails,
            (false, false) => Verdict::Unsure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_contains_a_bound_is_unsure() {
        let bounds = Bounds {
            at_least: Some(1.0),
            at_most: Some(2.0),
        };
        let verdict = |mean: f64, half: f64| {
            let half_width = Some(half);
            bounds.verdict(&Estimate {
                mean,
                half_width,
                runs: Vec::new(),
            })
        };
        assert_eq!(verdict(1.5, 0.5), Verdict::Holds);
        assert_eq!(verdict(1.5, 0.6), Verdict::Unsure);
        assert_eq!(verdict(0.9, 0.2), Verdict::Unsure);
        assert_eq!(verdict(0.9, 0.05), Verdict::Fails);
        assert_eq!(verdict(2.1, 0.0), Verdict::Fails);
        assert_eq!(verdict(f64::NAN, 0.0), Verdict::Fails);
    }
}
