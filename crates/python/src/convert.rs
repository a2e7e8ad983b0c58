//! Converts JSON values, errors and drawings to Python objects.

use diskarm_core::text::{self, InputError};
use diskarm_plot::{Figure, Point, Series};
use diskarm_simulate::Error;
use diskarm_study::StudyError;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict, PyList, PyType};
use serde_json::Value;

/// Converts JSON to Python objects. Numbers keep every bit; null becomes None.
pub fn python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => whole.into_bound_py_any(py),
            (None, Some(whole)) => whole.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(python(py, value)?)?;
            }
            list.into_bound_py_any(py)
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields {
                dict.set_item(name, python(py, value)?)?;
            }
            dict.into_bound_py_any(py)
        }
    }
}

/// Returns the exception `diskarm.Error` for `error`.
pub fn py_error(py: Python<'_>, error: &Error) -> PyErr {
    let field = error.field().map(python_name);
    let message = in_arguments(&error.to_string());
    raise(py, &message, error.file(), error.line(), field)
}

/// Returns the exception for an invalid value of `field`.
pub fn wrong(py: Python<'_>, field: &str, found: &str, expected: &str) -> PyErr {
    let message = format!("{field}: found {found:?}, expected {expected}");
    raise(py, &message, None, None, Some(field))
}

/// Returns the exception for an argument of the wrong type.
pub fn wrong_type(field: &str, found: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let found = found
        .repr()
        .map_or_else(|_| "it".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!("{field}: found {found}, expected {expected}"))
}

/// Returns the exception for an error in a study's file.
pub fn wrong_study(py: Python<'_>, error: &InputError) -> PyErr {
    let field = Some(error.field.as_str()).filter(|field| !field.is_empty());
    raise(py, &error.to_string(), error.file(), error.line, field)
}

/// Returns the exception for a study that cannot be run.
pub fn failed(py: Python<'_>, error: &StudyError) -> PyErr {
    match error {
        StudyError::File(error) => wrong_study(py, error),
        StudyError::Io { source, .. } => match source.raw_os_error() {
            // Like Python's own file errors: an OSError with its number.
            Some(number) => PyOSError::new_err((number, error.to_string())),
            None => PyOSError::new_err(error.to_string()),
        },
        StudyError::OtherVersion { path, .. } => raise(
            py,
            &error.to_string(),
            path.to_str(),
            Some(1),
            Some("version"),
        ),
        StudyError::Store { path, line, .. } => raise(
            py,
            &error.to_string(),
            path.to_str(),
            Some(*line as u64),
            None,
        ),
        _ => raise(py, &error.to_string(), None, None, None),
    }
}

/// Suggests the known name that the user may have meant.
#[pyfunction]
pub fn nearest(name: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    text::nearest(name, &known).map(str::to_owned)
}

fn raise(
    py: Python<'_>,
    message: &str,
    file: Option<&str>,
    line: Option<u64>,
    field: Option<&str>,
) -> PyErr {
    let made = || {
        let details = [("file", file), ("field", field)].into_py_dict(py)?;
        details.set_item("line", line)?;
        class(py)?.call((message,), Some(&details))
    };
    match made() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// Returns the exception class, defined in Python so that its attributes have type annotations.
fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "diskarm._error", "Error")
}

/// Returns the Python names of arguments whose own names are keywords in Python.
fn python_name(argument: &str) -> &str {
    match argument {
        "from" => "from_",
        other => other,
    }
}

/// Replaces argument names in backticks with their Python names.
fn in_arguments(message: &str) -> String {
    message.replace("`from`", "`from_`")
}

/// Formats a number with its confidence interval, to the digits that are certain; without an
/// interval, to four digits.
#[pyfunction]
#[pyo3(signature = (mean, half_width=None))]
pub fn rounded(mean: f64, half_width: Option<f64>) -> String {
    diskarm_plot::rounded(mean, half_width)
}

/// Draws cumulative distributions of response times as SVG. Each curve has a label and its
/// quantiles 0, 0.001 and so on, in milliseconds.
#[pyfunction]
pub fn distributions(title: &str, note: &str, curves: Vec<(String, Vec<f64>)>) -> String {
    let series = curves.into_iter().map(|(label, quantiles_ms)| {
        let fractions = (0..).map(|k| f64::from(k) / 1e3);
        let points = quantiles_ms.into_iter().zip(fractions);
        let points = points.map(|(ms, fraction)| Point::new(ms, fraction));
        Series {
            label,
            points: points.collect(),
            ..Series::default()
        }
    });
    Figure::of_responses(title, note, series.collect()).still_svg()
}
