//! Comparison of models with measurements of real drives.

use diskarm_simulate::measured::RowRange;
use pyo3::prelude::*;

use crate::convert::python;
use crate::drive::Drive;
use crate::error::{raised, wrong};
use crate::trace::ReadingOptions;
use crate::wait;

/// Replays the trace in file and compares; or, if locked, predicts each response from those before
/// it.
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
    let reading = reading.meant(py)?;
    let rows = range(py, rows)?;
    let judge = match locked {
        true => diskarm_results::predicted,
        false => diskarm_results::validated,
    };
    let judged = wait::abandonable(py, move || judge(&model, &file, &reading, rows))?;
    python(py, &judged.map_err(|error| raised(py, &error))?)
}

/// Fits drive to the trace in file; returns the fitted drive, called name, the figures, and
/// warnings.
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
    let reading = reading.meant(py)?;
    let rows = range(py, rows)?;
    let fit = move || diskarm_results::calibrated::calibrated(&model, &file, &reading, rows, &name);
    let fitted = wait::abandonable(py, fit)?;
    let fitted = fitted.map_err(|error| raised(py, &error))?;
    let figures = python(py, &fitted.figures)?;
    Ok((Drive::from_system(fitted.model.into()), figures, fitted.warnings))
}

fn range(py: Python<'_>, rows: &str) -> PyResult<RowRange> {
    let expected = |error: String| wrong(py, "rows", rows, error.trim_start_matches("expected "));
    RowRange::parse(rows).map_err(expected)
}
