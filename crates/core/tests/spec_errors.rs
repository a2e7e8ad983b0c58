//! Each thing that can be wrong with a specification, one at a time, with the exact line that
//! reports it.

use diskarm_core::spec::{self, Document};

/// A small drive that has every kind of field; what it means is checked in `spec_values`.
const GOOD: &str = include_str!("spec/good.toml");

/// Pieces of it, each changed into something wrong, and the errors that this must give.
const BAD: &str = include_str!("spec/bad.txt");

/// The lines of a paragraph that bear a mark, without it.
fn marked(paragraph: &str, mark: &str) -> Vec<String> {
    let lines = paragraph.lines();
    let marked = lines.filter_map(|line| line.strip_prefix(mark)?.strip_prefix(' '));
    marked.map(str::to_owned).collect()
}

#[test]
fn each_error_names_file_line_field_value_and_expectation() {
    let whole_lines = |lines: Vec<String>| {
        lines
            .iter()
            .fold("\n".to_owned(), |text, line| text + line + "\n")
    };
    let good = format!("\n{GOOD}");
    let mut wrong = String::new();
    let mut tried = 0;
    for paragraph in BAD.split("\n\n").skip(1) {
        let from = whole_lines(marked(paragraph, "-"));
        assert_eq!(good.matches(&from).count(), 1, "not one passage: {from}");
        let text = good.replace(&from, &whole_lines(marked(paragraph, "+")));
        let expected = format!("x.toml:{}", marked(paragraph, "!").join(" "));
        let found = match spec::parse(&text[1..], "x.toml") {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        };
        if found != expected {
            wrong += &format!("{paragraph}\nfound    {found}\nexpected {expected}\n\n");
        }
        tried += 1;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(tried > 60, "only {tried} paragraphs were read");
}

#[test]
fn a_later_stage_reports_with_the_line_of_the_field() {
    let document = Document::read(GOOD, "x.toml").unwrap_or_else(|error| panic!("{error}"));
    let line_of = |field| document.error_at(field, String::new(), String::new()).line;
    let line_with = |text: &str| 1 + GOOD.lines().position(|line| line == text).unwrap_or(0);
    assert_eq!(line_of("geometry.zones[1].spares"), line_with("spares = 4"));
    assert_eq!(line_of("geometry.sectors"), line_with("sectors = 1_000"));
    // A field that was left out: the line of the table it would stand in.
    assert_eq!(
        line_of("geometry.zones[0].slips"),
        line_with("[[geometry.zones]]")
    );
    assert_eq!(line_of("nowhere.at.all"), 1);
    let error = document.error_at("geometry.sectors", "1000".into(), "1024".into());
    let line = line_with("sectors = 1_000");
    assert_eq!(
        error.to_string(),
        format!("x.toml:{line}: geometry.sectors: found 1000, expected 1024")
    );
}
