//! Why a drive cannot be used.

use std::io;
use std::path::PathBuf;

/// Why a drive cannot be used. Messages begin with the path.
#[derive(Debug)]
pub enum Error {
    /// A file could not be opened or read.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The path is not that of a disk that takes SCSI commands.
    NoDisk {
        /// Which.
        path: PathBuf,
        /// What it is.
        is: &'static str,
    },
    /// Writes would destroy what the system uses.
    InUse {
        /// The drive.
        path: PathBuf,
        /// Who uses it, and where.
        by: String,
    },
    /// The drive is not empty.
    Content {
        /// The drive.
        path: PathBuf,
        /// What its blocks hold.
        what: &'static str,
    },
    /// The drive could not be asked.
    Command {
        /// The drive.
        path: PathBuf,
        /// What it or the transport said.
        source: diskarm_extract::Error,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NoDisk { path, is } => write!(
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
            Self::NoDisk { .. } | Self::InUse { .. } | Self::Content { .. } => None,
        }
    }
}
