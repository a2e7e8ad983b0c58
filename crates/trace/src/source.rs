//! The bytes of a trace file: decompressed, buffered, and split into lines or records in place.
//! Compressed files are recognised by their first bytes, not by their names.

use std::error::Error as _;
use std::fs::File;
use std::io::{self, BufRead, Chain, Cursor, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use memchr::memchr;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::{ErrorKind, TraceError};
use crate::record::Location;

/// The number of bytes read from a file at a time.
const CHUNK: usize = 256 * 1024;

/// The number of bytes from which formats recognise a file.
const HEAD: usize = 4096;

/// Some spreadsheets write this mark before UTF-8 text (Unicode 16, section 23.8); it is skipped.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A trace file, read sequentially in constant memory.
pub struct ByteSource {
    name: String,
    input: Bytes,
    /// `buffer[start..end]` has been read from the input but not consumed.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    is_exhausted: bool,
    /// True if the last line has been consumed and lacks its newline.
    is_cut: bool,
    /// The file itself, if it is a regular file and not compressed.
    file: Option<File>,
    /// Other files of the same trace, such as one per processor.
    pub(crate) siblings: Vec<ByteSource>,
}

impl ByteSource {
    /// Reads `input`, called `name` in errors. Fails if its head cannot be read or decompressed.
    pub fn new(input: impl Read + Send + 'static, name: &str) -> Result<Self, TraceError> {
        Self::with_file(input, None, name)
    }

    /// Like [`Self::new`], but reads from `file`.
    pub fn from_file(file: File, name: &str) -> Result<Self, TraceError> {
        // Pipes do not support seeking.
        let is_on_disk = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let seekable = is_on_disk
            .then(|| file.try_clone())
            .transpose()
            .map_err(|error| TraceError::io(name, None, "open", error))?;
        Self::with_file(file, seekable, name)
    }

    fn with_file(
        input: impl Read + Send + 'static,
        file: Option<File>,
        name: &str,
    ) -> Result<Self, TraceError> {
        let read_error = |error| TraceError::io(name, None, "read", error);
        let mut input: Bytes = Box::new(input);
        let magic = head(&mut input, MAGIC_BYTES).map_err(read_error)?;
        let input: Chain<Cursor<Vec<u8>>, Bytes> = Cursor::new(magic.clone()).chain(input);
        let input = decompress(&magic, Box::new(input), CHUNK).map_err(read_error)?;
        let mut source = Self {
            name: name.to_owned(),
            input,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            offset: 0,
            is_exhausted: false,
            is_cut: false,
            file: file.filter(|_| !is_compressed(&magic)),
            siblings: Vec::new(),
        };
        while source.end < HEAD && source.refill().map_err(read_error)? {}
        if source.buffered().starts_with(BYTE_ORDER_MARK) {
            source.start = BYTE_ORDER_MARK.len();
        }
        Ok(source)
    }

    /// Returns the name of the file, as used in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the file itself, for a format that needs to seek; `None` if it is compressed or not
    /// a regular file. A format that seeks in it must not read from the source.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Returns the first bytes of the file, or all of a short one.
    pub(crate) fn head(&self) -> &[u8] {
        let buffered = self.buffered();
        &buffered[..buffered.len().min(HEAD)]
    }

    /// Returns true if everything read so far is white space, up to the end of the file.
    pub(crate) fn is_blank(&self) -> bool {
        self.is_exhausted && self.buffered().iter().all(u8::is_ascii_whitespace)
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the buffered bytes that have not been consumed; initially these include the head.
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Consumes the next line with its newline, which the last line may lack; `None` at the end of
    /// the file. Stops reading within a line that is too long, since it may have no end.
    pub(crate) fn line(&mut self, max: usize) -> io::Result<Option<Line>> {
        let mut searched = 0;
        let length = loop {
            let buffered = &self.buffer[self.start..self.end];
            if let Some(found) = memchr(b'\n', &buffered[searched..]) {
                break searched + found + 1;
            }
            searched = buffered.len();
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

    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the last `count` consumed bytes, which a single call must have consumed.
    #[inline]
    pub(crate) fn last_consumed(&self, count: usize) -> &[u8] {
        &self.buffer[self.start - count..self.start]
    }

    /// Returns the next `count` bytes without consuming them; fewer at the end of the file.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count && self.refill()? {}
        let buffered = self.buffered();
        Ok(&buffered[..count.min(buffered.len())])
    }

    /// Returns the next record of `N` bytes; `None` at the end of the file. Fails if the input
    /// fails or ends within the record.
    pub(crate) fn record<const N: usize>(&mut self) -> Result<Option<&[u8; N]>, TraceError> {
        if self.end - self.start < N && self.require(N)? == 0 {
            return Ok(None);
        }
        let at = self.start;
        self.consume(N);
        Ok(self.buffer[at..].first_chunk())
    }

    /// Buffers at least `count` bytes and returns `count`, or 0 at the end of the file. Fails if
    /// the input fails or ends before `count` bytes; the rest is then consumed.
    #[cold]
    pub(crate) fn require(&mut self, count: usize) -> Result<usize, TraceError> {
        let offset = self.offset;
        let buffered = self
            .peek(count)
            .map(<[u8]>::len)
            .map_err(|error| self.io_error("read", error))?;
        if buffered == 0 || buffered == count {
            return Ok(buffered);
        }
        self.consume(buffered);
        let detail = format!("found {buffered} bytes, expected a record of {count}");
        let (kind, location) = (ErrorKind::Truncated, Some(Location::Byte(offset)));
        Err(TraceError::new(kind, &self.name, location, detail))
    }

    /// Consumes `count` bytes; fails like [`Self::require`].
    #[inline]
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), TraceError> {
        if count > self.end - self.start {
            self.require(count)?;
        }
        self.consume(count.min(self.end - self.start));
        Ok(())
    }

    pub(crate) fn io_error(&self, doing: &str, error: io::Error) -> TraceError {
        TraceError::io(&self.name, Some(Location::Byte(self.offset)), doing, error)
    }

    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Reads more bytes into the buffer; returns false at the end of the input.
    fn refill(&mut self) -> io::Result<bool> {
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
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
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
        let count = self.buffered().read(out)?;
        self.consume(count);
        Ok(count)
    }
}

#[inline]
pub(crate) fn bytes_at<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[start..start + N]);
    part
}

pub(crate) enum Line {
    /// A line of this length, with its newline; [`ByteSource::last_consumed`] returns its bytes.
    Text(usize),
    TooLong,
}

type Bytes = Box<dyn Read + Send>;

/// The first bytes of a compressed file, and a function that decompresses all of its members.
type Compression = (
    &'static [u8],
    fn(Box<dyn BufRead + Send>) -> io::Result<Bytes>,
);

/// The compressions: RFC 1952, section 2.3.1 (deflate, the only method); RFC 8878, section 3.1.1;
/// The .xz File Format 1.2, section 2.1.1.1; bzip2 1.0's `BZh`.
const COMPRESSIONS: [Compression; 4] = [
    (b"\x1f\x8b\x08", |input| {
        Ok(Box::new(MultiGzDecoder::new(input)))
    }),
    (b"\x28\xb5\x2f\xfd", |input| {
        Ok(Box::new(Frames::new(input)))
    }),
    (b"\xfd7zXZ\x00", |input| {
        Ok(Box::new(XzReader::new(input, true)))
    }),
    (b"BZh", |input| Ok(Box::new(MultiBzDecoder::new(input)))),
];

fn is_compressed(head: &[u8]) -> bool {
    COMPRESSIONS
        .iter()
        .any(|(magic, _)| head.starts_with(magic))
}

fn decompress(head: &[u8], input: Bytes, chunk: usize) -> io::Result<Bytes> {
    match COMPRESSIONS
        .iter()
        .find(|(magic, _)| head.starts_with(magic))
    {
        Some((_, open)) => open(Box::new(io::BufReader::with_capacity(chunk, input))),
        None => Ok(input),
    }
}

fn head(input: &mut Bytes, max: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(max);
    input.by_ref().take(max as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The number of bytes from which a compression is recognised; no magic is longer.
const MAGIC_BYTES: usize = 8;

/// Decompresses the frames of a zstd file (RFC 8878, section 3.1) and verifies their checksums and
/// sizes where present. The last window of a frame is only returned once the frame has ended, so it
/// is lost if the file is truncated.
struct Frames<R> {
    input: R,
    /// The current frame; before the first one, a frame that counts as finished.
    frame: FrameDecoder,
    read: u64,
}

impl<R: BufRead> Frames<R> {
    fn new(input: R) -> Self {
        Frames {
            input,
            frame: FrameDecoder::new(),
            read: 0,
        }
    }

    /// Reads the header of the next frame with content. Returns false at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.input) {
                Ok(()) => {
                    self.read = 0;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.input.by_ref().take(length), &mut io::sink())? < length {
                        return Err(unexpected_end());
                    }
                }
                Err(error) => return Err(into_io(error)),
            }
        }
        Ok(false)
    }

    /// Checks the size and the checksum of a frame that has been read completely.
    fn check(&self) -> io::Result<()> {
        let size = self.frame.content_size();
        let sum = self.frame.get_checksum_from_data();
        let wrong = if size > 0 && size != self.read {
            "size"
        } else if sum.is_some() && sum != self.frame.get_calculated_checksum() {
            "checksum"
        } else {
            return Ok(());
        };
        let what = format!("the content of a frame does not match its {wrong}");
        Err(invalid_data(&what))
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.frame.can_collect() == 0 {
            if self.frame.is_finished() {
                self.check()?;
                if !self.next_frame()? {
                    return Ok(0);
                }
            } else {
                self.frame
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(into_io)?;
            }
        }
        let read = self.frame.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

fn invalid_data(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {what}"))
}

fn unexpected_end() -> io::Error {
    let what = "zstd: the file ends within a frame";
    io::Error::new(io::ErrorKind::UnexpectedEof, what)
}

/// Returns the underlying error of the input or, if there is none, an error about the data.
fn into_io(error: FrameDecoderError) -> io::Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            return match io.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None if io.kind() == io::ErrorKind::UnexpectedEof => unexpected_end(),
                None => io::Error::new(io.kind(), io.to_string()),
            };
        }
        cause = inner.source();
    }
    invalid_data(&error.to_string())
}
