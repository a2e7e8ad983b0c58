//! The help of `--drive`.

use diskarm_drives::CATALOGUE;
use diskarm_simulate::devices;

/// The help for a drive, with all names.
pub fn long_help() -> String {
    let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    format!(
        "Drive: a name from the catalogue, or the path of your own specification, which ends in \
         .toml.\n\nCatalogue: {}",
        names.join(", ")
    )
}

/// The help for a drive that may have devices in front of it.
pub fn tower_help() -> String {
    let names: Vec<&str> = devices::infos().map(|info| info.name).collect();
    format!(
        "{}\n\nDevices can stand in front of it: host(policy=sptf, drive=hp-c2247). `diskarm \
         devices` describes them: {}",
        long_help(),
        names.join(", ")
    )
}
