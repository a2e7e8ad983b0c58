//! Paths that exist on one machine only.

use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "machine-paths",
    summary: "no file names a path of somebody's machine",
    run,
};

/// Without their first slash, or this file would find itself.
const FOLDERS: &[&str] = &["home/", "root/", "work/", "tmp/"];

/// Its machine is one that it sets up itself.
const SETS_UP_MACHINES: &str = ".ci/";

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        if file.path.starts_with(SETS_UP_MACHINES) {
            continue;
        }
        for (number, line) in file.lines() {
            for folder in FOLDERS.iter().filter(|folder| has_path(line, folder)) {
                let message = format!(
                    "`/{folder}` exists on one machine: take a path from the workspace, an \
                     argument or `std::env::temp_dir`"
                );
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

/// Whether an absolute path that begins with `folder` stands in `line`; one that goes on from
/// another folder, a variable or a host is none.
fn has_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let Some(before) = line[..start].strip_suffix('/') else {
            return false;
        };
        let goes_on = |last: char| last.is_alphanumeric() || "._-~/})*".contains(last);
        !before.chars().next_back().is_some_and(goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        run(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn bad() {
        for folder in FOLDERS {
            assert_eq!(
                found("a.rs", &format!("let x = \"/{folder}x\";")),
                1,
                "{folder}"
            );
            assert_eq!(found("a.md", &format!("/{folder}x")), 1, "{folder}");
            assert_eq!(
                found("Makefile", &format!("export X=/{folder}x")),
                1,
                "{folder}"
            );
        }
    }

    #[test]
    fn good() {
        for folder in FOLDERS {
            assert_eq!(found(".ci/run", &format!("/{folder}x")), 0, "{folder}");
            assert_eq!(
                found("a.md", &format!("https://x.org/{folder}x ../{folder}x")),
                0
            );
            assert_eq!(
                found("a.sh", &format!("${{X}}/{folder}x $X/{folder}x {folder}x")),
                0
            );
        }
    }
}
