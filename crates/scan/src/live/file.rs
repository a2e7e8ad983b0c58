//! Plain files and block devices.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use diskarm_core::units::{Bytes, Lbn, SectorCount};

use diskarm_transport::source::{Fault, Lost, Reader, Size, Source};

/// Size of a block of a file, in bytes.
const SECTOR: u64 = 512;

/// A plain file, or a block device, past the system's page cache where it permits that.
#[derive(Clone, Debug)]
pub struct FileSource {
    path: PathBuf,
}

impl FileSource {
    /// The file at a path.
    pub fn new(path: &Path) -> Self {
        Self { path: path.into() }
    }

    /// Whether reads of it come from the device itself: not from the system's page cache.
    pub fn is_direct(&self) -> bool {
        direct(&self.path).is_ok()
    }
}

impl Source for FileSource {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        let opened = direct(&self.path).or_else(|_| File::open(&self.path));
        let lost = |error: io::Error| Lost(error.to_string());
        let mut file = opened.map_err(lost)?;
        let sector = sector(&file);
        let bytes = file.seek(SeekFrom::End(0)).map_err(lost)?;
        let size = Size {
            sectors: SectorCount(bytes / sector),
            sector: Bytes(sector),
        };
        if size.sectors.0 == 0 || bytes % sector > 0 {
            let why = format!("found {bytes} bytes, expected whole blocks of {sector}");
            return Err(Lost(why));
        }
        Ok(Box::new(Opened { file, size }))
    }
}

#[cfg(target_os = "linux")]
fn direct(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::DIRECT.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    // Some file systems refuse it only when something is read.
    let mut first = super::data::Data::zeroes(4096);
    let read = std::os::unix::fs::FileExt::read_at(&file, &mut first, 0);
    read.map(|_| file)
}

#[cfg(not(target_os = "linux"))]
fn direct(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The block size of a device; that of files is [`SECTOR`].
#[cfg(target_os = "linux")]
fn sector(file: &File) -> u64 {
    let size = rustix::fs::ioctl_blksszget(file);
    size.map_or(SECTOR, u64::from)
}

#[cfg(not(target_os = "linux"))]
fn sector(_: &File) -> u64 {
    SECTOR
}

struct Opened {
    file: File,
    size: Size,
}

impl Opened {
    #[cfg(unix)]
    fn fill(&self, room: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, room, offset)
    }

    #[cfg(not(unix))]
    fn fill(&mut self, room: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(offset))?;
        io::Read::read_exact(&mut self.file, room)
    }
}

impl Reader for Opened {
    fn size(&self) -> Size {
        self.size
    }

    fn read(&mut self, first: Lbn, room: &mut [u8]) -> Result<(), Fault> {
        let offset = first.0 * self.size.sector.0;
        match self.fill(room, offset) {
            Ok(()) => Ok(()),
            Err(error) if is_of_medium(&error) => Err(Fault::Unreadable(None)),
            Err(error) => Err(Fault::Lost(error.into())),
        }
    }
}

/// Whether an error is of blocks: Linux reports EIO, ENODATA, EILSEQ or EREMOTEIO for these.
#[cfg(target_os = "linux")]
fn is_of_medium(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let found = Errno::from_io_error(error);
    [Errno::IO, Errno::NODATA, Errno::ILSEQ, Errno::REMOTEIO]
        .contains(&found.unwrap_or(Errno::INVAL))
}

#[cfg(not(target_os = "linux"))]
fn is_of_medium(_: &io::Error) -> bool {
    true
}
