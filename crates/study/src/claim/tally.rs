//! The numbers that a claim is about: estimates, loads and ratios, and the verdict on all of them.

use diskarm_plot::{rounded, with_digits};

use super::check::{Bounds, Finding, Number, Verdict};
use crate::axis::{Axis, Point, describe};
use crate::results::Estimate;

pub(super) struct Tally<'a> {
    bounds: &'a Bounds,
    pub(super) axes: &'a [Axis],
    entries: Vec<Entry>,
    left_out: usize,
}

struct Entry {
    number: Number,
    /// Its mean, or the finite end of its range.
    mean: f64,
    /// The number, rounded so that its half-width has two digits, or with enough digits to differ
    /// from a bound that it exceeds.
    text: String,
}

impl<'a> Tally<'a> {
    pub(super) fn new(bounds: &'a Bounds, axes: &'a [Axis]) -> Self {
        Self {
            bounds,
            axes,
            entries: Vec::new(),
            left_out: 0,
        }
    }

    /// Checks the value of the cell at `point`, or counts the cell as left out if it has none.
    pub(super) fn add_cell(&mut self, number: Option<Estimate>, point: &Point) {
        let at = describe(self.axes, point);
        self.add(number.map(Quantity::At), point.clone(), at);
    }

    /// Checks the value of the line or cell that `at` describes. `point` is 0 on any axis that the
    /// value aggregates.
    pub(super) fn add(&mut self, number: Option<Quantity>, point: Point, at: String) {
        let Some(number) = number else {
            return self.leave_out(1);
        };
        let verdict = number.verdict(self.bounds);
        let text = match verdict {
            Verdict::Holds => number.describe(four_digits),
            _ => number.describe(|number| distinct_text(number, self.bounds)),
        };
        self.push(&number, verdict, text, point, at);
    }

    pub(super) fn add_saturated(&mut self, point: &Point) {
        let number = Quantity::At(Estimate::exact(f64::INFINITY));
        let (text, at) = (number.describe(four_digits), describe(self.axes, point));
        self.push(&number, Verdict::Fails, text, point.clone(), at);
    }

    fn push(
        &mut self,
        quantity: &Quantity,
        verdict: Verdict,
        text: String,
        point: Point,
        at: String,
    ) {
        let (low, high) = quantity.ends();
        let mean = match quantity {
            Quantity::At(estimate) => estimate.mean,
            Quantity::Within(low, high) if high.is_infinite() => *low,
            Quantity::Within(_, high) => *high,
        };
        let number = Number {
            at,
            low,
            high,
            verdict,
            point,
        };
        self.entries.push(Entry { number, mean, text });
    }

    pub(super) fn leave_out(&mut self, cells: usize) {
        self.left_out += cells;
    }

    /// Returns the finding on the claim: its verdict is the worst of those on its numbers.
    pub(super) fn finding(self) -> Finding {
        let entries = self.entries.iter();
        let verdict = entries.map(|entry| entry.number.verdict).max();
        let mut ours = self.text();
        if !self.entries.is_empty() && self.left_out > 0 {
            ours += &format!("; {} left out", self.left_out);
        }
        Finding {
            verdict: verdict.unwrap_or(Verdict::NotMeasured),
            ours,
            numbers: self.entries.into_iter().map(|entry| entry.number).collect(),
            is_left_out: false,
        }
    }

    fn text(&self) -> String {
        match &self.entries[..] {
            [] => return "no cell has the metric".to_owned(),
            [only] => return only.text.clone(),
            _ => {}
        }
        let all = self.entries.iter().map(|entry| entry.mean);
        let low = four_digits(all.clone().fold(f64::INFINITY, f64::min));
        let high = four_digits(all.fold(f64::NEG_INFINITY, f64::max));
        let mut text = format!("{low} to {high} in {} cells", self.entries.len());
        for (verdict, word) in [(Verdict::Fails, "fails"), (Verdict::Unsure, "unsure")] {
            let entries = self.entries.iter();
            let mut matching = entries.filter(|entry| entry.number.verdict == verdict);
            let count = matching.clone().count();
            if let Some(entry) = matching.next() {
                text += &format!(
                    "; {word} in {count}, first {} at {}",
                    entry.text, entry.number.at
                );
            }
        }
        text
    }
}

/// Formats a number so that its half-width has two digits, as in `1.115 ± 0.010`, or with `text` if
/// it has no interval. A number that differs from a bound by more than its interval differs in
/// these digits, too.
fn estimate_text(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
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

/// Formats a number with four digits, or with more if it has more before the decimal point.
fn four_digits(number: f64) -> String {
    format_digits(number, 4)
}

/// Formats a number with four digits, or with as many as distinguish it from the bounds.
fn distinct_text(number: f64, bounds: &Bounds) -> String {
    let differs = |text: &String| {
        let bounds = [bounds.at_least, bounds.at_most].into_iter().flatten();
        let mut others = bounds.filter(|bound| *bound != number);
        others.all(|bound| text.parse() != Ok(bound))
    };
    let mut texts = (4..=16).map(|count| format_digits(number, count));
    texts.find(differs).unwrap_or_else(|| four_digits(number))
}

fn format_digits(number: f64, count: i32) -> String {
    if number == f64::INFINITY {
        "saturated".to_owned()
    } else {
        with_digits(number, count)
    }
}

/// A number that a claim is about: a metric, a load or a ratio.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Quantity {
    At(Estimate),
    /// A range above the first number and up to the second, which may be infinite: the axis ends,
    /// the next load is saturated, or the replications disagree.
    Within(f64, f64),
}

impl From<Estimate> for Quantity {
    fn from(estimate: Estimate) -> Self {
        Self::At(estimate)
    }
}

impl Quantity {
    fn ends(&self) -> (f64, f64) {
        match self {
            Self::At(estimate) => estimate.ends(),
            Self::Within(low, high) => (*low, *high),
        }
    }

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
        let low = ratio(low, base_high, 0.0);
        Self::Within(low, ratio(high, base_low, f64::INFINITY))
    }

    /// Judges it by `bounds`; the verdict is unsure if only part of its range is within them.
    fn verdict(&self, bounds: &Bounds) -> Verdict {
        match self {
            Self::At(estimate) => bounds.verdict(estimate),
            Self::Within(low, high) => bounds.verdict_between(*low, *high),
        }
    }

    fn describe(&self, text: impl Fn(f64) -> String) -> String {
        match self {
            Self::At(estimate) => estimate_text(estimate, text),
            Self::Within(f64::NEG_INFINITY, f64::INFINITY) => "unknown".to_owned(),
            Self::Within(low, f64::INFINITY) => format!("above {}", text(*low)),
            Self::Within(0.0 | f64::NEG_INFINITY, high) => format!("at most {}", text(*high)),
            Self::Within(low, high) => format!("between {} and {}", text(*low), text(*high)),
        }
    }
}

/// Divides the estimates one replication at a time, since replications with the same seed have the
/// same requests. If replications cannot be paired, the interval covers all quotients of the two
/// intervals.
pub(super) fn quotient(top: &Estimate, base: &Estimate) -> Estimate {
    let mean = top.mean / base.mean;
    let pairs = top.runs.iter().zip(&base.runs);
    let runs: Vec<f64> = pairs.map(|(top, base)| top / base).collect();
    let paired = Estimate::from_runs(runs.clone()).and_then(|paired| paired.half_width);
    // If non-negative numbers have a mean of 0, all of them are 0, so there is no uncertainty.
    let is_known = mean.is_finite() && (top.half_width.is_some() || base.half_width.is_some());
    let widest_half = || {
        let (top, base) = (top.ends(), base.ends());
        if base.0 > 0.0 {
            max_distance(mean, (top.0 / base.1, top.1 / base.0))
        } else {
            // The base may be 0.
            f64::INFINITY
        }
    };
    let paired = paired.filter(|half| half.is_finite());
    Estimate::new(mean, paired.or_else(|| is_known.then(widest_half)), runs)
}

pub(super) fn max_distance(mean: f64, (low, high): (f64, f64)) -> f64 {
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
            let estimate = Estimate::new(1.114_6, half_width, Vec::new());
            assert_eq!(estimate_text(&estimate, four_digits), text);
        }
    }

    fn exactly(mean: f64) -> Quantity {
        Quantity::At(Estimate::exact(mean))
    }

    #[test]
    fn ratios_of_ranges_are_ranges() {
        let range = Quantity::Within(2.0, 3.0);
        assert_eq!(exactly(6.0).over(&exactly(2.0)), exactly(3.0));
        assert_eq!(exactly(6.0).over(&range), range);
        let open = Quantity::Within(4.0, f64::INFINITY);
        assert_eq!(
            open.over(&exactly(2.0)),
            Quantity::Within(2.0, f64::INFINITY)
        );
        assert_eq!(exactly(2.0).over(&open), Quantity::Within(0.0, 0.5));
        assert_eq!(open.over(&open), Quantity::Within(0.0, f64::INFINITY));
        let below_one = Quantity::Within(0.0, 1.0);
        assert_eq!(
            below_one.over(&below_one),
            Quantity::Within(0.0, f64::INFINITY)
        );
        assert_eq!(open.describe(four_digits), "above 4");
        assert_eq!(below_one.describe(four_digits), "at most 1");
    }

    /// 6 divided by 2 to 4 is 1.5 to 3. The farther end is 1 away from 2.
    #[test]
    fn the_interval_of_the_base_alone_counts_too() {
        let base = |half| Quantity::At(Estimate::new(3.0, Some(half), Vec::new()));
        let Quantity::At(ratio) = exactly(6.0).over(&base(1.0)) else {
            panic!("both are known");
        };
        assert_eq!((ratio.mean, ratio.half_width), (2.0, Some(1.0)));
        let bounds = Bounds::new(None, Some(1e9), 0.0);
        let ratio = exactly(6.0).over(&base(3.0));
        assert_eq!(ratio.verdict(&bounds), Verdict::Unsure);
    }

    #[test]
    fn a_range_is_judged_as_a_whole() {
        let at_least = Bounds::new(Some(2.0), None, 0.0);
        for (low, high, verdict) in [
            (2.0, f64::INFINITY, Verdict::Holds),
            (1.0, f64::INFINITY, Verdict::Unsure),
            (0.0, 1.9, Verdict::Fails),
        ] {
            assert_eq!(Quantity::Within(low, high).verdict(&at_least), verdict);
        }
        let above = Quantity::Within(2.1, f64::INFINITY);
        let at_most = Bounds::new(None, Some(2.0), 0.0);
        assert_eq!(above.verdict(&at_most), Verdict::Fails);
    }
}
