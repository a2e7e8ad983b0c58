//! The style checks that rustfmt, clippy and cargo do not have.
//!
//! A check is an entry of [`CHECKS`]. It takes the tracked files and returns findings. It does not
//! read or change files itself, so its tests need no disk.

mod bare_quantities;
mod files;
mod layers;
mod lines;
mod policy_docs;
mod tree;

use crate::Error;
use tree::Tree;

struct Check {
    name: &'static str,
    /// One line for the list of checks.
    summary: &'static str,
    run: fn(&Tree) -> Vec<Finding>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// The path of the file, relative to the root of the workspace.
    path: String,
    line: usize,
    /// The problem, and how to fix it.
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

const CHECKS: &[Check] = &[
    lines::CHECK,
    files::CHECK,
    policy_docs::CHECK,
    bare_quantities::CHECK,
    files::BOOK,
    layers::CRATES,
    layers::MODULES,
];

/// `cargo xtask tidy`: succeeds when there are no findings.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    match arguments {
        [] => {}
        [flag] if flag == "--list" => {
            for check in CHECKS {
                println!("{:<16} {}", check.name, check.summary);
            }
            return Ok(());
        }
        _ => return Err(Error::InvalidArguments),
    }
    let tree = Tree::tracked()?;
    let findings = report(&tree);
    for line in &findings {
        println!("{line}");
    }
    let files = tree.files().count();
    match findings.len() {
        0 => {
            println!("tidy: {files} files, no findings");
            Ok(())
        }
        count => Err(format!("{files} files, findings: {count}").into()),
    }
}

/// Returns every finding of every check as `path:line: check: message`, sorted by location.
fn report(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for check in CHECKS {
        let found = (check.run)(tree).into_iter();
        findings.extend(found.map(|finding| (finding, check.name)));
    }
    findings.sort();
    let lines = findings
        .iter()
        .map(|(found, check)| format!("{}:{}: {check}: {}", found.path, found.line, found.message));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_sorted_by_location() {
        let long = "/".repeat(101);
        let long = format!("//! Fine.\n{long}\n// {}\n", concat!("FIX", "ME"));
        let tree = Tree::new(&[("b/src/lib.rs", &long), ("a/src/x.rs", "")]);
        let locations: Vec<String> = report(&tree)
            .iter()
            .map(|line| line.splitn(4, ':').take(3).collect())
            .filter(|location: &String| !location.starts_with("crates/"))
            .collect();
        let expected = [
            "a/src/x.rs1 files",
            "b/src/lib.rs2 lines",
            "b/src/lib.rs3 lines",
        ];
        assert_eq!(locations, expected);
    }

    #[test]
    fn check_names_are_unique() {
        let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }
}
