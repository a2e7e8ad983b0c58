//! Claims and their verdicts, as people read them.

use diskarm_study::{Claim, Judged, Results, Verdict};
use serde::Serialize;

use crate::prose;

/// Columns of verdicts.
const INDENT: usize = 16;

/// A claim and what came of it.
pub struct Told<'s> {
    pub claim: &'s Claim,
    pub judged: Judged,
}

/// All claims of a study, judged.
pub fn judged<'s>(results: &Results<'s>) -> Vec<Told<'s>> {
    let claims = results.study.claims.iter();
    let judged = claims.map(|claim| Told {
        claim,
        judged: claim.judge(results),
    });
    judged.collect()
}

impl Told<'_> {
    /// In a few lines.
    pub fn text(&self) -> String {
        let Judged { verdict, ours } = &self.judged;
        let mut text = prose::labelled(&format!("  {verdict}"), &self.claim.says, INDENT);
        let numbers = format!(
            "theirs {}; ours {ours} ({})",
            self.claim.theirs, self.claim.source
        );
        text += &prose::wrapped(&numbers, INDENT);
        if let Some(known) = self
            .claim
            .known
            .as_ref()
            .filter(|_| *verdict != Verdict::Holds)
        {
            text += &prose::wrapped(&format!("known: {known}"), INDENT);
        }
        text
    }
}

/// How many claims have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub holds: usize,
    pub unsure: usize,
    pub fails: usize,
    pub fails_known: usize,
    pub not_measured: usize,
}

impl Count {
    pub fn of(told: &[Told<'_>]) -> Self {
        let mut count = Self::default();
        for told in told {
            let place = match told.judged.verdict {
                Verdict::Holds => &mut count.holds,
                Verdict::Unsure => &mut count.unsure,
                Verdict::Fails if told.claim.known.is_some() => &mut count.fails_known,
                Verdict::Fails => &mut count.fails,
                Verdict::NotMeasured => &mut count.not_measured,
            };
            *place += 1;
        }
        count
    }

    /// In a line.
    pub fn text(&self) -> String {
        let Self {
            holds,
            unsure,
            fails,
            fails_known,
            not_measured,
        } = *self;
        let all = holds + unsure + fails + fails_known + not_measured;
        let parts = [
            (holds, "hold"),
            (unsure, "unsure"),
            (fails_known, "fail for a known reason"),
            (fails, "fail"),
            (not_measured, "not measured"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        match all {
            0 => "no claims".to_owned(),
            1 => format!("1 claim: {}", parts.join(", ")),
            _ => format!("{all} claims: {}", parts.join(", ")),
        }
    }
}
