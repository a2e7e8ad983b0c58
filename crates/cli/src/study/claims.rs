//! Claims and their verdicts as text.

use diskarm_results::prose;
use diskarm_study::verdicts::Shown;
use diskarm_study::{Judged, JudgedClaim, Verdict};

use crate::color::{Look, on_output};

/// The width of the column of verdicts.
const INDENT: usize = 16;

/// A claim and its verdict, in a few lines.
pub fn text(judged_claim: &JudgedClaim<'_>) -> String {
    let JudgedClaim { claim, judged } = judged_claim;
    let Judged { verdict, ours, .. } = judged;
    let says = prose::labelled(&format!("  {verdict}"), &claim.says, INDENT);
    let look = match verdict {
        Verdict::Holds => Look::Good,
        _ if Shown::of(judged_claim).is_unexplained() => Look::Bad,
        _ => Look::Doubtful,
    };
    let word = verdict.to_string();
    let mut text = says.replacen(&word, &on_output(&word, look), 1);
    let ours_are = match judged_claim.is_of_ratios() {
        true => "ours, as a ratio,",
        false => "ours",
    };
    let numbers = format!(
        "theirs {}; {ours_are} {ours} ({}{})",
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
