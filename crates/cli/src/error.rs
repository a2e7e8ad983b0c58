//! The errors of commands, each described in one line.

use std::fmt;
use std::io;

use diskarm_core::engine::RejectedRequest;
use diskarm_core::text::InputError;
use diskarm_results::output_file::OutputError;
use diskarm_study::StudyError;
use diskarm_trace::TraceError;

/// The exit code of a program that was ended by Ctrl-C: 128 plus the number of the signal.
pub const INTERRUPTED: i32 = 130;

/// The failure of a command. Displays as one line, without `error:`.
#[derive(Debug)]
pub enum Error {
    /// The command line is wrong in a way that a sentence describes.
    Usage(String),
    /// An option or argument has an invalid value.
    Input(InputError),
    /// The simulation is invalid.
    Simulate(diskarm_simulate::Error),
    /// A trace is invalid.
    Trace(TraceError),
    /// A device refused a request that had not been checked before.
    RejectedRequest(RejectedRequest),
    /// A study is invalid or cannot be run.
    Study(StudyError),
    /// Claims of a study failed or were not measured, without a known reason.
    Claims { count: usize },
    /// The two compared things differ.
    Differ,
    /// A drive cannot be measured or scanned, or a server refuses a command.
    Drive(String),
    /// Some of the measurements of a drive failed.
    Measurements { failed: Vec<&'static str> },
    /// A scan found blocks that cannot be read.
    Unreadable { blocks: u64 },
    /// The user ended the program early.
    Interrupted(String),
    /// A file cannot be read or written.
    Io {
        /// A verb, such as `read` or `write`.
        doing: &'static str,
        path: String,
        source: io::Error,
    },
}

impl Error {
    /// Returns the error of the invalid value `found`.
    pub fn option(
        option: &'static str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Input(InputError::new(option, &found.into(), expected))
    }

    /// Returns the exit code: 1 if a command did its work and the result is bad, else 2.
    pub fn code(&self) -> u8 {
        match self {
            Self::Claims { .. }
            | Self::Differ
            | Self::Measurements { .. }
            | Self::Unreadable { .. } => 1,
            Self::Interrupted(_) => 130,
            _ => 2,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Input(error) => error.fmt(f),
            Self::Simulate(error) => f.write_str(&with_options(&error.to_string())),
            Self::Trace(error) => f.write_str(&with_options(&error.to_string())),
            Self::RejectedRequest(error) => error.fmt(f),
            Self::Study(error) => error.fmt(f),
            Self::Claims { count: 1 } => f.write_str(
                "a claim failed (or could not be measured) without a [claim.known] reason",
            ),
            Self::Claims { count } => write!(
                f,
                "{count} claims failed (or could not be measured) without a [claim.known] reason"
            ),
            Self::Differ => f.write_str("the two differ"),
            Self::Drive(message) | Self::Interrupted(message) => f.write_str(message),
            Self::Unreadable { blocks: 1 } => f.write_str("a block is unreadable"),
            Self::Unreadable { blocks } => write!(f, "{blocks} blocks are unreadable"),
            Self::Measurements { failed } => match &failed[..] {
                [one] => write!(f, "a measurement failed: {one}"),
                _ => write!(
                    f,
                    "{} measurements failed: {}",
                    failed.len(),
                    failed.join(", ")
                ),
            },
            Self::Io {
                doing,
                path,
                source,
            } => write!(f, "{path}: cannot {doing}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Usage(_)
            | Self::Claims { .. }
            | Self::Differ
            | Self::Drive(_)
            | Self::Interrupted(_)
            | Self::Unreadable { .. }
            | Self::Measurements { .. } => None,
            Self::Input(error) => Some(error),
            Self::Simulate(error) => Some(error),
            Self::Trace(error) => Some(error),
            Self::RejectedRequest(error) => Some(error),
            Self::Study(error) => Some(error),
            Self::Io { source, .. } => Some(source),
        }
    }
}

impl From<diskarm_simulate::Error> for Error {
    fn from(error: diskarm_simulate::Error) -> Self {
        Self::Simulate(error)
    }
}

impl From<StudyError> for Error {
    fn from(error: StudyError) -> Self {
        Self::Study(error)
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Study(error.into())
    }
}

impl From<OutputError> for Error {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Refused(error) => Self::Input(error),
            OutputError::Io { path, source } => Self::Io {
                doing: "write",
                path: path.display().to_string(),
                source,
            },
        }
    }
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<RejectedRequest> for Error {
    fn from(error: RejectedRequest) -> Self {
        Self::RejectedRequest(error)
    }
}

/// The options for the names of the simulator's arguments.
const OPTIONS: [(&str, &str); 14] = [
    ("device", "--device"),
    ("drive", "--drive"),
    ("fit", "--fit"),
    ("from", "--from"),
    ("policy", "--policy"),
    ("requests", "--requests"),
    ("rows", "--rows"),
    ("size", "--size"),
    ("store", "--store"),
    ("trace", "--trace"),
    ("until", "--until"),
    ("warm_up", "--warmup"),
    ("window", "--window"),
    ("workload", "--workload"),
];

/// Replaces the simulator's names of arguments, which come first or are in backticks, by options.
fn with_options(message: &str) -> String {
    let mut text = message.to_owned();
    for (name, flag) in OPTIONS {
        if let Some(rest) = text
            .strip_prefix(name)
            .filter(|rest| rest.starts_with(": "))
        {
            text = format!("{flag}{rest}");
        }
        text = text.replace(&format!("`{name}`"), flag);
    }
    text
}
