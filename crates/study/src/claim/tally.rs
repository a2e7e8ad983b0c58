//! From the verdicts on single numbers to that on a claim.

use super::bounds::Bounds;
use super::{Judged, Verdict};
use crate::results::Estimate;

/// Numbers that a claim speaks of, and what they are held to.
#[derive(Default)]
pub(super) struct Tally {
    /// With the verdict and the place where each was found.
    numbers: Vec<(Estimate, Verdict, String)>,
}

impl Tally {
    /// Holds a number that was found `at` a place to `bounds`.
    pub(super) fn hold(&mut self, estimate: Estimate, bounds: &Bounds, at: String) {
        let verdict = bounds.verdict(&estimate);
        self.numbers.push((estimate, verdict, at));
    }

    /// A number with the verdict of its own.
    pub(super) fn add(&mut self, estimate: Estimate, verdict: Verdict, at: String) {
        self.numbers.push((estimate, verdict, at));
    }

    /// All together: the worst of them.
    pub(super) fn judged(self) -> Judged {
        let verdict = self.numbers.iter().map(|(_, verdict, _)| *verdict).max();
        Judged {
            verdict: verdict.unwrap_or(Verdict::NotMeasured),
            ours: self.told(),
        }
    }

    fn told(&self) -> String {
        let by_mean = |a: &&(Estimate, _, _), b: &&(Estimate, _, _)| a.0.mean.total_cmp(&b.0.mean);
        let (Some(low), Some(high)) = (
            self.numbers.iter().min_by(by_mean),
            self.numbers.iter().max_by(by_mean),
        ) else {
            return "no cell with a figure".to_owned();
        };
        if self.numbers.len() == 1 {
            return told(&low.0);
        }
        let count = self.numbers.len();
        let mut text = format!(
            "{} to {} in {count} cells",
            short(low.0.mean),
            short(high.0.mean)
        );
        let not = |wanted: Verdict| self.numbers.iter().filter(move |(_, v, _)| *v == wanted);
        for (verdict, word) in [(Verdict::Fails, "fails"), (Verdict::Unsure, "unsure")] {
            let Some((estimate, _, at)) = not(verdict).next() else {
                continue;
            };
            let many = not(verdict).count();
            text += &format!("; {word} in {many}, first {} at {at}", told(estimate));
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
    if number == 0.0 || !number.is_finite() {
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
