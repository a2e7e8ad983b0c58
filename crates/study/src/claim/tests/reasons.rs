//! Tests known reasons, and counts of verdicts.

use super::*;
use crate::claim::{Count, KnownReason, Number, Verdicts};

/// The claim that a takes at most as long as b, with a known reason.
fn with_known(known: &str) -> String {
    format!(
        "check = \"ratio\"\nmetric = \"response_ms_mean\"\nof = {{ policy = \"a\" }}\n\
         to = {{ policy = \"b\" }}\nat_most = 1.0\n[known]\nwhy = \"w\"\n\
         cause = \"our reading\"\n{known}"
    )
}

/// Ratios of 0.5, 1.5 and 1.2, the last two of which fail.
const TWO_FAIL: [[&[f64]; 3]; 3] = [
    [&[5.0], &[15.0], &[12.0]],
    [&[10.0], &[10.0], &[10.0]],
    [&[1.0], &[1.0], &[1.0]],
];

#[test]
fn a_reason_explains_only_what_is_within_its_bounds() {
    let explained = |known: &str| {
        let known = with_known(&format!("evidence = \"conjecture\"\n{known}"));
        let judged = judge(&known, TWO_FAIL);
        assert_eq!(judged.verdict, Verdict::Fails);
        judged.explained
    };
    assert!(explained("at_least = 1.2\nat_most = 1.5"));
    assert!(!explained("at_least = 1.2\nat_most = 1.4"));
    assert!(!explained("at_least = 1.3\nat_most = 1.5"));
    // It explains only its own cells.
    assert!(!explained(
        "at_least = 1.2\nat_most = 1.5\nwhere = { load = 2 }"
    ));
    assert!(explained(
        "at_least = 1.2\nat_most = 1.5\nwhere = { load = [2, 4] }"
    ));
    // A reason for saturated cells explains no others.
    assert!(!explained("saturated = true"));
    let claim = with_known("").replace("[known]\nwhy = \"w\"\ncause = \"our reading\"\n", "");
    assert!(!judge(&claim, TWO_FAIL).explained);
}

/// A number is outside the bounds only if its whole interval is: 1.5 with a half-width of 4.303
/// times 0.1 / sqrt(3), or 0.248, reaches down to 1.252.
#[test]
fn an_interval_that_reaches_the_bounds_is_within() {
    let runs: [[&[f64]; 3]; 3] = [
        [&[1.4, 1.5, 1.6], &[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]],
        [&[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0]],
        [&[1.0], &[1.0], &[1.0]],
    ];
    let explained = |max: &str| {
        let known = format!("evidence = \"conjecture\"\nat_least = 1.1\nat_most = {max}");
        judge(&with_known(&known), runs).explained
    };
    assert!(explained("1.26"));
    assert!(!explained("1.25"));
}

#[test]
fn saturated_cells_are_explained_separately() {
    let mut saturated = TWO_FAIL;
    saturated[0][2] = &[];
    let explained = |known: &str| {
        let known = format!("evidence = \"conjecture\"\n{known}");
        judge(&with_known(&known), saturated).explained
    };
    assert!(!explained("at_least = 1.2\nat_most = 1.5"));
    assert!(explained("at_least = 1.2\nat_most = 1.5\nsaturated = true"));
    assert!(!explained("saturated = true"));
}

#[test]
fn incomplete_reasons_are_refused() {
    let refused = |known: &str, expected: &str| {
        let error = read(&with_known(known)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    read(&with_known(
        "evidence = \"tested\"\ncommand = \"c\"\nat_least = 1.2\nat_most = 1.5",
    ))
    .unwrap();
    for (known, expected) in [
        (
            "evidence = \"tested\"\nat_least = 1\nat_most = 2",
            "known.command: found nothing, expected the command that repeats",
        ),
        (
            "evidence = \"conjecture\"\ncommand = \"c\"\nat_least = 1\nat_most = 2",
            "known.command: found \"c\", expected nothing, as evidence is \"conjecture\"",
        ),
        (
            "evidence = \"guess\"\nat_least = 1\nat_most = 2",
            "known.evidence: found \"guess\"",
        ),
        (
            "evidence = \"conjecture\"\nat_most = 2",
            "known.at_least: found nothing, expected the smallest number that it explains",
        ),
        (
            "evidence = \"conjecture\"\nat_least = 2",
            "known.at_most: found nothing, expected the largest number that it explains",
        ),
        (
            "evidence = \"conjecture\"\nat_least = 3\nat_most = 2",
            "known.at_least: found 3, expected a number no greater than at_most = 2",
        ),
        (
            "evidence = \"conjecture\"\nat_least = 1\nat_most = 2\nwhere = { load = 3 }",
            "known.where.load: found \"3\", expected a value of axis",
        ),
    ] {
        refused(known, expected);
    }
    let cause = with_known("evidence = \"conjecture\"\nat_least = 1\nat_most = 2");
    let cause = cause.replace("our reading", "our readings");
    let error = read(&cause).unwrap_err().to_string();
    assert!(error.contains("perhaps \"our reading\""), "{error}");
}

#[test]
fn an_unmeasured_claim_needs_a_reason() {
    let claim = "check = \"value\"\nmetric = \"reads_response_ms_mean\"\nat_most = 1.0\n";
    let judged = judge_of("response_ms_mean", claim, TWO_FAIL);
    assert_eq!(
        (judged.verdict, judged.explained),
        (Verdict::NotMeasured, false)
    );
    let claim = format!("not_measured = \"no reads\"\n{claim}");
    let judged = judge_of("response_ms_mean", &claim, TWO_FAIL);
    assert_eq!(
        (judged.verdict, judged.explained),
        (Verdict::NotMeasured, true)
    );
}

/// The reason for one trace does not explain the same number of another.
#[test]
fn a_reason_is_about_its_own_trace() {
    let read = |text: &str, axes: &[Axis]| {
        let raw: KnownReason = toml::from_str(text).unwrap();
        let file = "t.toml";
        raw.validate(axes, &StudyText { file, text }.location(&(0..0), "known"))
    };
    let text = "why = \"w\"\ncause = \"different trace\"\nevidence = \"conjecture\"\n\
                at_least = 1\nat_most = 2\n";
    let axes = [axis(
        "trace",
        &["theirs", "mine"].map(|name| Scalar::Text(name.to_owned())),
    )];
    let known = read(&format!("{text}traces = [\"theirs\"]"), &axes).unwrap();
    let number = |trace: usize| Number {
        at: String::new(),
        low: 1.5,
        high: 1.5,
        verdict: Verdict::Fails,
        point: vec![trace],
    };
    assert!(known.explains(&axes, &[number(0)]));
    assert!(!known.explains(&axes, &[number(0), number(1)]));
    let error = read(text, &axes).unwrap_err().to_string();
    let expected = "traces: found nothing, expected the file names of the traces that it is about";
    assert!(error.contains(expected), "{error}");
}

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
