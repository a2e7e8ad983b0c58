//! Tests of `--merge`, which makes one command of sequential requests.

use serde_json::Value;

use crate::{assert_narrow, file_of, json, stdout};

/// While the first request is served, three sequential requests and another one arrive.
const TRACE: &str = "1000.0 0 900000 16 1\n1000.1 0 1200 16 1\n1000.2 0 1216 16 1\n\
                     1000.3 0 1232 32 1\n1000.4 0 700000 16 1\n";

#[test]
fn merged_requests_complete_together_and_are_counted_separately() {
    let (path, rows) = (file_of("merge", TRACE), file_of("merge-rows", ""));
    let arguments = [
        "simulate", "--drive", "hp-c2247", "--policy", "fcfs", "--json", "--trace", &path,
    ];
    let completed = |flags: &[&str]| {
        let figures = json(&[&arguments[..], &["--per-request", &rows], flags].concat());
        assert_eq!(figures["requests"], 5);
        let text = std::fs::read_to_string(&rows).unwrap();
        let column = text.lines().next().unwrap().split(',');
        let at = column.enumerate().find(|(_, name)| *name == "completed_us");
        let (at, _) = at.expect("a column");
        let cell = |line: &str| line.split(',').nth(at).unwrap().to_owned();
        let mut instants: Vec<String> = text.lines().skip(1).map(cell).collect();
        assert_eq!(instants.len(), 5);
        instants.dedup();
        (instants.len(), figures["merge_max_sectors"].clone())
    };
    assert_eq!(completed(&[]), (5, Value::Null));
    assert_eq!(completed(&["--merge", "64 KiB"]), (3, Value::from(128)));
    // The two requests of 16 sectors fit, the third does not.
    assert_eq!(completed(&["--merge=40 sectors"]), (4, Value::from(40)));
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&rows).unwrap();
}

#[test]
fn the_table_shows_what_was_merged() {
    let load = ["--drive", "hp-c2247", "--random", "--requests", "500"];
    let expected = "merged          sequential requests, up to 128 sectors\n";
    for verb in [
        ["simulate", "--policy", "sptf"],
        ["compare", "--policies", "fcfs,sptf"],
    ] {
        let text = stdout(&[&verb[..], &load, &["--merge", "64 KiB"]].concat());
        assert_narrow(&text);
        assert!(text.contains(expected), "{text}");
        let text = stdout(&[&verb[..], &load].concat());
        assert!(!text.contains("merged"), "{text}");
    }
}

/// All requests have 16 sectors, so two need 32.
#[test]
fn a_limit_below_two_requests_merges_nothing() {
    let figures = |flags: &[&str]| {
        let load = [
            "simulate", "--json", "--drive", "hp-c2247", "--policy", "sptf",
        ];
        let load = [
            &load[..],
            &[
                "--workload",
                "closed(clients=20) sequential(share=70%) uniform",
            ],
            &["--requests", "2000"],
            flags,
        ];
        let mut figures = json(&load.concat());
        let object = figures.as_object_mut().expect("an object");
        object.retain(|key, _| !key.contains("wall") && key != "merge_max_sectors");
        figures
    };
    assert_eq!(figures(&["--merge", "31 sectors"]), figures(&[]));
    assert_ne!(figures(&["--merge", "32 sectors"]), figures(&[]));
}
