//! Why there is no simulation: bad input, told in one line.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use diskarm_core::engine::Rejected;
use diskarm_core::spec::SpecError;
use diskarm_core::text::Fault;
use diskarm_trace::{Location, TraceError};

/// What is wrong with what was asked for. Displays as one line.
#[derive(Debug)]
pub enum Error {
    /// An argument has a value that it cannot have.
    Argument {
        /// Its name, as the command line writes it: `--warmup`.
        argument: &'static str,
        /// The value as it was given.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// A drive specification is wrong.
    Spec(SpecError),
    /// A policy is wrong.
    Policy {
        /// The argument; also what the fault calls a policy that is unknown.
        argument: &'static str,
        /// What is wrong.
        fault: Fault,
    },
    /// A workload is wrong, or does not fit the drive.
    Workload {
        /// The argument, or the file.
        place: String,
        /// What is wrong.
        fault: Fault,
    },
    /// A trace is wrong, or does not fit the drive.
    Trace(TraceError),
    /// A device refused a request that nobody had checked before.
    Rejected(Rejected),
    /// A file cannot be read.
    Unread {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    /// `argument` is `found`, which it cannot be.
    pub fn argument(
        argument: &'static str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Argument {
            argument,
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The same where the caller calls the argument otherwise.
    pub fn calling(self, name: &'static str) -> Self {
        match self {
            Self::Argument {
                found, expected, ..
            } => Self::argument(name, found, expected),
            // Without a line it is the argument itself that is wrong.
            Self::Workload { fault, .. } if fault.line.is_none() => Self::Workload {
                place: name.to_owned(),
                fault,
            },
            other => other,
        }
    }

    /// The file that is wrong, as it was named.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Spec(error) => Some(&error.file),
            // Without a line it is the argument itself that is wrong.
            Self::Workload { place, fault } => fault.line.map(|_| place.as_str()),
            Self::Trace(error) => Some(error.name()),
            Self::Unread { path, .. } => Some(path),
            Self::Argument { .. } | Self::Policy { .. } | Self::Rejected(_) => None,
        }
    }

    /// The line of the file, from 1.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Spec(error) => Some(error.line as u64),
            Self::Workload { fault, .. } => fault.line.map(|line| line as u64),
            Self::Trace(error) => match error.location() {
                Some(Location::Line(line)) => Some(line),
                _ => None,
            },
            _ => None,
        }
    }

    /// What is wrong in it: a key, a column, a parameter, or the argument.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Argument { argument, .. } => Some(argument),
            Self::Spec(error) => Some(&error.field),
            Self::Policy { fault, .. } | Self::Workload { fault, .. } => Some(&fault.field),
            Self::Trace(error) => error.field(),
            Self::Rejected(_) | Self::Unread { .. } => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument {
                argument,
                found,
                expected,
            } => write!(f, "{argument}: found {found:?}, expected {expected}"),
            Self::Spec(error) => error.fmt(f),
            Self::Policy { argument, fault } if fault.field == *argument => fault.fmt(f),
            Self::Policy { argument, fault } => write!(f, "{argument}: {fault}"),
            Self::Workload { place, fault } => match fault.line {
                Some(line) => write!(f, "{place}:{line}: {fault}"),
                None => write!(f, "{place}: {fault}"),
            },
            Self::Trace(error) => error.fmt(f),
            Self::Rejected(error) => error.fmt(f),
            Self::Unread { path, source } => write!(f, "{path}: cannot read: {source}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Argument { .. } => None,
            Self::Spec(error) => Some(error),
            Self::Policy { fault, .. } | Self::Workload { fault, .. } => Some(fault),
            Self::Trace(error) => Some(error),
            Self::Rejected(error) => Some(error),
            Self::Unread { source, .. } => Some(source),
        }
    }
}

impl From<SpecError> for Error {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<Rejected> for Error {
    fn from(error: Rejected) -> Self {
        Self::Rejected(error)
    }
}
