//! Verdicts as people are told them: a claim that fails for a known reason is no news.

use serde::Serialize;

use crate::claim::{JudgedClaim, Verdict};

/// How a verdict is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In every cell that the claim speaks of.
    Holds,
    /// An interval reaches over a bound.
    Unsure,
    /// Not, and the study says why.
    FailsKnown,
    /// Not, and nobody knows why.
    Fails,
    /// None of the claim's cells has a figure.
    NotMeasured,
}

impl Shown {
    /// How the verdict on a claim is told.
    pub fn of(told: &JudgedClaim<'_>) -> Self {
        match told.judged.verdict {
            Verdict::Holds => Self::Holds,
            Verdict::Unsure => Self::Unsure,
            Verdict::Fails if told.claim.known.is_some() => Self::FailsKnown,
            Verdict::Fails => Self::Fails,
            Verdict::NotMeasured => Self::NotMeasured,
        }
    }
}

/// How many claims have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// In every cell that they speak of.
    pub holds: usize,
    /// An interval reaches over a bound.
    pub unsure: usize,
    /// Not, and nobody knows why.
    pub fails: usize,
    /// Not, and the study says why.
    pub fails_known: usize,
    /// None of their cells has a figure.
    pub not_measured: usize,
}

impl Count {
    /// Counts the verdicts on these claims.
    pub fn of(told: &[JudgedClaim<'_>]) -> Self {
        let mut count = Self::default();
        for told in told {
            let place = match Shown::of(told) {
                Shown::Holds => &mut count.holds,
                Shown::Unsure => &mut count.unsure,
                Shown::Fails => &mut count.fails,
                Shown::FailsKnown => &mut count.fails_known,
                Shown::NotMeasured => &mut count.not_measured,
            };
            *place += 1;
        }
        count
    }

    /// In a line: `31 claims: 27 hold, 2 unsure, 2 fail for a known reason`.
    pub fn text(&self) -> String {
        let Self {
            holds,
            unsure,
            fails,
            fails_known,
            not_measured,
        } = *self;
        let parts = [
            (holds, "hold"),
            (unsure, "unsure"),
            (fails_known, "fail for a known reason"),
            (fails, "fail"),
            (not_measured, "not measured"),
        ];
        let all = parts.iter().map(|(count, _)| count).sum();
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        match all {
            0 => "no claims".to_owned(),
            all => format!("{}: {}", counted(all, "claim"), parts.join(", ")),
        }
    }
}

/// So many of what has a plain plural: `1 claim`, `2 claims`.
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
    fn counts_are_told_in_a_line() {
        let mut count = Count::default();
        assert_eq!(count.text(), "no claims");
        count.holds = 1;
        assert_eq!(count.text(), "1 claim: 1 hold");
        let count = Count {
            unsure: 2,
            fails: 3,
            fails_known: 4,
            not_measured: 5,
            ..count
        };
        let expected =
            "15 claims: 1 hold, 2 unsure, 4 fail for a known reason, 3 fail, 5 not measured";
        assert_eq!(count.text(), expected);
    }
}
