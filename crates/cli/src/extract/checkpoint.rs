//! The checkpoint of a run, kept next to its output.

use std::fs;
use std::io;
use std::process::exit;

use diskarm_extract::suite::{Checkpoint, MEASUREMENTS, Observer, Outcome, Progress};
use diskarm_results::output_file::{Files, OutputFile};

use crate::error::{Error, INTERRUPTED};
use crate::progress;

/// Writes the checkpoint and shows the progress of a run.
pub struct CheckpointWriter {
    /// The path and the file; `None` if the output is not a file, and nothing is kept.
    file: Option<(String, OutputFile)>,
    bar: progress::StepProgress,
}

impl CheckpointWriter {
    pub fn new(output: Option<&str>, files: &mut Files) -> Result<Self, Error> {
        let file = output.map(|output| {
            let path = format!("{output}.partial");
            let file = files.output("--output", &path)?;
            Ok::<_, Error>((path, file))
        });
        let file = file.transpose()?;
        if let Some((path, _)) = &file {
            watch(path.clone());
        }
        Ok(Self {
            file,
            bar: progress::StepProgress::new(MEASUREMENTS.len() as u64),
        })
    }

    pub fn path(&self) -> Option<&str> {
        self.file.as_ref().map(|(path, _)| path.as_str())
    }

    /// Reads the checkpoint of a run to continue, without its failed measurements; returns `fresh`
    /// if there is none.
    pub fn load_or(&self, fresh: Checkpoint) -> Result<Checkpoint, Error> {
        let Some(path) = self.path() else {
            return Ok(fresh);
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(fresh),
            Err(source) => {
                return Err(Error::io("read", path)(source));
            }
        };
        let kept = Checkpoint::parse(&text).and_then(|kept| kept.check(&fresh).map(|()| kept));
        let mut kept = kept.map_err(|why| {
            Error::Failed(format!("{path}: {why}; remove the file to start over"))
        })?;
        kept.records
            .retain(|record| record.outcome == Outcome::Done);
        Ok(kept)
    }

    /// Removes the checkpoint of a finished run.
    pub fn remove(self) {
        // A leftover does no harm: it records that the run has finished.
        let _ = self.path().map(fs::remove_file);
    }
}

/// Makes Ctrl-C print that the checkpoint at `path` continues the run, if it exists. Ending the
/// program immediately is safe: checkpoints are replaced as a whole.
fn watch(path: String) {
    // Without a handler Ctrl-C still ends the program.
    let _ = ctrlc::set_handler(move || {
        if fs::exists(&path).unwrap_or(false) {
            eprintln!(
                "\nstopped: {path} has the results so far; run the same command again to continue"
            );
        }
        exit(INTERRUPTED.into());
    });
}

impl Observer for CheckpointWriter {
    fn progressed(&mut self, progress: &Progress) {
        let cost = progress.cost;
        self.bar.set(progress.done as u64, || {
            format!(
                "{}  {} commands, {:.0} s on the drive, {:.0} s left",
                progress.measurement.name,
                cost.commands,
                cost.time.as_s(),
                progress.left.as_s()
            )
        });
    }

    fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), String> {
        let Some((_, file)) = &self.file else {
            return Ok(());
        };
        let written = file.clone().write(checkpoint.text().as_bytes());
        written.map_err(|error| error.to_string())
    }
}
