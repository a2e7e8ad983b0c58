//! `--drive`, for people.

use diskarm_drives::CATALOGUE;

/// For `--help`: what a drive can be, with all names.
pub fn long_help() -> String {
    let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    format!(
        "Drive: a name of the catalogue, or a path that ends in .toml to a specification of \
         one's own.\n\nCatalogue: {}",
        names.join(", ")
    )
}
