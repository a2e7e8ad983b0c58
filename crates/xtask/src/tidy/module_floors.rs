//! Imports between the modules of `core`, which go down only.

use super::tokens::{Named, paths};
use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "module-floors",
    summary: "a module of core imports modules below it only, its unit tests included",
    run,
};

/// The modules of `core`, from the ground.
///
/// `stats` needs units and requests only, and stands right above them. `sched` stands below
/// `spec`, because a specification names the policy of a drive's on-board queue.
const ORDER: &[&str] = &[
    "units",
    "request",
    "stats",
    "text",
    "extent",
    "sched",
    "spec",
    "geometry",
    "mechanics",
    "buffer",
    "drive",
    "predict",
    "host",
    "array",
    "workload",
    "engine",
    "report",
    "validate",
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.core() {
        let module = module_path(&file.path);
        // The crate's root only lists its modules.
        let Some(&own) = module.first() else { continue };
        let Some(height) = height(own) else {
            let message = format!("`{own}` has no place in the order: give it one in ORDER");
            findings.push(Finding::new(&file.path, 1, message));
            continue;
        };
        for path in paths(rust.tokens.clone()) {
            if let Some(message) = fault(&path, module.len(), own, height) {
                findings.push(Finding::new(&file.path, path.line, message));
            }
        }
    }
    findings
}

/// `crates/core/src/sched/fcfs.rs` as `sched`, `fcfs`; the crate's root has no names.
fn module_path(path: &str) -> Vec<&str> {
    let below = path.strip_prefix("crates/core/src/").unwrap_or(path);
    let names = below.strip_suffix(".rs").unwrap_or(below);
    let names = names.strip_suffix("/mod").unwrap_or(names);
    names.split('/').filter(|&name| name != "lib").collect()
}

fn height(module: &str) -> Option<usize> {
    ORDER.iter().position(|&listed| listed == module)
}

/// What is wrong with `path` in a file of the module `own`, which lies `level` modules deep.
fn fault(path: &Named, level: usize, own: &str, own_height: usize) -> Option<String> {
    let mut names = path.segments.iter().map(String::as_str);
    let target = match names.next()? {
        "crate" => names.next()?,
        "super" => {
            // As many `super` as there are modules around lead to the crate's root.
            let up = path
                .segments
                .iter()
                .take_while(|&name| name == "super")
                .count();
            if up < level + path.depth {
                return None;
            }
            path.segments.get(up)?
        }
        _ => return None,
    };
    match height(target) {
        Some(target_height) if target_height > own_height => Some(format!(
            "`{own}` may not import `{target}`, which stands above it"
        )),
        Some(_) => None,
        None => Some(format!(
            "`{target}` hides where it comes from: name its module"
        )),
    }
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
            "use crate::drive::Drive;",
            "use crate::{units::Lbn, engine};",
            "fn f() { assert!(crate::host::g()); }",
            "fn f(x: &crate::buffer::Buffer) {}",
            "use super::drive::Drive;",
            "mod tests { use super::super::drive::Drive; }",
            "use crate::Drive;",
            "use crate::*;",
        ] {
            assert_eq!(found("crates/core/src/sched.rs", text), 1, "{text}");
        }
        assert_eq!(
            found(
                "crates/core/src/sched/a.rs",
                "use super::super::drive::Drive;"
            ),
            1
        );
        assert_eq!(
            found("crates/core/src/sched/mod.rs", "use super::drive::Drive;"),
            1
        );
        assert_eq!(found("crates/core/src/attic.rs", ""), 1);
    }

    #[test]
    fn good() {
        for text in [
            "use crate::extent::Extent;",
            "use crate::sched::fcfs;",
            "/// As [`crate::drive::Drive`] does.\nfn f() {}",
            "mod tests { use super::*; use super::drive::Drive; }",
            "use std::fmt; pub(crate) fn drive() {}",
        ] {
            assert_eq!(found("crates/core/src/sched.rs", text), 0, "{text}");
        }
        assert_eq!(found("crates/core/src/sched/a.rs", "use super::Policy;"), 0);
        assert_eq!(
            found("crates/core/src/lib.rs", "pub use crate::engine::Engine;"),
            0
        );
        assert_eq!(
            found("crates/core/tests/a.rs", "use crate::drive::Drive;"),
            0
        );
    }
}
