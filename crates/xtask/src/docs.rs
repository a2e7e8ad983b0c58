//! `cargo xtask docs [PAGE]`: generates pages of the book. All numbers are the output of the shown
//! commands with `--json`, or come from data files next to the generators.

mod extraction;
mod papers;
mod validation;

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::{Error, file_error, program};
pub use validation::DRIVES;

pub const PAGES: &str = "\
[PAGE]
  validation             docs/validation.md from data/validation (the default, with the reference)
  reference              docs/reference, from the tables of the program
  papers                 docs/papers: runs every study in full (needs ../shared/traces; takes hours)
  extraction [DRIVE...]  docs/extraction.md: measures all drives (prints only DRIVE...)";

pub fn run(arguments: &[String]) -> Result<(), Error> {
    let root = crate::root();
    let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let written = match names[..] {
        [] => validation::write(&root).and_then(|()| reference(&root)),
        ["validation"] => validation::write(&root),
        ["reference"] => reference(&root),
        ["papers"] => papers::write(&root),
        ["extraction", ..] => extraction::write(&root, &arguments[1..]),
        _ => return Err(Error::InvalidArguments),
    };
    Ok(written?)
}

fn reference(root: &Path) -> Result<(), String> {
    let package = ["run", "--quiet", "--package", "diskarm"];
    let example = ["--example", "reference"];
    match program::cargo(root).args(package).args(example).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the example `reference`: {status}")),
        Err(error) => Err(format!("cargo: {error}")),
    }
}

/// Returns a Markdown table with the headings `head`, separated by ` | `. The first `texts` columns
/// are left-aligned text, the others right-aligned numbers.
pub fn table(texts: usize, head: &str, rows: &[Vec<String>]) -> String {
    let columns = head.split(" | ").count();
    let aligned = (0..columns).map(|column| if column < texts { "---" } else { "---:" });
    let rules = aligned.collect::<Vec<_>>().join(" | ");
    let mut table = format!("| {head} |\n| {rules} |\n");
    for row in rows {
        assert_eq!(row.len(), columns, "the number of cells of {row:?}");
        table += &format!("| {} |\n", row.join(" | "));
    }
    table
}

/// Reads the tables `[[key]]` of a data file that has no other tables.
fn entries<T: DeserializeOwned>(name: &str, key: &str, text: &str) -> Result<Vec<T>, String> {
    let parsed = toml::from_str::<BTreeMap<String, Vec<T>>>(text);
    let mut tables = parsed.map_err(|error| file_error(name, error))?;
    let found = tables.remove(key).filter(|_| tables.is_empty());
    found.ok_or_else(|| file_error(name, format!("expected tables [[{key}]] and no others")))
}

pub const MAX_COLUMNS: usize = 100;

pub fn fill(text: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_texts_and_numbers() {
        let rows = [vec!["x".to_owned(), "1".to_owned()]];
        let expected = "| a | b |\n| --- | ---: |\n| x | 1 |\n";
        assert_eq!(table(1, "a | b", &rows), expected);
    }

    #[test]
    fn prose_is_wrapped() {
        let ab = ["ab"; 33].join(" ");
        let text = format!("{ab}\nc d");
        assert_eq!(fill(&text, MAX_COLUMNS), format!("{ab} c\nd"));
        assert_eq!(fill("a\n b", MAX_COLUMNS), "a b");
    }
}
