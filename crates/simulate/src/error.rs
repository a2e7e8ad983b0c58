//! Errors of a simulation: bad input, described in one line.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use diskarm_core::engine::RunError;
use diskarm_core::text::InputError;
use diskarm_trace::{Location, TraceError};

/// An error in the input. Displays as one line.
#[derive(Debug)]
pub enum Error {
    /// An argument, a specification, a policy or a workload is invalid, or does not fit the drive.
    Input(InputError),
    /// A trace is invalid, or does not fit the drive.
    Trace(TraceError),
    /// A device refused a request that had not been checked before, or the run is too long.
    Run(RunError),
    /// A file cannot be read.
    ReadFailed {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// Returns the error for the invalid value `found` of `argument`.
    pub fn argument(
        argument: &'static str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Input(InputError::new(argument, &found.into(), expected))
    }

    /// Replaces the name of the argument with `name`, which the caller uses.
    pub fn with_field(self, name: &str) -> Self {
        match self {
            Self::Input(error) => Self::Input(error.named(name)),
            other => other,
        }
    }

    /// Attributes an error in `file`, which the user has not seen, to the argument `name`.
    pub(crate) fn in_place_of(self, file: &str, name: &str) -> Self {
        match self {
            Self::Input(mut error) if error.file() == Some(file) => {
                error.line = None;
                Self::Input(error.in_argument(name))
            }
            other => other,
        }
    }

    /// Returns the file that is invalid or unreadable, as the user named it.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Input(error) => error.file(),
            Self::Trace(error) => Some(error.name()),
            Self::ReadFailed { path, .. } => Some(path),
            Self::Run(_) => None,
        }
    }

    /// Returns the line of the file, counted from 1.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Input(error) => error.line,
            Self::Trace(error) => match error.location() {
                Some(Location::Line(line)) => Some(line),
                _ => None,
            },
            Self::Run(_) | Self::ReadFailed { .. } => None,
        }
    }

    /// Returns the invalid field: a key, a column, a parameter, or the argument.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Input(error) => Some(&error.field),
            Self::Trace(error) => error.field(),
            Self::Run(_) | Self::ReadFailed { .. } => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Trace(error) => error.fmt(f),
            Self::Run(error) => error.fmt(f),
            Self::ReadFailed { path, source } => write!(f, "{path}: cannot read: {source}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Input(error) => Some(error),
            Self::Trace(error) => Some(error),
            Self::Run(error) => Some(error),
            Self::ReadFailed { source, .. } => Some(source),
        }
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}
