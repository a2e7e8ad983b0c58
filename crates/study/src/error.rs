//! Errors of a study, and the version of the program that ran it.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use diskarm_core::text::InputError;
use diskarm_results::output_file::OutputError;

/// An error that prevents a study from being read, run or reported. Displays as one line.
#[derive(Debug)]
pub enum StudyError {
    /// The study file is wrong, or an output would replace an input.
    File(InputError),
    /// A cell cannot be simulated.
    Cell {
        /// The study and the cell: `fig3.toml: policy = SSTF, rate = 40`.
        cell: String,
        /// The problem, in one line.
        why: String,
    },
    /// The run was stopped by its caller.
    Stopped,
    /// Another run uses the same folder.
    Busy(PathBuf),
    /// The results folder was written by another version of the program.
    OtherVersion {
        /// The file in the folder that contains the version.
        path: PathBuf,
        /// The version that wrote it.
        found: String,
    },
    /// A line of the store is invalid.
    Store {
        /// The file of the store.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The problem, in one line.
        why: String,
    },
    /// A file or folder cannot be read or written.
    Io {
        /// The verb `read` or `write`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl StudyError {
    pub(crate) fn cannot_read(path: &Path, source: io::Error) -> Self {
        Self::io("read", path, source)
    }

    pub(crate) fn cannot_write(path: &Path, source: io::Error) -> Self {
        Self::io("write", path, source)
    }

    fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Cell { cell, why } => write!(f, "{cell}: {why}"),
            Self::Stopped => f.write_str("stopped: run the same command again to continue"),
            Self::Busy(path) => write!(
                f,
                "{}: another run uses this folder: wait until it ends, or choose another folder",
                path.display()
            ),
            Self::OtherVersion { path, found } => write!(
                f,
                "{}:1: version: found {found:?}, expected {:?}, the version of this program \
                 (choose another folder with --output, or remove this one)",
                path.display(),
                VERSION
            ),
            Self::Store { path, line, why } => write!(f, "{}:{line}: {why}", path.display()),
            Self::Io {
                doing,
                path,
                source,
            } => write!(f, "{}: cannot {doing}: {source}", path.display()),
        }
    }
}

impl std::error::Error for StudyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<OutputError> for StudyError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Refused(error) => Self::File(error),
            OutputError::Io { path, source } => Self::cannot_write(&path, source),
        }
    }
}

impl From<InputError> for StudyError {
    fn from(error: InputError) -> Self {
        Self::File(error)
    }
}

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A digest of the sources that runs depend on, because builds of one version may differ.
pub const BUILD: &str = env!("DISKARM_SOURCES");

/// The version and the build.
pub const VERSION_AND_BUILD: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (sources ",
    env!("DISKARM_SOURCES"),
    ")"
);
