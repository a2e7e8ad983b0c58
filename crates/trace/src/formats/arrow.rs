//! Arrow IPC files and streams.

use std::io::Read;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;

use crate::columns::{Batches, ColumnRows, decoding_error};
use crate::error::{ErrorKind, TraceError};
use crate::format::{ARROW_MAGIC, Format, FormatInfo, OpenResult, Options, TimeOrigin, is_arrow};
use crate::source::ByteSource;
use crate::time::TimeUnit;

/// Arrow IPC files (Feather 2) and streams, with the columns of [Parquet](super::parquet::Parquet).
///
/// # What it does
/// Reads the record batches in order. A file is a stream between a magic and a footer, and is read
/// as a stream, so it may come from a pipe. The footer is not used, but its end must be present.
/// Buffers may be compressed with LZ4 or zstd.
///
/// # Origin
/// Apache Arrow, Columnar Format, sections IPC Streaming Format and IPC File Format.
///
/// # Cost
/// One pass; memory for one record batch, whose size its writer chose.
///
/// # When it is bad
/// A file in which dictionaries follow the batches that use them is valid, but it is refused.
/// A stream truncated between two batches looks complete, because its end marker is optional. The
/// library may panic on a corrupted file, which ends the program; a truncated file is refused.
///
/// # Example
/// `df.to_feather("trace.arrow")` in pandas, then `diskarm trace info trace.arrow`.
pub struct Arrow;

/// Everything is padded to a multiple of this many bytes.
const WORD: usize = 8;

impl Format for Arrow {
    const INFO: FormatInfo = FormatInfo {
        name: "arrow",
        summary: "Arrow IPC, a file or a stream: columns by name",
        first_line: "ARROW1",
        time_unit: TimeUnit::Nanoseconds,
        time_origin: TimeOrigin::Start,
        carries: "all fields of a record",
    };

    fn sniff(head: &[u8]) -> bool {
        is_arrow(head)
    }

    fn open(mut source: ByteSource, _: &Options<'_>) -> OpenResult {
        let name = source.name().to_owned();
        let is_file = source.head().starts_with(ARROW_MAGIC);
        if is_file {
            source.skip(WORD)?;
            // The specification pads to 8 bytes, the Rust writer to 64.
            while source.offset() < 64 && is_padding(&mut source)? {
                source.skip(WORD)?;
            }
        }
        let stream = StreamReader::try_new(source, None)
            .map_err(|error| decoding_error(&name, "schema", &error))?;
        let schema = stream.schema();
        let messages = Messages {
            name: name.clone(),
            stream,
            is_file,
            count: 0,
        };
        ColumnRows::boxed(&name, &schema, messages)
    }
}

fn is_padding(source: &mut ByteSource) -> Result<bool, TraceError> {
    match source.peek(WORD) {
        Ok(word) => Ok(word == [0; WORD]),
        Err(error) => Err(source.io_error("read", error)),
    }
}

struct Messages {
    name: String,
    stream: StreamReader<ByteSource>,
    is_file: bool,
    count: u64,
}

impl Messages {
    /// Checks that the file has not been truncated: the library accepts the end of the input
    /// wherever a message could begin.
    fn check_end(&mut self) -> Result<(), TraceError> {
        let source = self.stream.get_mut();
        let mut last = Vec::new();
        loop {
            let count = source
                .by_ref()
                .take(4096)
                .read_to_end(&mut last)
                .map_err(|error| source.io_error("read", error))?;
            if count == 0 {
                break;
            }
            last.drain(..last.len().saturating_sub(ARROW_MAGIC.len()));
        }
        if last == ARROW_MAGIC {
            return Ok(());
        }
        let detail = "found no ARROW1 at the end, expected a complete file".to_owned();
        let name = &self.name;
        Err(TraceError::new(ErrorKind::Framing, name, None, detail))
    }
}

impl Batches for Messages {
    fn next(&mut self) -> Result<Option<RecordBatch>, TraceError> {
        match self.stream.next() {
            Some(Ok(batch)) => {
                self.count += 1;
                Ok(Some(batch))
            }
            Some(Err(error)) => {
                let what = format!("record batch {}", self.count + 1);
                Err(decoding_error(&self.name, &what, &error))
            }
            None if self.is_file => self.check_end().map(|()| None),
            None => Ok(None),
        }
    }
}
