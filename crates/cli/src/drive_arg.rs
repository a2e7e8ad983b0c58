//! The help of `--drive`, and what `--set` changes of the drive.

use diskarm_core::text::InputError;
use diskarm_drives::CATALOGUE;
use diskarm_drives::text::Edit;
use diskarm_simulate::{Error, Model, System, devices};

/// Changes to a drive's specification.
#[derive(clap::Args)]
pub struct Changes {
    /// Change a value of the drive's specification, such as queue.depth=1; may be repeated
    ///
    /// Keys are those of a specification, with their table (docs/specification.md; `diskarm drives
    /// show NAME --toml` prints one): --set queue.depth=1 --set "mechanics.rotation=10000 rpm".
    /// Results name the drive with its changes.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    values: Vec<String>,
}

impl Changes {
    /// `model` with the changes.
    ///
    /// # Errors
    /// An unknown key, or a value that is wrong or does not fit the others.
    pub fn of(&self, model: Model) -> Result<Model, Error> {
        model.with_edits(&self.edits()?, "--set")
    }

    /// Returns `system` with the changes to its drive.
    ///
    /// # Errors
    /// The errors of [`Self::of`].
    pub fn of_system(&self, system: System) -> Result<System, Error> {
        system.with_edits(&self.edits()?, "--set")
    }

    /// What they set.
    ///
    /// # Errors
    /// An unknown key, or a value that is wrong.
    pub fn edits(&self) -> Result<Vec<Edit>, InputError> {
        let edits = self.values.iter().map(|text| Edit::parse(text, "--set"));
        edits.collect()
    }
}

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
