//! Dependencies between crates, which point to lower layers only.

use toml::de::{DeTable, DeValue};

use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "crate-layers",
    summary: "a crate depends on crates of lower layers only (`layers` in Cargo.toml)",
    run,
};

/// Lists the layers, lowest first. What only tests and benches need does not count.
const WORKSPACE: &str = "Cargo.toml";

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let layers = layers(tree);
    let layer = |name: &str| {
        layers
            .iter()
            .position(|layer| layer.iter().any(|n| n == name))
    };
    for file in tree
        .files()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
    {
        let Ok(manifest) = DeTable::parse(&file.text) else {
            continue;
        };
        let manifest = manifest.get_ref();
        let package = table_at(manifest, "package");
        let Some(name) = package.and_then(|p| p.get("name")?.get_ref().as_str()) else {
            continue;
        };
        let Some(own) = layer(name) else {
            let message = format!("`{name}` is in no layer: add it to `layers` in {WORKSPACE}");
            findings.push(Finding::new(&file.path, 1, message));
            continue;
        };
        for key in table_at(manifest, "dependencies")
            .into_iter()
            .flat_map(DeTable::keys)
        {
            if layer(key.get_ref()).is_some_and(|other| other >= own) {
                let line = 1 + file.text[..key.span().start].matches('\n').count();
                let message = format!(
                    "`{name}` may not import `{}`, which is no lower",
                    key.get_ref()
                );
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

/// The names of the crates, layer by layer.
fn layers(tree: &Tree) -> Vec<Vec<String>> {
    let workspace = tree.files().find(|file| file.path == WORKSPACE);
    let layers = workspace.and_then(|file| {
        let table = DeTable::parse(&file.text).ok()?;
        let workspace = table_at(table.get_ref(), "workspace")?;
        let layers = table_at(workspace, "metadata")?
            .get("layers")?
            .get_ref()
            .as_array()?;
        let names = |layer: &DeValue<'_>| -> Vec<String> {
            let names = layer.as_array().into_iter().flatten();
            names
                .filter_map(|name| Some(name.get_ref().as_str()?.to_owned()))
                .collect()
        };
        Some(layers.iter().map(|layer| names(layer.get_ref())).collect())
    });
    layers.unwrap_or_default()
}

fn table_at<'a, 't>(table: &'a DeTable<'t>, key: &str) -> Option<&'a DeTable<'t>> {
    match table.get(key)?.get_ref() {
        DeValue::Table(inner) => Some(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, dependencies: &str) -> Vec<usize> {
        let workspace = "[workspace.metadata]\nlayers = [[\"core\", \"drives\"], [\"cli\"]]\n";
        let text = format!("[package]\nname = \"{name}\"\n{dependencies}");
        let tree = Tree::of(&[(WORKSPACE, workspace), ("crates/x/Cargo.toml", &text)]);
        let findings = run(&tree);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn imports_of_the_same_or_a_higher_layer_are_found() {
        assert_eq!(
            found("core", "[dependencies]\ndrives.workspace = true\n"),
            [4]
        );
        assert_eq!(found("drives", "[dependencies.core]\npath = \"\"\n"), [3]);
        assert_eq!(
            found(
                "core",
                "[dependencies]\nsyn = \"2\"\ncli = { path = \"\" }\n"
            ),
            [5]
        );
        assert_eq!(found("new", ""), [1]);
    }

    #[test]
    fn imports_of_lower_layers_and_for_tests_are_fine() {
        assert_eq!(
            found(
                "cli",
                "[dependencies]\ncore = { path = \"\" }\nsyn = \"2\"\n"
            ),
            [0; 0]
        );
        assert_eq!(
            found("core", "[dev-dependencies]\ncli.path = \"\"\n"),
            [0; 0]
        );
    }
}
