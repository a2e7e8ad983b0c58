//! The content of a zstd file: frames one after another (RFC 8878, section 3.1).

use std::error::Error as _;
use std::io::{BufRead, Error, ErrorKind, Read, Result, copy, sink};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Decompresses all frames of a file and holds each to its checksum.
pub(crate) struct Frames<R> {
    input: R,
    /// Finished before the first frame.
    frame: FrameDecoder,
}

impl<R: BufRead> Frames<R> {
    pub fn new(input: R) -> Self {
        Frames {
            input,
            frame: FrameDecoder::new(),
        }
    }

    /// Reads the header of the next frame with content. Returns whether there is one.
    fn next_frame(&mut self) -> Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if copy(&mut self.input.by_ref().take(length), &mut sink())? < length {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(as_io(error)),
            }
        }
        Ok(false)
    }

    /// An error unless the frame that is finished has the content that was compressed.
    fn check(&self) -> Result<()> {
        match self.frame.get_checksum_from_data() {
            Some(sum) if Some(sum) != self.frame.get_calculated_checksum() => Err(Error::new(
                ErrorKind::InvalidData,
                "the content of a zstd frame does not match its checksum",
            )),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            if self.frame.can_collect() > 0 {
                let read = self.frame.read(buffer)?;
                if self.frame.is_finished() && self.frame.can_collect() == 0 {
                    self.check()?;
                }
                return Ok(read);
            }
            if !self.frame.is_finished() {
                self.frame
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(as_io)?;
            } else if !self.next_frame()? {
                return Ok(0);
            }
        }
    }
}

/// An error of the input as it was, any other as one of the data.
fn as_io(error: FrameDecoderError) -> Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<Error>() {
            return Error::new(io.kind(), io.to_string());
        }
        cause = inner.source();
    }
    Error::new(ErrorKind::InvalidData, format!("zstd: {error}"))
}
