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
    /// Whether it needs an explanation that the study does not give.
    pub fn is_unexplained(self) -> bool {
        matches!(self, Self::Fails | Self::NotMeasured)
    }

    /// How the verdict on a claim is shown.
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

/// How many claims have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Hold in every cell that they cover.
    pub holds: usize,
    /// An interval contains a bound.
    pub unsure: usize,
    /// It fails for no known reason.
    pub fails: usize,
    /// It fails, and the study gives the reason.
    pub fails_known: usize,
    /// None of their cells has the metric.
    pub not_measured: usize,
    /// None of their cells has the metric, and the study says why.
    pub not_measured_known: usize,
    /// Model checks that hold; they are in no other count.
    pub model_checks: usize,
}

impl Count {
    /// Counts the verdicts on these claims.
    pub fn of(claims: &[JudgedClaim<'_>]) -> Self {
        let mut count = Self::default();
        for claim in claims {
            let place = match Shown::of(claim) {
                Shown::Holds if claim.claim.model_check => &mut count.model_checks,
                Shown::Holds => &mut count.holds,
                Shown::Unsure => &mut count.unsure,
                Shown::Fails => &mut count.fails,
                Shown::FailsKnown => &mut count.fails_known,
                Shown::NotMeasured => &mut count.not_measured,
                Shown::NotMeasuredKnown => &mut count.not_measured_known,
            };
            *place += 1;
        }
        count
    }

    /// The claims that do not hold and need an explanation.
    pub fn unexplained(&self) -> usize {
        self.fails + self.not_measured
    }

    /// In a line: `31 claims: 27 hold, 2 unsure, 2 fail for a known reason`.
    pub fn text(&self) -> String {
        let Self {
            holds,
            unsure,
            fails,
            fails_known,
            not_measured,
            not_measured_known,
            model_checks,
        } = *self;
        // Count, of one, of several.
        let parts = [
            (holds, "holds", "hold"),
            (unsure, "unsure", "unsure"),
            (
                fails_known,
                "fails for a known reason",
                "fail for a known reason",
            ),
            (fails, "fails", "fail"),
            (
                not_measured_known,
                "not measured for a known reason",
                "not measured for a known reason",
            ),
            (not_measured, "not measured", "not measured"),
        ];
        let all = parts.iter().map(|(count, ..)| count).sum();
        let parts = parts.iter().filter(|(count, ..)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, one, several)| match count {
                1 => format!("1 {one}"),
                count => format!("{count} {several}"),
            })
            .collect();
        let claims = match all {
            0 => "no claims".to_owned(),
            all => format!("{}: {}", counted(all, "claim"), parts.join(", ")),
        };
        match model_checks {
            0 => claims,
            1 => format!("{claims}; 1 model check holds"),
            count => format!("{claims}; {count} model checks hold"),
        }
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
        count.holds = 1;
        assert_eq!(count.text(), "1 claim: 1 holds");
        let count = Count {
            unsure: 2,
            fails: 3,
            fails_known: 4,
            not_measured: 5,
            not_measured_known: 6,
            model_checks: 2,
            ..count
        };
        let expected = "21 claims: 1 holds, 2 unsure, 4 fail for a known reason, 3 fail, \
             6 not measured for a known reason, 5 not measured; 2 model checks hold";
        assert_eq!(count.text(), expected);
    }
}
