//! Numbers that a known reason explains.

use super::*;

/// The claim that a is at most as long as b, with a reason.
fn with_known(known: &str) -> String {
    format!(
        "check = \"ratio\"\nmetric = \"response_ms_mean\"\nof = {{ policy = \"a\" }}\n\
         to = {{ policy = \"b\" }}\nat_most = 1.0\n[known]\nwhy = \"w\"\n\
         cause = \"our reading\"\n{known}"
    )
}

/// Ratios of 0.5, 1.5 and 1.2, of which the last two fail.
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
    // Of its cells only.
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

/// A figure leaves the bounds where its whole interval does: 1.5 with half widths of 4.303 times
/// 0.1 / sqrt(3), which is 0.248, reaches 1.252 and not 1.2.
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
fn saturated_cells_are_explained_apart() {
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
fn a_reason_is_read_whole_or_refused() {
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
            "known.command: found nothing, expected the command that shows it",
        ),
        (
            "evidence = \"conjecture\"\ncommand = \"c\"\nat_least = 1\nat_most = 2",
            "known.command: found \"c\", expected none, as evidence is \"conjecture\"",
        ),
        (
            "evidence = \"guess\"\nat_least = 1\nat_most = 2",
            "known.evidence: found \"guess\"",
        ),
        (
            "evidence = \"conjecture\"\nat_most = 2",
            "known.at_least: found nothing, expected the least figure that it explains",
        ),
        (
            "evidence = \"conjecture\"\nat_least = 2",
            "known.at_most: found nothing, expected the largest figure that it explains",
        ),
        (
            "evidence = \"conjecture\"\nat_least = 3\nat_most = 2",
            "known.at_least: found 3, expected no more than at_most, 2",
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
fn what_is_not_measured_needs_a_reason() {
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
