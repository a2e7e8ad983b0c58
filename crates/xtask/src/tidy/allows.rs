//! Lints that were silenced instead of heeded.

use super::tokens::attributes;
use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "allows",
    summary: "no lint is silenced, in code or in a manifest",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let message = "a silenced lint: heed it";
    for (file, rust) in tree.rust() {
        for attribute in attributes(rust.tokens.clone()) {
            if attribute.is_any(&["allow", "expect"]) {
                findings.push(Finding::new(&file.path, attribute.line, message));
            }
        }
    }
    for file in tree.files().filter(|file| file.name() == "Cargo.toml") {
        for (number, line) in file.lines().filter(|(_, line)| line.contains("\"allow\"")) {
            let message = format!("{message}: {}", line.trim());
            findings.push(Finding::new(&file.path, number, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let findings = run(&Tree::of(&[(path, text)]));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn bad() {
        assert_eq!(
            found(
                "a.rs",
                "#![allow(dead_code)]\n#[allow(unused)]\nfn f() {}\n"
            ),
            [1, 2]
        );
        assert_eq!(
            found("a.rs", "fn f() {\n#[expect(unused)]\nlet x = 1; }\n"),
            [2]
        );
        assert_eq!(
            found("a.rs", "#[cfg_attr(test, allow(unused))]\nfn f() {}\n"),
            [1]
        );
        assert_eq!(
            found(
                "Cargo.toml",
                "[lints.clippy]\nall = { level = \"allow\" }\n"
            ),
            [2]
        );
    }

    #[test]
    fn good() {
        assert_eq!(
            found(
                "a.rs",
                "#[should_panic(expected = \"allow\")]\nfn allow() {}\n"
            ),
            [0; 0]
        );
        assert_eq!(
            found("a.rs", "fn f() { x.expect(\"allow(y)\"); }\n"),
            [0; 0]
        );
        assert_eq!(
            found("Cargo.toml", "[lints.clippy]\nall = \"warn\"\n"),
            [0; 0]
        );
    }
}
