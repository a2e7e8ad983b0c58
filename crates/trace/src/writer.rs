//! Writes traces in the formats that have a [`RowWriter`].

use std::io::Write;

use crate::error::{ErrorKind, QuotedValue, TraceError, quantity};
use crate::format::{
    FormatEntry, FormatInfo, RowWriter, Unwritable, disabled_formats, disabled_message,
};
use crate::formats::FORMATS;
use crate::record::Record;

/// Writes a trace in constant memory.
pub struct Writer<W: Write> {
    name: String,
    info: &'static FormatInfo,
    rows: Box<dyn RowWriter>,
    output: W,
    buffer: Vec<u8>,
    count: u64,
}

/// Rows are written in chunks of about this many bytes.
const CHUNK: usize = 128 * 1024;

impl<W: Write> Writer<W> {
    /// Writes to `output`, called `name` in errors, in the format called `format`. Fails if that
    /// format cannot be written.
    pub fn new(output: W, name: &str, format: &str) -> Result<Self, TraceError> {
        let writable = || writable().map(|(entry, _)| entry.info.name);
        let found = self::writable().find(|(entry, _)| entry.info.name == format);
        let Some((entry, writer)) = found else {
            let detail = match disabled_formats().iter().find(|other| other.name == format) {
                Some(other) => disabled_message(other),
                None => format!(
                    "format: found {}, expected one that can be written: {}",
                    QuotedValue(format),
                    writable().collect::<Vec<_>>().join(", ")
                ),
            };
            let kind = ErrorKind::UnknownFormat;
            return Err(TraceError::new(kind, name, None, detail));
        };
        Ok(Self {
            name: name.to_owned(),
            info: &entry.info,
            rows: writer(),
            output,
            buffer: Vec::with_capacity(2 * CHUNK),
            count: 0,
        })
    }

    /// Writes a record, which must not arrive before the previous one. Fails if the format cannot
    /// represent it or the output cannot be written.
    pub fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        let written = self.rows.record(record, &mut self.buffer);
        written.map_err(|reason| self.unwritable(reason, Some(record)))?;
        self.count += 1;
        if self.buffer.len() >= CHUNK {
            self.write_buffer()?;
        }
        Ok(())
    }

    /// Hands all complete rows to the output. Fails if it cannot be written.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.write_buffer()?;
        let flushed = self.output.flush();
        flushed.map_err(|error| TraceError::io(&self.name, None, "write", error))
    }

    /// Ends the trace and returns notes about it, one line each. Fails like [`Self::write`].
    pub fn finish(mut self) -> Result<Vec<String>, TraceError> {
        let ended = self.rows.end(&mut self.buffer);
        ended.map_err(|why| self.unwritable(why, None))?;
        self.flush()?;
        let (rounded, unit) = (self.rows.rounded_count(), self.info.time_unit.name());
        let times = quantity(rounded, "time value");
        let note = format!("{times} rounded to whole {unit}, the resolution of the format");
        Ok((rounded > 0).then_some(note).into_iter().collect())
    }

    /// Returns the number of records written.
    pub fn records_count(&self) -> u64 {
        self.count
    }

    fn write_buffer(&mut self) -> Result<(), TraceError> {
        let written = self.output.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(|error| TraceError::io(&self.name, None, "write", error))
    }

    fn unwritable(&self, Unwritable(why): Unwritable, record: Option<&Record>) -> TraceError {
        let at = match record {
            Some(record) => format!("the request at {}", record.location),
            None => "the last request".to_owned(),
        };
        let detail = format!("cannot write {at} as {}: {why}", self.info.name);
        TraceError::new(ErrorKind::Unwritable, &self.name, None, detail)
    }
}

/// Returns the formats that can be written, and functions that make their writers.
pub fn writable() -> impl Iterator<Item = (&'static FormatEntry, fn() -> Box<dyn RowWriter>)> {
    let formats = FORMATS.iter();
    formats.filter_map(|entry| Some((entry, entry.writer?)))
}
