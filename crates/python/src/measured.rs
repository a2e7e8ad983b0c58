//! Comparison of models with measurements of real drives.

use diskarm_results::{calibrated, compared, predicted};
use diskarm_simulate::Error;
use diskarm_simulate::measured::{self, FitNames, MeasuredTrace, RowRange, fit_model};
use pyo3::prelude::*;

use crate::convert::{py_error, python, wrong};
use crate::drive::Drive;
use crate::trace::ReadingOptions;
use crate::wait;

/// Replays the trace in `file` and compares the responses or, if `locked` is set, predicts each
/// response from earlier ones.
#[pyfunction]
pub fn validate<'py>(
    py: Python<'py>,
    drive: &Drive,
    file: String,
    reading: ReadingOptions,
    rows: &str,
    locked: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let model = drive.single_drive(py)?;
    let reading = reading.parse(py)?;
    let rows = range(py, rows)?;
    let evaluate = move || -> Result<_, Error> {
        if locked {
            let predictions = measured::predict(&model, &file, &reading, rows)?;
            return Ok(predicted::json(&model.name, &predictions));
        }
        let comparison = measured::compare(&model, &file, &reading, rows, |_| {})?;
        Ok(compared::json(&model.name, &comparison))
    };
    let results = wait::abandonable(py, evaluate)?;
    python(py, &results.map_err(|error| py_error(py, &error))?)
}

/// Fits `drive` to the trace in `file`; returns the fitted drive, which is called `name`, the
/// metrics, and warnings.
#[pyfunction]
pub fn calibrate<'py>(
    py: Python<'py>,
    drive: &Drive,
    file: String,
    reading: ReadingOptions,
    rows: &str,
    name: String,
) -> PyResult<(Drive, Bound<'py, PyAny>, Vec<String>)> {
    let model = drive.single_drive(py)?;
    let reading = reading.parse(py)?;
    let rows = range(py, rows)?;
    let fit = move || -> Result<_, Error> {
        let names = FitNames {
            drive: &model.name,
            trace: &file,
            output: &name,
            rows,
        };
        let MeasuredTrace { rows, notes, .. } = measured::read(&file, &reading, rows, &model)?;
        let (fitted, fitted_model) = fit_model(&model, &rows, names, |_| {})?;
        let results = calibrated::json(names, rows.len(), &fitted, &notes);
        let warnings = calibrated::warnings(&fitted, rows.len(), &file);
        Ok((fitted_model, results, warnings))
    };
    let fitted = wait::abandonable(py, fit)?;
    let (fitted_model, results, warnings) = fitted.map_err(|error| py_error(py, &error))?;
    let drive = Drive::from_system(fitted_model.into());
    Ok((drive, python(py, &results)?, warnings))
}

fn range(py: Python<'_>, rows: &str) -> PyResult<RowRange> {
    let expected = |error: String| wrong(py, "rows", rows, error.trim_start_matches("expected "));
    RowRange::parse(rows).map_err(expected)
}
