//! Storage for the data of exports: a file, or memory, optionally on top of a read-only file.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use rustix::fs::{FallocateFlags, fallocate};

use crate::nonblocking::Waker;

/// The bytes of an export. Callers must not exceed its size.
pub trait Store: Send {
    /// Fills `data` with the bytes from `offset` on. After an error, the content is undefined.
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()>;

    /// Writes `data` at `offset`. After an error, part of the old data may be overwritten.
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Zeroes `length` bytes from `offset`. If `may_free` is true, they need not take up space.
    fn zero(&mut self, offset: u64, length: u64, may_free: bool) -> io::Result<()>;

    /// Returns the extent that begins at `offset`, limited to `length` bytes.
    fn extent(&mut self, offset: u64, length: u64) -> io::Result<Extent>;

    /// Makes all written data survive the end of this program and a crash of the machine.
    fn sync(&mut self) -> io::Result<()>;

    /// Starts a [`Syncer`], which wakes `waker` after each answer. Returns `None` if the data never
    /// survive the end of this program, so that there is nothing to synchronise.
    fn syncer(&self, waker: Waker) -> io::Result<Option<Box<dyn Syncer>>>;
}

/// Synchronises a store in the background.
pub trait Syncer: Send {
    /// Requests that all data written so far be synchronised.
    fn request(&mut self, job: usize);

    /// Returns a job that has been synchronised, and whether that succeeded.
    fn answer(&mut self) -> Option<(usize, bool)>;
}

/// The synchronisations that an export's jobs wait for.
pub(crate) struct Synchronisations {
    /// `None` if there is nothing to synchronise.
    syncer: Option<Box<dyn Syncer>>,
    has_failed: bool,
}

impl Synchronisations {
    pub(crate) fn new(store: &dyn Store, waker: Waker) -> io::Result<Self> {
        Ok(Self {
            syncer: store.syncer(waker)?,
            has_failed: false,
        })
    }

    pub(crate) fn is_needed(&self) -> bool {
        self.syncer.is_some()
    }

    /// Requests that all data written so far be synchronised.
    pub(crate) fn request(&mut self, job: usize) {
        if let Some(syncer) = &mut self.syncer {
            syncer.request(job);
        }
    }

    /// Returns a job that has been synchronised, and whether that succeeded. After a failure, no
    /// job succeeds: the system may have dropped the data, and would report success next time.
    pub(crate) fn answer(&mut self) -> Option<(usize, bool)> {
        let (job, has_succeeded) = self.syncer.as_mut()?.answer()?;
        self.has_failed |= !has_succeeded;
        Some((job, !self.has_failed))
    }
}

/// Consecutive bytes with the same allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub length: u64,
    /// True if the bytes take up no space and read as zeroes.
    pub is_hole: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreSpec {
    /// `memory`: the data are lost when the server ends.
    Memory,
    /// `file:PATH`: a file, created if it does not exist.
    File(String),
    /// `snapshot:PATH`: a read-only file; writes stay in memory.
    Snapshot(String),
}

impl StoreSpec {
    /// The "expected" part of the message about an invalid specification.
    pub const EXPECTED: &str = "memory, file:PATH or snapshot:PATH";

    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None if text == "memory" => Some(Self::Memory),
            Some((_, "")) => None,
            Some(("file", path)) => Some(Self::File(path.to_owned())),
            Some(("snapshot", path)) => Some(Self::Snapshot(path.to_owned())),
            _ => None,
        }
    }

    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Memory => None,
            Self::File(path) | Self::Snapshot(path) => Some(path),
        }
    }

    /// Returns the size of the file, in bytes; `None` if it does not exist yet.
    pub fn existing_bytes(&self) -> io::Result<Option<u64>> {
        let Some(path) = self.path() else {
            return Ok(None);
        };
        match File::open(path) {
            Ok(file) => file_size(&file).map(Some),
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && matches!(self, Self::File(_)) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a store of `bytes`. Fails if the file is unreadable, in use, or of another size.
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

pub struct FileStore {
    file: File,
    bytes: u64,
}

impl FileStore {
    /// Opens the file at `path`, or creates a sparse file of `bytes`. Fails if the file cannot be
    /// opened, has a different size, or is served by another program.
    pub fn open(path: &str, bytes: u64, is_read_only: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(!is_read_only);
        let file = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = options.write(true).create_new(true).open(path)?;
                file.set_len(bytes)?;
                file.sync_all()?;
                sync_name(path)?;
                file
            }
            opened => opened?,
        };
        check_lock(if is_read_only {
            file.try_lock_shared()
        } else {
            file.try_lock()
        })?;
        check_size(&file, bytes)?;
        Ok(Self { file, bytes })
    }
}

/// Makes the name of a new file survive a power failure, where that is supported.
fn sync_name(path: &str) -> io::Result<()> {
    let folder = fs::canonicalize(path)?.parent().map(File::open);
    match folder.map(|folder| folder?.sync_all()) {
        Some(Err(error)) if error.kind() != io::ErrorKind::InvalidInput => Err(error),
        _ => Ok(()),
    }
}

/// Explains why a file could not be locked.
fn check_lock(locked: Result<(), TryLockError>) -> io::Result<()> {
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::other("the file is locked by another program"),
        TryLockError::Error(error) => error,
    })
}

/// Returns the size of a file or block device.
fn file_size(mut file: &File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

fn check_size(file: &File, expected: u64) -> io::Result<()> {
    let found = file_size(file)?;
    if found == expected {
        return Ok(());
    }
    let message = format!("found a file of {found} bytes, expected {expected}");
    Err(io::Error::other(message))
}

fn extent(file: &File, bytes: u64, offset: u64, length: u64) -> io::Result<Extent> {
    use rustix::fs::{SeekFrom, seek};
    let end = offset + length;
    let data = match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => data,
        Err(rustix::io::Errno::NXIO) => bytes,
        // Block devices and some file systems do not support holes.
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
        let mode = if may_free {
            FallocateFlags::PUNCH_HOLE
        } else {
            FallocateFlags::ZERO_RANGE
        } | FallocateFlags::KEEP_SIZE;
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

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn syncer(&self, waker: Waker) -> io::Result<Option<Box<dyn Syncer>>> {
        Ok(Some(Box::new(FileSyncer::new(&self.file, waker)?)))
    }
}

/// Size of a chunk, in bytes: smaller than a client's buffers, but large enough that a terabyte has
/// at most sixteen million chunks.
const CHUNK: u64 = 1 << 16;

/// A store in memory: the chunks that were written, and a base of zeroes or a read-only file.
///
/// Cost: memory for the written chunks (at most the size of the export), and a lookup per chunk.
pub struct SparseStore {
    bytes: u64,
    /// The content of chunks that were not written; `None` for zeroes.
    base: Option<File>,
    chunks: BTreeMap<u64, Chunk>,
}

enum Chunk {
    Data(Box<[u8]>),
    /// Zeroes that hide the file's data.
    Zero,
}

struct ChunkPart {
    chunk: u64,
    /// Offset in the chunk.
    from: usize,
    length: usize,
}

/// Splits a range at chunk boundaries.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = ChunkPart> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at == end {
            return None;
        }
        let (chunk, from) = (at / CHUNK, at % CHUNK);
        let length = (CHUNK - from).min(end - at);
        at += length;
        Some(ChunkPart {
            chunk,
            from: from as usize,
            length: length as usize,
        })
    })
}

impl SparseStore {
    pub const fn empty(bytes: u64) -> Self {
        Self {
            bytes,
            base: None,
            chunks: BTreeMap::new(),
        }
    }

    /// Opens a store on top of the file at `path`, which is never written to. Fails if the file
    /// cannot be opened, has a different size, or is locked by a writer.
    pub fn over(path: &str, bytes: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        check_lock(file.try_lock_shared())?;
        check_size(&file, bytes)?;
        Ok(Self {
            base: Some(file),
            ..Self::empty(bytes)
        })
    }

    fn read_base(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        match &self.base {
            Some(file) => file.read_exact_at(data, offset),
            None => {
                data.fill(0);
                Ok(())
            }
        }
    }

    /// Returns the data of a chunk; allocates the chunk if necessary.
    fn chunk_mut(&mut self, chunk: u64) -> io::Result<&mut [u8]> {
        let is_missing = !matches!(self.chunks.get(&chunk), Some(Chunk::Data(_)));
        if is_missing {
            let mut data = vec![0; CHUNK as usize].into_boxed_slice();
            if !self.chunks.contains_key(&chunk) {
                let start = chunk * CHUNK;
                let length = CHUNK.min(self.bytes - start) as usize;
                self.read_base(start, &mut data[..length])?;
            }
            self.chunks.insert(chunk, Chunk::Data(data));
        }
        match self.chunks.get_mut(&chunk) {
            Some(Chunk::Data(data)) => Ok(data),
            _ => panic!("chunk {chunk} was inserted above"),
        }
    }

    fn zero_chunks(&mut self, first: u64, end: u64) -> io::Result<()> {
        let chunks: Vec<u64> = self
            .chunks
            .range(first..end)
            .map(|(chunk, _)| *chunk)
            .collect();
        for chunk in chunks {
            self.chunks.remove(&chunk);
        }
        let Some(file) = &self.base else {
            return Ok(());
        };
        let stop = (end * CHUNK).min(self.bytes);
        let mut at = first * CHUNK;
        while at < stop {
            let found = extent(file, self.bytes, at, stop - at)?;
            let past = at + found.length;
            if !found.is_hole {
                for chunk in at / CHUNK..past.div_ceil(CHUNK) {
                    self.chunks.insert(chunk, Chunk::Zero);
                }
            }
            at = past;
        }
        Ok(())
    }
}

impl Store for SparseStore {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        let mut left = data;
        for part in parts(offset, left.len() as u64) {
            let (piece, remaining) = left.split_at_mut(part.length);
            match self.chunks.get(&part.chunk) {
                Some(Chunk::Data(data)) => piece.copy_from_slice(&data[part.from..][..part.length]),
                Some(Chunk::Zero) => piece.fill(0),
                None => self.read_base(part.chunk * CHUNK + part.from as u64, piece)?,
            }
            left = remaining;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut left = data;
        for part in parts(offset, data.len() as u64) {
            let (piece, remaining) = left.split_at(part.length);
            self.chunk_mut(part.chunk)?[part.from..][..part.length].copy_from_slice(piece);
            left = remaining;
        }
        Ok(())
    }

    /// Zeroes never take up space here, so `may_free` has no effect.
    fn zero(&mut self, offset: u64, length: u64, _may_free: bool) -> io::Result<()> {
        let end = offset + length;
        let is_whole = |part: &ChunkPart| {
            let start = part.chunk * CHUNK;
            part.from == 0 && part.length as u64 == CHUNK.min(self.bytes - start)
        };
        let first = parts(offset, length).next();
        let first_whole = match first {
            Some(part) if is_whole(&part) => part.chunk,
            Some(part) => part.chunk + 1,
            None => return Ok(()),
        };
        let end_whole = if end == self.bytes {
            end.div_ceil(CHUNK)
        } else {
            end / CHUNK
        };
        if first_whole < end_whole {
            self.zero_chunks(first_whole, end_whole)?;
        }
        // At most a partial chunk is left at each end.
        let before = (first_whole * CHUNK).min(end);
        let after = (end_whole * CHUNK).clamp(before, end);
        for (start, stop) in [(offset, before), (after, end)] {
            for part in parts(start, stop.saturating_sub(start)) {
                if self.base.is_none() && !self.chunks.contains_key(&part.chunk) {
                    continue;
                }
                self.chunk_mut(part.chunk)?[part.from..][..part.length].fill(0);
            }
        }
        Ok(())
    }

    fn extent(&mut self, offset: u64, length: u64) -> io::Result<Extent> {
        let end = offset + length;
        let chunk = offset / CHUNK;
        if let Some(kind) = self.chunks.get(&chunk) {
            return Ok(Extent {
                length: ((chunk + 1) * CHUNK).min(end) - offset,
                is_hole: matches!(kind, Chunk::Zero),
            });
        }
        let next = self.chunks.range(chunk..).next();
        let stop = next.map_or(end, |(next, _)| (next * CHUNK).min(end));
        match &self.base {
            Some(file) => extent(file, self.bytes, offset, stop - offset),
            None => Ok(Extent {
                length: stop - offset,
                is_hole: true,
            }),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn syncer(&self, _: Waker) -> io::Result<Option<Box<dyn Syncer>>> {
        Ok(None)
    }
}

/// Synchronises a file in a thread of its own.
struct FileSyncer {
    requests: Option<Sender<usize>>,
    answers: Receiver<(usize, bool)>,
    thread: Option<JoinHandle<()>>,
}

impl FileSyncer {
    /// Starts the thread with a duplicate of `file`. The thread wakes `waker` after each answer.
    fn new(file: &File, waker: Waker) -> io::Result<Self> {
        let file = file.try_clone()?;
        let (requests, inbox) = channel();
        let (outbox, answers) = channel();
        let run = move || run(&file, &inbox, &outbox, &waker);
        let thread = thread::Builder::new().name("sync".to_owned()).spawn(run)?;
        Ok(Self {
            requests: Some(requests),
            answers,
            thread: Some(thread),
        })
    }
}

impl Syncer for FileSyncer {
    fn request(&mut self, job: usize) {
        if let Some(requests) = &self.requests {
            requests
                .send(job)
                .unwrap_or_else(|_| panic!("the thread runs until the syncer is dropped"));
        }
    }

    fn answer(&mut self) -> Option<(usize, bool)> {
        self.answers.try_recv().ok()
    }
}

impl Drop for FileSyncer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(file: &File, inbox: &Receiver<usize>, outbox: &Sender<(usize, bool)>, waker: &Waker) {
    while let Ok(first) = inbox.recv() {
        // One call synchronises the data of all jobs requested before it.
        let jobs: Vec<usize> = std::iter::once(first).chain(inbox.try_iter()).collect();
        let has_succeeded = file.sync_data().is_ok();
        for job in jobs {
            if outbox.send((job, has_succeeded)).is_err() {
                return;
            }
        }
        waker.wake();
    }
}

#[cfg(test)]
mod tests;
