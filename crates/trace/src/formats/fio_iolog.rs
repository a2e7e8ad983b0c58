//! fio I/O logs, versions 2 and 3.

use diskarm_core::request::Op;
use diskarm_core::units::Instant;
use memchr::memmem;

use crate::digits::{Words, write_number};
use crate::error::{ErrorKind, TraceError};
use crate::format::{
    Format, FormatInfo, OpenResult, Options, RowWriter, TimeOrigin, TraceMetadata, Unwritable,
    arrival_of, bytes_of,
};
use crate::lines::{Field, Lines, Row, head_lines};
use crate::record::Record;
use crate::source::ByteSource;
use crate::text::TextRows;
use crate::time::TimeUnit;

/// fio iolog: file name, action, byte offset, bytes; in version 3 preceded by microseconds.
///
/// # What it does
/// Reads the first line, `fio version 2 iolog` or `fio version 3 iolog`, and then rows `filename
/// action` and `filename action offset length`, which in version 3 begin with a time in
/// microseconds since the start of the run. Offset and length are in bytes; files become devices,
/// by name. In version 2, a `wait` gives the microseconds since the last `wait`, and arrivals are
/// their sum; without a `wait` in the first 256 KiB there are no arrivals, and a later `wait` is
/// refused. Rows that add, open or close files are skipped; flushes and trims are ignored and
/// counted.
///
/// # Origin
/// The manual of fio 3.33, "Trace file format v2" and "v3". It does not name the unit of times in
/// version 3; logs that fio 3.33 wrote for requests at a fixed rate show that it is the
/// microsecond.
///
/// # When it is bad
/// No responses. File names with white space are refused; fio cannot read them either.
///
/// # Example
/// ```
/// let bytes = &b"fio version 3 iolog\n0 x.dat add\n4 x.dat open\n227 x.dat read 61440 4096\n"[..];
/// let record = diskarm_trace::read(bytes, "one.log", None)?.next().unwrap()?;
/// assert_eq!(record.arrival.unwrap().as_ns(), 227_000);
/// assert_eq!((record.start.0, record.sectors.0), (120, 8));
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Iolog;

const TIME: &str = "time_us";
const FILE: &str = "filename";
const ACTION: &str = "action";
const OFFSET: &str = "offset_bytes";
const LENGTH: &str = "length_bytes";

/// If a trace of version 2 has waits, the first must be within this many bytes.
const WAITS_WITHIN: usize = 256 * 1024;

impl Format for Iolog {
    const INFO: FormatInfo = FormatInfo {
        name: "fio-iolog",
        summary: "fio iolog, version 2 or 3",
        first_line: "fio version 3 iolog",
        time_unit: TimeUnit::Microseconds,
        time_origin: TimeOrigin::Start,
        carries: "arrivals (version 2: only with waits) and devices; no responses",
    };

    const WRITER: Option<fn() -> Box<dyn RowWriter>> = Some(|| Box::<Writer>::default());

    fn sniff(head: &[u8]) -> bool {
        let first = head_lines(head).next().unwrap_or_default();
        first.starts_with(b"fio version ") && first.ends_with(b" iolog")
    }

    fn open(mut source: ByteSource, _: &Options<'_>) -> OpenResult {
        let has_waits = match source.peek(WAITS_WITHIN) {
            Ok(head) => memmem::find(head, b" wait ").is_some(),
            Err(error) => return Err(source.io_error("read", error)),
        };
        let mut lines = Lines::new(source);
        let has_times = match lines.next_row()? {
            Some(row) => is_version_3(&row)?,
            None => return Err(TraceError::empty(lines.source().name())),
        };
        let mut waited = has_waits.then_some(Instant::START);
        Ok(TextRows::from_lines(lines, move |row, metadata| {
            if has_times {
                parse_v3(row, metadata)
            } else {
                parse_v2(row, &mut waited, metadata)
            }
        }))
    }
}

fn is_version_3(row: &Row<'_>) -> Result<bool, TraceError> {
    match row.text {
        b"fio version 2 iolog" => Ok(false),
        b"fio version 3 iolog" => Ok(true),
        found => {
            let found = String::from_utf8_lossy(found);
            let expected = "fio version 2 iolog or fio version 3 iolog";
            let detail = format!("header: found {found:?}, expected {expected}");
            Err(row.error(ErrorKind::Header, detail))
        }
    }
}

fn parse_v3(row: &Row<'_>, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError> {
    let mut words = row.words();
    let [time, file, action] = row.first_fields(&mut words, &[TIME, FILE, ACTION])?;
    let arrival = Some(time.instant(Iolog::INFO.time_unit)?);
    let names = [TIME, FILE, ACTION, OFFSET, LENGTH];
    request(row, [file, action], words, &names, arrival, metadata)
}

/// Parses a row of version 2; `waited` is the sum of all waits so far, in a trace with waits.
fn parse_v2(
    row: &Row<'_>,
    waited: &mut Option<Instant>,
    metadata: &mut TraceMetadata,
) -> Result<Option<Record>, TraceError> {
    let mut words = row.words();
    let [file, action] = row.first_fields(&mut words, &[FILE, ACTION])?;
    if action.text != b"wait" {
        let names = [FILE, ACTION, OFFSET, LENGTH];
        return request(row, [file, action], words, &names, *waited, metadata);
    }
    let [_, _, time] = row.first_fields(row.words(), &[FILE, ACTION, "wait_us"])?;
    let span = time.span(Iolog::INFO.time_unit)?;
    let Some(now) = waited else {
        return Err(action.reject("no wait here, as there was none in the first 256 KiB"));
    };
    match now.as_ns().checked_add(span.as_ns().unsigned_abs()) {
        Some(ns @ ..=LAST_NS) => *now = Instant::from_ns(ns),
        _ => return Err(time.reject("waits that add up to less than 2^63 ns")),
    }
    Ok(None)
}

/// Returns the request of a row with the fields `names`, the last two of which are in `words`.
#[inline]
fn request<'a>(
    row: &'a Row<'a>,
    [file, action]: [Field<'a>; 2],
    words: Words<'a>,
    names: &[&'static str],
    arrival: Option<Instant>,
    metadata: &mut TraceMetadata,
) -> Result<Option<Record>, TraceError> {
    let Some(op) = operation(&action, metadata)? else {
        return Ok(None);
    };
    let [offset, length] = row.fields(words, &[OFFSET, LENGTH]).or_else(|error| {
        // The error gives the number of fields in the whole row.
        row.fields::<5>(row.words(), names)?;
        Err(error)
    })?;
    let (start, sectors) = offset.bytes(&length, metadata)?;
    Ok(Some(Record {
        arrival,
        device: file.named_device(file.text, metadata)?,
        ..Record::new(row.location(), op, start, sectors)
    }))
}

const LAST_NS: u64 = i64::MAX as u64;

/// Returns the direction; `None` for a row that is not a request.
fn operation(action: &Field<'_>, metadata: &mut TraceMetadata) -> Result<Option<Op>, TraceError> {
    match action.text {
        b"read" => return Ok(Some(Op::Read)),
        b"write" => return Ok(Some(Op::Write)),
        b"add" | b"open" | b"close" => {}
        b"sync" | b"datasync" | b"sync_file_range" => metadata.ignore("sync"),
        b"trim" => metadata.ignore("trim"),
        _ => return Err(action.reject("an action of fio, such as read or write")),
    }
    Ok(None)
}

/// Writes version 3. Each device becomes a file named after its number and added at first use.
#[derive(Default)]
struct Writer {
    has_begun: bool,
    known: Vec<u32>,
    rounded: u64,
}

impl RowWriter for Writer {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        let ns = arrival_of(record)?.as_ns();
        let [offset, length] = bytes_of(record)?;
        if !std::mem::replace(&mut self.has_begun, true) {
            out.extend_from_slice(b"fio version 3 iolog\n");
        }
        self.rounded += u64::from(!ns.is_multiple_of(1000));
        let time_us = (ns + 500) / 1000;
        let mut row = |action: &[u8]| {
            write_number(time_us, out);
            out.extend_from_slice(b" device");
            write_number(record.device.into(), out);
            out.extend_from_slice(action);
        };
        if !self.known.contains(&record.device) {
            self.known.push(record.device);
            row(b" add\n");
            row(b" open\n");
        }
        row(if record.op.is_read() {
            b" read "
        } else {
            b" write "
        });
        write_number(offset, out);
        out.push(b' ');
        write_number(length, out);
        out.push(b'\n');
        Ok(())
    }

    fn rounded_count(&self) -> u64 {
        self.rounded
    }
}
