//! Decompression. Compressed files are recognised by their first bytes, not by their names.

use std::error::Error as _;
use std::io::{BufRead, Error, ErrorKind, Read, Result, copy, sink};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A stream of bytes.
pub(crate) type Bytes = Box<dyn Read + Send>;

struct Compression {
    /// The first bytes of its files.
    magic: &'static [u8],
    /// Decompresses a file, including one with several members.
    open: fn(Compressed) -> Result<Bytes>,
}

/// The input of a decompressor.
type Compressed = Box<dyn BufRead + Send>;

/// RFC 1952, section 2.3.1 (deflate, the only method); RFC 8878, section 3.1.1; The .xz
/// File Format 1.2, section 2.1.1.1; bzip2 1.0's `BZh`.
const KNOWN: [Compression; 4] = [
    Compression {
        magic: b"\x1f\x8b\x08",
        open: |input| Ok(Box::new(MultiGzDecoder::new(input))),
    },
    Compression {
        magic: b"\x28\xb5\x2f\xfd",
        open: |input| Ok(Box::new(Frames::new(input))),
    },
    Compression {
        magic: b"\xfd7zXZ\x00",
        open: |input| Ok(Box::new(XzReader::new(input, true))),
    },
    Compression {
        magic: b"BZh",
        open: |input| Ok(Box::new(MultiBzDecoder::new(input))),
    },
];

/// Returns true if a file with the first bytes `head` is compressed.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    KNOWN.iter().any(|known| head.starts_with(known.magic))
}

/// Returns the content of `input`, decompressed if its first bytes, `head`, are those of a
/// compressed file.
pub(crate) fn decompressed(head: &[u8], input: Bytes, chunk: usize) -> Result<Bytes> {
    match KNOWN.iter().find(|known| head.starts_with(known.magic)) {
        Some(known) => {
            let buffered = std::io::BufReader::with_capacity(chunk, input);
            (known.open)(Box::new(buffered))
        }
        None => Ok(input),
    }
}

/// Reads the first bytes of `input`, at most `max`.
pub(crate) fn head(input: &mut Bytes, max: usize) -> Result<Vec<u8>> {
    let mut head = Vec::with_capacity(max);
    input.by_ref().take(max as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// More than the longest magic.
pub(crate) const MAGIC_BYTES: usize = 8;

/// Decompresses the frames of a zstd file (RFC 8878, section 3.1) and verifies their checksums and
/// sizes where present. The last window of a frame is only returned once the frame has ended, so it
/// is lost if the file is truncated.
pub(crate) struct Frames<R> {
    input: R,
    /// Finished before the first frame.
    frame: FrameDecoder,
    /// The number of bytes of the frame's content read so far.
    read: u64,
}

impl<R: BufRead> Frames<R> {
    pub fn new(input: R) -> Self {
        Frames {
            input,
            frame: FrameDecoder::new(),
            read: 0,
        }
    }

    /// Reads the header of the next frame with content. Returns false at the end of the file.
    fn next_frame(&mut self) -> Result<bool> {
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
                    if copy(&mut self.input.by_ref().take(length), &mut sink())? < length {
                        return Err(ends_early());
                    }
                }
                Err(error) => return Err(as_io(error)),
            }
        }
        Ok(false)
    }

    /// An error unless the frame, all of which is read, has the content that was compressed.
    fn check(&self) -> Result<()> {
        let size = self.frame.content_size();
        let sum = self.frame.get_checksum_from_data();
        let wrong = if size > 0 && size != self.read {
            "size"
        } else if sum.is_some() && sum != self.frame.get_calculated_checksum() {
            "checksum"
        } else {
            return Ok(());
        };
        Err(damaged(&format!(
            "the content of a frame does not match its {wrong}"
        )))
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while self.frame.can_collect() == 0 {
            if self.frame.is_finished() {
                self.check()?;
                if !self.next_frame()? {
                    return Ok(0);
                }
            } else {
                self.frame
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(as_io)?;
            }
        }
        let read = self.frame.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("zstd: {what}"))
}

fn ends_early() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "zstd: the file ends in a frame")
}

/// The error of the input if it is one, else that of the data.
fn as_io(error: FrameDecoderError) -> Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<Error>() {
            return match io.raw_os_error() {
                Some(code) => Error::from_raw_os_error(code),
                None if io.kind() == ErrorKind::UnexpectedEof => ends_early(),
                None => Error::new(io.kind(), io.to_string()),
            };
        }
        cause = inner.source();
    }
    damaged(&error.to_string())
}
