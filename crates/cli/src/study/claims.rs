//! Claims and their verdicts, as people read them.

use diskarm_study::{Judged, Told, Verdict};
use serde::Serialize;

use crate::prose;

/// Columns of verdicts.
const INDENT: usize = 16;

/// A claim and what came of it, in a few lines.
pub fn text(told: &Told<'_>) -> String {
    let Told { claim, judged } = told;
    let Judged { verdict, ours } = judged;
    let mut text = prose::labelled(&format!("  {verdict}"), &claim.says, INDENT);
    let numbers = format!("theirs {}; ours {ours} ({})", claim.theirs, claim.source);
    text += &prose::wrapped(&numbers, INDENT);
    if let Some(known) = claim.known.as_ref().filter(|_| *verdict != Verdict::Holds) {
        text += &prose::wrapped(&format!("known: {known}"), INDENT);
    }
    text
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
