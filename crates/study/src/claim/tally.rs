//! The numbers that a claim is about: estimates, loads and ratios, and the verdict on all of them.

use diskarm_plot::{rounded, with_digits};

use super::check::{Bounds, Finding, Number, Verdict};
use crate::axis::{Axis, Point, describe};
use crate::results::Estimate;

/// The numbers that a claim is about, with their verdicts.
pub(super) struct Tally<'b> {
    bounds: &'b Bounds,
    numbers: Vec<JudgedNumber>,
    /// The number of cells without a verdict.
    left_out: usize,
}

/// A number with its verdict.
struct JudgedNumber {
    number: Load,
    verdict: Verdict,
    /// With two digits of its interval; without one, with enough digits to differ from a bound that
    /// it exceeds.
    text: String,
    at: Place,
}

/// The cell or line that a number belongs to.
pub(super) struct Place {
    /// Its point; 0 on an axis along which or over which the number is taken.
    pub(super) point: Point,
    pub(super) text: String,
}

impl Place {
    /// Returns the place of the cell at `point`.
    pub(super) fn cell(axes: &[Axis], point: &Point) -> Self {
        Self {
            point: point.clone(),
            text: describe(axes, point),
        }
    }
}

impl JudgedNumber {
    fn into_number(self) -> Number {
        let (low, high) = self.number.ends();
        Number {
            at: self.at.text,
            low,
            high,
            verdict: self.verdict,
            point: self.at.point,
        }
    }
}

impl<'b> Tally<'b> {
    pub(super) fn new(bounds: &'b Bounds) -> Self {
        Self {
            bounds,
            numbers: Vec::new(),
            left_out: 0,
        }
    }

    /// Checks the number of the cell or line `at`, or counts it as left out if there is none.
    pub(super) fn hold(&mut self, number: Option<Estimate>, at: Place) {
        self.hold_load(number.map(Load::At), at);
    }

    /// Checks a number of which only a range may be known.
    pub(super) fn hold_load(&mut self, number: Option<Load>, at: Place) {
        let Some(number) = number else {
            return self.leave_out(1);
        };
        let verdict = number.verdict(self.bounds);
        let text = match verdict {
            Verdict::Holds => number.describe(short),
            _ => number.describe(|number| distinct_text(number, self.bounds)),
        };
        self.numbers.push(JudgedNumber {
            number,
            verdict,
            text,
            at,
        });
    }

    /// Adds a number with a verdict of its own.
    pub(super) fn add(&mut self, estimate: Estimate, verdict: Verdict, at: Place) {
        let number = Load::At(estimate);
        self.numbers.push(JudgedNumber {
            text: number.describe(short),
            number,
            verdict,
            at,
        });
    }

    /// Counts cells without a verdict.
    pub(super) fn leave_out(&mut self, cells: usize) {
        self.left_out += cells;
    }

    /// Returns the finding on the claim: its verdict is the worst of all.
    pub(super) fn judged(self) -> Finding {
        let verdict = self.numbers.iter().map(|number| number.verdict).max();
        let ours = match (self.numbers.len(), self.left_out) {
            (0, _) | (_, 0) => self.text(),
            (_, left_out) => format!("{}; {left_out} left out", self.text()),
        };
        Finding {
            verdict: verdict.unwrap_or(Verdict::NotMeasured),
            ours,
            numbers: self
                .numbers
                .into_iter()
                .map(JudgedNumber::into_number)
                .collect(),
            is_left_out: false,
        }
    }

    fn text(&self) -> String {
        match &self.numbers[..] {
            [] => return "no cell with a figure".to_owned(),
            [only] => return only.text.clone(),
            _ => {}
        }
        let found = |number: &JudgedNumber| match &number.number {
            Load::At(estimate) => estimate.mean,
            Load::Within(low, high) if high.is_infinite() => *low,
            Load::Within(_, high) => *high,
        };
        let all = self.numbers.iter().map(found);
        let low = all.clone().fold(f64::INFINITY, f64::min);
        let high = all.fold(f64::NEG_INFINITY, f64::max);
        let mut text = format!(
            "{} to {} in {} cells",
            short(low),
            short(high),
            self.numbers.len()
        );
        for (verdict, word) in [(Verdict::Fails, "fails"), (Verdict::Unsure, "unsure")] {
            let mut such = self
                .numbers
                .iter()
                .filter(|number| number.verdict == verdict);
            let many = such.clone().count();
            if let Some(first) = such.next() {
                text += &format!(
                    "; {word} in {many}, first {} at {}",
                    first.text, first.at.text
                );
            }
        }
        text
    }
}

/// Formats a number with two digits of its interval, `1.115 ± 0.010`, or with `text` if it has
/// none. A number that differs from a bound by more than its interval differs in these digits, too.
pub(super) fn estimate_text(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
    let alone = text(estimate.mean);
    match estimate.half_width {
        // A width that is only a rounding error has no digits.
        Some(half) if half > 1e-9 * estimate.mean.abs() && half.is_finite() => {
            rounded(estimate.mean, Some(half))
        }
        Some(half) if !half.is_finite() => format!("{alone}, interval unknown"),
        _ => alone,
    }
}

/// Formats a number with four digits, or all digits before the decimal point.
pub(super) fn short(number: f64) -> String {
    digits(number, 4)
}

/// Formats a number with four digits, or as many as it needs to differ from bounds that it does not
/// equal.
fn distinct_text(number: f64, bounds: &Bounds) -> String {
    let differs = |text: &String| {
        let bounds = [bounds.at_least, bounds.at_most].into_iter().flatten();
        let mut others = bounds.filter(|bound| *bound != number);
        others.all(|bound| text.parse() != Ok(bound))
    };
    let mut texts = (4..=16).map(|count| digits(number, count));
    texts.find(differs).unwrap_or_else(|| short(number))
}

fn digits(number: f64, count: i32) -> String {
    if number == f64::INFINITY {
        "saturated".to_owned()
    } else {
        with_digits(number, count)
    }
}

/// A load, or the ratio of two.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Load {
    At(Estimate),
    /// Above the first number and up to the second, which may be infinite: the axis ends, the
    /// next load is saturated, or the replications disagree.
    Within(f64, f64),
}

impl Load {
    /// Returns the ends of its interval.
    pub(super) fn ends(&self) -> (f64, f64) {
        match self {
            Self::At(estimate) => {
                let half = estimate.half_width.unwrap_or(0.0);
                (estimate.mean - half, estimate.mean + half)
            }
            Self::Within(low, high) => (*low, *high),
        }
    }

    /// Returns the load as a multiple of `base`.
    pub(super) fn over(&self, base: &Self) -> Self {
        if let (Self::At(top), Self::At(base)) = (self, base) {
            return Self::At(quotient(top, base));
        }
        let ((low, high), (base_low, base_high)) = (self.ends(), base.ends());
        // A quotient of 0 and 0, or of two infinities, may be anything.
        let ratio = |top: f64, base: f64, unknown: f64| {
            let ratio = top / base;
            if ratio.is_nan() { unknown } else { ratio }
        };
        Self::Within(
            ratio(low, base_high, 0.0),
            ratio(high, base_low, f64::INFINITY),
        )
    }

    /// Judges it by `bounds`; unsure if only part of its range is within.
    pub(super) fn verdict(&self, bounds: &Bounds) -> Verdict {
        match self {
            Self::At(estimate) => bounds.verdict(estimate),
            Self::Within(low, high) => bounds.verdict_between(*low, *high),
        }
    }

    /// Describes the load, with numbers formatted by `text`.
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

/// Divides replication by replication, as those of one seed have the same requests. If they cannot
/// be paired, the interval covers all quotients of the two intervals.
pub(super) fn quotient(top: &Estimate, base: &Estimate) -> Estimate {
    let mean = top.mean / base.mean;
    let pairs = top.runs.iter().zip(&base.runs);
    let runs: Vec<f64> = pairs.map(|(top, base)| top / base).collect();
    let paired = Estimate::of(runs.clone()).and_then(|paired| paired.half_width);
    // A mean of 0 of numbers that are never negative has no uncertainty.
    let is_known = mean.is_finite() && (top.half_width.is_some() || base.half_width.is_some());
    let ends = || {
        let (top, base) = (interval_ends(top), interval_ends(base));
        if base.0 > 0.0 {
            farthest(mean, (top.0 / base.1, top.1 / base.0))
        } else {
            // The base may be 0.
            f64::INFINITY
        }
    };
    let paired = paired.filter(|half| half.is_finite());
    Estimate {
        mean,
        half_width: paired.or_else(|| is_known.then(ends)),
        runs,
    }
}

/// Returns the ends of the interval; the mean if there is none.
pub(super) fn interval_ends(estimate: &Estimate) -> (f64, f64) {
    let half = estimate.half_width.unwrap_or(0.0);
    (estimate.mean - half, estimate.mean + half)
}

/// Returns the distance of the farther end from `mean`.
pub(super) fn farthest(mean: f64, (low, high): (f64, f64)) -> f64 {
    (mean - low).max(high - mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_rounded_to_its_interval() {
        for (half_width, text) in [
            (Some(0.010_21), "1.115 \u{b1} 0.010"),
            (Some(0.2), "1.11 \u{b1} 0.20"),
            (Some(1e-16), "1.115"),
            (Some(f64::INFINITY), "1.115, interval unknown"),
            (None, "1.115"),
        ] {
            let estimate = Estimate {
                half_width,
                ..Estimate::exact(1.114_6)
            };
            assert_eq!(estimate_text(&estimate, short), text);
        }
    }

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
