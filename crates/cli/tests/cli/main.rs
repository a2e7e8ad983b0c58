//! Tests that run the program and read its output.

mod calibrate;
mod clients;
mod compare;
mod declustering;
mod device_scan;
mod devices;
mod documents;
mod drives;
mod errors;
mod extract;
mod guest;
mod help;
mod iscsi;
mod layouts;
mod locked;
mod lost;
mod merging;
mod power;
mod queueing;
mod recording;
mod replay;
mod replications;
mod running;
mod scan;
mod serve;
mod simulate;
mod sockets;
mod study;
mod tls;
mod trace;
mod validate;
mod workload;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// Runs the program with these arguments and captures its output.
fn diskarm(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_diskarm"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the program was built with this test")
}

/// Returns its standard output. It must succeed, without colours or anything on standard error.
fn stdout(arguments: &[&str]) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = diskarm(arguments);
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(
        status.success() && stderr.is_empty(),
        "{arguments:?}: {stderr}"
    );
    let text = String::from_utf8(stdout).unwrap();
    assert!(!text.contains('\u{1b}'), "colour in {text:?}");
    text
}

/// Returns the JSON that it prints.
fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&stdout(arguments)).unwrap()
}

/// Returns the keys of an object, in order.
fn keys(value: &serde_json::Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// Reports why a test was skipped, bypassing the test runner, which hides output of passing tests.
fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Creates a temporary file unique to this process.
fn file_of(name: &str, text: &str) -> String {
    let name = format!("diskarm-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).unwrap();
    path.into_os_string().into_string().unwrap()
}

/// Returns the trace of a measured drive.
fn trace_of(drive: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    format!("{root}/data/validation/{drive}.csv.gz")
}

/// Asserts that no line is wider than a terminal of 100 columns.
fn assert_narrow(text: &str) {
    assert_within(text, 100);
}

/// Asserts that no line is wider than this many columns.
fn assert_within(text: &str, columns: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= columns, "{line}");
    }
}
