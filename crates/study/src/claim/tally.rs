//! Combines the verdicts on single numbers into the verdict on a claim.

use super::bounds::Bounds;
use super::load::Load;
use super::{Found, Number, Verdict};
use crate::axis::{Axis, Point, describe};
use crate::results::Estimate;
use diskarm_plot::{rounded, with_digits};

/// The numbers that a claim is about, with their verdicts.
pub(super) struct Tally<'b> {
    bounds: &'b Bounds,
    numbers: Vec<Entry>,
    /// The number of cells without a verdict.
    left_out: usize,
}

/// A number with its verdict.
struct Entry {
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
    /// The cell at `point`.
    pub(super) fn cell(axes: &[Axis], point: &Point) -> Self {
        Self {
            point: point.clone(),
            text: describe(axes, point),
        }
    }
}

impl Entry {
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
    /// Without any numbers yet.
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

    /// The same for a number of which only a range may be known.
    pub(super) fn hold_load(&mut self, number: Option<Load>, at: Place) {
        let Some(number) = number else {
            return self.leave_out(1);
        };
        let verdict = number.verdict(self.bounds);
        let text = match verdict {
            Verdict::Holds => number.describe(short),
            _ => number.describe(|number| distinct_text(number, self.bounds)),
        };
        self.numbers.push(Entry {
            number,
            verdict,
            text,
            at,
        });
    }

    /// A number with a verdict of its own.
    pub(super) fn add(&mut self, estimate: Estimate, verdict: Verdict, at: Place) {
        let number = Load::At(estimate);
        self.numbers.push(Entry {
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

    /// The verdict on the claim: the worst of them.
    pub(super) fn judged(self) -> Found {
        let verdict = self.numbers.iter().map(|number| number.verdict).max();
        let ours = match (self.numbers.len(), self.left_out) {
            (0, _) | (_, 0) => self.text(),
            (_, left_out) => format!("{}; {left_out} left out", self.text()),
        };
        Found {
            verdict: verdict.unwrap_or(Verdict::NotMeasured),
            ours,
            numbers: self.numbers.into_iter().map(Entry::into_number).collect(),
            is_left_out: false,
        }
    }

    fn text(&self) -> String {
        match &self.numbers[..] {
            [] => return "no cell with a figure".to_owned(),
            [only] => return only.text.clone(),
            _ => {}
        }
        let found = |number: &Entry| match &number.number {
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

/// A number with two digits of its interval, `1.115 ± 0.010`, or formatted by `text` without one.
/// A number that differs from a bound by more than its interval differs in these digits, too.
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

/// A number with four digits, or all digits before the decimal point.
pub(super) fn short(number: f64) -> String {
    digits(number, 4)
}

/// Four digits, or as many as it needs to differ from bounds that it does not equal.
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
    match number == f64::INFINITY {
        true => "saturated".to_owned(),
        false => with_digits(number, count),
    }
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
}
