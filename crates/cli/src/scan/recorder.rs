//! Records the blocks of a scan in a separate thread, with an image and a checkpoint.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use diskarm_core::freeblock::BlockSet;
use diskarm_core::units::{Lbn, SectorCount};
use diskarm_results::output_file::{Files, OutputFile};
use diskarm_scan::ScanRecord;
use diskarm_scan::live::{ReadData, Size};

use crate::error::Error;

/// The time between checkpoints, unless writing one takes more than a twentieth of it.
const PERIOD: Duration = Duration::from_secs(5);

/// The number of pieces that may be queued before the scan waits.
const MAX_WAITING: usize = 256;

/// The files that a scan writes while it runs.
#[derive(Debug, Default)]
pub struct Outputs {
    checkpoint: Option<OutputFile>,
    checkpoint_path: String,
    image: Option<OutputFile>,
    image_path: String,
}

pub enum ScanEvent {
    /// Blocks and their data.
    Read(Lbn, ReadData),
    /// Blocks that were read, without their data.
    Passed(Lbn, SectorCount),
    Failed(Lbn, SectorCount),
}

pub struct Recorder {
    pieces: SyncSender<ScanEvent>,
    thread: JoinHandle<Result<ScanRecord, Error>>,
}

struct Recording {
    name: String,
    record: ScanRecord,
    checkpoint: Option<OutputFile>,
    image: Option<Image>,
}

struct Image {
    file: File,
    path: String,
    /// True if the image may hold data that this run did not write.
    is_old: bool,
}

impl Outputs {
    pub fn new(
        files: &mut Files,
        checkpoint: Option<&str>,
        image: Option<&str>,
    ) -> Result<Self, Error> {
        let mut output =
            |option, path: Option<&str>| path.map(|path| output(files, option, path)).transpose();
        Ok(Self {
            checkpoint: output("--checkpoint", checkpoint)?,
            checkpoint_path: checkpoint.unwrap_or_default().to_owned(),
            image: output("--image", image)?,
            image_path: image.unwrap_or_default().to_owned(),
        })
    }

    /// Returns the record to continue from, and true if it comes from a checkpoint.
    fn record(&self, name: &str, size: Size, sums: bool) -> Result<(ScanRecord, bool), Error> {
        let path = &self.checkpoint_path;
        let bytes = match self.checkpoint.as_ref().map(|_| fs::read(path)) {
            Some(Ok(bytes)) => bytes,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("read", path)(error));
            }
            Some(Err(_)) | None => return Ok((ScanRecord::new(size, sums), false)),
        };
        let unusable =
            |why| Error::Failed(format!("{path}: {why}; name another file to start over"));
        let record = ScanRecord::parse(&bytes, name, sums);
        let record = record.map_err(|why| unusable(why.to_string()))?;
        if record.size() != size {
            let (found, expected) = (record.size().sectors.0, size.sectors.0);
            let why = format!("found a scan of {found} blocks, expected {expected}");
            return Err(unusable(why));
        }
        Ok((record, true))
    }

    fn image(&self, record: &ScanRecord, is_resumed: bool) -> Result<Option<Image>, Error> {
        let Some(file) = &self.image else {
            return Ok(None);
        };
        let (bytes, path) = (image_bytes(record), &self.image_path);
        let file = file.clone().open_in_place()?;
        let length = file.metadata().map_err(Error::io("read", path))?.len();
        // A run that was killed after its first checkpoint leaves an empty image.
        let is_begun = record.remaining().count() < record.size().sectors;
        if is_resumed && length != bytes && (is_begun || length > 0) {
            return Err(Error::Failed(format!(
                "{path}: found {length} bytes, expected the {bytes} bytes of the image that \
                 belongs to the checkpoint {}",
                self.checkpoint_path
            )));
        }
        if !is_resumed && length > 0 {
            return Err(Error::Failed(format!(
                "`--image` needs a new or empty file: {path} would be overwritten (to continue a \
                 scan, give its --checkpoint too)"
            )));
        }
        Ok(Some(Image {
            file,
            path: path.clone(),
            is_old: is_resumed,
        }))
    }

    /// Starts recording the scan of `name`; returns the blocks that are left to read.
    pub fn start(self, name: &str, size: Size, sums: bool) -> Result<(Recorder, BlockSet), Error> {
        let name = match &self.image {
            Some(_) => format!("{name} to {}", self.image_path),
            None => name.to_owned(),
        };
        let (record, is_resumed) = self.record(&name, size, sums)?;
        let left = record.remaining().clone();
        let mut recording = Recording {
            name,
            image: self.image(&record, is_resumed)?,
            record,
            checkpoint: self.checkpoint,
        };
        if !is_resumed {
            // An image that is not empty can only be continued from a checkpoint.
            recording.save()?;
        }
        if let Some(image) = &recording.image {
            let extended = image.file.set_len(image_bytes(&recording.record));
            extended.map_err(Error::io("write", &image.path))?;
        }
        let (pieces, receiver) = sync_channel(MAX_WAITING);
        let thread = std::thread::spawn(move || recording.run(&receiver));
        Ok((Recorder { pieces, thread }, left))
    }
}

fn image_bytes(record: &ScanRecord) -> u64 {
    record.size().sectors.0 * record.size().sector.0
}

/// Returns the output file at `path`, which must not be a device.
pub fn output(files: &mut Files, option: &'static str, path: &str) -> Result<OutputFile, Error> {
    if fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device()) {
        return Err(Error::Failed(format!(
            "`{option}` needs a file: a scan never writes to a device such as {path}"
        )));
    }
    Ok(files.output(option, path)?)
}

/// Removes the checkpoint of a complete scan; returns an error if blocks are unreadable.
pub fn conclude(checkpoint: Option<&str>, record: &ScanRecord) -> Result<(), Error> {
    if let Some(path) = checkpoint
        && record.remaining().is_empty()
    {
        // A leftover checkpoint does no harm, because it records that the scan has finished.
        let _ = fs::remove_file(path);
    }
    let unreadable: u64 = record.unreadable().map(|(_, sectors)| sectors.0).sum();
    Error::unreadable(unreadable)
}

impl Recorder {
    /// Returns the queue for pieces. Sending fails if something could not be written.
    pub fn pieces(&self) -> SyncSender<ScanEvent> {
        self.pieces.clone()
    }

    /// Waits until all pieces are recorded. All other senders must have been dropped.
    pub fn finish(self) -> Result<ScanRecord, Error> {
        drop(self.pieces);
        match self.thread.join() {
            Ok(record) => record,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Recording {
    fn run(mut self, pieces: &Receiver<ScanEvent>) -> Result<ScanRecord, Error> {
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
        Ok(self.record)
    }

    fn take(&mut self, piece: &ScanEvent) -> Result<(), Error> {
        match piece {
            ScanEvent::Read(first, data) => {
                if let Some(image) = &mut self.image {
                    let sector = self.record.size().sector.0;
                    let written = image.write(first.0 * sector, data, sector as usize);
                    written.map_err(Error::io("write", &image.path))?;
                }
                self.record.add_data(*first, data);
            }
            ScanEvent::Passed(first, sectors) => self.record.add_read(*first, *sectors),
            ScanEvent::Failed(first, sectors) => self.record.add_unreadable(*first, *sectors),
        }
        Ok(())
    }

    /// Writes the checkpoint once the blocks that it lists have reached the image.
    fn save(&mut self) -> Result<(), Error> {
        if let Some(image) = &self.image {
            let synced = image.file.sync_data();
            synced.map_err(Error::io("write", &image.path))?;
        }
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.clone().write(&self.record.emit(&self.name))?;
        }
        Ok(())
    }
}

impl Image {
    /// Writes blocks of `sector` bytes, leaving holes for zeroes.
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
