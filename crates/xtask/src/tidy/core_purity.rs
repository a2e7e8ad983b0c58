//! What would tie the results of `core` to a machine or a run.
//!
//! Its tests are held to the same: those that read files stand in `crates/core/tests`.

use super::tokens::paths;
use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "core-purity",
    summary: "core knows no clock, thread, file, environment or hash order, and no `unsafe`",
    run,
};

/// Parts of the standard library that reach outside.
const OUTSIDE: &[&str] = &["time", "thread", "fs", "env", "net", "process"];

/// Collections whose order differs from run to run.
const UNORDERED: &[&str] = &["HashMap", "HashSet"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.core() {
        for path in paths(rust.tokens.clone()) {
            if let Some(message) = fault(&path.segments) {
                findings.push(Finding::new(&file.path, path.line, message));
            }
        }
    }
    findings
}

fn fault(segments: &[String]) -> Option<String> {
    if let [first, second, ..] = segments
        && first == "std"
        && OUTSIDE.contains(&second.as_str())
    {
        return Some(format!("`std::{second}` reaches outside the model"));
    }
    if let Some(name) = segments
        .iter()
        .find(|name| UNORDERED.contains(&name.as_str()))
    {
        return Some(format!(
            "`{name}` has no order of its own: take a `BTree` or a `Vec`"
        ));
    }
    if segments == ["unsafe"] {
        return Some("`unsafe` has no place in the model".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        run(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn bad() {
        for text in [
            "use std::{fmt, fs};",
            "fn f() { println!(\"{:?}\", std::time::Instant::now()); }",
            "use std::thread::spawn;",
            "fn f() { let _ = ::std::env::var(\"X\"); }",
            "use std::collections::{BTreeMap, HashMap as Map};",
            "fn f(x: &std::collections::HashSet<u8>) {}",
            "fn f() { unsafe { g() } }",
        ] {
            assert_eq!(found("crates/core/src/x.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn good() {
        let text = "//! No `std::fs`.\nuse std::collections::BTreeMap;\nfn time(fs: u8) {}\n\
                    const S: &str = \"unsafe HashMap\";\n";
        assert_eq!(found("crates/core/src/x.rs", text), 0);
        assert_eq!(found("crates/core/tests/x.rs", "use std::fs;"), 0);
        assert_eq!(found("crates/cli/src/main.rs", "use std::{env, fs};"), 0);
    }
}
