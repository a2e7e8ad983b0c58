//! Fits a model to a trace and writes the fitted specification, which names its source.

use std::path::Path;

use diskarm_drives::text::{Edit, Value, rewrite};
use diskarm_fit::calibrate::{Calibration, Progress, Unfit, calibrate, edits};
use diskarm_fit::validate::Measured;

use crate::measured::RowRange;
use crate::{Error, Model};

/// The names in a calibration: the drive, the trace, the output and the rows.
#[derive(Clone, Copy)]
pub struct FitNames<'a> {
    /// The drive to start from.
    pub drive: &'a str,
    /// The trace.
    pub trace: &'a str,
    /// The name or the file of the fitted drive.
    pub output: &'a str,
    /// The rows to which it is fitted.
    pub rows: RowRange,
}

/// Fits `drive` to `rows` of a trace; `progress` is called after each stage.
///
/// # Errors
/// If the trace does not determine the drive.
pub fn fit_model(
    drive: &Model,
    rows: &[Measured],
    names: FitNames<'_>,
    progress: impl FnMut(Progress),
) -> Result<(Calibration, Model), Error> {
    let fitted = calibrate(&drive.spec, drive.layout(), rows, progress);
    let fitted = fitted.map_err(|unfit| unfit_error(unfit, names.trace, &drive.name))?;
    let model = fitted_model(drive, &fitted, names, rows.len())?;
    Ok((fitted, model))
}

fn unfit_error(unfit: Unfit, trace: &str, drive: &str) -> Error {
    match unfit {
        Unfit::TooShort { rows, numbers } => {
            let expected = format!("{numbers} rows or more, one for each number that is fitted");
            Error::argument("trace", format!("{trace} ({rows} rows)"), expected)
        }
        Unfit::OtherDrive { explained_fraction } => {
            let percent = 100.0 * explained_fraction;
            let expected = format!(
                "a trace of the drive {drive}, which explains only {percent:.0} % of the requests, \
                 however its numbers are set"
            );
            Error::argument("trace", trace, expected)
        }
    }
}

/// The end of a fitted drive's summary.
const FITTED: &str = "; fitted to a trace";

/// # Errors
/// If the base cannot be read again, or if the fitted text is invalid, which is a bug.
fn fitted_model(
    drive: &Model,
    fitted: &Calibration,
    names: FitNames<'_>,
    rows: usize,
) -> Result<Model, Error> {
    let mut edits = edits(&drive.spec, &fitted.spec);
    let source = &drive.spec.source;
    let stem = Path::new(names.output).file_stem().unwrap_or_default();
    let mut set = |key: &'static str, text: String| {
        let value = Value::Text(text);
        edits.push(Edit {
            key: key.into(),
            value,
        });
    };
    set("name", stem.to_string_lossy().into_owned());
    let made = made_from(names, rows);
    let summary = drive.spec.summary.trim_end_matches(FITTED);
    set("summary", format!("{summary}{FITTED}"));
    set("source.origin", format!("{made}\n{}", source.origin.trim()));
    let text = rewrite(&drive.text, &edits).map_err(|error| {
        Error::argument(
            "drive",
            &drive.name,
            format!("a specification to change ({error})"),
        )
    })?;
    // Parsing it checks that the output can be read again.
    Model::read(text, names.output)
}

/// Returns the sentence that names the source of the numbers.
fn made_from(names: FitNames<'_>, rows: usize) -> String {
    let range = names.rows;
    let trace = Path::new(names.trace).file_name().unwrap_or_default();
    format!(
        "Fitted with `diskarm calibrate` to {rows} rows ({range}) of the trace {}, beginning with \
         {}. What that was made from:",
        trace.to_string_lossy(),
        names.drive
    )
}
