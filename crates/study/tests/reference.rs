//! docs/studies.md lists exactly the keys that the reader knows.
//!
//! The oracle is the reader itself: the error for an unknown key lists all known ones.

use diskarm_study::{Study, StudyOptions};

const PAGE: &str = include_str!("../../../docs/studies.md");

/// A study that has every table.
const GOOD: &str = r#"
[cell]
drive = "hp-c2247"
policy = "{policy}"
workload = "closed(clients={clients})"
requests = 10
[[axis]]
name = "policy"
values = ["fcfs", "sptf"]
[[axis]]
name = "clients"
values = [1, 2]
[[figure]]
name = "a"
title = "A"
x = "clients"
y = "response_ms_mean"
series = "policy"
[[map]]
name = "a"
title = "A"
x = "clients"
y = ["response_ms_mean"]
y_label = "Y"
y_most = 1
values = "V"
bounds = [1]
[[table]]
name = "a"
title = "A"
rows = "clients"
columns = "policy"
metric = "response_ms_mean"
"#;

/// A table that a measure of responses cannot have: only its keys matter here.
const DENSITY: &str = "[[density]]\nname = \"a\"\n";

/// A heading on the page, and the table in [`GOOD`] or [`DENSITY`] that it describes.
const TABLES: &[(&str, &str)] = &[
    ("The file", ""),
    ("`[cell]`", "[cell]\n"),
    ("`[[axis]]`", "[[axis]]\n"),
    ("`[[figure]]`", "[[figure]]\n"),
    ("`[[density]]`", DENSITY),
    ("`[[map]]`", "[[map]]\n"),
    ("`[[table]]`", "[[table]]\n"),
];

fn read(text: &str) -> Result<Study, String> {
    let text = format!("source = \"S\"\n{text}");
    Study::read("s", &text, "s.toml", StudyOptions::default()).map_err(|error| error.to_string())
}

/// Returns the keys in the first table below a heading of the page.
fn listed_keys(heading: &str) -> Vec<String> {
    let section = PAGE.split_once(&format!("\n## {heading}\n")).unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let keys = rows.map(|row| row.split('`').next().unwrap().to_owned());
    sort(keys)
}

fn sort(keys: impl Iterator<Item = String>) -> Vec<String> {
    let mut keys: Vec<String> = keys.collect();
    keys.sort();
    keys
}

/// Returns the keys that the reader knows in a table.
fn known_keys(table: &str) -> Vec<String> {
    let title = "title = \"T\"\n";
    let with_key = match table {
        "" => format!("zzzz = 1\n{title}{GOOD}"),
        DENSITY => format!("{title}{GOOD}{DENSITY}zzzz = 1\n"),
        table => title.to_owned() + &GOOD.replacen(table, &format!("{table}zzzz = 1\n"), 1),
    };
    let error = read(&with_key).unwrap_err();
    let lists = ["one of ", "a known key: "].map(|start| error.split_once(start));
    let all = lists
        .into_iter()
        .flatten()
        .next()
        .expect("a list of keys")
        .1;
    sort(all.split(", ").map(|key| key.trim_matches('"').to_owned()))
}

#[test]
fn the_page_lists_the_keys_of_every_table() {
    read(&format!("title = \"T\"\n{GOOD}")).unwrap();
    for (heading, table) in TABLES {
        assert_eq!(listed_keys(heading), known_keys(table), "{heading}");
    }
}
