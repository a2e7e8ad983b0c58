//! Lines of more columns than a reader has beside a diff.

use super::tree::{File, Tree};
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "line-length",
    summary: "lines of code and prose have at most 100 columns",
    run,
};

const MAX_COLUMNS: usize = 100;

/// Kinds of files that people write line by line; results and records are as wide as they are.
const EXTENSIONS: &[&str] = &[
    "rs", "toml", "md", "py", "pyi", "sh", "yml", "yaml", "html", "js",
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| is_written_by_hand(file)) {
        for (number, line) in file.lines() {
            let is_table_row = file.extension() == "md" && line.trim_start().starts_with('|');
            let columns = columns_beside_urls(line);
            if columns > MAX_COLUMNS && !is_table_row {
                let message = format!("{columns} columns, at most {MAX_COLUMNS}");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

fn is_written_by_hand(file: &File) -> bool {
    EXTENSIONS.contains(&file.extension())
        || file.name() == "Makefile"
        || file.path.starts_with(".ci/")
}

/// Columns without the words that hold a URL: nobody can break one.
fn columns_beside_urls(line: &str) -> usize {
    let urls = line.split_whitespace().filter(|word| word.contains("://"));
    line.chars().count() - urls.map(|word| word.chars().count()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, line: &str) -> usize {
        run(&Tree::of(&[(path, line)])).len()
    }

    #[test]
    fn bad() {
        let line = format!("// {}", "x".repeat(98));
        for path in ["a.rs", "a.toml", "a.md", "Makefile", ".ci/run"] {
            assert_eq!(found(path, &line), 1, "{path}");
        }
        assert_eq!(found("a.toml", &format!("{line} https://example.org")), 1);
    }

    #[test]
    fn good() {
        // 100 characters, of which some take two bytes.
        assert_eq!(found("a.rs", &format!("// {}", "é".repeat(97))), 0);
        let wide = "x".repeat(120);
        assert_eq!(found("a.md", &format!("| a | {wide} |")), 0);
        assert_eq!(found("a.csv", &wide), 0);
        assert_eq!(
            found(
                "a.toml",
                &format!("source = \"https://example.org/{wide}\"")
            ),
            0
        );
    }
}
