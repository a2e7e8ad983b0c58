//! `diskarm compare`: every policy has the figures of `simulate`.

use serde_json::Value;

use crate::errors::error;
use crate::{assert_narrow, json, printed};

const LOAD: [&str; 8] = [
    "--drive",
    "hp-c2247",
    "--random",
    "--requests",
    "2000",
    "--outstanding",
    "20",
    "--seed=7",
];

#[test]
fn every_policy_has_the_figures_that_simulate_gives() {
    let policies = "fcfs, clook(by=map),sptf";
    let compared = json(&[&["compare", "--json", "--policies", policies], &LOAD[..]].concat());
    let rows = compared.as_array().expect("a row a policy");
    assert_eq!(rows.len(), 3);
    for (row, policy) in rows.iter().zip(["fcfs", "clook(by=map)", "sptf"]) {
        let alone = json(&[&["simulate", "--json", "--policy", policy], &LOAD[..]].concat());
        for (name, value) in alone.as_object().expect("an object") {
            if !name.contains("wall") {
                assert_eq!(&row[name], value, "{policy}: {name}");
            }
        }
        assert_eq!(row["is_saturated"], Value::Bool(false));
    }
}

#[test]
fn policies_that_do_not_keep_up_are_marked() {
    let arguments = [
        "compare",
        "--drive",
        "hp-c2247",
        "--random",
        "--rate=200/s",
        "--requests",
        "5000",
        "--policies",
        "fcfs,clook( by = 1000000000 )",
    ];
    let text = printed(&arguments);
    assert_narrow(&text);
    let line = |begin: &str| {
        text.lines()
            .find(|line| line.starts_with(begin))
            .expect("a line")
    };
    assert!(line("fcfs ").ends_with(" *"), "{text}");
    // Too long for its column: the figures are below it.
    assert_eq!(line("clook"), "clook( by = 1000000000 )");
    assert!(text.contains("\n* requests arrive faster"), "{text}");
}

#[test]
fn different_numbers_of_requests_are_shown() {
    let table = |drive| {
        let load = ["--random", "--rate=50/s", "--requests=2000"];
        let arguments = ["compare", "--policies=fcfs,sptf", "--drive", drive];
        printed(&[&arguments[..], &load].concat())
    };
    // The longer queue of fcfs loses more requests when the drive cannot be reached.
    let text = table("faults(outage=\"10s to 12s\", drive=hp-c2247)");
    assert_narrow(&text);
    let (heading, rows) = text.split_once("policy").expect("a table");
    assert!(!heading.contains("\nrequests "), "{text}");
    let rows: Vec<Vec<&str>> = rows
        .lines()
        .map(|line| {
            line.split_whitespace()
                .filter(|cell| *cell != "*")
                .collect()
        })
        .collect();
    assert!(rows[0].ends_with(&["requests", "failed"]), "{text}");
    let [fcfs, sptf] = [1, 2].map(|row: usize| {
        let counts = rows[row].iter().rev().take(2);
        let counts = counts.map(|cell| cell.parse::<u64>().expect("a number"));
        let counts: Vec<u64> = counts.collect();
        assert_eq!(counts[0] + counts[1], 2000, "{text}");
        counts[1]
    });
    assert!(fcfs < sptf && sptf < 2000, "{text}");
    let same = table("hp-c2247");
    assert!(same.contains("\nrequests ") && !same.contains(" requests\n"));
    assert!(!same.contains("failed"));
    // Bad blocks cost every policy the same requests.
    let bad = table("faults(medium=\"10% after 1 retry\", drive=hp-c2247)");
    assert!(
        bad.contains("\nrequests ") && bad.contains(" failed\n"),
        "{bad}"
    );
}

#[test]
fn what_cannot_be_compared() {
    let compare = |policies, load: &[&str]| {
        error(
            &[
                &["compare", "--drive", "hp-c2247", "--policies", policies],
                load,
            ]
            .concat(),
        )
    };
    let message = compare("fcfs,,sptf", &["--random"]);
    assert!(
        message.starts_with("--policies: found \"\", expected one of "),
        "{message}"
    );
    let message = compare("fcfs", &["--trace", "-"]);
    let expected = "--trace: found \"-\", expected a file, as every policy reads it anew";
    assert_eq!(message, expected);
}
