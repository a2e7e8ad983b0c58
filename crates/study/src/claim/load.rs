//! A load that is searched for along an axis.

use super::Verdict;
use super::bounds::Bounds;
use super::ratio::quotient;
use super::tally::estimate_text;
use crate::results::Estimate;

/// A load, or the ratio of two.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Load {
    At(Estimate),
    /// Above the first number and up to the second, which may be infinite: the axis ends, the
    /// next load is saturated, or the replications disagree.
    Within(f64, f64),
}

impl Load {
    /// The ends of its interval.
    pub(super) fn ends(&self) -> (f64, f64) {
        match self {
            Self::At(estimate) => {
                let half = estimate.half_width.unwrap_or(0.0);
                (estimate.mean - half, estimate.mean + half)
            }
            Self::Within(low, high) => (*low, *high),
        }
    }

    /// The load as a multiple of `base`.
    pub(super) fn over(&self, base: &Self) -> Self {
        if let (Self::At(top), Self::At(base)) = (self, base) {
            return Self::At(quotient(top, base));
        }
        let ((low, high), (base_low, base_high)) = (self.ends(), base.ends());
        // A quotient of 0 and 0, or of two infinities, may be anything.
        let ratio = |top: f64, base: f64, unknown: f64| match (top / base).is_nan() {
            true => unknown,
            false => top / base,
        };
        Self::Within(
            ratio(low, base_high, 0.0),
            ratio(high, base_low, f64::INFINITY),
        )
    }

    /// Whether it is within `bounds`; unsure where only part of its range is.
    pub(super) fn verdict(&self, bounds: &Bounds) -> Verdict {
        match self {
            Self::At(estimate) => bounds.verdict(estimate),
            Self::Within(low, high) => bounds.verdict_between(*low, *high),
        }
    }

    /// The load as text, with numbers formatted by `text`.
    pub(super) fn describe(&self, text: impl Fn(f64) -> String) -> String {
        match self {
            Self::At(estimate) => estimate_text(estimate, text),
            Self::Within(f64::NEG_INFINITY, f64::INFINITY) => "unknown".to_owned(),
            Self::Within(low, f64::INFINITY) => format!("above {}", text(*low)),
            Self::Within(0.0 | f64::NEG_INFINITY, high) => format!("at most {}", text(*high)),
            Self::Within(low, high) => format!("between {} and {}", text(*low), text(*high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tally::short;
    use super::*;

    #[test]
    fn ratios_of_ranges_are_ranges() {
        let at = |mean: f64| Load::At(Estimate::exact(mean));
        assert_eq!(at(6.0).over(&at(2.0)), at(3.0));
        assert_eq!(
            at(6.0).over(&Load::Within(2.0, 3.0)),
            Load::Within(2.0, 3.0)
        );
        let open = Load::Within(4.0, f64::INFINITY);
        assert_eq!(open.over(&at(2.0)), Load::Within(2.0, f64::INFINITY));
        assert_eq!(at(2.0).over(&open), Load::Within(0.0, 0.5));
        assert_eq!(open.over(&open), Load::Within(0.0, f64::INFINITY));
        let none = Load::Within(0.0, 1.0);
        assert_eq!(none.over(&none), Load::Within(0.0, f64::INFINITY));
        assert_eq!(open.describe(short), "above 4");
        assert_eq!(none.describe(short), "at most 1");
    }

    /// 6 over 2 to 4 is 1.5 to 3; the farther end is 1 away from 2.
    #[test]
    fn the_interval_of_the_base_alone_counts_too() {
        let base = Load::At(Estimate {
            half_width: Some(1.0),
            ..Estimate::exact(3.0)
        });
        let Load::At(ratio) = Load::At(Estimate::exact(6.0)).over(&base) else {
            panic!("both are known");
        };
        assert_eq!((ratio.mean, ratio.half_width), (2.0, Some(1.0)));
        let hardly = Load::At(Estimate {
            half_width: Some(3.0),
            ..Estimate::exact(3.0)
        });
        let bounds = Bounds::up_to(1e9);
        let ratio = Load::At(Estimate::exact(6.0)).over(&hardly);
        assert_eq!(ratio.verdict(&bounds), Verdict::Unsure);
    }

    #[test]
    fn a_range_is_judged_as_a_whole() {
        let bounds = Bounds {
            at_least: Some(2.0),
            at_most: None,
            tie: 0.0,
        };
        assert_eq!(
            Load::Within(2.0, f64::INFINITY).verdict(&bounds),
            Verdict::Holds
        );
        assert_eq!(
            Load::Within(1.0, f64::INFINITY).verdict(&bounds),
            Verdict::Unsure
        );
        assert_eq!(Load::Within(0.0, 1.9).verdict(&bounds), Verdict::Fails);
        let bounds = Bounds {
            at_least: None,
            at_most: Some(2.0),
            tie: 0.0,
        };
        assert_eq!(
            Load::Within(2.1, f64::INFINITY).verdict(&bounds),
            Verdict::Fails
        );
    }
}
