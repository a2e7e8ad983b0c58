//! The style checks that rustfmt, clippy and cargo do not have.
//!
//! A check is one file below this module and one line of [`CHECKS`]. It takes the tracked files
//! and returns findings; it reads and changes nothing itself, so its tests need no disk.

mod bare_quantities;
mod book;
mod crate_layers;
mod files;
mod lines;
mod markdown;
mod module_layers;
mod policy_docs;
mod tree;

use std::process::ExitCode;

use tree::Tree;

/// One rule for the tree.
struct Check {
    /// Its name in a finding.
    name: &'static str,
    /// One line for the list of checks.
    summary: &'static str,
    /// Returns everything that breaks it.
    run: fn(&Tree) -> Vec<Finding>,
}

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// The file, from the root of the workspace.
    path: String,
    line: usize,
    /// What is wrong there and what to do.
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

/// One line per check.
const CHECKS: &[Check] = &[
    lines::CHECK,
    files::CHECK,
    policy_docs::CHECK,
    bare_quantities::CHECK,
    book::CHECK,
    crate_layers::CHECK,
    module_layers::CHECK,
];

/// `cargo xtask tidy`: succeeds when there are no findings.
pub fn run(arguments: &[String]) -> ExitCode {
    match arguments {
        [] => {}
        [flag] if flag == "--list" => {
            for check in CHECKS {
                println!("{:<16} {}", check.name, check.summary);
            }
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("usage: cargo xtask tidy [--list]");
            return ExitCode::from(crate::USAGE);
        }
    }
    let tree = match Tree::tracked() {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: {error}");
            return ExitCode::FAILURE;
        }
    };
    let findings = report(&tree);
    for line in &findings {
        println!("{line}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files, no findings", tree.len());
            ExitCode::SUCCESS
        }
        count => {
            println!("tidy: {} files, findings: {count}", tree.len());
            ExitCode::FAILURE
        }
    }
}

/// Every finding of every check as `path:line: check: message`, sorted by place.
fn report(tree: &Tree) -> Vec<String> {
    let mut findings: Vec<(Finding, &str)> = CHECKS
        .iter()
        .flat_map(|check| {
            (check.run)(tree)
                .into_iter()
                .map(|finding| (finding, check.name))
        })
        .collect();
    findings.sort();
    findings
        .into_iter()
        .map(
            |(
                Finding {
                    path,
                    line,
                    message,
                },
                check,
            )| format!("{path}:{line}: {check}: {message}"),
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_sorted_by_place() {
        let long = format!(
            "//! Fine.\n{}\n// {}\n",
            "/".repeat(101),
            concat!("FIX", "ME")
        );
        let tree = Tree::of(&[("b/src/lib.rs", &long), ("a/src/x.rs", "")]);
        let places: Vec<String> = report(&tree)
            .iter()
            .map(|line| line.splitn(4, ':').take(3).collect())
            .filter(|place: &String| !place.starts_with("crates/"))
            .collect();
        let expected = [
            "a/src/x.rs1 files",
            "b/src/lib.rs2 lines",
            "b/src/lib.rs3 lines",
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn check_names_are_unique() {
        let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }
}
