//! Data in a file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};

use super::{Extent, Store};

/// A file, or a block device.
pub struct FileStore {
    file: File,
    bytes: u64,
}

impl FileStore {
    /// Opens the file at `path`, or makes one of `bytes` without data.
    ///
    /// # Errors
    /// If it cannot be opened, has another size, or is served by another program.
    pub fn open(path: &str, bytes: u64, is_read_only: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(!is_read_only);
        let file = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = options.write(true).create_new(true).open(path)?;
                file.set_len(bytes)?;
                // The file itself must survive, too.
                file.sync_all()?;
                file
            }
            opened => opened?,
        };
        lock(if is_read_only {
            file.try_lock_shared()
        } else {
            file.try_lock()
        })?;
        check(&file, bytes)?;
        Ok(Self { file, bytes })
    }
}

/// Turns the failure to lock a file into an error that says why.
pub(super) fn lock(locked: Result<(), TryLockError>) -> io::Result<()> {
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::other("another program serves or locks it"),
        TryLockError::Error(error) => error,
    })
}

/// The size of a file or block device.
pub(super) fn bytes(mut file: &File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

/// Checks that a file has `expected` bytes.
pub(super) fn check(file: &File, expected: u64) -> io::Result<()> {
    let found = bytes(file)?;
    if found == expected {
        return Ok(());
    }
    let message = format!("found a file of {found} bytes, expected {expected}");
    Err(io::Error::other(message))
}

/// What is known of the bytes of `file`, which has `bytes`, from `offset` on.
pub(super) fn extent(file: &File, bytes: u64, offset: u64, length: u64) -> io::Result<Extent> {
    use rustix::fs::{SeekFrom, seek};
    let end = offset + length;
    let data = match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => data,
        Err(rustix::io::Errno::NXIO) => bytes,
        // A block device, or a file system that does not tell.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => offset,
        Err(error) => return Err(error.into()),
    };
    if data > offset {
        return Ok(Extent {
            length: data.min(end) - offset,
            is_hole: true,
        });
    }
    let hole = seek(file, SeekFrom::Hole(offset)).map_or(end, |hole| hole.clamp(offset + 1, end));
    Ok(Extent {
        length: hole - offset,
        is_hole: false,
    })
}

impl Store for FileStore {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(data, offset)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }

    fn zero(&mut self, offset: u64, length: u64, may_free: bool) -> io::Result<()> {
        let mode = match may_free {
            true => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            false => FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE,
        };
        if fallocate(&self.file, mode, offset, length).is_ok() {
            return Ok(());
        }
        static ZEROES: [u8; 1 << 16] = [0; 1 << 16];
        let mut at = offset;
        while at < offset + length {
            let count = (offset + length - at).min(ZEROES.len() as u64);
            self.file.write_all_at(&ZEROES[..count as usize], at)?;
            at += count;
        }
        Ok(())
    }

    fn extent(&mut self, offset: u64, length: u64) -> io::Result<Extent> {
        extent(&self.file, self.bytes, offset, length)
    }

    fn to_sync(&self) -> Option<&File> {
        Some(&self.file)
    }
}
