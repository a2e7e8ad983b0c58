//! Storage that several threads read in parallel.

use diskarm_core::units::{Bytes, Lbn, SectorCount};

/// Storage that several threads read in parallel, each through a [`Reader`] of its own.
pub trait Source: Send + Sync {
    /// Opens another reader.
    ///
    /// # Errors
    /// The source is not available.
    fn open(&self) -> Result<Box<dyn Reader>, Lost>;
}

/// A connection to a source or an open file, which executes one read at a time.
pub trait Reader: Send {
    /// Returns the size of the source.
    fn size(&self) -> Size;

    /// Fills `room`, a number of whole blocks, with the blocks from `first` on.
    ///
    /// # Errors
    /// Blocks are unreadable, or the connection was lost.
    fn read(&mut self, first: Lbn, room: &mut [u8]) -> Result<(), Fault>;
}

/// The size of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of blocks.
    pub sectors: SectorCount,
    /// Size of a block.
    pub sector: Bytes,
}

/// The failure of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Blocks are unreadable; the first of them if the device reports it.
    Unreadable(Option<Lbn>),
    /// The connection was lost. Another one may work.
    Lost(Lost),
}

/// The loss of a connection, with its reason as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost(pub String);

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lost {}

impl From<std::io::Error> for Lost {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Lost> for Fault {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}
