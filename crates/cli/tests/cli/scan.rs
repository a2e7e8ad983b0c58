//! `diskarm scan`.

use crate::{assert_within, diskarm, file_of, json, printed};

/// The path of a drive of 6,600 blocks, as a URL.
fn small(name: &str) -> String {
    let text = include_str!("../../../scan/tests/scan/small.toml");
    format!("sim:{}", file_of(&format!("{name}.toml"), text))
}

#[test]
fn a_drive_is_scanned_from_outside_and_inside() {
    let url = small("scanned");
    for more in [
        &[][..],
        &["--inside"],
        &["--any-track", "--policy", "sstf"],
        &["--max-slowdown", "1 %", "--conservatism", "0 ms"],
    ] {
        let arguments = [&["scan", &url, "--requests", "100000"], more].concat();
        assert_within(&printed(&arguments), 80);
        let scanned = json(&[&arguments[..], &["--json"]].concat());
        assert_eq!(scanned["is_complete"], true, "{scanned}");
        assert_eq!(scanned["blocks_left"], 0);
        assert_eq!(scanned["progress"].as_array().expect("steps").len(), 9);
        let slowdown = scanned["slowdown_share"].as_f64().expect("a number");
        assert!(slowdown.abs() < 0.02, "{scanned}");
    }
    let some = json(&["scan", &url, "--requests", "20", "--json"]);
    assert_eq!(some["is_complete"], false);
    assert!(some["free_whole_mb_per_s"].is_null());
    assert_eq!(some["foreground_requests"], 20);
}

/// The scheduler may believe something else of the drive.
#[test]
fn a_wrong_model_is_said_to_be_wrong() {
    let url = small("believed");
    let model = include_str!("../../../scan/tests/scan/small.toml").replace("[59, 6]", "[59, 5]");
    let model = file_of("model.toml", &model);
    let arguments = [
        "scan",
        &url,
        "--model",
        &model,
        "--requests",
        "2000",
        "--json",
    ];
    let right = |arguments: &[&str]| {
        let scanned = json(arguments);
        let right = &scanned["predictions"]["right_share"];
        right.as_f64().expect("a share")
    };
    let itself = ["scan", &url, "--requests", "2000", "--json"];
    assert!(right(&arguments) < right(&itself) - 0.02);
}

#[test]
fn what_cannot_be_scanned_is_refused() {
    let url = small("refused");
    for (arguments, expected) in [
        (
            &["scan", "/dev/no-disk"][..],
            "URL: found \"/dev/no-disk\", expected sim:NAME",
        ),
        (&["scan", "sim:nothing"], "found \"nothing\""),
        (
            &["scan", "sim:host(policy=sptf, drive=hp-c2247)"],
            "without devices",
        ),
        (
            &["scan", &url, "--model", "hp-c2247"],
            "a drive of 6600 blocks",
        ),
        (&["scan", &url, "--depth", "3"], "--depth"),
        (&["scan", &url, "--depth", "2"], "--set queue.depth=2"),
        (&["scan", &url, "--policy", "none"], "--policy"),
    ] {
        let output = diskarm(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
