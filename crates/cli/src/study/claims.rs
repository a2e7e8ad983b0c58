//! Claims and their verdicts as text.

use diskarm_study::{Judged, JudgedClaim, Verdict};

use diskarm_results::prose;

/// The width of the column of verdicts.
const INDENT: usize = 16;

/// A claim and its verdict, in a few lines.
pub fn text(JudgedClaim { claim, judged }: &JudgedClaim<'_>) -> String {
    let Judged { verdict, ours } = judged;
    let mut text = prose::labelled(&format!("  {verdict}"), &claim.says, INDENT);
    let numbers = format!("theirs {}; ours {ours} ({})", claim.theirs, claim.source);
    text += &prose::wrapped(&numbers, INDENT);
    if let Some(known) = claim.known.as_ref().filter(|_| *verdict != Verdict::Holds) {
        text += &prose::wrapped(&format!("known: {known}"), INDENT);
    }
    text
}
