//! A load that is found along an axis, as far as the axis tells.

use super::Verdict;
use super::bounds::Bounds;
use super::ratio::quotient;
use super::tally::told;
use crate::results::Estimate;

/// A load, or the ratio of two.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Load {
    /// It was found.
    At(Estimate),
    /// It lies above the one and up to the other, which may be infinite: the axis ends there, a
    /// saturated load comes next, of which nothing is known, or the replications disagree.
    Within(f64, f64),
}

impl Load {
    /// Where it may be: the ends of its interval.
    fn ends(&self) -> (f64, f64) {
        match self {
            Self::At(estimate) => {
                let half = estimate.half_width.unwrap_or(0.0);
                (estimate.mean - half, estimate.mean + half)
            }
            Self::Within(low, high) => (*low, *high),
        }
    }

    /// This as a multiple of `base`.
    pub(super) fn over(&self, base: &Self) -> Self {
        if let (Self::At(top), Self::At(base)) = (self, base) {
            return Self::At(quotient(top, base));
        }
        let ((low, high), (base_low, base_high)) = (self.ends(), base.ends());
        // Nothing is known of a quotient of two that may both be anywhere up to 0.
        let ratio = |top: f64, base: f64, unknown: f64| match (top / base).is_nan() {
            true => unknown,
            false => top / base,
        };
        Self::Within(
            ratio(low, base_high, 0.0),
            ratio(high, base_low, f64::INFINITY),
        )
    }

    /// Whether it lies within `bounds`; unsure where only a part of what it may be does.
    pub(super) fn verdict(&self, bounds: &Bounds) -> Verdict {
        match self {
            Self::At(estimate) => bounds.verdict(estimate),
            Self::Within(low, high) => bounds.verdict_between(*low, *high),
        }
    }

    /// In a few words, each number in the digits of `text`.
    pub(super) fn told(&self, text: impl Fn(f64) -> String) -> String {
        match self {
            Self::At(estimate) => told(estimate, text),
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
    fn ratios_of_what_is_hardly_known_are_hardly_known() {
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
        assert_eq!(open.told(short), "above 4");
        assert_eq!(none.told(short), "at most 1");
    }

    /// 6 beside 2 to 4: from 1.5 to 3, of which 2 is 1 away from the farther.
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
        };
        assert_eq!(
            Load::Within(2.1, f64::INFINITY).verdict(&bounds),
            Verdict::Fails
        );
    }
}
