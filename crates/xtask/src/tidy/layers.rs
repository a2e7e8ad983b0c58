//! Checks that dependencies between crates, and between modules, point only to lower layers.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::tree::{File, Tree};
use super::{Check, Finding};

pub const CRATES: Check = Check {
    name: "crate-layers",
    summary: "a crate depends only on crates of lower layers (`layers` in Cargo.toml)",
    run: crates,
};

pub const MODULES: Check = Check {
    name: "module-layers",
    summary: "a module, including its unit tests, imports only modules below it",
    run: modules,
};

/// The manifest that lists the layers, lowest first. Dependencies of tests and benches are allowed.
const WORKSPACE: &str = "Cargo.toml";

#[derive(Deserialize)]
struct Manifest {
    package: Option<Package>,
    #[serde(default)]
    dependencies: BTreeMap<toml::Spanned<String>, IgnoredAny>,
    workspace: Option<Workspace>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

#[derive(Deserialize)]
struct Workspace {
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    layers: Vec<Vec<String>>,
}

fn crates(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let parse = |file: &File| toml::from_str::<Manifest>(&file.text).ok();
    let root = tree.file(WORKSPACE).and_then(parse);
    let listed = root.and_then(|root| Some(root.workspace?.metadata?.layers));
    let layers = listed.unwrap_or_default();
    let layer = |name: &String| layers.iter().position(|layer| layer.contains(name));
    for file in tree.files().filter(|f| f.path.ends_with("/Cargo.toml")) {
        let parsed = parse(file).and_then(|found| Some((found.package?.name, found.dependencies)));
        let Some((name, dependencies)) = parsed else {
            continue;
        };
        let Some(own) = layer(&name) else {
            let message = format!("`{name}` is in no layer: add it to `layers` in {WORKSPACE}");
            findings.push(Finding::new(&file.path, 1, message));
            continue;
        };
        for key in dependencies.keys() {
            let other = key.get_ref();
            if layer(other).is_some_and(|layer| layer >= own) {
                let line = 1 + file.text[..key.span().start].matches('\n').count();
                let message =
                    format!("`{name}` may not import `{other}`, which is not in a lower layer");
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

/// Crates whose `lib.rs` lists their modules, lowest first: `a < b < c` in a text block.
const LAYERED: &[&str] = &["crates/core/src/", "crates/study/src/", "crates/trace/src/"];

fn modules(tree: &Tree) -> Vec<Finding> {
    let of_crate = |folder| modules_of_crate(tree, folder);
    LAYERED.iter().copied().flat_map(of_crate).collect()
}

fn modules_of_crate(tree: &Tree, folder: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let root = format!("{folder}lib.rs");
    let order = tree.file(&root).map(listed_modules).unwrap_or_default();
    let height = |module: &str| order.iter().position(|listed| *listed == module);
    for (file, rust) in tree.rust() {
        let Some(below) = file.path.strip_prefix(folder).filter(|_| file.path != root) else {
            continue;
        };
        let names = below.trim_end_matches(".rs").trim_end_matches("/mod");
        let depth = names.split('/').count();
        let own = names.split('/').next().unwrap_or_default();
        let mut imports = Vec::new();
        collect_imports(rust.tokens.clone(), depth, &mut imports);
        for (line, import) in imports {
            let message = match (height(own), height(&import)) {
                (_, None) => format!("`{import}` is not in the list of layers in {root}"),
                (None, _) => format!("`{own}` is not in the list of layers in {root}"),
                (Some(own), Some(other)) if own >= other => continue,
                _ => format!("`{own}` may not import `{import}`, which is above it"),
            };
            findings.push(Finding::new(&file.path, line, message));
        }
    }
    findings
}

/// Returns the modules listed in the first text block of the documentation of a crate.
fn listed_modules(root: &File) -> Vec<&str> {
    let doc = root.text.lines().map_while(|line| line.strip_prefix("//!"));
    let block = doc
        .map(str::trim)
        .skip_while(|line| *line != "```text")
        .skip(1);
    let lines = block.take_while(|line| *line != "```");
    let names = lines.flat_map(|line| line.split('<')).map(str::trim);
    names.filter(|name| !name.is_empty()).collect()
}

/// Collects the top-level modules named in `tokens`, including in macro bodies. `depth` is the
/// number of `super`s that lead to the crate root.
fn collect_imports(tokens: TokenStream, depth: usize, found: &mut Vec<(usize, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Group(group) => collect_imports(group.stream(), depth, found),
            TokenTree::Ident(name) if name == "mod" => {
                if let Some(TokenTree::Group(body)) = tokens.get(at + 1) {
                    collect_imports(body.stream(), depth + 1, found);
                    at += 2;
                }
            }
            TokenTree::Ident(name) if name == "crate" || name == "super" => {
                let mut supers = usize::from(name == "super");
                let is_crate = supers == 0;
                while has_colons(&tokens[at..]) {
                    at += 2;
                    match tokens.get(at) {
                        Some(TokenTree::Ident(name)) if name == "super" => supers += 1,
                        // A macro of the crate belongs to no module.
                        Some(_) if is_bang(tokens.get(at + 1)) => break,
                        Some(target) if is_crate || supers >= depth => {
                            collect_first_names(target, found);
                            break;
                        }
                        _ => break,
                    }
                    at += 1;
                }
            }
            _ => {}
        }
    }
}

fn is_bang(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == '!')
}

fn has_colons(tokens: &[TokenTree]) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ':');
    tokens.len() > 1 && tokens[..2].iter().all(is_colon)
}

/// Collects the name that follows `crate::`, or each first name within its braces.
fn collect_first_names(token: &TokenTree, found: &mut Vec<(usize, String)>) {
    if let TokenTree::Group(group) = token
        && group.delimiter() == Delimiter::Brace
    {
        let mut is_first = true;
        for token in group.stream() {
            if is_first {
                collect_first_names(&token, found);
            }
            is_first = matches!(&token, TokenTree::Punct(p) if p.as_char() == ',');
        }
    } else {
        found.push((token.span().start().line, token.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(name: &str, dependencies: &str) -> Vec<usize> {
        let workspace = "[workspace.metadata]\nlayers = [[\"core\", \"drives\"], [\"cli\"]]\n";
        let text = format!("[package]\nname = \"{name}\"\n{dependencies}");
        let tree = Tree::new(&[(WORKSPACE, workspace), ("crates/x/Cargo.toml", &text)]);
        let findings = crates(&tree);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn imports_of_the_same_or_a_higher_layer_are_found() {
        for (name, dependencies, expected) in [
            ("core", "[dependencies]\ndrives.workspace = true\n", 4),
            ("drives", "[dependencies.core]\npath = \"\"\n", 3),
            (
                "core",
                "[dependencies]\nsyn = \"2\"\ncli = { path = \"\" }\n",
                5,
            ),
            ("new", "", 1),
        ] {
            assert_eq!(
                lines(name, dependencies),
                [expected],
                "{name} {dependencies}"
            );
        }
    }

    #[test]
    fn imports_of_lower_layers_and_for_tests_are_fine() {
        for (name, dependencies) in [
            (
                "cli",
                "[dependencies]\ncore = { path = \"\" }\nsyn = \"2\"\n",
            ),
            ("core", "[dev-dependencies]\ncli.path = \"\"\n"),
        ] {
            assert_eq!(lines(name, dependencies), [0; 0], "{name} {dependencies}");
        }
    }

    const ROOT: &str = "//! A model.\n//!\n//! ```text\n//! units < sched <\n//! buffer < drive\n\
                        //! ```\npub use crate::drive::Drive;\n";

    fn found(path: &str, text: &str) -> usize {
        let path = format!("crates/core/src/{path}");
        let tree = Tree::new(&[("crates/core/src/lib.rs", ROOT), (&path, text)]);
        modules(&tree).len()
    }

    #[test]
    fn imports_from_above_are_found() {
        for text in [
            "use crate::drive::Drive;",
            "use crate::{units::{Lbn, self}, drive};",
            "fn f() { assert!(crate::drive::g()); }",
            "fn f(x: Option<&crate::buffer::Buffer>) {}",
            "use super::drive::Drive;",
            "mod tests { use super::super::drive::Drive; }",
            "use crate::Drive;",
            "use crate::*;",
        ] {
            assert_eq!(found("sched.rs", text), 1, "{text}");
        }
        assert_eq!(found("sched/a.rs", "use super::super::drive::Drive;"), 1);
        assert_eq!(found("sched/mod.rs", "use super::drive::Drive;"), 1);
        assert_eq!(found("attic.rs", "use crate::units::Lbn;"), 1);
    }

    #[test]
    fn imports_from_below_are_fine() {
        for text in [
            "use crate::units::Lbn;",
            "use crate::sched::fcfs;",
            "/// As [`crate::drive::Drive`] does.\nfn f() {}",
            "mod tests { use super::*; use super::drive::Drive; }",
            "use std::fmt; pub(crate) fn drive() {} pub(super) fn f() {}",
        ] {
            assert_eq!(found("sched.rs", text), 0, "{text}");
        }
        let text = "use super::Policy; use super::drive::x;";
        assert_eq!(found("sched/a.rs", text), 0);
    }
}
