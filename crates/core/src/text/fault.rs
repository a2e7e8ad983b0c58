//! What is wrong with what somebody wrote.

use std::error::Error;
use std::fmt;

use super::nearest;

/// One thing wrong with a written workload or policy. Displays as one line, without the file that
/// it stands in: `poisson.rate: found "60", expected a rate ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line in a file, from 1; `None` for a workload in one string.
    pub line: Option<usize>,
    /// Generator and parameter, or the key in a file.
    pub field: String,
    /// The value as written; `None` where one is missing.
    pub found: Option<String>,
    /// What would have been accepted.
    pub expected: String,
}

impl Fault {
    pub(crate) fn new(field: &str, found: &str, expected: impl Into<String>) -> Self {
        Self {
            line: None,
            field: field.to_owned(),
            found: Some(found.to_owned()),
            expected: expected.into(),
        }
    }

    pub(crate) fn missing(field: String, expected: impl Into<String>) -> Self {
        Self {
            line: None,
            field,
            found: None,
            expected: expected.into(),
        }
    }

    /// `found` is none of the `known` names; the nearest is suggested, or all are listed.
    pub(crate) fn unknown(field: &str, found: &str, what: &str, known: &[&str]) -> Self {
        let expected = match nearest(found, known) {
            Some(near) => format!("{what}, perhaps \"{near}\""),
            None => format!("{what}: {}", known.join(", ")),
        };
        Self::new(field, found, expected)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            found,
            expected,
            ..
        } = self;
        match found {
            Some(found) => write!(f, "{field}: found {found:?}, expected {expected}"),
            None => write!(f, "{field}: found nothing, expected {expected}"),
        }
    }
}

impl Error for Fault {}
