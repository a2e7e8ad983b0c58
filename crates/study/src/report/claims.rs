//! Claims with their verdicts.

use super::html::Html;
use crate::claim::{Claim, Judged, Verdict};
use crate::results::Results;

/// The claims of a study, judged.
pub struct Claims<'s>(Vec<(&'s Claim, Judged)>);

/// How a verdict is shown: a claim that fails for a known reason is no news.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Holds,
    Fails,
    FailsKnown,
    Unsure,
    NotMeasured,
}

impl Shown {
    const ALL: [Self; 5] = [
        Self::Holds,
        Self::Unsure,
        Self::FailsKnown,
        Self::Fails,
        Self::NotMeasured,
    ];

    fn of(claim: &Claim, judged: &Judged) -> Self {
        match judged.verdict {
            Verdict::Holds => Self::Holds,
            Verdict::Unsure => Self::Unsure,
            Verdict::Fails if claim.known.is_some() => Self::FailsKnown,
            Verdict::Fails => Self::Fails,
            Verdict::NotMeasured => Self::NotMeasured,
        }
    }

    /// As one claim's verdict.
    fn word(self) -> &'static str {
        match self {
            Self::Holds => "\u{2713} holds",
            Self::Unsure => "? unsure",
            Self::FailsKnown => "\u{2717} fails (known)",
            Self::Fails => "\u{2717} fails",
            Self::NotMeasured => "\u{2013} not measured",
        }
    }

    /// As what so many do.
    fn plural(self) -> &'static str {
        match self {
            Self::Holds => "hold",
            Self::Unsure => "unsure",
            Self::FailsKnown => "fail (known)",
            Self::Fails => "fail",
            Self::NotMeasured => "not measured",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Unsure => "unsure",
            Self::FailsKnown => "known",
            Self::Fails => "fails",
            Self::NotMeasured => "unmeasured",
        }
    }
}

impl<'s> Claims<'s> {
    /// Holds all claims against what came of their study.
    pub fn of(results: &Results<'s>) -> Self {
        let claims = results.study.claims.iter();
        Self(claims.map(|claim| (claim, claim.judge(results))).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many have which verdict: `31 claims: 27 hold, 2 fail (known), 2 unsure`.
    pub fn count(&self) -> String {
        let counts = Shown::ALL.map(|shown| {
            let like = |(claim, judged): &&(&Claim, Judged)| Shown::of(claim, judged) == shown;
            (self.0.iter().filter(like).count(), shown.plural())
        });
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(n, what)| format!("{n} {what}")).collect();
        match self.0.len() {
            0 => "no claims".to_owned(),
            1 => format!("1 claim: {}", counts.join(", ")),
            all => format!("{all} claims: {}", counts.join(", ")),
        }
    }

    /// Links to those that do not hold; `None` where all do.
    pub fn to_look_at(&self) -> Option<Html> {
        let shown = self
            .0
            .iter()
            .map(|(claim, judged)| Shown::of(claim, judged));
        let others = shown
            .enumerate()
            .filter(|(_, shown)| *shown != Shown::Holds);
        let links = others.map(|(place, shown)| {
            let words = format!("{} {}", place + 1, shown.word());
            let link = Html::with("a", &[("href", &format!("#{}", id(place)))], words);
            Html::from([Html::text(" "), link])
        });
        let links: Vec<Html> = links.collect();
        let words = Html::text("To look at:");
        (!links.is_empty()).then(|| [words].into_iter().chain(links).collect())
    }

    /// Each with its verdict, both sides' numbers, and its place in the paper.
    pub fn list(&self) -> Html {
        let claims = self.0.iter().enumerate();
        let claims = claims.map(|(place, (claim, judged))| told(place, claim, judged));
        Html::with("ol", &[("class", "claims")], claims.collect::<Html>())
    }
}

/// What links call a claim.
fn id(place: usize) -> String {
    format!("claim-{}", place + 1)
}

fn told(place: usize, claim: &Claim, judged: &Judged) -> Html {
    let shown = Shown::of(claim, judged);
    let verdict = Html::with(
        "span",
        &[("class", &format!("verdict {}", shown.class()))],
        shown.word(),
    );
    let row = |name: &str, words: &str| {
        Html::from([Html::element("dt", name), Html::element("dd", words)])
    };
    let known = claim.known.as_deref().filter(|_| shown != Shown::Holds);
    let known = known.map(|known| row("Why", known)).unwrap_or_default();
    Html::with(
        "li",
        &[("id", &id(place))],
        [
            Html::element("p", [verdict, Html::text(" "), claim.says.as_str().into()]),
            Html::element(
                "dl",
                [
                    row("Ours", &judged.ours),
                    row("Theirs", &format!("{} ({})", claim.theirs, claim.source)),
                    known,
                ],
            ),
        ],
    )
}
