//! Errors of opening a drive.

use std::io;
use std::path::PathBuf;

/// The reason why a drive cannot be used. Messages begin with the path.
#[derive(Debug)]
pub enum Error {
    /// A file could not be opened or read.
    File { path: PathBuf, source: io::Error },
    /// The path does not name a disk that takes SCSI commands.
    NotADisk { path: PathBuf, is: &'static str },
    /// The system uses the drive, which writes would corrupt.
    InUse { path: PathBuf, by: String },
    /// The drive is not empty.
    Content { path: PathBuf, what: &'static str },
    /// A command failed.
    Command {
        path: PathBuf,
        source: crate::transport::Error,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NotADisk { path, is } => write!(
                f,
                "{}: {is}; expected a whole disk: /dev/sgX or a block device",
                path.display()
            ),
            Self::InUse { path, by } => {
                write!(f, "{}: {by}: writes would destroy data", path.display())
            }
            Self::Content { path, what } => {
                write!(
                    f,
                    "{}: has {what}: writes would destroy data",
                    path.display()
                )
            }
            Self::Command { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            Self::Command { source, .. } => Some(source),
            Self::NotADisk { .. } | Self::InUse { .. } | Self::Content { .. } => None,
        }
    }
}
