//! Rust files that no `mod` line names: they look alive and are never compiled. And `mod`
//! lines whose file git does not track: they compile here and nowhere else.

use std::collections::BTreeSet;

use syn::Item;

use super::manifest::manifests;
use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "orphans",
    summary: "every Rust file is a crate's root or named by a `mod` line, and the other way round",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let paths: BTreeSet<&str> = tree.rust().map(|(file, _)| file.path.as_str()).collect();
    let roots = roots(tree);
    let mut reached = roots.clone();
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        let folder = module_folder(&file.path, roots.contains(&file.path));
        for (candidates, line) in declared(&rust.items.items, &folder, &file.path) {
            if !candidates.iter().any(|path| paths.contains(path.as_str())) {
                let message = format!(
                    "names a module whose file, {}, is not tracked",
                    candidates[0]
                );
                findings.push(Finding::new(&file.path, line, message));
            }
            reached.extend(candidates);
        }
    }
    for path in paths {
        if !reached.contains(path) {
            findings.push(Finding::new(path, 1, "no `mod` line names this file"));
        }
    }
    findings
}

/// The files that cargo starts from, by its own conventions or because a manifest says so.
fn roots(tree: &Tree) -> BTreeSet<String> {
    let mut roots = BTreeSet::new();
    for manifest in manifests(tree) {
        let named = manifest.roots.iter();
        roots.extend(named.map(|path| format!("{}{path}", manifest.folder)));
        for (file, _) in tree.rust() {
            if let Some(path) = file.path.strip_prefix(manifest.folder)
                && is_root_by_convention(path)
            {
                roots.insert(file.path.clone());
            }
        }
    }
    roots
}

/// Whether cargo takes `path`, from its package's folder, for a crate's root unasked.
fn is_root_by_convention(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["build.rs"] => true,
        ["src", name] => matches!(name, "lib.rs" | "main.rs"),
        ["src", "bin", ref rest @ ..] | ["tests" | "benches" | "examples", ref rest @ ..] => {
            matches!(rest, [_] | [_, "main.rs"])
        }
        _ => false,
    }
}

/// Where the modules of the file at `path` lie, ending in `/`.
fn module_folder(path: &str, is_root: bool) -> String {
    match path.strip_suffix("mod.rs") {
        Some(folder) => folder.to_owned(),
        None if is_root => parent(path).to_owned(),
        None => format!("{}/", path.strip_suffix(".rs").unwrap_or(path)),
    }
}

fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..=slash])
}

/// For each `mod` line the files it may mean, and its number.
fn declared(items: &[Item], folder: &str, path: &str) -> Vec<(Vec<String>, usize)> {
    let mut found = Vec::new();
    for item in items {
        let Item::Mod(module) = item else { continue };
        let name = &module.ident;
        match (&module.content, path_attribute(&module.attrs)) {
            (Some((_, inner)), _) => {
                found.extend(declared(inner, &format!("{folder}{name}/"), path));
            }
            (None, attribute) => {
                let candidates = match attribute {
                    Some(named) => vec![format!("{}{named}", parent(path))],
                    None => vec![
                        format!("{folder}{name}.rs"),
                        format!("{folder}{name}/mod.rs"),
                    ],
                };
                found.push((candidates, module.mod_token.span.start().line));
            }
        }
    }
    found
}

fn path_attribute(attributes: &[syn::Attribute]) -> Option<String> {
    let attribute = attributes
        .iter()
        .find(|found| found.path().is_ident("path"))?;
    match &attribute.meta.require_name_value().ok()?.value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(path),
            ..
        }) => Some(path.value()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("p/Cargo.toml", "[package]\nname = \"p\"\n");

    #[test]
    fn bad() {
        let tree = Tree::of(&[
            MANIFEST,
            ("p/src/lib.rs", "mod a;\nmod gone;\n"),
            ("p/src/a.rs", "// mod b;\n"),
            ("p/src/a/b.rs", ""),
            ("p/tests/it/parts.rs", ""),
            ("stray.rs", ""),
        ]);
        let places: Vec<(String, usize)> = run(&tree)
            .into_iter()
            .map(|finding| (finding.path, finding.line))
            .collect();
        let wanted = [
            ("p/src/lib.rs", 2),
            ("p/src/a/b.rs", 1),
            ("p/tests/it/parts.rs", 1),
            ("stray.rs", 1),
        ];
        assert_eq!(places, wanted.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn good() {
        let tree = Tree::of(&[
            MANIFEST,
            ("p/build.rs", ""),
            ("p/src/lib.rs", "mod a;\nmod z;\nmod c { mod d; }\n"),
            ("p/src/a.rs", "mod b;\n#[path = \"odd.rs\"]\nmod e;\n"),
            ("p/src/a/b.rs", ""),
            ("p/src/c/d/mod.rs", "mod f;\n"),
            ("p/src/c/d/f.rs", ""),
            ("p/src/odd.rs", ""),
            // Read after the root that names it, and no root for that.
            ("p/src/z.rs", "mod y;\n"),
            ("p/src/z/y.rs", ""),
            ("p/tests/it.rs", "mod parts;\n"),
            ("p/tests/parts.rs", ""),
            ("p/benches/x/main.rs", ""),
            (
                "fuzz/Cargo.toml",
                "[package]\nname = \"f\"\n[[bin]]\npath = \"targets/t.rs\"\n",
            ),
            ("fuzz/targets/t.rs", ""),
        ]);
        assert_eq!(run(&tree), []);
    }
}
