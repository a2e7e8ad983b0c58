//! The result of a calibration: a specification's text, an error, warnings.

use std::path::Path;

use diskarm_calibrate::{Calibration, Clock, Unfit, edits};
use diskarm_rewrite::{Edit, Value, rewrite};
use diskarm_simulate::{Error, Model};

use super::FitNames;

/// The error that nothing was fitted to `trace`.
pub fn error(unfit: Unfit, trace: &str, drive: &str) -> Error {
    match unfit {
        Unfit::TooShort { rows, numbers } => {
            let expected = format!("{numbers} rows or more, one for each number that is fitted");
            Error::argument("TRACE", format!("{trace} ({rows} rows)"), expected)
        }
        Unfit::OtherDrive { explained_fraction } => {
            let percent = 100.0 * explained_fraction;
            let expected = format!(
                "a trace of the drive {drive}, which explains only {percent:.0} % of the requests, \
                 however its numbers are set"
            );
            Error::argument("TRACE", trace, expected)
        }
    }
}

/// Reasons to distrust the result.
pub fn warnings(fitted: &Calibration, rows: usize, trace: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    match fitted.clock {
        Clock::Nominal { .. } => warnings.push(format!(
            "{trace}: completions fit no angle of the platter: the times between requests are \
             nominal, or the trace is of a drive with another layout; period and phase are left \
             as given"
        )),
        Clock::Unbroken { breaks, .. } if breaks > 0 => warnings.push(format!(
            "{trace}: the clock steps; the angle was lost and found again {breaks} times"
        )),
        Clock::Unbroken { .. } => {}
    }
    let numbers = fitted.fitted.len() + fitted.left.len();
    if rows < ROWS_A_NUMBER * numbers {
        warnings.push(format!(
            "{trace}: only {rows} rows for {numbers} numbers: see their standard deviations"
        ));
    }
    if fitted.explained_fraction < WELL_EXPLAINED {
        let percent = 100.0 * fitted.explained_fraction;
        warnings.push(format!(
            "{trace}: the fitted drive explains only {percent:.0} % of the requests: the trace may \
             be of another drive"
        ));
    }
    warnings
}

/// Fewer rows than this for each number make a poor fit.
const ROWS_A_NUMBER: usize = 10;

/// Below this share of explained requests, the drive may be another one.
const WELL_EXPLAINED: f64 = 0.8;

/// What the summary of a fitted drive ends with.
const FITTED: &str = "; fitted to a trace";

/// The fitted drive.
///
/// # Errors
/// The base cannot be read again; or the fitted text is wrong, which is a bug.
pub fn model(
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
            "--drive",
            &drive.name,
            format!("a specification to change ({error})"),
        )
    })?;
    // Only what can be read again is written.
    Model::read(text, names.output)
}

/// One sentence on where the numbers come from.
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
