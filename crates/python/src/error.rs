//! Errors as exceptions.

use diskarm_core::text::{self, InputError};
use diskarm_simulate::Error;
use diskarm_study::StudyError;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyType};

/// The exception `diskarm.Error` for `error`.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let field = error.field().map(python_name);
    let message = worded(&error.to_string());
    raise(py, &message, error.file(), error.line(), field.as_deref())
}

/// The same where there is no more to say than that `field` has a wrong value.
pub fn wrong(py: Python<'_>, field: &str, found: &str, expected: &str) -> PyErr {
    let message = format!("{field}: found {found:?}, expected {expected}");
    raise(py, &message, None, None, Some(field))
}

/// The exception for what is wrong with a study's file.
pub fn wrong_study(py: Python<'_>, error: &InputError) -> PyErr {
    let field = Some(error.field.as_str()).filter(|field| !field.is_empty());
    raise(py, &error.to_string(), error.file(), error.line, field)
}

/// The exception for a study that cannot be run.
pub fn failed(py: Python<'_>, error: &StudyError) -> PyErr {
    match error {
        StudyError::File(error) => wrong_study(py, error),
        StudyError::Io { source, .. } => match source.raw_os_error() {
            // As Python has it of files: an OSError with its number.
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

/// What of the known names may have been meant.
#[pyfunction]
pub fn nearest(written: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    text::nearest(written, &known).map(str::to_owned)
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

/// It is written in Python, where it can say of what type its attributes are.
fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "diskarm._error", "Error")
}

/// Flags of the command line that Python calls otherwise than by their words.
const OTHERWISE: [(&str, &str); 3] = [
    ("--warmup", "warm_up"),
    ("--from", "from_"),
    ("TRACE", "trace"),
];

/// What Python calls an argument of the command line; all else stays.
fn python_name(argument: &str) -> String {
    let otherwise = OTHERWISE.iter().find(|(flag, _)| *flag == argument);
    match otherwise {
        Some((_, name)) => (*name).to_owned(),
        None => match argument.strip_prefix("--") {
            Some(words) => words.replace('-', "_"),
            None => argument.to_owned(),
        },
    }
}

/// A message whose flags are written as Python's arguments.
fn worded(message: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c == '-';
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("--") {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c| !is_of_name(c)).unwrap_or(from.len());
        // Within a word it is something else, such as part of a file's name.
        let begins = before.is_empty() || before.ends_with([' ', '(', '`']);
        let (flag, behind) = from.split_at(end);
        text += before;
        text += &match begins && flag.len() > 2 {
            true => python_name(flag),
            false => flag.to_owned(),
        };
        rest = behind;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_written_as_arguments() {
        let message = "--warmup: found \"9\", expected less than the 5 of --requests (the default)";
        let expected = "warm_up: found \"9\", expected less than the 5 of requests (the default)";
        assert_eq!(worded(message), expected);
        assert_eq!(worded("at most 4096 devices, or --device to choose"), {
            "at most 4096 devices, or device to choose"
        });
        for plain in ["a--b.spc:3: lbn", "x: a -- b", "--", "lbn: found \"--x\""] {
            assert_eq!(worded(plain), plain);
        }
        assert_eq!(python_name("geometry.surfaces"), "geometry.surfaces");
        assert_eq!(python_name("--on-error"), "on_error");
    }
}
