//! From the verdicts on single numbers to that on a claim.

use super::bounds::Bounds;
use super::load::Load;
use super::{Judged, Verdict};
use crate::results::Estimate;

/// Numbers that a claim speaks of, and what they are held to.
#[derive(Default)]
pub(super) struct Tally(Vec<Number>);

/// One of them.
struct Number {
    number: Load,
    verdict: Verdict,
    /// Where it was found.
    at: String,
}

impl Tally {
    /// Holds a number that was found `at` a place to `bounds`.
    pub(super) fn hold(&mut self, estimate: Estimate, bounds: &Bounds, at: String) {
        self.hold_load(Load::At(estimate), bounds, at);
    }

    /// The same of one that may be known in part only.
    pub(super) fn hold_load(&mut self, number: Load, bounds: &Bounds, at: String) {
        let verdict = number.verdict(bounds);
        self.0.push(Number {
            number,
            verdict,
            at,
        });
    }

    /// A number with a verdict of its own.
    pub(super) fn add(&mut self, estimate: Estimate, verdict: Verdict, at: String) {
        let number = Load::At(estimate);
        self.0.push(Number {
            number,
            verdict,
            at,
        });
    }

    /// All together: the worst of them.
    pub(super) fn judged(self) -> Judged {
        let verdict = self.0.iter().map(|number| number.verdict).max();
        Judged {
            verdict: verdict.unwrap_or(Verdict::NotMeasured),
            ours: self.told(),
        }
    }

    fn told(&self) -> String {
        match &self.0[..] {
            [] => return "no cell with a figure".to_owned(),
            [only] => return only.number.told(),
            _ => {}
        }
        let found = |number: &Number| match &number.number {
            Load::At(estimate) => estimate.mean,
            Load::Within(low, high) if high.is_infinite() => *low,
            Load::Within(_, high) => *high,
        };
        let all = self.0.iter().map(found);
        let low = all.clone().fold(f64::INFINITY, f64::min);
        let high = all.fold(f64::NEG_INFINITY, f64::max);
        let mut text = format!(
            "{} to {} in {} cells",
            short(low),
            short(high),
            self.0.len()
        );
        for (verdict, word) in [(Verdict::Fails, "fails"), (Verdict::Unsure, "unsure")] {
            let mut such = self.0.iter().filter(|number| number.verdict == verdict);
            let many = such.clone().count();
            if let Some(first) = such.next() {
                let (number, at) = (first.number.told(), &first.at);
                text += &format!("; {word} in {many}, first {number} at {at}");
            }
        }
        text
    }
}

/// A number with its interval, in as many digits as its reader wants.
pub(super) fn told(estimate: &Estimate) -> String {
    match estimate.half_width {
        Some(half) => format!("{} \u{b1} {}", short(estimate.mean), short(half)),
        None => short(estimate.mean),
    }
}

/// Four digits, but no fewer than stand before the point.
pub(super) fn short(number: f64) -> String {
    if number.is_infinite() {
        return "saturated".to_owned();
    }
    if number == 0.0 || number.is_nan() {
        return number.to_string();
    }
    let whole = number.abs().log10().floor() as i32 + 1;
    let decimals = (4 - whole).clamp(0, 6) as usize;
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
