//! docs/specification.md lists exactly the keys that the reader knows in zones and seek curves; its
//! other tables are generated.
//!
//! The oracle is the reader itself: its error about an unknown key lists all the keys that it knows
//! in that table.

use diskarm_core::geometry::Layout;
use diskarm_core::spec;
use diskarm_core::units::SectorCount;

const PAGE: &str = include_str!("../../../docs/specification.md");

/// A small drive with every table.
const GOOD: &str = include_str!("spec/good.toml");

const ZONE: &str = "[[geometry.zones]]\n";
const TWO_PIECE: &str = "[mechanics.seek]\nform = \"two-piece\"\n";
const POINTS: &str = "[mechanics.write_seek]\n";
const THREE_POINT: &str = "[mechanics.seek]\nform = \"three-point\"\n";

/// A heading of the page, and a passage of [`GOOD`] with what replaces it: the head of the table.
const TABLES: [(&str, &str, &str); 4] = [
    ("`[[geometry.zones]]`", ZONE, ZONE),
    (
        "`[mechanics.seek]` of form `two-piece`",
        TWO_PIECE,
        TWO_PIECE,
    ),
    ("`[mechanics.seek]` of form `table`", POINTS, POINTS),
    (
        "`[mechanics.seek]` of form `three-point`",
        TWO_PIECE,
        THREE_POINT,
    ),
];

/// Returns the keys that the reader knows in a table.
fn known_keys(from: &str, to: &str) -> Vec<String> {
    let text = GOOD.replacen(from, &format!("{to}zzzzzzzzzzzz = 1\n"), 1);
    let error = spec::parse(&text, "x.toml").expect_err("an unknown key");
    let keys = error
        .expected
        .strip_prefix("a known key: ")
        .unwrap_or_else(|| panic!("{to}: {error}"));
    keys.split(", ").map(str::to_owned).collect()
}

/// Returns the keys that a section of the page lists.
fn listed_keys(heading: &str) -> Vec<String> {
    let section = PAGE
        .split("\n## ")
        .find_map(|section| section.strip_prefix(heading));
    let lines = section.expect(heading).lines();
    let keys = lines.filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    keys.map(str::to_owned).collect()
}

#[test]
fn the_page_lists_exactly_the_known_keys() {
    for (heading, from, to) in TABLES {
        let (mut listed, mut known) = (listed_keys(heading), known_keys(from, to));
        listed.sort();
        known.sort();
        assert_eq!(listed, known, "{heading}");
    }
}

#[test]
fn the_example_is_a_valid_drive() {
    let example = PAGE
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let spec = spec::parse(example.expect("an example"), "minimal.toml")
        .unwrap_or_else(|error| panic!("{error}"));
    let layout = Layout::new(&spec.geometry).unwrap_or_else(|error| panic!("{error}"));
    // (2 * 600 - 1) tracks of 100 sectors and (2 * 400 - 1) of 80.
    assert_eq!(layout.mapped_sectors(), SectorCount(183_820));
    assert_eq!(layout.sectors(), SectorCount(183_800));
}
