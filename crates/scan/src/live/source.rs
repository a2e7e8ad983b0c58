//! What is read in real time.

use diskarm_core::units::{Bytes, Lbn, SectorCount};

/// Something that several threads can read at one time, each by a [`Reader`] of its own.
pub trait Source: Send + Sync {
    /// Opens it once more.
    ///
    /// # Errors
    /// It is not there, or not now.
    fn open(&self) -> Result<Box<dyn Reader>, SourceLost>;
}

/// A connection to a source, or an open file, which serves one read at a time.
pub trait Reader: Send {
    /// How large the source is.
    fn size(&self) -> SourceSize;

    /// Fills `room`, whole blocks, with those from `first` on.
    ///
    /// # Errors
    /// Blocks cannot be read, or the connection is of no use any more.
    fn read(&mut self, first: Lbn, room: &mut [u8]) -> Result<(), ReadError>;
}

/// How large a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceSize {
    /// Its blocks.
    pub sectors: SectorCount,
    /// Size of a block.
    pub sector: Bytes,
}

/// Why a read failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// Blocks of it cannot be read: from this one on, if the device says so.
    Unreadable(Option<Lbn>),
    /// The connection is of no use any more. Another one may be.
    Lost(SourceLost),
}

/// Something does not answer, for a reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLost(pub String);

impl std::fmt::Display for SourceLost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SourceLost {}

impl From<std::io::Error> for SourceLost {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<SourceLost> for ReadError {
    fn from(lost: SourceLost) -> Self {
        Self::Lost(lost)
    }
}
