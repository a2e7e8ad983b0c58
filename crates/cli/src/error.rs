//! The errors of commands: invalid input, described in one line.

use std::fmt;
use std::io;

use clap::CommandFactory;
use diskarm_core::engine::Rejected;
use diskarm_core::text::InputError;
use diskarm_results::output_file::OutputError;
use diskarm_study::StudyError;
use diskarm_trace::TraceError;

/// The exit code of a program that Ctrl-C has ended: 128 plus the number of the signal.
pub const INTERRUPTED: i32 = 130;

/// Why a command failed. Displays as one line, without `error:`.
#[derive(Debug)]
pub enum Error {
    /// The flag parser refused the command line; its message in one line.
    Usage(String),
    /// A flag or argument has an invalid value.
    Input(InputError),
    /// The simulation is invalid.
    Simulate(diskarm_simulate::Error),
    /// A trace is invalid.
    Trace(TraceError),
    /// A device refused a request that had not been checked before.
    Rejected(Rejected),
    /// A study is invalid or cannot be run.
    Study(StudyError),
    /// Claims of a study fail or are not measured, without a known reason.
    Claims {
        /// How many.
        count: usize,
    },
    /// Two specifications differ by more than measurements tell.
    Differ,
    /// A drive cannot be measured, or no longer, or a server cannot do what it was asked.
    Drive(String),
    /// Some of the measurements of a drive failed.
    Measurements {
        /// Their names.
        failed: Vec<&'static str>,
    },
    /// A scan found blocks that cannot be read.
    Unreadable {
        /// How many.
        blocks: u64,
    },
    /// The user ended the program early.
    Interrupted(String),
    /// A file cannot be read or written.
    Io {
        /// `read` or `write`.
        doing: &'static str,
        /// The file.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// `flag` has the invalid value `found`.
    pub fn flag(flag: &'static str, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Input(InputError::new(flag, &found.into(), expected))
    }

    /// The exit code: 1 if a command did its work and the result is bad, else 2.
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
            Self::Simulate(error) => f.write_str(&in_flags(&error.to_string())),
            Self::Trace(error) => f.write_str(&in_flags(&error.to_string())),
            Self::Rejected(error) => error.fmt(f),
            Self::Study(error) => error.fmt(f),
            Self::Claims { count: 1 } => {
                f.write_str("a claim fails or is not measured, and its study does not say why")
            }
            Self::Claims { count } => write!(
                f,
                "{count} claims fail or are not measured, and their studies do not say why"
            ),
            Self::Differ => f.write_str("the two differ"),
            Self::Drive(message) | Self::Interrupted(message) => f.write_str(message),
            Self::Unreadable { blocks: 1 } => f.write_str("a block cannot be read"),
            Self::Unreadable { blocks } => write!(f, "{blocks} blocks cannot be read"),
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
            Self::Rejected(error) => Some(error),
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

impl From<Rejected> for Error {
    fn from(error: Rejected) -> Self {
        Self::Rejected(error)
    }
}

/// Flags for the names of the simulator's arguments.
const FLAGS: [(&str, &str); 14] = [
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

/// A message of the simulator with its arguments, which come first or are in backticks, as flags.
fn in_flags(message: &str) -> String {
    let mut text = message.to_owned();
    for (name, flag) in FLAGS {
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

/// Handles the output of the flag parser: prints help and version unchanged, the former also if
/// nothing was asked for, and joins the lines of an error into one.
pub fn usage(error: clap::Error) -> Result<(), Error> {
    use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as HelpInstead;
    let text = error.to_string();
    if error.kind() == HelpInstead {
        // The text is the help of a command that lacks its own.
        let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
        let command = usage.and_then(|usage| usage.split(['<', '[']).next());
        let command = command.map_or("diskarm", str::trim_end);
        if command == "diskarm" {
            return crate::output::print(&text);
        }
        return Err(Error::Usage(format!(
            "found no command, expected one ({command} --help lists them)"
        )));
    }
    if !error.use_stderr() {
        return crate::output::print(&text);
    }
    let line = bad_value(&error).unwrap_or_else(|| one_line(&text));
    Err(Error::Usage(line + &hint(&error)))
}

/// What was probably meant by a command line that is refused; empty where nothing is known.
fn hint(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let string = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let drive = |text: &str| text.ends_with(".toml") || diskarm_drives::find(text).is_some();
    match error.kind() {
        ErrorKind::ArgumentConflict
            if string(ContextKind::InvalidArg) == string(ContextKind::PriorArg)
                && string(ContextKind::InvalidArg).starts_with("--drive ") =>
        {
            "; `diskarm compare --drive A,B` compares several".to_owned()
        }
        ErrorKind::UnknownArgument
            if drive(string(ContextKind::InvalidArg)) && takes_drive(&refused(error)) =>
        {
            format!("; perhaps --drive {}", string(ContextKind::InvalidArg))
        }
        ErrorKind::InvalidSubcommand
            if drive(string(ContextKind::InvalidSubcommand))
                && refused(error).iter().all(|word| word == "drives") =>
        {
            let name = string(ContextKind::InvalidSubcommand);
            format!("; perhaps `diskarm drives show {name}`")
        }
        _ => String::new(),
    }
}

/// The words of the command whose arguments were refused, after the program's name.
fn refused(error: &clap::Error) -> Vec<String> {
    let text = error.to_string();
    let usage = text
        .lines()
        .find_map(|line| line.strip_prefix("Usage: diskarm"));
    let words = usage.unwrap_or_default().split_whitespace();
    let is_name = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    words.take_while(is_name).map(str::to_owned).collect()
}

/// Whether a command has the flag `--drive`.
fn takes_drive(words: &[String]) -> bool {
    let mut command = crate::Cli::command();
    for word in words {
        let Some(found) = command.find_subcommand(word) else {
            return false;
        };
        command = found.clone();
    }
    let mut flags = command.get_arguments().filter_map(clap::Arg::get_long);
    flags.any(|flag| flag == "drive")
}

/// An invalid value of a flag, as [`Error::Input`] displays it; `None` for other errors.
fn bad_value(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let string = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    // "--requests <N>", or "[FILE]".
    let flag = string(ContextKind::InvalidArg)?.split(' ').next()?;
    let found = string(ContextKind::InvalidValue)?;
    let expected = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(names)) if !found.is_empty() => {
            format!("expected one of {}", names.join(", "))
        }
        // None if no value was given. The errors of our own value parsers begin with "expected";
        // those of the flag parser are about whole numbers.
        _ => {
            let source = std::error::Error::source(error)?.to_string();
            match source.starts_with("expected") {
                true => source,
                false => format!("expected a whole number ({source})"),
            }
        }
    };
    Some(format!("{flag}: found {found:?}, {expected}"))
}

/// The paragraphs before the usage and the pointer to the help, separated by semicolons, without
/// the advice to pass a misspelt flag as a file.
fn one_line(text: &str) -> String {
    let paragraphs = text.split("\n\n").take_while(|paragraph| {
        !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
    });
    let paragraphs =
        paragraphs.filter(|paragraph| !paragraph.trim_start().starts_with("tip: to pass "));
    let paragraphs: Vec<String> = paragraphs
        .map(|paragraph| {
            let words: Vec<&str> = paragraph.split_whitespace().collect();
            words.join(" ")
        })
        .collect();
    let line = paragraphs.join("; ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}
