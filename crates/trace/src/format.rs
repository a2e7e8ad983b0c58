//! The trait that trace formats implement, and the types that it uses.

use std::path::{Path, PathBuf};

use diskarm_core::units::{Instant, Span};

use crate::error::TraceError;
use crate::record::{BLOCK_BYTES, Record};
use crate::source::ByteSource;
use crate::time::TimeUnit;

/// Parses the rows of a trace, in file order.
pub trait RowReader: Send {
    /// Returns the next record, or `None` at the end. Fails on an invalid row; if the error is
    /// [skippable](crate::ErrorKind::is_skippable), the next call continues with the next row.
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError>;
}

/// The rows of a trace, or an error before the first.
pub type OpenResult = Result<Box<dyn RowReader>, TraceError>;

/// The maximum number of devices with names, each of which is compared with those of a row. A trace
/// with more has probably something else in its device column.
const MAX_NAMES: usize = 4096;

/// The requirement on the number of devices with names.
pub(crate) const NAMES: &str = "at most 4096 devices";

/// The contents of a trace apart from its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceMetadata {
    /// Valid rows that are not reads or writes of data (flushes, trims, file names), by kind, in
    /// order of first appearance.
    pub ignored: Vec<(String, u64)>,
    /// Requests that were widened to whole 512-byte blocks.
    pub widened: u64,
    /// Device names, indexed by device number, if the format has names.
    pub device_names: Vec<String>,
    /// Requests without a completion, in a trace that records completions.
    pub incomplete: u64,
    /// The number of the last line, if it lacks its newline and so may be truncated.
    pub cut: Option<u64>,
    /// The kernel's numbers for the devices in `device_names`.
    block_devices: Vec<u32>,
}

impl TraceMetadata {
    pub(crate) fn ignore(&mut self, what: &str) {
        match self.ignored.iter_mut().find(|(name, _)| name == what) {
            Some((_, count)) => *count += 1,
            None => self.ignored.push((what.to_owned(), 1)),
        }
    }

    /// Returns the number of the device called `name`; `None` if there are too many.
    #[inline]
    pub(crate) fn device(&mut self, name: &[u8]) -> Option<u32> {
        // Traces have few devices, and most rows have the same device as the previous row.
        let known = self.device_names.iter().position(|n| n.as_bytes() == name);
        known.map_or_else(|| self.new_device(name), |known| Some(known as u32))
    }

    /// Returns the number of the device `major,minor`; `None` if there are too many. `kernel` is
    /// its number in the Linux kernel, with 12 bits for the major number above 20 bits for the
    /// minor number.
    #[inline]
    pub(crate) fn block_device(&mut self, kernel: u32) -> Option<u32> {
        match self.block_devices.iter().position(|known| *known == kernel) {
            Some(known) => Some(known as u32),
            None => {
                let name = format!("{},{}", kernel >> 20, kernel & 0xf_ffff);
                let number = self.new_device(name.as_bytes())?;
                self.block_devices.push(kernel);
                Some(number)
            }
        }
    }

    #[cold]
    fn new_device(&mut self, name: &[u8]) -> Option<u32> {
        let number = self.device_names.len();
        if number == MAX_NAMES {
            return None;
        }
        self.device_names
            .push(String::from_utf8_lossy(name).into_owned());
        Some(number as u32)
    }
}

/// The origin of a format's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeOrigin {
    /// The start of the trace; the first request may arrive later.
    Start,
    /// 1 January 1970, UTC.
    Unix,
    /// An arbitrary instant, such as when the machine was started.
    Arbitrary,
}

/// The event of a request that counts as its arrival, in traces with several events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ArrivalEvent {
    /// The request was passed to the device.
    #[default]
    Issue,
    /// The request entered the queue of the operating system.
    Queue,
}

/// Options for reading a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The name of its format; `None` to detect it from the content.
    pub format: Option<&'a str>,
    /// The handling of invalid rows.
    pub on_error: OnError,
    /// The event that counts as the arrival, in a trace of block layer events.
    pub arrival: ArrivalEvent,
}

/// The handling of invalid rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnError {
    /// Stop with the error of the first invalid row.
    #[default]
    Stop,
    /// Count invalid rows by reason and continue with the next row.
    Skip,
}

/// The description of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// Its name in options and messages.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// An example of its first line, for users whose file was not recognised.
    pub first_line: &'static str,
    /// The unit of its times.
    pub time_unit: TimeUnit,
    /// The origin of its times.
    pub time_origin: TimeOrigin,
    /// Its contents apart from direction, first block and number of blocks.
    pub carries: &'static str,
}

/// A trace format. Each format is a type that implements this trait.
pub trait Format {
    /// Its name and its properties.
    const INFO: FormatInfo;

    /// A function that creates its writer, if the format can be written.
    const WRITER: Option<fn() -> Box<dyn RowWriter>> = None;

    /// Returns true if a file with the first bytes `head` is in this format. It must not accept a
    /// file of another format, but may accept a broken file of this one, which is then refused with
    /// a precise error. `head` is the whole of a short file; in a long one, it may end anywhere.
    fn sniff(head: &[u8]) -> bool;

    /// Starts reading. Fails on an error before the first record, such as an invalid header.
    fn open(source: ByteSource, options: &Options<'_>) -> OpenResult;

    /// Returns all files of the trace to which `path` belongs, in order. Returns none if `path` is
    /// the only file.
    fn parts(_path: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// A [`Format`] in the table [`FORMATS`](crate::FORMATS).
#[derive(Clone, Copy, Debug)]
pub struct FormatEntry {
    /// The format's [`Format::INFO`].
    pub info: FormatInfo,
    /// The format's [`Format::WRITER`].
    pub writer: Option<fn() -> Box<dyn RowWriter>>,
    /// The format's [`Format::sniff`].
    pub sniff: fn(&[u8]) -> bool,
    /// The format's [`Format::open`].
    pub open: fn(ByteSource, &Options<'_>) -> OpenResult,
    /// The format's [`Format::parts`].
    pub parts: fn(&Path) -> Vec<PathBuf>,
}

impl FormatEntry {
    /// Returns the table entry of the format `F`.
    pub const fn new<F: Format>() -> Self {
        Self {
            info: F::INFO,
            writer: F::WRITER,
            sniff: F::sniff,
            open: F::open,
            parts: F::parts,
        }
    }
}

/// Writes the records of one trace in one format.
pub trait RowWriter: Send {
    /// Appends the record's row to `out`, after anything that must precede it. Fails if the format
    /// cannot represent the record.
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable>;

    /// Appends what follows the last row. Fails if the format cannot represent a pending record.
    fn end(&mut self, _out: &mut Vec<u8>) -> Result<(), Unwritable> {
        Ok(())
    }

    /// Returns how many time values have been rounded to the resolution of the format so far.
    fn rounded_count(&self) -> u64 {
        0
    }
}

/// The reason why a record cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritable(pub String);

impl From<&str> for Unwritable {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

pub(crate) fn arrival_of(record: &Record) -> Result<Instant, Unwritable> {
    record.arrival.ok_or("it has no arrival".into())
}

pub(crate) fn response_of(record: &Record) -> Result<Span, Unwritable> {
    record.response.ok_or("it has no response".into())
}

pub(crate) fn bytes_of(record: &Record) -> Result<[u64; 2], Unwritable> {
    let end = record.end().0.checked_mul(BLOCK_BYTES);
    let end = end.ok_or(Unwritable::from("it ends beyond byte 2^64"))?;
    let length = record.sectors.0 * BLOCK_BYTES;
    Ok([end - length, length])
}

/// A format that this build lacks because it needs the feature `parquet`. It is still recognised,
/// so that the error message can name the feature.
#[derive(Clone, Copy, Debug)]
pub struct DisabledFormat {
    /// Its name in options and messages.
    pub name: &'static str,
    /// Recognises a file by its first bytes, as [`crate::Format::sniff`] does.
    pub(crate) sniff: fn(&[u8]) -> bool,
}

static PARQUET_FORMATS: [DisabledFormat; 2] = [
    DisabledFormat {
        name: "parquet",
        sniff: is_parquet,
    },
    DisabledFormat {
        name: "arrow",
        sniff: is_arrow,
    },
];

/// Returns the formats that this build does not support.
pub fn disabled_formats() -> &'static [DisabledFormat] {
    if cfg!(feature = "parquet") {
        &[]
    } else {
        &PARQUET_FORMATS
    }
}

/// Returns the error message for a file in a disabled format, or for a request to use it.
pub(crate) fn disabled_message(format: &DisabledFormat) -> String {
    let name = format.name;
    format!(
        "format: found {name:?}, which this build does not support: build with --features parquet"
    )
}

/// Returns true if `head` begins with the magic of Apache Parquet (File Format).
pub(crate) fn is_parquet(head: &[u8]) -> bool {
    head.starts_with(b"PAR1")
}

/// Returns true if `head` is the beginning of an Arrow file or stream.
pub(crate) fn is_arrow(head: &[u8]) -> bool {
    head.starts_with(ARROW_MAGIC) || is_arrow_stream(head)
}

/// The magic with which Arrow files begin and end (Columnar Format, IPC File Format).
pub(crate) const ARROW_MAGIC: &[u8; 6] = b"ARROW1";

/// Checks for a continuation marker and a length divisible by 8 (Encapsulated message format).
fn is_arrow_stream(head: &[u8]) -> bool {
    let length = head.strip_prefix(&[0xff; 4]).and_then(<[u8]>::first_chunk);
    let length = length.map(|bytes| i32::from_le_bytes(*bytes));
    length.is_some_and(|length| length > 0 && length % 8 == 0)
}
