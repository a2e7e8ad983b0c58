//! Verdicts as shown to people: a claim that fails for a known reason is not a surprise.

use serde::Serialize;

use crate::claim::{JudgedClaim, Verdict};

/// A verdict as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It holds in every cell that it covers.
    Holds,
    /// An interval contains a bound.
    Unsure,
    /// It fails, and the study gives the reason.
    FailsKnown,
    /// It fails for no known reason.
    Fails,
    /// None of its cells has the metric, and the study says why.
    NotMeasuredKnown,
    /// None of its cells has the metric.
    NotMeasured,
}

impl Shown {
    /// Returns true if it needs an explanation that the study does not give.
    pub fn is_unexplained(self) -> bool {
        matches!(self, Self::Fails | Self::NotMeasured)
    }

    /// The presentation of the verdict on a claim.
    pub fn of(claim: &JudgedClaim<'_>) -> Self {
        match claim.judged.verdict {
            Verdict::Holds => Self::Holds,
            Verdict::Unsure => Self::Unsure,
            Verdict::Fails if claim.judged.explained => Self::FailsKnown,
            Verdict::Fails => Self::Fails,
            Verdict::NotMeasured if claim.judged.explained => Self::NotMeasuredKnown,
            Verdict::NotMeasured => Self::NotMeasured,
        }
    }
}

/// The numbers of claims and of model checks with each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The numbers of claims that are not model checks.
    #[serde(flatten)]
    pub claims: Verdicts,
    /// The number of model checks: their verdicts do not concern a paper.
    pub model_checks: Verdicts,
}

/// How many have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// Hold in every cell that they cover.
    pub holds: usize,
    /// An interval contains a bound.
    pub unsure: usize,
    /// Fail for no known reason.
    pub fails: usize,
    /// Fail, and the study gives the reason.
    pub fails_known: usize,
    /// None of their cells has the metric.
    pub not_measured: usize,
    /// None of their cells has the metric, and the study says why.
    pub not_measured_known: usize,
}

impl Count {
    /// Counts the verdicts on these claims.
    pub fn of(claims: &[JudgedClaim<'_>]) -> Self {
        let mut count = Self::default();
        for claim in claims {
            let kind = if claim.claim.model_check {
                &mut count.model_checks
            } else {
                &mut count.claims
            };
            *kind.place(Shown::of(claim)) += 1;
        }
        count
    }

    /// Those that do not hold and need an explanation.
    pub fn unexplained(&self) -> usize {
        [self.claims, self.model_checks]
            .iter()
            .map(|kind| kind.fails + kind.not_measured)
            .sum()
    }

    /// In a line: `31 claims: 27 hold, 2 unsure, 2 fail for a known reason; 3 model checks: 3
    /// hold`.
    pub fn text(&self) -> String {
        let claims = match self.claims.all() {
            0 => "no claims".to_owned(),
            all => format!("{}: {}", counted(all, "claim"), self.claims.text()),
        };
        match self.model_checks.all() {
            0 => claims,
            all => {
                let (checks, verdicts) = (counted(all, "model check"), self.model_checks.text());
                format!("{claims}; {checks}: {verdicts}")
            }
        }
    }
}

impl Verdicts {
    fn place(&mut self, shown: Shown) -> &mut usize {
        match shown {
            Shown::Holds => &mut self.holds,
            Shown::Unsure => &mut self.unsure,
            Shown::Fails => &mut self.fails,
            Shown::FailsKnown => &mut self.fails_known,
            Shown::NotMeasured => &mut self.not_measured,
            Shown::NotMeasuredKnown => &mut self.not_measured_known,
        }
    }

    /// Count, in words of one, of several.
    fn parts(&self) -> [(usize, &'static str, &'static str); 6] {
        let fail_known = "fail for a known reason";
        let not_measured_known = "not measured for a known reason";
        [
            (self.holds, "holds", "hold"),
            (self.unsure, "unsure", "unsure"),
            (self.fails_known, "fails for a known reason", fail_known),
            (self.fails, "fails", "fail"),
            (
                self.not_measured_known,
                not_measured_known,
                not_measured_known,
            ),
            (self.not_measured, "not measured", "not measured"),
        ]
    }

    fn all(&self) -> usize {
        self.parts().iter().map(|(count, ..)| count).sum()
    }

    /// `27 hold, 1 unsure`.
    fn text(&self) -> String {
        let parts = self.parts().into_iter().filter(|(count, ..)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, one, several)| match count {
                1 => format!("1 {one}"),
                count => format!("{count} {several}"),
            })
            .collect();
        parts.join(", ")
    }
}

/// A count with its noun: `1 claim`, `2 claims`.
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_fit_on_one_line() {
        let mut count = Count::default();
        assert_eq!(count.text(), "no claims");
        count.claims.holds = 1;
        assert_eq!(count.text(), "1 claim: 1 holds");
        count.claims = Verdicts {
            holds: 1,
            unsure: 2,
            fails: 3,
            fails_known: 4,
            not_measured: 5,
            not_measured_known: 6,
        };
        let claims = "21 claims: 1 holds, 2 unsure, 4 fail for a known reason, 3 fail, \
             6 not measured for a known reason, 5 not measured";
        assert_eq!(count.text(), claims);
        count.model_checks.holds = 2;
        assert_eq!(count.text(), format!("{claims}; 2 model checks: 2 hold"));
        count.model_checks.unsure = 1;
        let checks = "3 model checks: 2 hold, 1 unsure";
        assert_eq!(count.text(), format!("{claims}; {checks}"));
    }

    #[test]
    fn a_model_check_that_fails_needs_an_explanation_too() {
        let mut count = Count::default();
        count.claims.fails = 1;
        count.model_checks.fails = 1;
        count.model_checks.unsure = 1;
        assert_eq!(count.unexplained(), 2);
    }
}
