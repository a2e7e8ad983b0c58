//! Rooms whose names say nothing, and so fill with everything.

use syn::visit::{self, Visit};

use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "room-names",
    summary: "no file, folder or module is named util, common, misc or helpers",
    run,
};

const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "misc", "helper", "helpers"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let parts = file.path.split('/');
        let names = parts.map(|part| part.split_once('.').map_or(part, |(stem, _)| stem));
        for name in names.filter(|name| EMPTY_NAMES.contains(name)) {
            findings.push(Finding::new(&file.path, 1, message(name)));
        }
    }
    for (file, rust) in tree.rust() {
        let mut inline = Inline {
            path: &file.path,
            findings: &mut findings,
        };
        inline.visit_file(&rust.items);
    }
    findings
}

fn message(name: &str) -> String {
    format!("`{name}` says nothing: name the idea that lives there")
}

/// Modules without a file of their own.
struct Inline<'a> {
    path: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl<'ast> Visit<'ast> for Inline<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let name = module.ident.to_string();
        if module.content.is_some() && EMPTY_NAMES.contains(&name.as_str()) {
            let line = module.ident.span().start().line;
            self.findings
                .push(Finding::new(self.path, line, message(&name)));
        }
        visit::visit_item_mod(self, module);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad() {
        let tree = Tree::of(&[
            ("a/src/lib.rs", "mod x {\n    mod util {}\n}\n"),
            ("a/src/misc.rs", ""),
            ("a/tests/common/mod.rs", ""),
            ("helpers/x.py", ""),
        ]);
        assert_eq!(run(&tree).len(), 4);
    }

    #[test]
    fn good() {
        let tree = Tree::of(&[("a/utility.rs", "mod commons {}\nfn util() {}\n")]);
        assert_eq!(run(&tree), []);
    }
}
