//! What the checks want from a `Cargo.toml`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::tree::{File, Tree};

/// A package.
pub struct Manifest<'a> {
    /// Where it was read.
    pub file: &'a File,
    /// Its folder, empty or ending in `/`.
    pub folder: &'a str,
    /// Its name.
    pub name: String,
    /// The packages that it is built from, and the lines that say so; what only its tests and
    /// benches need is left out.
    pub dependencies: Vec<(String, usize)>,
    /// Files that it names as crate roots, from its folder.
    pub roots: Vec<String>,
}

/// Every package of the tree. A file that is no sound TOML is none: cargo says so better.
pub fn manifests(tree: &Tree) -> Vec<Manifest<'_>> {
    tree.files()
        .filter(|file| file.name() == "Cargo.toml")
        .filter_map(read)
        .collect()
}

fn read(file: &File) -> Option<Manifest<'_>> {
    let table = DeTable::parse(&file.text).ok()?;
    let table = table.get_ref();
    let package = table_at(table, "package")?;
    let mut dependencies = Vec::new();
    collect_dependencies(table, &file.text, &mut dependencies);
    for (_, target) in table_at(table, "target").into_iter().flatten() {
        if let DeValue::Table(target) = target.get_ref() {
            collect_dependencies(target, &file.text, &mut dependencies);
        }
    }
    let mut roots: Vec<String> = text_at(package, "build").into_iter().collect();
    roots.extend(table_at(table, "lib").and_then(|lib| text_at(lib, "path")));
    for kind in ["bin", "test", "bench", "example"] {
        let targets = table.get(kind).map(Spanned::get_ref);
        for target in targets.and_then(DeValue::as_array).into_iter().flatten() {
            if let DeValue::Table(target) = target.get_ref() {
                roots.extend(text_at(target, "path"));
            }
        }
    }
    Some(Manifest {
        file,
        folder: file.path.strip_suffix("Cargo.toml")?,
        name: text_at(package, "name")?,
        dependencies,
        roots,
    })
}

fn collect_dependencies(table: &DeTable<'_>, text: &str, found: &mut Vec<(String, usize)>) {
    for kind in ["dependencies", "build-dependencies"] {
        for (key, value) in table_at(table, kind).into_iter().flatten() {
            let renamed = match value.get_ref() {
                DeValue::Table(value) => text_at(value, "package"),
                _ => None,
            };
            let name = renamed.unwrap_or_else(|| key.get_ref().to_string());
            let line = 1 + text[..key.span().start].matches('\n').count();
            found.push((name, line));
        }
    }
}

fn table_at<'a, 't>(table: &'a DeTable<'t>, key: &str) -> Option<&'a DeTable<'t>> {
    match table.get(key)?.get_ref() {
        DeValue::Table(inner) => Some(inner),
        _ => None,
    }
}

fn text_at(table: &DeTable<'_>, key: &str) -> Option<String> {
    table.get(key)?.get_ref().as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_dependency_is_seen() {
        let text = "[package]\nname = \"p\"\n[dependencies]\na = \"1\"\nb.workspace = true\n\
                    x = { package = \"c\" }\n[dependencies.d]\npath = \"d\"\n\
                    [dev-dependencies]\nno = \"1\"\n[build-dependencies]\ne = \"1\"\n\
                    [target.'cfg(unix)'.dependencies]\nf = \"1\"\n";
        let tree = Tree::of(&[("x/Cargo.toml", text)]);
        let mut found = manifests(&tree).remove(0).dependencies;
        found.sort();
        let wanted = [("a", 4), ("b", 5), ("c", 6), ("d", 7), ("e", 12), ("f", 14)];
        assert_eq!(found, wanted.map(|(name, line)| (name.to_owned(), line)));
    }

    #[test]
    fn crate_roots_that_are_named_are_seen() {
        let text = "[package]\nname = \"p\"\nbuild = \"b.rs\"\n[lib]\npath = \"l.rs\"\n\
                    [[bin]]\nname = \"x\"\npath = \"x.rs\"\n[[bin]]\nname = \"y\"\n";
        let tree = Tree::of(&[("x/Cargo.toml", text), ("Cargo.toml", "[workspace]\n")]);
        let found = manifests(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].folder, "x/");
        assert_eq!(found[0].roots, ["b.rs", "l.rs", "x.rs"]);
    }
}
