//! The claims of a report.

use diskarm_results::html::Html;

use crate::claim::JudgedClaim;
use crate::file::Study;
use crate::results::Results;
use crate::verdicts::{Count, Shown};

/// The claims of a study, judged.
pub struct Claims<'s>(Vec<JudgedClaim<'s>>);

/// The verdict as text.
fn word(shown: Shown) -> &'static str {
    match shown {
        Shown::Holds => "\u{2713} holds",
        Shown::Unsure => "? unsure",
        Shown::FailsKnown => "\u{2717} fails (known)",
        Shown::Fails => "\u{2717} fails",
        Shown::NotMeasuredKnown => "\u{2013} not measured (known)",
        Shown::NotMeasured => "\u{2013} not measured",
    }
}

/// The verdict's class in the style sheet.
fn class(shown: Shown) -> &'static str {
    match shown {
        Shown::Holds => "holds",
        Shown::Unsure => "unsure",
        Shown::FailsKnown => "known",
        Shown::Fails => "fails",
        Shown::NotMeasuredKnown => "known",
        Shown::NotMeasured => "unmeasured",
    }
}

impl<'s> Claims<'s> {
    /// Judges all claims by the results of their study.
    pub fn of(study: &'s Study, results: &Results<'_>) -> Self {
        Self(study.judge(results))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of claims with each verdict.
    pub fn count(&self) -> String {
        Count::of(&self.0).text()
    }

    /// Links to those that do not hold; `None` where all do.
    pub fn to_look_at(&self) -> Option<Html> {
        let others = self
            .0
            .iter()
            .map(Shown::of)
            .enumerate()
            .filter(|(_, shown)| *shown != Shown::Holds);
        let links = others.map(|(place, shown)| {
            let words = format!("{} {}", place + 1, word(shown));
            let link = Html::with("a", &[("href", &format!("#{}", id(place)))], words);
            Html::from([Html::text(" "), link])
        });
        let links: Vec<Html> = links.collect();
        let words = Html::text("To look at:");
        (!links.is_empty()).then(|| [words].into_iter().chain(links).collect())
    }

    /// The claims, with verdict, numbers and source.
    pub fn list(&self) -> Html {
        let claims = self.0.iter().enumerate();
        let claims = claims.map(|(place, claim)| listed(place, claim));
        Html::with("ol", &[("class", "claims")], claims.collect::<Html>())
    }
}

/// The id of a claim.
fn id(place: usize) -> String {
    format!("claim-{}", place + 1)
}

fn listed(place: usize, judged_claim: &JudgedClaim<'_>) -> Html {
    let JudgedClaim { claim, judged } = judged_claim;
    let shown = Shown::of(judged_claim);
    let verdict = Html::with(
        "span",
        &[("class", &format!("verdict {}", class(shown)))],
        word(shown),
    );
    let row = |name: &str, words: &str| {
        Html::from([Html::element("dt", name), Html::element("dd", words)])
    };
    let theirs = format!("{} ({}{})", claim.theirs, claim.source, claim.remarks());
    let ours = if judged_claim.is_of_ratios() {
        "Ours, as a ratio"
    } else {
        "Ours"
    };
    let reason = judged_claim.reason();
    let known = reason.map(|reason| row("Why", &reason)).unwrap_or_default();
    Html::with(
        "li",
        &[("id", &id(place))],
        [
            Html::element("p", [verdict, Html::text(" "), claim.says.as_str().into()]),
            Html::element(
                "dl",
                [row(ours, &judged.ours), row("Theirs", &theirs), known],
            ),
        ],
    )
}
