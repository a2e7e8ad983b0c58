//! Checks lines that rustfmt does not change.

use super::tree::{File, Tree};
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "lines",
    summary: "no line is over 100 columns wide, notes unfinished work or has a local path",
    run,
};

const MAX_COLUMNS: usize = 100;

/// Extensions of files written by hand; results and records may have any width.
const HANDWRITTEN: &[&str] = &[
    "rs", "toml", "md", "py", "pyi", "sh", "yml", "yaml", "html", "js",
];

/// Notes of unfinished work, each split in two so that the check does not report this file.
const NOTES: &[&str] = &[
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
];

/// Folders that exist on one machine. The first slash is left out for the same reason.
const FOLDERS: &[&str] = &["home/", "root/", "work/", "tmp/"];

/// The script in this folder sets up the machine on which it runs.
const CI: &str = ".ci/";

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        for (number, line) in file.lines() {
            let messages = [too_wide(file, line), note(line), machine_path(file, line)];
            let messages = messages.into_iter().flatten();
            findings.extend(messages.map(|text| Finding::new(&file.path, number, text)));
        }
    }
    findings
}

fn too_wide(file: &File, line: &str) -> Option<String> {
    let is_handwritten = HANDWRITTEN.contains(&file.extension())
        || file.name() == "Makefile"
        || file.path.starts_with(CI);
    let is_table_row = file.extension() == "md" && line.trim_start().starts_with('|');
    // A URL cannot be broken.
    let urls = line.split_whitespace().filter(|word| word.contains("://"));
    let columns = line.chars().count() - urls.map(|word| word.chars().count()).sum::<usize>();
    let is_wide = is_handwritten && !is_table_row && columns > MAX_COLUMNS;
    is_wide.then(|| format!("{columns} columns, over {MAX_COLUMNS}: break the line"))
}

fn note(line: &str) -> Option<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = line.split(|letter| !is_part(letter));
    let note = words.find(|word| NOTES.contains(word))?;
    Some(format!("`{note}`: do it now or open an issue"))
}

/// Returns a message for an absolute path into one of [`FOLDERS`]. A path that follows a folder,
/// variable or host name is not absolute.
fn machine_path(file: &File, line: &str) -> Option<String> {
    let is_absolute = |start: usize| {
        let continues = |last: char| last.is_alphanumeric() || "._-~/})*".contains(last);
        let before = line[..start].strip_suffix('/');
        before.is_some_and(|before| !before.ends_with(continues))
    };
    let mut found = FOLDERS.iter().flat_map(|folder| line.match_indices(folder));
    let (_, folder) = found.find(|(start, _)| is_absolute(*start))?;
    let message = format!("`/{folder}` exists only on one machine: use a path from the workspace");
    (!file.path.starts_with(CI)).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, line: &str) -> usize {
        run(&Tree::new(&[(path, line)])).len()
    }

    #[test]
    fn wide_lines_are_found() {
        let line = format!("// {}", "x".repeat(98));
        for path in ["a.rs", "a.toml", "a.md", "Makefile", ".ci/run"] {
            assert_eq!(found(path, &line), 1, "{path}");
        }
        assert_eq!(found("a.toml", &format!("{line} https://example.org")), 1);
        // 100 characters, of which some take two bytes.
        assert_eq!(found("a.rs", &format!("// {}", "é".repeat(97))), 0);
        let wide = "x".repeat(120);
        assert_eq!(found("a.md", &format!("| a | {wide} |")), 0);
        assert_eq!(found("a.csv", &wide), 0);
        assert_eq!(
            found("a.toml", &format!("\"https://example.org/{wide}\"")),
            0
        );
    }

    #[test]
    fn notes_are_found() {
        for note in NOTES {
            assert_eq!(found("a.md", &format!("// {note}: more")), 1);
        }
        assert_eq!(
            found("a.sh", "mktemp name.XXXXXX; toDO; METHOD; // what to do!"),
            0
        );
    }

    #[test]
    fn local_paths_are_found() {
        for folder in FOLDERS {
            for line in [format!("\"/{folder}x\""), format!("export X=/{folder}x")] {
                assert_eq!(found("a.rs", &line), 1, "{line}");
                assert_eq!(found(".ci/run", &line), 0, "{line}");
            }
            let other = format!("https://x.org/{folder}x ../{folder}x ${{X}}/{folder}x {folder}x");
            assert_eq!(found("a.md", &other), 0);
        }
    }
}
