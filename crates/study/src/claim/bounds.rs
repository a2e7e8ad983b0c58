//! The bounds of a number.

use super::Verdict;
use crate::results::Estimate;

/// From `at_least` to `at_most`, both included; unbounded where one is absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) at_least: Option<f64>,
    pub(super) at_most: Option<f64>,
    /// The share of a bound by which an interval that contains it may reach beyond: a tie.
    pub(super) tie: f64,
}

impl Bounds {
    pub(super) fn up_to(max: f64) -> Self {
        Self {
            at_least: None,
            at_most: Some(max),
            tie: 0.0,
        }
    }

    pub(super) fn hold(&self, number: f64) -> bool {
        self.at_least.is_none_or(|min| number >= min)
            && self.at_most.is_none_or(|max| number <= max)
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
        let is_beyond = self.at_least.is_some_and(|min| high < min)
            || self.at_most.is_some_and(|max| low > max);
        match (self.hold(low) && self.hold(high), is_beyond) {
            (true, _) => Verdict::Holds,
            (false, true) => Verdict::Fails,
            (false, false) if self.is_tie(low, high) => Verdict::Holds,
            (false, false) => Verdict::Unsure,
        }
    }

    /// Whether an interval that contains a bound ends within the tie beyond it.
    fn is_tie(&self, low: f64, high: f64) -> bool {
        let reach = |bound: f64| bound.abs() * self.tie;
        self.tie > 0.0
            && self.at_least.is_none_or(|min| low >= min - reach(min))
            && self.at_most.is_none_or(|max| high <= max + reach(max))
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
            tie: 0.0,
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
    /// With a tie of 2 %, an interval that contains 1 may reach up to 1.02, but one that is wholly
    /// above 1 fails however near it is.
    #[test]
    fn a_tie_holds_and_a_difference_does_not() {
        let bounds = Bounds {
            tie: 0.02,
            ..Bounds::up_to(1.0)
        };
        assert_eq!(bounds.verdict_between(0.99, 1.02), Verdict::Holds);
        assert_eq!(bounds.verdict_between(0.99, 1.03), Verdict::Unsure);
        assert_eq!(bounds.verdict_between(1.001, 1.002), Verdict::Fails);
        let bounds = Bounds {
            at_least: Some(2.0),
            at_most: None,
            tie: 0.05,
        };
        assert_eq!(bounds.verdict_between(1.9, 2.1), Verdict::Holds);
        assert_eq!(bounds.verdict_between(1.8, 2.1), Verdict::Unsure);
    }
}
