//! Style as a test: what the eye should not have to look for in a review.
//!
//! A check is one file below this module and one line of [`CHECKS`]. It is handed the tracked
//! files and hands back findings; it reads and changes nothing itself, so that its tests need
//! no disk.

mod allows;
mod bare_quantities;
mod book;
mod core_purity;
mod crate_floors;
mod file_length;
mod function_length;
mod ignored_tests;
mod leftovers;
mod line_length;
mod links;
mod machine_paths;
mod manifest;
mod markdown;
mod module_floors;
mod orphans;
mod policy_docs;
mod room_names;
mod syntax;
mod tokens;
mod tree;

use std::process::ExitCode;

use tree::Tree;

/// One thing to hold the tree to.
struct Check {
    /// Its name in a finding.
    name: &'static str,
    /// One line for the list of checks.
    summary: &'static str,
    /// Everything in the tree that is against it.
    run: fn(&Tree) -> Vec<Finding>,
}

/// A place that is against a check.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// The file, from the root of the workspace.
    path: String,
    /// Line, from 1.
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

/// One line a check.
const CHECKS: &[Check] = &[
    syntax::CHECK,
    line_length::CHECK,
    function_length::CHECK,
    file_length::CHECK,
    orphans::CHECK,
    room_names::CHECK,
    policy_docs::CHECK,
    bare_quantities::CHECK,
    leftovers::CHECK,
    ignored_tests::CHECK,
    allows::CHECK,
    machine_paths::CHECK,
    links::CHECK,
    book::CHECK,
    crate_floors::CHECK,
    module_floors::CHECK,
    core_purity::CHECK,
];

/// `cargo xtask tidy`: success when there is nothing to find.
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

/// Every finding of every check as `path:line: check: message`, in the order of the places.
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
    fn findings_come_in_the_order_of_their_places_whatever_the_check() {
        let long = format!("//! Fine.\n{}\n#[ignore]\nfn f() {{}}\n", "/".repeat(101));
        let tree = Tree::of(&[
            ("b/Cargo.toml", "[package]\nname = \"diskarm\"\n"),
            ("b/src/lib.rs", &long),
            ("a/src/lib.rs", ""),
        ]);
        let places: Vec<String> = report(&tree)
            .iter()
            .map(|line| line.splitn(4, ':').take(3).collect())
            .collect();
        assert_eq!(
            places,
            [
                "a/src/lib.rs1 orphans",
                "b/src/lib.rs2 line-length",
                "b/src/lib.rs3 ignored-tests"
            ]
        );
    }

    #[test]
    fn no_two_checks_share_a_name() {
        let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }
}
