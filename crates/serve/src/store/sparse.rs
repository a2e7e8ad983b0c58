//! Data in memory, on top of nothing or of a file that is read only.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::file::{check, extent, lock};
use super::{Extent, Store};

/// What is allocated at once, in bytes: small beside a client's buffers, and large enough that a
/// full terabyte has no more than sixteen million.
const CHUNK: u64 = 1 << 16;

/// Chunks that were written, and where the others are.
///
/// Cost: memory for the chunks that have been written, at most the size of the export, and a
/// search among them for each chunk that a request touches.
pub struct SparseStore {
    bytes: u64,
    /// Where chunks are that are not in `chunks`; zeroes if there is no file.
    base: Option<File>,
    chunks: BTreeMap<u64, Chunk>,
}

enum Chunk {
    Data(Box<[u8]>),
    /// Zeroes, where the file has data.
    Zero,
}

/// A part of one chunk.
struct Part {
    chunk: u64,
    /// The first byte, counted from that of the chunk.
    from: usize,
    length: usize,
}

/// The parts of a range.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = Part> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at == end {
            return None;
        }
        let (chunk, from) = (at / CHUNK, at % CHUNK);
        let length = (CHUNK - from).min(end - at);
        at += length;
        Some(Part {
            chunk,
            from: from as usize,
            length: length as usize,
        })
    })
}

impl SparseStore {
    /// A store of `bytes` zeroes.
    pub const fn empty(bytes: u64) -> Self {
        Self {
            bytes,
            base: None,
            chunks: BTreeMap::new(),
        }
    }

    /// A store that has the data of the file at `path`, to which it never writes.
    ///
    /// # Errors
    /// If the file cannot be opened, has another size, or somebody writes to it.
    pub fn over(path: &str, bytes: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        lock(file.try_lock_shared())?;
        check(&file, bytes)?;
        Ok(Self {
            base: Some(file),
            ..Self::empty(bytes)
        })
    }

    /// The bytes of a chunk as the file has them.
    fn read_base(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        match &self.base {
            Some(file) => file.read_exact_at(data, offset),
            None => {
                data.fill(0);
                Ok(())
            }
        }
    }

    /// A chunk that can be written.
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

    /// Lets whole chunks read as zeroes.
    fn zero_chunks(&mut self, first: u64, end: u64) -> io::Result<()> {
        let mut removed = self.chunks.split_off(&first);
        self.chunks.append(&mut removed.split_off(&end));
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
            let (now, rest) = left.split_at_mut(part.length);
            match self.chunks.get(&part.chunk) {
                Some(Chunk::Data(chunk)) => now.copy_from_slice(&chunk[part.from..][..part.length]),
                Some(Chunk::Zero) => now.fill(0),
                None => self.read_base(part.chunk * CHUNK + part.from as u64, now)?,
            }
            left = rest;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut left = data;
        for part in parts(offset, data.len() as u64) {
            let (now, rest) = left.split_at(part.length);
            self.chunk_mut(part.chunk)?[part.from..][..part.length].copy_from_slice(now);
            left = rest;
        }
        Ok(())
    }

    /// Zeroes never take up space here, so nothing depends on `may_free`.
    fn zero(&mut self, offset: u64, length: u64, _may_free: bool) -> io::Result<()> {
        let end = offset + length;
        let is_whole = |part: &Part| {
            let start = part.chunk * CHUNK;
            part.from == 0 && part.length as u64 == CHUNK.min(self.bytes - start)
        };
        let first = parts(offset, length).next();
        let first_whole = match first {
            Some(part) if is_whole(&part) => part.chunk,
            Some(part) => part.chunk + 1,
            None => return Ok(()),
        };
        let end_whole = match end == self.bytes {
            true => end.div_ceil(CHUNK),
            false => end / CHUNK,
        };
        if first_whole < end_whole {
            self.zero_chunks(first_whole, end_whole)?;
        }
        // What is left is at the ends: at most a chunk each.
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

    fn to_sync(&self) -> Option<&File> {
        None
    }
}
