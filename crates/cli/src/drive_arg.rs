//! `--drive`, for people.

use diskarm_drives::CATALOGUE;

/// For `--help`: what a drive can be, with all names.
pub fn long_help() -> String {
    let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    format!(
        "Drive: a name from the catalogue, or the path of your own specification, which ends in \
         .toml.\n\nCatalogue: {}",
        names.join(", ")
    )
}
