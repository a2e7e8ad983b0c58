//! Where the data of an export are.

mod file;
mod sparse;

pub use file::FileStore;
pub use sparse::SparseStore;

use std::fmt;
use std::fs::File;
use std::io;

use crate::power::Write;

/// The bytes of an export. Offsets and lengths that callers pass lie within it.
pub trait Store: Send {
    /// Reads from `offset` on until `data` are full.
    ///
    /// # Errors
    /// Those of the operating system; `data` are then undefined.
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()>;

    /// Writes `data` from `offset` on.
    ///
    /// # Errors
    /// Those of the operating system; what was there may be partly overwritten.
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// A write of `length` bytes from `offset` on follows in parts; returns its number.
    fn open(&mut self, _offset: u64, _length: u64) -> Write {
        Write::default()
    }

    /// Writes a part of the write of this number.
    ///
    /// # Errors
    /// As for [`Self::write`].
    fn write_part(&mut self, _: Write, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write(offset, data)
    }

    /// Lets `length` bytes from `offset` on read as zeroes. They take up no space if `may_free`.
    ///
    /// # Errors
    /// As for [`Self::write`].
    fn zero(&mut self, offset: u64, length: u64, may_free: bool) -> io::Result<()>;

    /// What is known of the bytes from `offset` on, of which at most `length` are looked at; at
    /// least one is described.
    ///
    /// # Errors
    /// Those of the operating system.
    fn extent(&mut self, offset: u64, length: u64) -> io::Result<Extent>;

    /// The file to synchronise so that all that was written survives the end of this program, if
    /// there is one.
    fn to_sync(&self) -> Option<&File>;
}

/// Consecutive bytes of which the same is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many.
    pub length: u64,
    /// They take up no space and read as zeroes.
    pub is_hole: bool,
}

/// A store as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreSpec {
    /// `memory`: all data are gone when the server ends.
    Memory,
    /// `file:PATH`: a file, which is made if there is none.
    File(String),
    /// `snapshot:PATH`: a file that is read only; what is written stays in memory.
    Snapshot(String),
}

impl StoreSpec {
    /// What is expected of the text.
    pub const EXPECTED: &str = "memory, file:PATH or snapshot:PATH";

    /// Parses it; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None if text == "memory" => Some(Self::Memory),
            Some((_, "")) => None,
            Some(("file", path)) => Some(Self::File(path.to_owned())),
            Some(("snapshot", path)) => Some(Self::Snapshot(path.to_owned())),
            _ => None,
        }
    }

    /// The file, if any.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Memory => None,
            Self::File(path) | Self::Snapshot(path) => Some(path),
        }
    }

    /// The size of the file, in bytes; `None` if there is none yet.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn existing_bytes(&self) -> io::Result<Option<u64>> {
        let Some(path) = self.path() else {
            return Ok(None);
        };
        match File::open(path) {
            Ok(file) => file::bytes(&file).map(Some),
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && matches!(self, Self::File(_)) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a store of `bytes`, to which nothing will be written if `is_read_only`.
    ///
    /// # Errors
    /// If its file cannot be opened, has another size, or is served by another program.
    pub fn open(&self, bytes: u64, is_read_only: bool) -> io::Result<Box<dyn Store>> {
        Ok(match self {
            Self::Memory => Box::new(SparseStore::empty(bytes)),
            Self::File(path) => Box::new(FileStore::open(path, bytes, is_read_only)?),
            Self::Snapshot(path) => Box::new(SparseStore::over(path, bytes)?),
        })
    }
}

impl fmt::Display for StoreSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Snapshot(path) => write!(f, "snapshot:{path}"),
        }
    }
}

#[cfg(test)]
mod tests;
