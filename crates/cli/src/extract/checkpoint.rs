//! What a run has found so far, kept beside its output.

use std::fs;
use std::io;
use std::process::exit;

use diskarm_core::text::InputError;
use diskarm_extract::suite::{Checkpoint, MEASUREMENTS, Observer, Outcome, Progress};
use diskarm_results::output_file::{Files, OutputFile};

use crate::error::{Error, INTERRUPTED};
use crate::progress;

/// Keeps the checkpoint, and shows how the run goes.
pub struct Keeper {
    /// `None` if the output is no file: then nothing is kept.
    at: Option<(String, OutputFile)>,
    bar: progress::Steps,
}

impl Keeper {
    /// The checkpoint of a run that writes to `output`, if that is a file.
    pub fn new(output: Option<&str>, files: &mut Files) -> Result<Self, Error> {
        let at = output.map(|output| {
            let path = format!("{output}.partial");
            let place = files.output("--output", &path)?;
            Ok::<_, Error>((path, place))
        });
        let at = at.transpose()?;
        if let Some((path, _)) = &at {
            watch(path.clone());
        }
        Ok(Self {
            at,
            bar: progress::Steps::new(MEASUREMENTS.len() as u64),
        })
    }

    /// The path of the checkpoint, if any.
    pub fn path(&self) -> Option<&str> {
        self.at.as_ref().map(|(path, _)| path.as_str())
    }

    /// The run to continue, which tries again what failed; `begun` if there is none.
    pub fn continued(&self, begun: Checkpoint) -> Result<Checkpoint, Error> {
        let Some(path) = self.path() else {
            return Ok(begun);
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(begun),
            Err(source) => {
                return Err(Error::Io {
                    doing: "read",
                    path: path.to_owned(),
                    source,
                });
            }
        };
        let kept = Checkpoint::parse(&text).and_then(|kept| kept.check(&begun).map(|()| kept));
        let mut kept = kept.map_err(|why| {
            let message = format!("{path}: {why}; remove the file to start anew");
            Error::Input(InputError::message(message))
        })?;
        kept.records
            .retain(|record| record.outcome == Outcome::Done);
        Ok(kept)
    }

    /// Removes the checkpoint of a run that is over.
    pub fn remove(self) {
        // A leftover says that its run is over, which does no harm.
        let _ = self.path().map(fs::remove_file);
    }
}

/// From now on Ctrl-C says that the checkpoint at `path` continues the run, if any. It
/// ends the program at once: a checkpoint is whole or is not there.
fn watch(path: String) {
    // Without a handler Ctrl-C still ends the program.
    let _ = ctrlc::set_handler(move || {
        if fs::exists(&path).unwrap_or(false) {
            eprintln!("\nstopped: {path} has what was measured; run it again to continue");
        }
        exit(INTERRUPTED);
    });
}

impl Observer for Keeper {
    fn progressed(&mut self, progress: &Progress) {
        let cost = progress.cost;
        self.bar.at(progress.done as u64, || {
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
        let Some((_, place)) = &self.at else {
            return Ok(());
        };
        let written = place.clone().write(checkpoint.text().as_bytes());
        written.map_err(|error| error.to_string())
    }
}
