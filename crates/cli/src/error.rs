//! The errors of commands, each described in one line.

use std::fmt;
use std::io;

use diskarm_core::engine::RunError;
use diskarm_core::text::InputError;
use diskarm_results::output_file::OutputError;
use diskarm_study::StudyError;
use diskarm_trace::TraceError;

/// The exit code after Ctrl-C: 128 plus the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// The failure of a command. It is displayed as one line, without `error:`.
#[derive(Debug)]
pub enum Error {
    /// The command could not complete.
    Failed(String),
    /// A trace is invalid, or cannot be read or written.
    Trace(TraceError),
    /// The command completed, and its result is negative.
    BadResult(String),
    /// The user ended the program early.
    Interrupted(String),
}

impl Error {
    /// Returns the error for the invalid value `found`.
    pub fn option(
        option: &'static str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        InputError::new(option, &found.into(), expected).into()
    }

    /// Converts an I/O error on `path`, a file or other resource; `verb` names the failed action.
    pub fn io(verb: &str, path: impl fmt::Display) -> impl Fn(io::Error) -> Self {
        move |source| Self::Failed(format!("{path}: cannot {verb}: {source}"))
    }

    /// Returns an error if a scan found unreadable blocks.
    pub fn unreadable(blocks: u64) -> Result<(), Self> {
        match blocks {
            0 => Ok(()),
            1 => Err(Self::BadResult("a block is unreadable".to_owned())),
            _ => Err(Self::BadResult(format!("{blocks} blocks are unreadable"))),
        }
    }

    pub fn differ() -> Self {
        Self::BadResult("the two differ".to_owned())
    }

    /// Returns the exit code: 1 for a negative result, 130 after Ctrl-C, otherwise 2.
    pub fn code(&self) -> u8 {
        match self {
            Self::BadResult(_) => 1,
            Self::Failed(_) | Self::Trace(_) => 2,
            Self::Interrupted(_) => INTERRUPTED,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::BadResult(message) | Self::Interrupted(message) => {
                f.write_str(message)
            }
            Self::Trace(error) => f.write_str(&with_options(&error.to_string())),
        }
    }
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<diskarm_simulate::Error> for Error {
    fn from(error: diskarm_simulate::Error) -> Self {
        Self::Failed(with_options(&error.to_string()))
    }
}

impl From<StudyError> for Error {
    fn from(error: StudyError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<OutputError> for Error {
    fn from(error: OutputError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Arguments of the library that are also command-line options.
const OPTIONS: [&str; 14] = [
    "device", "drive", "fit", "from", "policy", "requests", "rows", "size", "store", "trace",
    "until", "warm_up", "window", "workload",
];

/// Replaces the library's argument names with options, at the start of `message` and in backticks.
fn with_options(message: &str) -> String {
    let mut text = message.to_owned();
    for name in OPTIONS {
        let flag = format!("--{}", name.replace('_', ""));
        let suffix = text
            .strip_prefix(name)
            .filter(|suffix| suffix.starts_with(": "));
        if let Some(suffix) = suffix {
            text = format!("{flag}{suffix}");
        }
        text = text.replace(&format!("`{name}`"), &flag);
    }
    text
}
