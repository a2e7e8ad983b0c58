//! Claims and their verdicts as text.

use diskarm_study::{Judged, JudgedClaim};

use diskarm_results::prose;

/// The width of the column of verdicts.
const INDENT: usize = 16;

/// A claim and its verdict, in a few lines.
pub fn text(judged_claim: &JudgedClaim<'_>) -> String {
    let JudgedClaim { claim, judged } = judged_claim;
    let Judged { verdict, ours, .. } = judged;
    let mut text = prose::labelled(&format!("  {verdict}"), &claim.says, INDENT);
    let numbers = format!(
        "theirs {}; ours {ours} ({}{})",
        claim.theirs,
        claim.source,
        claim.remarks()
    );
    text += &prose::wrapped(&numbers, INDENT);
    if let Some(reason) = judged_claim.reason() {
        text += &prose::wrapped(&format!("why: {reason}"), INDENT);
    }
    text
}
