//! The bytes of a trace file: decompressed, buffered, and split into lines or records in place.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read};

use memchr::memchr;

use crate::compression::{self, Bytes, MAGIC_BYTES};
use crate::error::{ErrorKind, TraceError};
use crate::record::Location;

/// Bytes read from a file at a time.
const CHUNK: usize = 256 * 1024;

/// The number of bytes that formats get to recognise a file.
const HEAD: usize = 4096;

/// Written before UTF-8 text by some spreadsheets (Unicode 16, section 23.8), and skipped.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A trace file, read sequentially in constant memory.
pub struct ByteSource {
    name: String,
    input: Bytes,
    /// `buffer[start..end]` was read from the input and not consumed yet.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    is_exhausted: bool,
    /// The last line has been consumed and lacks its newline.
    is_cut: bool,
    /// The file itself, if it is a regular file and not compressed.
    file: Option<File>,
    /// Other files of the same trace, such as those of other processors.
    pub(crate) siblings: Vec<ByteSource>,
}

impl ByteSource {
    /// A file called `name` in errors.
    ///
    /// # Errors
    ///
    /// Its first bytes cannot be read or decompressed.
    pub fn new(input: impl Read + Send + 'static, name: &str) -> Result<Self, TraceError> {
        Self::with_file(input, None, name)
    }

    /// The file `file`, called `name` in errors.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn from_file(file: File, name: &str) -> Result<Self, TraceError> {
        // A pipe cannot seek.
        let is_on_disk = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let again = is_on_disk
            .then(|| file.try_clone())
            .transpose()
            .map_err(|error| TraceError::io(name, None, "open", error))?;
        Self::with_file(file, again, name)
    }

    fn with_file(
        input: impl Read + Send + 'static,
        file: Option<File>,
        name: &str,
    ) -> Result<Self, TraceError> {
        let failed = |error| TraceError::io(name, None, "read", error);
        let mut input: Bytes = Box::new(input);
        let magic = compression::head(&mut input, MAGIC_BYTES).map_err(failed)?;
        let whole: Chain<Cursor<Vec<u8>>, Bytes> = Cursor::new(magic.clone()).chain(input);
        let whole = compression::decompressed(&magic, Box::new(whole), CHUNK).map_err(failed)?;
        let mut source = Self {
            name: name.to_owned(),
            input: whole,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            offset: 0,
            is_exhausted: false,
            is_cut: false,
            file: file.filter(|_| !compression::is_compressed(&magic)),
            siblings: Vec::new(),
        };
        while source.end < HEAD && source.refill().map_err(failed)? {}
        if source.held().starts_with(BYTE_ORDER_MARK) {
            source.start = BYTE_ORDER_MARK.len();
        }
        Ok(source)
    }

    /// Its name, for errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file itself, for a format that needs to seek; `None` if it is compressed or not a
    /// regular file. A format that seeks in it must not read from the source.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Its first bytes: all of a short file.
    pub(crate) fn head(&self) -> &[u8] {
        let held = self.held();
        &held[..held.len().min(HEAD)]
    }

    /// Returns true if everything read so far is white space, up to the end of the file.
    pub(crate) fn is_blank(&self) -> bool {
        self.is_exhausted && self.held().iter().all(u8::is_ascii_whitespace)
    }

    /// The offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The buffered part of the rest of the file; at least the head, before anything is consumed.
    pub(crate) fn held(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Consumes the next line with its newline, which only the last may lack; `None` at the end of
    /// the file. Stops reading within a line that is too long, since it may have no end.
    pub(crate) fn line(&mut self, max: usize) -> std::io::Result<Option<Line>> {
        let mut searched = 0;
        let length = loop {
            let held = &self.buffer[self.start..self.end];
            if let Some(found) = memchr(b'\n', &held[searched..]) {
                break searched + found + 1;
            }
            searched = held.len();
            if searched > max {
                return Ok(Some(Line::TooLong));
            }
            if !self.refill()? {
                self.is_cut |= searched > 0;
                break searched;
            }
        };
        if length == 0 {
            return Ok(None);
        }
        self.consume(length);
        Ok(Some(if length > max {
            Line::TooLong
        } else {
            Line::Text(length)
        }))
    }

    /// Returns true if the last line has been consumed and lacks its newline.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The last `count` bytes that were consumed, in one call.
    #[inline]
    pub(crate) fn last_consumed(&self, count: usize) -> &[u8] {
        &self.buffer[self.start - count..self.start]
    }

    /// The next `count` bytes without consuming them; fewer at the end of the file.
    pub(crate) fn peek(&mut self, count: usize) -> std::io::Result<&[u8]> {
        while self.end - self.start < count && self.refill()? {}
        let held = self.held();
        Ok(&held[..count.min(held.len())])
    }

    /// The next record of `N` bytes; `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// An input that fails, or that ends within the record.
    pub(crate) fn record<const N: usize>(&mut self) -> Result<Option<&[u8; N]>, TraceError> {
        if self.end - self.start < N && self.require(N)? == 0 {
            return Ok(None);
        }
        let at = self.start;
        self.consume(N);
        Ok(self.buffer[at..].first_chunk())
    }

    /// Buffers at least `count` bytes and returns `count`, or 0 at the end of the file.
    ///
    /// # Errors
    ///
    /// An input that fails, or that ends before `count` bytes; the rest is consumed.
    #[cold]
    pub(crate) fn require(&mut self, count: usize) -> Result<usize, TraceError> {
        let offset = self.offset;
        let held = self
            .peek(count)
            .map(<[u8]>::len)
            .map_err(|error| self.failed("read", error))?;
        if held == 0 || held == count {
            return Ok(held);
        }
        self.consume(held);
        let detail = format!("found {held} bytes, expected a record of {count}");
        let location = Some(Location::Byte(offset));
        Err(TraceError::new(
            ErrorKind::Truncated,
            &self.name,
            location,
            detail,
        ))
    }

    /// Consumes `count` bytes.
    ///
    /// # Errors
    ///
    /// See [`Self::require`].
    #[inline]
    pub(crate) fn pass(&mut self, count: usize) -> Result<(), TraceError> {
        if count > self.end - self.start {
            self.require(count)?;
        }
        self.consume(count.min(self.end - self.start));
        Ok(())
    }

    /// An I/O error at the current offset.
    pub(crate) fn failed(&self, doing: &str, error: std::io::Error) -> TraceError {
        TraceError::io(&self.name, Some(Location::Byte(self.offset)), doing, error)
    }

    /// Consumes `count` of the buffered bytes.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Appends to the buffer, up to a chunk in total; false at the end of the input.
    fn refill(&mut self) -> std::io::Result<bool> {
        if self.is_exhausted {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        assert!(self.end < self.buffer.len(), "the buffer is full");
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.is_exhausted = true;
                    return Ok(false);
                }
                Ok(count) => {
                    self.end += count;
                    return Ok(true);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Read for ByteSource {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            self.refill()?;
        }
        let count = self.held().read(out)?;
        self.consume(count);
        Ok(count)
    }
}

/// A line of a file.
pub(crate) enum Line {
    /// Its length in bytes, including the newline; [`ByteSource::last_consumed`] returns them.
    Text(usize),
    /// It is longer than the limit.
    TooLong,
}
