//! docs/specification.md lists exactly what the reader knows.
//!
//! The oracle is the reader itself: an unknown key in a table makes it say all the keys that it
//! asked this table for, and a word that it does not know all the words of that key.

use std::collections::BTreeMap;

use diskarm_core::geometry::Layout;
use diskarm_core::spec;
use diskarm_core::text::InputError;
use diskarm_core::units::SectorCount;

const PAGE: &str = include_str!("../../../docs/specification.md");

/// A small drive that has every table.
const GOOD: &str = include_str!("spec/good.toml");

/// Unlike every key and every word.
const UNLIKE: &str = "zzzzzzzzzzzz";

const THREE_POINT: &str = "form = \"three-point\"\nsingle = \"1 ms\"\naverage = \"2 ms\"\n\
                           full = \"3 ms\"\n";

/// Heading on the page, and where its table begins in [`GOOD`]; a key goes behind it.
const TABLES: [(&str, &str); 15] = [
    ("The file", ""),
    ("`[source]`", "[source]\n"),
    ("`[geometry]`", "[geometry]\n"),
    ("`[geometry.grown_defects]`", "grown_defects = { "),
    ("`[[geometry.zones]]`", "[[geometry.zones]]\n"),
    ("`[mechanics]`", "[mechanics]\n"),
    (
        "`[mechanics.seek]` of form `two-piece`",
        "[mechanics.seek]\n",
    ),
    (
        "`[mechanics.seek]` of form `table`",
        "[mechanics.write_seek]\n",
    ),
    (
        "`[mechanics.seek]` of form `three-point`",
        "[three-point]\n",
    ),
    ("`[buffer]`", "[buffer]\n"),
    ("`[overheads]`", "[overheads]\n"),
    (
        "`[overheads.extra_write_disconnect]`",
        "[overheads.extra_write_disconnect]\n",
    ),
    ("`[overheads.write_start]`", "write_start = { "),
    ("`[bus]`", "[bus]\n"),
    ("`[queue]`", "[queue]\n"),
];

/// [`GOOD`], or with a three-point curve if the table asked for is that; and the place of the
/// table's first key.
fn text_and_place(table: &str) -> (String, usize) {
    let (text, table) = match table {
        "[three-point]\n" => {
            let start = GOOD.find("form = \"two-piece\"").expect("a seek curve");
            let end = GOOD
                .find("\n[mechanics.write_seek]")
                .expect("a second curve");
            let text = format!("{}{THREE_POINT}{}", &GOOD[..start], &GOOD[end..]);
            (text, "[mechanics.seek]\n")
        }
        _ => (GOOD.to_owned(), table),
    };
    let at = text.find(table).expect("a table of the good drive");
    let place = at + table.len();
    (text, place)
}

fn refusal(text: &str) -> InputError {
    match spec::parse(text, "x.toml") {
        Ok(_) => panic!("no error:\n{text}"),
        Err(error) => error,
    }
}

/// The keys that the reader knows in a table.
fn known_keys(table: &str) -> Vec<String> {
    let (mut text, place) = text_and_place(table);
    let end = if table.ends_with("{ ") { ", " } else { "\n" };
    text.insert_str(place, &format!("{UNLIKE} = 1{end}"));
    let error = refusal(&text);
    let keys = error.expected.strip_prefix("a known key: ");
    let keys = keys.unwrap_or_else(|| panic!("{table}: {error}"));
    keys.split(", ").map(str::to_owned).collect()
}

/// The rows of each section of the page: a key, and the cells beside it.
fn sections() -> BTreeMap<&'static str, Vec<(String, Vec<&'static str>)>> {
    let mut sections = BTreeMap::new();
    for section in PAGE.split("\n## ").skip(1) {
        let (heading, body) = section.split_once('\n').expect("a body");
        let rows = body.lines().filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.trim_end_matches('|').split(" |");
            let key = cells.next()?.trim_end_matches('`').to_owned();
            Some((key, cells.map(str::trim).collect()))
        });
        sections.insert(heading, rows.collect());
    }
    sections
}

#[test]
fn the_page_lists_exactly_the_keys_that_the_reader_knows() {
    let mut sections = sections();
    sections.remove("How values are written");
    assert_eq!(sections.remove("A minimal drive"), Some(Vec::new()));
    let mut tables = 1;
    for (heading, table) in TABLES {
        let rows = sections.remove(heading).expect(heading);
        let mut listed: Vec<String> = rows.iter().map(|(key, _)| key.clone()).collect();
        let mut known = known_keys(table);
        listed.sort();
        known.sort();
        assert_eq!(listed, known, "{heading}");
        assert!(rows.iter().all(|(_, cells)| cells.len() == 5), "{heading}");
        let is_table = |cells: &[&str]| cells[1].ends_with("table") || cells[1].ends_with("tables");
        tables += rows.iter().filter(|(_, cells)| is_table(cells)).count();
    }
    assert!(sections.is_empty(), "sections of no table: {sections:?}");
    // Each key that holds a table has a section; `seek` has three, the third for `write_seek`.
    assert_eq!(tables + 1, TABLES.len());
}

#[test]
fn the_page_lists_exactly_the_words_that_the_reader_knows() {
    let sections = sections();
    let mut tried = 0;
    for (heading, table) in TABLES {
        for (key, cells) in sections[heading]
            .iter()
            .filter(|(_, cells)| cells[0] == "word")
        {
            let (text, place) = text_and_place(table);
            let (before, behind) = text.split_at(place);
            // The table's own line for this key, if it has one, gives way.
            let (own, others) = behind.split_at(behind.find("\n[").unwrap_or(behind.len()));
            let own: Vec<&str> = own.lines().collect();
            let own = own
                .iter()
                .filter(|line| !line.starts_with(&format!("{key} = ")));
            let own: String = own.map(|line| format!("{line}\n")).collect();
            let error = refusal(&format!("{before}{key} = \"{UNLIKE}\"\n{own}{others}"));
            let words = error.expected.strip_prefix("one of ");
            let words = words.unwrap_or_else(|| panic!("{heading}: {error}"));
            assert_eq!(cells[1].replace('`', "\""), words, "{heading} {key}");
            tried += 1;
        }
    }
    assert_eq!(tried, 12);
}

#[test]
fn the_example_is_a_drive() {
    let example = PAGE
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let spec = spec::parse(example.expect("an example"), "minimal.toml");
    let spec = spec.unwrap_or_else(|error| panic!("{error}"));
    let layout = Layout::new(&spec.geometry).unwrap_or_else(|error| panic!("{error}"));
    // (2 * 600 - 1) tracks of 100 sectors and (2 * 400 - 1) of 80.
    assert_eq!(layout.mapped(), SectorCount(183_820));
    assert_eq!(layout.sectors(), SectorCount(183_800));
}
