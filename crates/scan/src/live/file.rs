//! Regular files and block devices as sources, and aligned memory for direct reads.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use diskarm_core::units::{Bytes, Lbn, SectorCount};
use diskarm_transport::{Fault, Lost, Reader, Size, Source};

/// Alignment of memory for direct reads of any disk, in bytes.
const PAGE: usize = 4096;

/// A buffer that starts at a page boundary.
pub struct PageBuffer {
    bytes: Vec<u8>,
    first: usize,
    length: usize,
}

impl PageBuffer {
    /// Creates a buffer of `length` zeroes.
    pub fn new(length: usize) -> Self {
        let bytes = vec![0; length + PAGE];
        // A wrong alignment only makes direct reads fail.
        let first = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        Self {
            bytes,
            first,
            length,
        }
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.first..self.first + self.length]
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.first..self.first + self.length]
    }
}

/// Size of a block of a file, in bytes.
const SECTOR: u64 = 512;

/// A regular file or a block device, read without the system's page cache where possible.
#[derive(Clone, Debug)]
pub struct FileSource {
    path: PathBuf,
}

impl FileSource {
    pub fn new(path: &Path) -> Self {
        Self { path: path.into() }
    }

    /// Returns true if reads bypass the system's page cache.
    pub fn is_direct(&self) -> bool {
        open_direct(&self.path).is_ok()
    }
}

impl Source for FileSource {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        let opened = open_direct(&self.path).or_else(|_| File::open(&self.path));
        let lost = |error: io::Error| Lost(error.to_string());
        let mut file = opened.map_err(lost)?;
        let sector = block_size(&file);
        let bytes = file.seek(SeekFrom::End(0)).map_err(lost)?;
        let size = Size {
            sectors: SectorCount(bytes / sector),
            sector: Bytes(sector),
        };
        if size.sectors.0 == 0 || bytes % sector > 0 {
            let why = format!("found {bytes} bytes, expected one or more blocks of {sector} bytes");
            return Err(Lost(why));
        }
        Ok(Box::new(FileReader { file, size }))
    }
}

#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::DIRECT.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    // Some file systems refuse direct access only at the first read.
    let mut first = PageBuffer::new(4096);
    let read = std::os::unix::fs::FileExt::read_at(&file, &mut first, 0);
    read.map(|_| file)
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the block size of a device, or [`SECTOR`] for a file.
#[cfg(target_os = "linux")]
fn block_size(file: &File) -> u64 {
    let size = rustix::fs::ioctl_blksszget(file);
    size.map_or(SECTOR, u64::from)
}

#[cfg(not(target_os = "linux"))]
fn block_size(_: &File) -> u64 {
    SECTOR
}

struct FileReader {
    file: File,
    size: Size,
}

impl FileReader {
    #[cfg(unix)]
    fn fill(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset)
    }

    #[cfg(not(unix))]
    fn fill(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(offset))?;
        io::Read::read_exact(&mut self.file, buffer)
    }
}

impl Reader for FileReader {
    fn size(&self) -> Size {
        self.size
    }

    fn read(&mut self, first: Lbn, buffer: &mut [u8]) -> Result<(), Fault> {
        let offset = first.0 * self.size.sector.0;
        match self.fill(buffer, offset) {
            Ok(()) => Ok(()),
            Err(error) if is_medium_error(&error) => Err(Fault::Unreadable(None)),
            Err(error) => Err(Fault::Lost(error.into())),
        }
    }
}

/// Returns true if Linux reports unreadable blocks: EIO, ENODATA, EILSEQ or EREMOTEIO.
#[cfg(target_os = "linux")]
fn is_medium_error(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let found = Errno::from_io_error(error);
    [Errno::IO, Errno::NODATA, Errno::ILSEQ, Errno::REMOTEIO]
        .contains(&found.unwrap_or(Errno::INVAL))
}

#[cfg(not(target_os = "linux"))]
fn is_medium_error(_: &io::Error) -> bool {
    true
}
