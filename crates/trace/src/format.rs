//! What a format is.

use std::path::{Path, PathBuf};

use diskarm_core::units::Instant;

use crate::error::TraceError;
use crate::record::Record;
use crate::source::ByteSource;
use crate::time::TimeUnit;

/// Parses the rows of one file, in their order.
pub trait RowReader: Send {
    /// The next record, or `None` at the end. After an error that [is
    /// skippable](crate::ErrorKind::is_skippable) the next call goes on behind it.
    ///
    /// # Errors
    ///
    /// What is wrong with the row.
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError>;
}

/// The rows of a trace, or what is wrong before the first.
pub type OpenResult = Result<Box<dyn RowReader>, TraceError>;

/// What a reader has to say beside the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceMetadata {
    /// Rows that are sound but no reads or writes of data (flushes, trims, file names), by what
    /// they are, in order of first appearance.
    pub ignored: Vec<(String, u64)>,
    /// Requests whose bytes did not begin and end at blocks of 512, which were widened to those
    /// that they touch.
    pub widened: u64,
    /// Names of the devices where the format has names: that of the device `n` at `n`.
    pub device_names: Vec<String>,
    /// Requests of which the trace has no completion, though it has those of others.
    pub incomplete: u64,
    /// The numbers of the kernel's devices whose names are in `device_names`.
    block_devices: Vec<u32>,
}

impl TraceMetadata {
    /// Counts a row that is no request.
    pub(crate) fn ignore(&mut self, what: &str) {
        match self.ignored.iter_mut().find(|(name, _)| name == what) {
            Some((_, count)) => *count += 1,
            None => self.ignored.push((what.to_owned(), 1)),
        }
    }

    /// The number of the device called `name`.
    #[inline]
    pub(crate) fn device(&mut self, name: &[u8]) -> u32 {
        // Traces have few devices, and mostly the same as in the row before.
        let known = self.device_names.iter().position(|n| n.as_bytes() == name);
        known.unwrap_or_else(|| self.new_device(name)) as u32
    }

    /// The number of the device that Linux's kernel gives this number: 20 bits of minor below 12
    /// of major. Its name is `major,minor`.
    #[inline]
    pub(crate) fn block_device(&mut self, kernel: u32) -> u32 {
        match self.block_devices.iter().position(|known| *known == kernel) {
            Some(known) => known as u32,
            None => {
                self.block_devices.push(kernel);
                let name = format!("{},{}", kernel >> 20, kernel & 0xf_ffff);
                self.new_device(name.as_bytes()) as u32
            }
        }
    }

    #[cold]
    fn new_device(&mut self, name: &[u8]) -> usize {
        let name = String::from_utf8_lossy(name).into_owned();
        self.device_names.push(name);
        self.device_names.len() - 1
    }
}

/// From what a format's times count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeOrigin {
    /// The trace's own start, so that the first request may come after a while.
    Start,
    /// The first of January 1970, UTC.
    Unix,
    /// Something that says nothing, such as when the machine was switched on.
    Arbitrary,
}

/// Which moment of a request is its arrival, where a trace has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ArrivalEvent {
    /// When it was handed to the device.
    #[default]
    Issue,
    /// When it entered the queue of the operating system.
    Queue,
}

/// How to read a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The name of its format; `None` to let the content tell.
    pub format: Option<&'a str>,
    /// What a bad row does.
    pub on_error: OnError,
    /// What counts as the arrival in a trace of a block layer's events.
    pub arrival: ArrivalEvent,
}

/// What a bad row does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnError {
    /// It ends the trace with its error.
    #[default]
    Stop,
    /// It is counted by reason, and reading goes on behind it.
    Skip,
}

/// What a format says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// One line for a list.
    pub summary: &'static str,
    /// What its first line looks like, for someone whose file was not recognised.
    pub first_line: &'static str,
    /// The unit of its times.
    pub time_unit: TimeUnit,
    /// From what its times count.
    pub time_origin: TimeOrigin,
    /// What it gives beside direction, first block and number of blocks.
    pub carries: &'static str,
}

/// A way to write traces down.
pub trait Format {
    /// What it says of itself.
    const INFO: FormatInfo;

    /// What writes it, where anything does.
    const WRITER: Option<fn() -> Box<dyn RowWriter>> = None;

    /// Whether a file that begins with `head` looks like this format: a guess that must not take
    /// another format's file, while a broken file of this format may pass so as to be refused
    /// with a precise error. `head` is the whole of a short file and ends anywhere in a long one.
    fn sniff(head: &[u8]) -> bool;

    /// Starts to read.
    ///
    /// # Errors
    ///
    /// What is wrong before the first record, such as in a header.
    fn open(source: ByteSource, options: &Options<'_>) -> OpenResult;

    /// All files of the trace that the file at `path` is a part of, in their order; nothing where
    /// a trace is one file.
    fn parts(_path: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// A [`Format`] in the table [`FORMATS`].
#[derive(Clone, Copy, Debug)]
pub struct FormatEntry {
    /// [`Format::INFO`].
    pub info: FormatInfo,
    /// [`Format::WRITER`].
    pub emit: Option<fn() -> Box<dyn RowWriter>>,
    /// [`Format::sniff`].
    pub sniff: fn(&[u8]) -> bool,
    /// [`Format::open`].
    pub open: fn(ByteSource, &Options<'_>) -> OpenResult,
    /// [`Format::parts`].
    pub parts: fn(&Path) -> Vec<PathBuf>,
}

impl FormatEntry {
    /// The table's entry for the format `F`.
    pub const fn of<F: Format>() -> Self {
        Self {
            info: F::INFO,
            emit: F::WRITER,
            sniff: F::sniff,
            open: F::open,
            parts: F::parts,
        }
    }
}

/// Writes the records of one trace in one format.
pub trait RowWriter: Send {
    /// Adds the record's row to `out`, after whatever must stand before it.
    ///
    /// # Errors
    ///
    /// A record that the format cannot hold.
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable>;

    /// Adds what stands behind the last row.
    ///
    /// # Errors
    ///
    /// A record that was still held back, and that the format cannot hold.
    fn end(&mut self, _out: &mut Vec<u8>) -> Result<(), Unwritable> {
        Ok(())
    }

    /// Times that were rounded so far because the format is too coarse for them.
    fn rounded_count(&self) -> u64 {
        0
    }
}

/// Why a record cannot be written: what the format needs and the record lacks, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritable(pub String);

/// The arrival that a format needs.
pub(crate) fn arrival_of(record: &Record) -> Result<Instant, Unwritable> {
    record
        .arrival
        .ok_or_else(|| Unwritable("it has no arrival".to_owned()))
}
