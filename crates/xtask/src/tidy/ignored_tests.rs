//! Tests and documentation examples that look as if they ran.

use super::tokens::attributes;
use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "ignored-tests",
    summary: "no test and no documentation example is ignored",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        for attribute in attributes(rust.tokens.clone()) {
            if attribute.is_any(&["ignore"]) {
                let message = "an ignored test: let it run, or skip visibly, or delete it";
                findings.push(Finding::new(&file.path, attribute.line, message));
            }
        }
        for (number, line) in file.lines().filter(|(_, line)| is_ignored_example(line)) {
            let message = format!("an ignored example, `{}`: let it run", line.trim());
            findings.push(Finding::new(&file.path, number, message));
        }
    }
    findings
}

/// Whether `line` opens a documentation example that is not even compiled.
fn is_ignored_example(line: &str) -> bool {
    let line = line.trim_start();
    let doc = line
        .strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"));
    let fence = doc.and_then(|doc| doc.trim_start().strip_prefix("```"));
    fence.is_some_and(|words| words.contains("ignore"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let findings = run(&Tree::of(&[("a.rs", text)]));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn bad() {
        assert_eq!(found("#[test]\n#[ignore]\nfn f() {}\n"), [2]);
        assert_eq!(found("mod t {\n#[ignore = \"slow\"]\nfn f() {}\n}\n"), [2]);
        assert_eq!(found("#[cfg_attr(miri, ignore)]\nfn f() {}\n"), [1]);
        assert_eq!(
            found("/// ```rust,ignore\n/// f();\n/// ```\nfn f() {}\n"),
            [1]
        );
    }

    #[test]
    fn good() {
        assert_eq!(
            found("/// Does not #[ignore] it.\n/// ```\nfn ignore() {}\n"),
            [0; 0]
        );
        assert_eq!(found("const S: &str = \"#[ignore]\";\n"), [0; 0]);
    }
}
