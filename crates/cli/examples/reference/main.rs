//! Generates the reference pages of the book from the program's own tables:
//!
//! ```sh
//! cargo run --example reference
//! ```
//!
//! Each page is a function and a line in [`PAGES`].

mod lists;
mod markdown;
mod specification;

use std::path::PathBuf;
use std::process::ExitCode;

/// The folder of the pages.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");

/// Generates the text of a page.
type Make = fn() -> String;

/// One line per page: its file and the function that generates it.
const PAGES: &[(&str, Make)] = &[
    ("policies.md", lists::policies),
    ("../specification.md", specification::page),
    ("workloads.md", lists::workloads),
    ("devices.md", lists::devices),
    ("drives.md", lists::drives),
    ("traces.md", lists::traces),
    ("measures.md", lists::measures),
    ("checks.md", lists::checks),
    ("studies.md", lists::studies),
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
}
