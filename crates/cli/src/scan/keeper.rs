//! Keeps what a scan reads, in a thread of its own: the account of it, an image, a checkpoint.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use diskarm_core::freeblock::BlockSet;
use diskarm_core::text::InputError;
use diskarm_core::units::{Lbn, SectorCount};
use diskarm_results::output_file::{Files, OutputFile};
use diskarm_scan::Account;
use diskarm_scan::live::{Brought, Size};

use crate::error::Error;

/// How long a scan continues before its checkpoint is written again; longer if writing it took more
/// than a twentieth of that.
const PERIOD: Duration = Duration::from_secs(5);

/// Pieces that wait to be kept. With more, the scan waits.
const WAITING: usize = 256;

/// The files that a scan writes while it continues.
#[derive(Debug, Default)]
pub struct Outputs {
    checkpoint: Option<OutputFile>,
    checkpoint_path: String,
    image: Option<OutputFile>,
    image_path: String,
}

/// What a scan has come to know.
pub enum Piece {
    /// Blocks and their data.
    Read(Lbn, Brought),
    /// Blocks without data were read.
    Passed(Lbn, SectorCount),
    /// Blocks cannot be read.
    Failed(Lbn, SectorCount),
}

/// The thread that keeps what it is given.
pub struct Keeper {
    pieces: SyncSender<Piece>,
    thread: JoinHandle<Result<Account, Error>>,
}

struct Kept {
    name: String,
    account: Account,
    checkpoint: Option<OutputFile>,
    image: Option<Image>,
}

struct Image {
    file: File,
    path: String,
    /// Whether it may hold something else than zeroes where nothing was written in this run.
    is_old: bool,
}

impl Outputs {
    /// Those that the user names.
    pub fn new(
        files: &mut Files,
        checkpoint: Option<&str>,
        image: Option<&str>,
    ) -> Result<Self, Error> {
        let mut place =
            |flag, path: Option<&str>| path.map(|path| place(files, flag, path)).transpose();
        Ok(Self {
            checkpoint: place("--checkpoint", checkpoint)?,
            checkpoint_path: checkpoint.unwrap_or_default().to_owned(),
            image: place("--image", image)?,
            image_path: image.unwrap_or_default().to_owned(),
        })
    }

    /// The account to continue from: that of the checkpoint, if any.
    fn account(&self, name: &str, size: Size, sums: bool) -> Result<(Account, bool), Error> {
        let path = &self.checkpoint_path;
        let bytes = match self.checkpoint.as_ref().map(|_| fs::read(path)) {
            Some(Ok(bytes)) => bytes,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("read", path)(error));
            }
            Some(Err(_)) | None => return Ok((Account::new(size, sums), false)),
        };
        let unusable = |why: String| {
            let message = format!("{path}: {why}; name another file to start anew");
            Error::Input(InputError::message(message))
        };
        let account = Account::parse(&bytes, name, sums);
        let account = account.map_err(|why| unusable(why.to_string()))?;
        if account.size() != size {
            let (found, expected) = (account.size().sectors.0, size.sectors.0);
            let why = format!("found a scan of {found} blocks, expected {expected}");
            return Err(unusable(why));
        }
        Ok((account, true))
    }

    fn image(&self, size: Size, continues: bool) -> Result<Option<Image>, Error> {
        let Some(place) = &self.image else {
            return Ok(None);
        };
        let (bytes, path) = (size.sectors.0 * size.sector.0, &self.image_path);
        let file = place.clone().open_in_place()?;
        let length = file.metadata().map_err(failed("read", path))?.len();
        if continues && length != bytes {
            let message = format!(
                "{path}: found {length} bytes, expected the {bytes} of the image that the scan of \
                 {} has begun",
                self.checkpoint_path
            );
            return Err(Error::Input(InputError::message(message)));
        }
        if !continues && length > 0 {
            let expected = "a new or empty file, as what is in it would be lost (a scan that has \
                            begun it continues with its --checkpoint)";
            return Err(Error::flag("--image", path, expected));
        }
        if !continues {
            file.set_len(bytes).map_err(failed("write", path))?;
        }
        Ok(Some(Image {
            file,
            path: path.clone(),
            is_old: continues,
        }))
    }

    /// Begins or continues to keep the scan of what is called `name`, and says which blocks it has
    /// yet to read.
    pub fn begin(self, name: &str, size: Size, sums: bool) -> Result<(Keeper, BlockSet), Error> {
        let name = match &self.image {
            Some(_) => format!("{name} to {}", self.image_path),
            None => name.to_owned(),
        };
        let (account, continues) = self.account(&name, size, sums)?;
        let left = account.left().clone();
        let mut kept = Kept {
            name,
            image: self.image(size, continues)?,
            account,
            checkpoint: self.checkpoint,
        };
        if !continues {
            // From now on the image is not empty.
            kept.save()?;
        }
        let (pieces, taken) = sync_channel(WAITING);
        let thread = std::thread::spawn(move || kept.keep(&taken));
        Ok((Keeper { pieces, thread }, left))
    }
}

/// The place of a file that a scan writes, which is no device.
pub fn place(files: &mut Files, flag: &'static str, path: &str) -> Result<OutputFile, Error> {
    if is_block_device(path) {
        return Err(Error::flag(
            flag,
            path,
            "a file, as a scan writes to no device",
        ));
    }
    Ok(files.output(flag, path)?)
}

fn is_block_device(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
}

fn failed<'a>(doing: &'static str, path: &'a str) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

impl Keeper {
    /// Where to send what was read. It is refused when something cannot be written.
    pub fn pieces(&self) -> SyncSender<Piece> {
        self.pieces.clone()
    }

    /// Waits until all that was sent is kept. The others that send must have been dropped.
    pub fn end(self) -> Result<Account, Error> {
        drop(self.pieces);
        match self.thread.join() {
            Ok(account) => account,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Kept {
    fn keep(mut self, pieces: &Receiver<Piece>) -> Result<Account, Error> {
        let mut due = Instant::now() + PERIOD;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            match pieces.recv_timeout(left) {
                Ok(piece) => self.take(&piece)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let began = Instant::now();
            if began >= due {
                self.save()?;
                due = Instant::now() + PERIOD.max(20 * began.elapsed());
            }
        }
        self.save()?;
        Ok(self.account)
    }

    fn take(&mut self, piece: &Piece) -> Result<(), Error> {
        match piece {
            Piece::Read(first, data) => {
                if let Some(image) = &mut self.image {
                    let sector = self.account.size().sector.0;
                    let written = image.write(first.0 * sector, data, sector as usize);
                    written.map_err(failed("write", &image.path))?;
                }
                self.account.read(*first, data);
            }
            Piece::Passed(first, sectors) => self.account.passed(*first, *sectors),
            Piece::Failed(first, sectors) => self.account.failed(*first, *sectors),
        }
        Ok(())
    }

    /// Writes the checkpoint, once the image has what it says.
    fn save(&mut self) -> Result<(), Error> {
        if let Some(image) = &self.image {
            let synced = image.file.sync_data();
            synced.map_err(failed("write", &image.path))?;
        }
        if let Some(place) = &self.checkpoint {
            let written = place.clone().write(&self.account.emit(&self.name));
            written?;
        }
        Ok(())
    }
}

impl Image {
    /// Writes blocks of a size, but leaves holes where they are zeroes.
    fn write(&mut self, offset: u64, data: &[u8], sector: usize) -> io::Result<()> {
        let is_zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
        let blocks: Vec<&[u8]> = data.chunks(sector).collect();
        let (mut at, mut index) = (offset, 0);
        for run in blocks.chunk_by(|one, other| is_zero(one) == is_zero(other)) {
            let run = &data[index..index + run.len() * sector];
            if !is_zero(run) || self.is_old && !self.reads_zero(at, run.len())? {
                self.file.seek(SeekFrom::Start(at))?;
                self.file.write_all(run)?;
            }
            at += run.len() as u64;
            index += run.len();
        }
        Ok(())
    }

    fn reads_zero(&mut self, at: u64, length: usize) -> io::Result<bool> {
        let mut found = vec![0; length];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut found)?;
        Ok(found.iter().all(|byte| *byte == 0))
    }
}
