//! Finds files that are too long, have meaningless names or are never compiled. Also finds pages
//! missing from the table of contents of the book, and links out of the book.
//!
//! `make links` checks the targets of all other links.

use super::tree::{File, Tree};
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "files",
    summary: "code files have at most 700 lines, meaningful names, and a `mod` line",
    run,
};

pub const BOOK: Check = Check {
    name: "book",
    summary: "the table of contents lists every page, and no link leaves the book",
    run: book,
};

const MAX_LINES: usize = 700;

/// Extensions of code; other files, such as documents, may have any length.
const CODE: &[&str] = &["rs", "py", "sh", "js"];

/// Meaningless names, under which unrelated things accumulate.
const MEANINGLESS_NAMES: &[&str] = &["util", "utils", "common", "misc", "helper", "helpers"];

/// Folders in which each file is a crate of its own.
const ROOTS: &[&str] = &["bin", "tests", "benches", "examples", "fuzz_targets"];

fn run(tree: &Tree) -> Vec<Finding> {
    let of_file = |file| {
        let messages = [too_long(file), meaningless_name(file), orphan(tree, file)];
        let messages = messages.into_iter().flatten();
        messages.map(|message| Finding::new(&file.path, 1, message))
    };
    tree.files().flat_map(of_file).collect()
}

fn book(tree: &Tree) -> Vec<Finding> {
    const CONTENTS: &str = "docs/SUMMARY.md";
    let contents = tree.file(CONTENTS).map_or("", |file| &file.text);
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.extension() == "md") {
        let Some(path) = file.path.strip_prefix("docs/") else {
            continue;
        };
        if file.path != CONTENTS && !contents.contains(&format!("]({path})")) {
            let message = format!("{CONTENTS} does not list it");
            findings.push(Finding::new(&file.path, 1, message));
        }
        let outside = format!("]({}", "../".repeat(file.path.matches('/').count()));
        for (number, _) in file.lines().filter(|(_, line)| line.contains(&outside)) {
            let message = "a link to a file outside the book does not work";
            findings.push(Finding::new(&file.path, number, message));
        }
    }
    findings
}

fn too_long(file: &File) -> Option<String> {
    let lines = file.lines().count();
    let is_long = CODE.contains(&file.extension()) && lines > MAX_LINES;
    is_long.then(|| format!("{lines} lines, over {MAX_LINES}: split the file by topic"))
}

fn meaningless_name(file: &File) -> Option<String> {
    let mut stems = file
        .path
        .split('/')
        .filter_map(|part| part.split('.').next());
    let name = stems.find(|stem| MEANINGLESS_NAMES.contains(stem))?;
    Some(format!(
        "`{name}` is a meaningless name: name the file after its topic"
    ))
}

/// Returns a message for a Rust file that is not a crate root if no `mod` line names it.
fn orphan(tree: &Tree, file: &File) -> Option<String> {
    let names = file.path.strip_suffix(".rs")?;
    let (folder, name) = names
        .trim_end_matches("/mod")
        .rsplit_once('/')
        .unwrap_or(("", names));
    let parent = folder.rsplit('/').next().unwrap_or_default();
    if matches!(name, "lib" | "main" | "build") || ROOTS.contains(&parent) && names.ends_with(name)
    {
        return None;
    }
    let line = format!("mod {name};");
    let is_parent = |other: &File| {
        let other = other.path.strip_suffix(".rs").unwrap_or_default();
        other == folder || other.rsplit_once('/').is_some_and(|(dir, _)| dir == folder)
    };
    let is_named = |other: &File| other.lines().any(|(_, text)| text.trim().ends_with(&line));
    let is_found = tree
        .files()
        .any(|other| is_parent(other) && is_named(other));
    (!is_found).then(|| "no `mod` line names this file".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let findings = run(&Tree::new(files)).into_iter();
        findings.map(|finding| finding.path).collect()
    }

    #[test]
    fn long_files_of_code_are_found() {
        let count = |path, lines| found(&[(path, "\n".repeat(lines).as_str())]).len();
        assert_eq!([count("a/src/lib.rs", 701), count("a.py", 701)], [1, 1]);
        assert_eq!(
            [count("a/src/lib.rs", 700), count("drive.toml", 701)],
            [0, 0]
        );
    }

    #[test]
    fn meaningless_names_are_found() {
        let tree = [("helpers/x.py", ""), ("misc.md", ""), ("utility.md", "")];
        assert_eq!(found(&tree), ["helpers/x.py", "misc.md"]);
    }

    #[test]
    fn files_without_a_mod_line_are_found() {
        let tree = [
            ("p/src/lib.rs", "mod a;\n"),
            ("p/src/a.rs", "// mod b.\n"),
            ("p/src/a/b.rs", ""),
            ("p/tests/it/parts.rs", ""),
            ("stray.rs", ""),
        ];
        assert_eq!(
            found(&tree),
            ["p/src/a/b.rs", "p/tests/it/parts.rs", "stray.rs"]
        );
    }

    #[test]
    fn roots_and_their_modules_are_fine() {
        let tree = [
            ("p/build.rs", ""),
            ("p/src/main.rs", "mod a;\npub mod z;\n"),
            ("p/src/a.rs", "mod b;\n"),
            ("p/src/a/b.rs", ""),
            ("p/src/z/mod.rs", "mod f;\n"),
            ("p/src/z/f.rs", ""),
            ("p/tests/it.rs", "mod read;\n"),
            ("p/tests/read/mod.rs", ""),
            ("p/examples/x/main.rs", "mod page;\n"),
            ("p/examples/x/page.rs", ""),
            ("fuzz/fuzz_targets/t.rs", ""),
        ];
        assert_eq!(found(&tree), [""; 0]);
    }
    #[test]
    fn pages_missing_from_the_contents_and_links_out_of_the_book_are_found() {
        let tree = [
            ("docs/a/page.md", "[x](../b.md#y)\n\n[z](../../README.md)\n"),
            ("docs/SUMMARY.md", "- [A](a/page.md)\n"),
            ("docs/c.md", "[README](../README.md)\n"),
            ("docs/c.svg", ""),
            ("README.md", "[c](docs/c.md)"),
        ];
        let findings = book(&Tree::new(&tree)).into_iter();
        let places: Vec<_> = findings
            .map(|finding| (finding.path, finding.line))
            .collect();
        let expected = [("docs/a/page.md", 3), ("docs/c.md", 1), ("docs/c.md", 1)];
        assert_eq!(places, expected.map(|(path, line)| (path.to_owned(), line)));
    }
}
