//! Checks the documentation of scheduling policies.

use syn::{Attribute, Expr, Item, Lit, Meta};

use super::tree::{Tree, is_test_only};
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "policy-docs",
    summary: "the module doc of every scheduling policy has the fixed headings, in order",
    run,
};

const POLICIES: &str = "crates/core/src/sched/";
const HEADINGS: &[&str] = &["What it does", "Origin", "Cost", "When it is bad"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.core() {
        if !file.path.starts_with(POLICIES) || !rust.items.items.iter().any(is_entry) {
            continue;
        }
        let found = headings(&rust.items.attrs);
        let mut remaining = found.iter();
        for wanted in HEADINGS {
            if !remaining.any(|heading| heading == wanted) {
                let order = HEADINGS.join(", ");
                let message = format!(
                    "the module doc lacks \"{wanted}\", or has it out of order; expected {order}"
                );
                findings.push(Finding::new(&file.path, 1, message));
                break;
            }
        }
    }
    findings
}

/// Returns true if `item` defines an entry of the table of policies: an `impl` of the trait `Rule`.
/// An `impl` of `Policy` may serve several entries.
fn is_entry(item: &Item) -> bool {
    let Item::Impl(block) = item else {
        return false;
    };
    let implemented = block
        .trait_
        .as_ref()
        .and_then(|(_, path, _)| path.segments.last());
    !is_test_only(&block.attrs) && implemented.is_some_and(|name| name.ident == "Rule")
}

/// Returns the headings of a module's documentation that are not in code blocks.
fn headings(attributes: &[Attribute]) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for text in attributes.iter().filter_map(doc_text) {
        for line in text.lines().map(str::trim) {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if line.starts_with('#') && !is_code {
                found.push(line.trim_start_matches('#').trim().to_owned());
            }
        }
    }
    found
}

fn doc_text(attribute: &Attribute) -> Option<String> {
    if let Meta::NameValue(pair) = &attribute.meta
        && let Expr::Lit(literal) = &pair.value
        && let Lit::Str(text) = &literal.lit
    {
        return pair.path.is_ident("doc").then(|| text.value());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOC: &str = "//! In order.\n//! # What it does\n//! # Origin\n//! # Cost\n\
                       //! # When it is bad\n//! ```\n//! # hidden();\n//! ```\n";
    const IMPL: &str = "impl<T> super::Rule for Fcfs<T> {}\n";

    fn found(path: &str, text: &str) -> Vec<String> {
        let findings = run(&Tree::new(&[(path, text)])).into_iter();
        findings.map(|finding| finding.message).collect()
    }

    #[test]
    fn missing_headings_are_found() {
        let lacks = |doc: String, heading: &str| {
            let messages = found("crates/core/src/sched/fcfs.rs", &(doc + IMPL));
            assert!(
                messages[0].contains(&format!("lacks \"{heading}\"")),
                "{messages:?}"
            );
        };
        lacks(String::new(), "What it does");
        lacks(DOC.replace("//! # Cost\n", ""), "Cost");
        let in_code = DOC
            .replace("# When it is bad", "# When")
            .replace("hidden();", "When it is bad");
        lacks(in_code, "When it is bad");
        let swapped = DOC.replace("Cost", "Bad").replace("Origin", "Cost");
        lacks(swapped.replace("Bad", "Origin"), "Cost");
    }

    #[test]
    fn complete_documentation_is_fine() {
        assert!(found("crates/core/src/sched/fcfs.rs", &(DOC.to_owned() + IMPL)).is_empty());
        assert!(found("crates/core/src/sched/queue.rs", "impl Policy for X {}\n").is_empty());
        assert!(found("crates/core/src/sched.rs", IMPL).is_empty());
    }
}
