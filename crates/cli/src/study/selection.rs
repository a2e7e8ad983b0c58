//! Options of `diskarm study run`, `check` and `report` that select studies and the folder of
//! results.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use diskarm_study::CellInput;
use diskarm_study::studies;
use diskarm_study::{Study, StudyOptions};

use crate::args::whole;
use crate::error::Error;
use crate::output;

/// The form of studies, and the folder of their results.
#[derive(clap::Args)]
pub struct Selection {
    /// Run the short form of the study
    #[arg(long)]
    quick: bool,

    /// A trace to run on, for studies that need one; several are compared
    #[arg(long, value_name = "FILE")]
    trace: Vec<String>,

    /// Folder for results; each study gets a subfolder, NAME or NAME-quick
    ///
    /// A folder in which a result would replace a file that the study reads is refused.
    #[arg(short, long, value_name = "DIR", default_value = "results")]
    output: PathBuf,

    /// Cells to simulate at a time [default: number of processors]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=MAX_JOBS))]
    jobs: Option<usize>,
}

const MAX_JOBS: u64 = 65_535;

impl Selection {
    fn options(&self) -> StudyOptions {
        StudyOptions {
            quick: self.quick,
            traces: self.trace.clone(),
        }
    }

    /// Returns the study called `name`, or that of the file if `name` ends in `.toml`.
    pub fn study(&self, name: &str) -> Result<Study, Error> {
        if name.ends_with(".toml") {
            let text = diskarm_simulate::read_text(name)?;
            let stem = PathBuf::from(name);
            let stem = stem.file_stem().unwrap_or_default().to_string_lossy();
            let study = Study::read(&stem, &text, name, self.options())?;
            return match self.trace.first() {
                Some(trace) if !study.takes_traces => Err(stray(trace, name)),
                _ => Ok(study),
            };
        }
        let entry = studies::find(name).ok_or_else(|| unknown(name))?;
        // These files are part of the program, so only the flags can be wrong.
        match (entry.takes_traces(), self.trace.first()) {
            (true, None) => Err(Error::Usage(format!(
                "{name} runs on a trace: give --trace FILE"
            ))),
            (false, Some(trace)) => Err(stray(trace, name)),
            _ if self.quick && !entry.has_short_form() => Err(Error::Usage(format!(
                "{name} has no short form: run it without --quick"
            ))),
            _ => Ok(entry.read(self.options())?),
        }
    }

    /// Returns every built-in study, in its short form if that is selected and exists. Leaves out
    /// those that need a trace if none is given, or one of the repository that is missing.
    pub fn all(&self) -> Result<Vec<Study>, Error> {
        let has_traces = !self.trace.is_empty();
        let entries = studies::STUDIES.iter();
        let entries = entries.filter(|entry| has_traces || !entry.takes_traces());
        let studies = entries.map(|entry| {
            let options = StudyOptions {
                quick: self.quick && entry.has_short_form(),
                traces: if entry.takes_traces() {
                    self.trace.clone()
                } else {
                    Vec::new()
                },
            };
            Ok(entry.read(options)?)
        });
        let mut studies = studies.collect::<Result<Vec<Study>, Error>>()?;
        studies.retain(|study| match missing_trace(study) {
            Some(trace) if !study.takes_traces => {
                let note = format!("{} is left out: {trace} is missing", study.name);
                output::print_warnings(&[note]);
                false
            }
            _ => true,
        });
        Ok(studies)
    }

    pub fn folder(&self, study: &Study) -> PathBuf {
        let kind = if study.options.quick { "-quick" } else { "" };
        self.output.join(format!("{}{kind}", study.name))
    }

    pub fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.unwrap_or_else(all)
    }
}

/// Returns the first trace of a study that is not in the working directory.
fn missing_trace(study: &Study) -> Option<&str> {
    let traces = study
        .cells
        .iter()
        .filter_map(|cell| match &cell.inputs.source {
            CellInput::Traced { trace, .. } => Some(trace.as_str()),
            CellInput::Generated { .. } => None,
        });
    traces.into_iter().find(|trace| !Path::new(trace).is_file())
}

/// Returns the error for a trace given to a study that takes none.
fn stray(trace: &str, study: &str) -> Error {
    Error::Usage(format!("`--trace {trace}`: {study} takes no trace"))
}

fn unknown(name: &str) -> Error {
    let nearest = studies::nearest(name);
    let hint = match nearest {
        Some(nearest) => format!("perhaps {nearest}"),
        None => "`diskarm study list` lists them".to_owned(),
    };
    let expected = format!("a study that comes with the program ({hint}) or a .toml file");
    Error::option("STUDY", name, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests do not run in the root of the repository.
    #[test]
    fn a_missing_trace_of_a_study_is_found() {
        let read = |name: &str| {
            let entry = studies::find(name).unwrap();
            entry.read(StudyOptions::default()).unwrap()
        };
        let errors = read("lumb01-errors");
        let trace = "data/validation/hp-c2247.csv.gz";
        assert_eq!(missing_trace(&errors), Some(trace));
        let mut here = errors;
        for cell in &mut here.cells {
            let changes = Default::default();
            let trace = format!("../../{trace}");
            cell.inputs.source = CellInput::Traced { trace, changes };
        }
        assert_eq!(missing_trace(&here), None);
        assert_eq!(missing_trace(&read("lumb01-size")), None);
    }
}
