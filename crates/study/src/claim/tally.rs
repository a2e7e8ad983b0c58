//! Combines the verdicts on single numbers into the verdict on a claim.

use super::bounds::Bounds;
use super::load::Load;
use super::{Found, Number, Verdict};
use crate::axis::{Axis, Point, describe};
use crate::results::Estimate;

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
    /// With enough digits to differ from a bound that it exceeds.
    text: String,
    at: Place,
}

/// The cell or line that a number belongs to.
pub(super) struct Place {
    /// Its point; 0 on an axis along which or over which the number is taken.
    pub(super) point: Point,
    /// Its labels.
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

/// A number with its interval, formatted by `text`.
pub(super) fn estimate_text(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
    match estimate.half_width {
        Some(half) if half.is_finite() => {
            format!("{} \u{b1} {}", text(estimate.mean), short(half))
        }
        Some(_) => format!("{}, interval unknown", text(estimate.mean)),
        None => text(estimate.mean),
    }
}

/// A number with four digits, or all digits before the decimal point.
pub(super) fn short(number: f64) -> String {
    with_decimals(number, decimals(number))
}

/// Four digits, or as many as it needs to differ from bounds that it does not equal.
fn distinct_text(number: f64, bounds: &Bounds) -> String {
    let differs = |text: &String| {
        let bounds = [bounds.at_least, bounds.at_most].into_iter().flatten();
        let mut others = bounds.filter(|bound| *bound != number);
        others.all(|bound| text.parse() != Ok(bound))
    };
    let mut texts = (decimals(number)..=15).map(|decimals| with_decimals(number, decimals));
    texts.find(differs).unwrap_or_else(|| short(number))
}

/// The number of decimals of a number with four digits.
fn decimals(number: f64) -> usize {
    match number.is_finite() && number != 0.0 {
        true => {
            let whole = number.abs().log10().floor() as i32 + 1;
            (4 - whole).clamp(0, 6) as usize
        }
        false => 0,
    }
}

fn with_decimals(number: f64, decimals: usize) -> String {
    if number == f64::INFINITY {
        return "saturated".to_owned();
    }
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        for (number, text) in [
            (1.06789, "1.068"),
            (12345.6, "12346"),
            (0.012345, "0.01235"),
            (2.0, "2"),
            (-16.72, "-16.72"),
            (0.0, "0"),
            (1e-9, "0"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
