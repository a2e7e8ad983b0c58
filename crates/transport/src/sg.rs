//! SCSI commands over Linux's SG_IO, to `/dev/sgX` and to block devices such as `/dev/sdX`.
//!
//! At first, an [`Sg`] allows only commands that do not change data. [`Sg::allow_writes`] allows
//! all commands on a drive that looks empty and is not in use, and keeps the system from using the
//! drive. On systems other than Linux, [`Sg::open`] returns an error.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
mod block_device;
#[cfg(target_os = "linux")]
mod ioctl;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::Sg;

/// The reason why a drive cannot be used. Messages begin with the path.
#[derive(Debug)]
pub enum Error {
    /// A file could not be opened or read.
    File { path: PathBuf, source: io::Error },
    /// The file is not a disk that accepts SCSI commands.
    NotADisk { path: PathBuf, kind: &'static str },
    /// The system is using the drive, so writes would corrupt its data.
    InUse { path: PathBuf, by: String },
    /// The drive is not empty.
    Content { path: PathBuf, what: &'static str },
    Command {
        path: PathBuf,
        source: crate::transport::Error,
    },
}

impl Error {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let owned = path.to_owned();
        move |source| Self::File {
            path: owned,
            source,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::File { path, .. }
        | Self::NotADisk { path, .. }
        | Self::InUse { path, .. }
        | Self::Content { path, .. }
        | Self::Command { path, .. }) = self;
        write!(f, "{}: ", path.display())?;
        match self {
            Self::File { source, .. } => source.fmt(f),
            Self::NotADisk { kind, .. } => {
                write!(f, "{kind}; expected /dev/sgX or a disk such as /dev/sda")
            }
            Self::InUse { by, .. } => write!(f, "{by}: writes would destroy data"),
            Self::Content { what, .. } => write!(f, "contains {what}: writes would destroy data"),
            Self::Command { source, .. } => source.fmt(f),
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

/// A drive that cannot be opened on this system.
#[cfg(not(target_os = "linux"))]
pub enum Sg {}

#[cfg(not(target_os = "linux"))]
impl Sg {
    pub fn open(path: &Path) -> Result<Self, Error> {
        Err(Error::file(path)(io::Error::new(
            io::ErrorKind::Unsupported,
            "SCSI commands to local drives require Linux (SG_IO)",
        )))
    }

    pub fn allow_writes(&mut self, _overwrite_data: bool) -> Result<(), Error> {
        match *self {}
    }
}

#[cfg(not(target_os = "linux"))]
impl crate::Transport for Sg {
    fn execute(
        &mut self,
        _: &[u8],
        _: crate::Data<'_>,
    ) -> Result<crate::Reply, crate::TransportError> {
        match *self {}
    }

    fn sleep(&mut self, _: diskarm_core::units::Span) {
        match *self {}
    }

    fn now(&self) -> diskarm_core::units::Instant {
        match *self {}
    }
}
