//! The folder of a study's results, of which only one process writes at a time.

use std::path::{Path, PathBuf};

pub use diskarm_results::output_file::Files;
use diskarm_results::output_file::{OutputFile, unnumbered};

use crate::error::StudyError;

/// The files of every study in its folder.
const NAMES: [&str; 5] = [LOCK, RUNS, "results.csv", "results.json", "report.html"];

pub(crate) const LOCK: &str = "lock";

pub(crate) const RUNS: &str = "runs.jsonl";

pub(crate) const FIGURES: &str = "figures";

/// The folder of a study's results. No input of the study is overwritten there.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The flag or argument that names it.
    field: &'static str,
    inputs: Files,
}

impl Folder {
    /// The folder at `path`, which `field` names, for a study that reads `inputs`.
    ///
    /// # Errors
    /// If one of its files is such an input, under whatever name. Figures are examined when they
    /// are written.
    pub fn new(path: &Path, field: &'static str, inputs: Files) -> Result<Self, StudyError> {
        let mut files = inputs.clone();
        for name in NAMES {
            files.output(field, path.join(name))?;
        }
        let path = path.to_owned();
        Ok(Self {
            path,
            field,
            inputs,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The place of the file called `name`.
    ///
    /// # Errors
    /// If the study reads it.
    pub(crate) fn place(&self, name: impl AsRef<Path>) -> Result<OutputFile, StudyError> {
        let mut files = self.inputs.clone();
        Ok(files.output(self.field, self.path.join(name))?)
    }

    /// Writes a file completely or not at all.
    ///
    /// # Errors
    /// If the study reads it, or it cannot be written; it is then unchanged.
    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), StudyError> {
        Ok(self.place(name)?.write(bytes)?)
    }

    /// Removes what killed processes have left of any file, as no other process writes here:
    /// `NAME.NUMBER.part`, and `NAME.part` of earlier versions.
    pub(crate) fn remove_leftovers(&self) {
        let name_of = |left: &str| unnumbered(left).unwrap_or(left).to_owned();
        let is_file = |left: &str| NAMES.contains(&&*name_of(left));
        let is_figure = |left: &str| {
            let name = name_of(left);
            name.ends_with(".svg") || name.ends_with(".png")
        };
        self.inputs.remove_leftovers(&self.path, is_file);
        let figures = self.path.join(FIGURES);
        self.inputs.remove_leftovers(&figures, is_figure);
    }
}
