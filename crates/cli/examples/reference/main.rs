//! Generates the reference pages of the book from the program's own tables:
//!
//! ```sh
//! cargo run --example reference
//! ```
//!
//! A page is a function, and a line in [`PAGES`].

mod devices;
mod drives;
mod policies;
mod specification;
mod studies;
mod traces;
mod workloads;

use std::path::PathBuf;
use std::process::ExitCode;

/// The folder of the pages.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");

/// Generates the text of a page.
type Make = fn() -> String;

/// One line per page: its file, and the function that generates it.
const PAGES: &[(&str, Make)] = &[
    ("policies.md", policies::page),
    ("../specification.md", specification::page),
    ("workloads.md", workloads::page),
    ("devices.md", devices::page),
    ("drives.md", drives::page),
    ("traces.md", traces::page),
    ("measures.md", studies::measures),
    ("checks.md", studies::checks),
    ("studies.md", studies::list),
];

fn main() -> ExitCode {
    for (file, page) in PAGES {
        let path = PathBuf::from(FOLDER).join(file);
        if let Err(error) = std::fs::write(&path, page()) {
            eprintln!("error: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The beginning of every page.
fn head(title: &str, about: &str) -> String {
    format!(
        "# {title}\n\n<!-- made by cargo run --example reference from the program's tables -->\n\n\
         {about}\n\n"
    )
}

/// A table in Markdown.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = vec!["---".to_owned(); head.len()];
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let rows = rows.map(|row| {
        assert_eq!(row.len(), head.len(), "cells of {row:?}");
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        line(&cells)
    });
    line(&head) + &line(&rule) + &rows.collect::<String>()
}

/// Formats text as code.
fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Parameters and their meanings, in one cell.
fn parameters(all: &[(&str, &str)]) -> String {
    let each = all
        .iter()
        .map(|(written, meaning)| format!("`{written}`: {meaning}"));
    each.collect::<Vec<String>>().join("<br>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_what_the_tables_make() {
        for (file, page) in PAGES {
            let path = PathBuf::from(FOLDER).join(file);
            let found = std::fs::read_to_string(path).unwrap_or_default();
            assert!(
                found == page(),
                "docs/reference/{file} is not what the tables say: cargo run --example reference"
            );
        }
    }

    #[test]
    fn a_bar_does_not_end_a_cell() {
        let rows = [vec!["a|b".to_owned(), "c".to_owned()]].into_iter();
        let expected = "| x | y |\n| --- | --- |\n| a\\|b | c |\n";
        assert_eq!(table(&["x", "y"], rows), expected);
    }
}
