//! `diskarm queueing`.

use crate::{assert_within, diskarm, json, keys, stdout};

const SHORT: [&str; 5] = ["queueing", "--drive", "hp-c2247", "--requests", "500"];

#[test]
fn the_table_fits_a_terminal_and_shows_how_to_repeat_it() {
    let text = stdout(&SHORT);
    assert_within(&text, 80);
    assert!(text.contains("of 500 requests (50 of them warm-up) for each value; seed 1"));
    assert_eq!(text, stdout(&SHORT));
    assert_ne!(text, stdout(&[&SHORT[..], &["--seed", "2"]].concat()));
}

#[test]
fn json_has_the_values_of_the_table() {
    let found = json(&[&SHORT[..], &["--rate", "20/s,30/s", "--json"]].concat());
    let expected = [
        "drive",
        "size_sectors",
        "read_share",
        "runs",
        "requests",
        "warmup",
        "seed",
        "groups",
        "notes",
    ];
    assert_eq!(keys(&found), expected);
    let response = &found["groups"][2]["values"][1];
    let expected = [
        "name",
        "is_exact",
        "rate_per_s",
        "theory",
        "simulated",
        "ci95",
        "is_within",
    ];
    assert_eq!(keys(response), expected);
    assert_eq!(response["rate_per_s"].as_f64().unwrap().round(), 30.0);
    let alone = &found["groups"][0]["values"][0];
    assert_eq!(keys(alone), expected);
    assert!(alone["simulated"].is_null() && alone["theory"].is_f64());
}

#[test]
fn errors_take_one_line() {
    let error = |arguments: &[&str]| {
        let output = diskarm(&[&["queueing", "--drive"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let cases = [
        (&["hp-c224"][..], "--drive: found \"hp-c224\""),
        (&["throttle(rate=9/s, drive=hp-c2247)"], "--drive: found"),
        (
            &["hp-c2247", "--rate", "20/s,fast"],
            "--rate: found \"fast\"",
        ),
        (&["hp-c2247", "--size", "9 GiB"], "--size: found \"9 GiB\""),
        (&["hp-c2247", "--requests", "9"], "--requests: found \"9\""),
    ];
    for (arguments, beginning) in cases {
        let text = error(arguments);
        assert!(text.starts_with(&format!("error: {beginning}")), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}
