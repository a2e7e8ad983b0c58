//! Imports between crates, which go down a floor only.

use super::manifest::manifests;
use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "crate-floors",
    summary: "a crate of the workspace imports crates of lower floors only",
    run,
};

/// Every package and its floor, from the ground; what tests and benches need does not count.
const FLOORS: &[(&str, u32)] = &[
    ("diskarm-core", 1),
    ("diskarm-drives", 1),
    ("diskarm-plot", 1),
    ("diskarm-rewrite", 2),
    ("diskarm-trace", 2),
    ("diskarm-calibrate", 3),
    ("diskarm-simulate", 3),
    ("diskarm-study", 4),
    ("diskarm", 5),
    ("diskarm-fuzz", 5),
    ("xtask", 5),
    ("diskarm-python", 6),
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in manifests(tree) {
        let path = &manifest.file.path;
        let name = &manifest.name;
        let Some(own) = floor(name) else {
            let message = format!("`{name}` has no floor: give it one in crate_floors.rs");
            findings.push(Finding::new(path, 1, message));
            continue;
        };
        for (dependency, line) in &manifest.dependencies {
            if let Some(floor) = floor(dependency)
                && floor >= own
            {
                let message = format!(
                    "`{name}` on floor {own} may not import `{dependency}` on floor {floor}"
                );
                findings.push(Finding::new(path, *line, message));
            }
        }
    }
    findings
}

fn floor(name: &str) -> Option<u32> {
    let (_, floor) = FLOORS.iter().find(|(listed, _)| *listed == name)?;
    Some(*floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, dependencies: &str) -> Vec<usize> {
        let text = format!("[package]\nname = \"{name}\"\n{dependencies}");
        let findings = run(&Tree::of(&[("crates/x/Cargo.toml", &text)]));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn bad() {
        let drives = "[dependencies]\ndiskarm-drives.workspace = true\n";
        assert_eq!(found("diskarm-core", drives), [4]);
        assert_eq!(
            found(
                "diskarm-drives",
                "[dependencies.diskarm-core]\npath = \"\"\n"
            ),
            [3]
        );
        assert_eq!(
            found(
                "diskarm-core",
                "[dependencies]\nx = { package = \"xtask\" }\n"
            ),
            [4]
        );
        assert_eq!(found("diskarm-new", ""), [1]);
    }

    #[test]
    fn good() {
        let core = "[dependencies]\ndiskarm-core = { path = \"../core\" }\nsyn = \"2\"\n";
        assert_eq!(found("diskarm-trace", core), [0; 0]);
        assert_eq!(found("diskarm", core), [0; 0]);
        assert_eq!(
            found(
                "diskarm-core",
                "[dev-dependencies]\ndiskarm-trace.path = \"\"\n"
            ),
            [0; 0]
        );
    }
}
