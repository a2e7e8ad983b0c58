//! Server traces of Microsoft Research Cambridge.

use diskarm_core::units::Instant;

use crate::digits::write_number;
use crate::error::TraceError;
use crate::format::{
    Format, FormatInfo, OpenResult, Options, RowWriter, TimeOrigin, TraceMetadata, Unwritable,
    arrival_of, bytes_of, response_of,
};
use crate::lines::{Field, Row, first_fields, is_whole};
use crate::record::Record;
use crate::source::ByteSource;
use crate::text::{Column, Shape, TextRows, Word};
use crate::time::TimeUnit;

/// MSR Cambridge CSV: file time, host, disk, type, byte offset, bytes, response.
///
/// # What it does
/// Reads comma-separated rows of seven fields: the arrival as a Windows file time, in units of
/// 100 ns since 1601; host and disk, which together name the device; `Read` or `Write`; offset and
/// size in bytes; the response in units of 100 ns. Arrivals are relative to the first record.
/// A header line that begins with `Timestamp` is skipped.
///
/// # Origin
/// D. Narayanan, A. Donnelly, A. Rowstron: Write Off-Loading (FAST 2008), and the README of the
/// traces at SNIA IOTTA. A request that does not begin and end at 512-byte block boundaries is
/// widened to whole blocks and counted.
///
/// # When it is bad
/// Times before 1970 are refused. A last row truncated within its response looks complete.
///
/// # Example
/// ```
/// let bytes = &b"128166372003061629,hm,1,Read,383496192,32768,413\n"[..];
/// let record = diskarm_trace::read(bytes, "one.csv", None)?.next().unwrap()?;
/// assert_eq!((record.start.0, record.sectors.0), (749016, 64));
/// assert_eq!(record.response.unwrap().as_ns(), 41_300);
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Msr;

const NAMES: [&str; 7] = [
    "timestamp",
    "hostname",
    "disk",
    "type",
    "offset_bytes",
    "size_bytes",
    "response",
];

const SHAPE: Shape = Shape {
    separator: b',',
    columns: &[
        Column::ArrivalSince(Msr::INFO.time_unit, UNIX_TICKS),
        Column::DeviceName,
        Column::Op(Word::new("Read"), Word::new("Write")),
        Column::Offset,
        Column::Length,
        Column::Response(Msr::INFO.time_unit),
    ],
};

/// Units of 100 ns from 1601 to 1970: 369 years, of which 89 have a leap day.
const UNIX_TICKS: u64 = (369 * 365 + 89) * 86_400 * 10_000_000;

impl Format for Msr {
    const INFO: FormatInfo = FormatInfo {
        name: "msr",
        summary: "MSR Cambridge CSV: file time, host, disk, type, offset, size, response",
        first_line: "128166372003061629,hm,1,Read,383496192,32768,413",
        time_unit: TimeUnit::Ticks,
        time_origin: TimeOrigin::Unix,
        carries: "arrivals, responses and devices",
    };

    const WRITER: Option<fn() -> Box<dyn RowWriter>> = Some(|| Box::<Writer>::default());

    /// Returns true for a header, which some copies have, or if field 4 of 7 is `Read` or `Write`.
    fn sniff(head: &[u8]) -> bool {
        first_fields::<7>(head, b',').is_some_and(|[time, host, _, op, ..]| {
            (time == b"Timestamp" && host == b"Hostname")
                || (is_whole(time) && matches!(op, b"Read" | b"Write"))
        })
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        let mut is_first = true;
        Ok(TextRows::with_shape(source, SHAPE, move |row, metadata| {
            if std::mem::take(&mut is_first) && row.text.starts_with(b"Timestamp,") {
                return Ok(None);
            }
            record(row, metadata).map(Some)
        }))
    }
}

fn record(row: &Row<'_>, metadata: &mut TraceMetadata) -> Result<Record, TraceError> {
    let [time, host, disk, op, offset, size, response]: [Field<'_>; 7] =
        row.fields(row.split(b','), &NAMES)?;
    let (start, sectors) = offset.bytes(&size, metadata)?;
    let op = op.op("Read", "Write")?;
    let arrival = Some(unix_time(&time)?);
    let response = Some(response.span(Msr::INFO.time_unit)?);
    // The device name is the text between the first and the third comma.
    let name = &row.text[time.text.len() + 1..][..host.text.len() + 1 + disk.text.len()];
    Ok(Record {
        arrival,
        device: disk.named_device(name, metadata)?,
        response,
        ..Record::new(row.location(), op, start, sectors)
    })
}

/// Converts a file time to the time since 1970.
fn unix_time(time: &Field<'_>) -> Result<Instant, TraceError> {
    const LAST: u64 = i64::MAX as u64 / 100;
    let ticks = time.whole_number(u64::MAX)?;
    match ticks.checked_sub(UNIX_TICKS) {
        Some(ticks @ ..=LAST) => Ok(Instant::from_ns(ticks * 100)),
        _ => Err(time.reject("units of 100 ns since 1601, from 1970 to 2262")),
    }
}

/// Writes times as if the trace had begun in 1970.
#[derive(Default)]
struct Writer {
    rounded: u64,
}

impl Writer {
    fn ticks(&mut self, ns: u64) -> u64 {
        self.rounded += u64::from(!ns.is_multiple_of(100));
        (ns + 50) / 100
    }
}

impl RowWriter for Writer {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        let arrival = arrival_of(record)?;
        let response = response_of(record)?;
        let [offset, length] = bytes_of(record)?;
        let op: &[u8] = if record.op.is_read() {
            b",Read,"
        } else {
            b",Write,"
        };
        write_number(UNIX_TICKS + self.ticks(arrival.as_ns()), out);
        out.extend_from_slice(b",host,");
        write_number(record.device.into(), out);
        out.extend_from_slice(op);
        for value in [offset, length] {
            write_number(value, out);
            out.push(b',');
        }
        write_number(self.ticks(response.or_zero().as_ns().unsigned_abs()), out);
        out.push(b'\n');
        Ok(())
    }

    fn rounded_count(&self) -> u64 {
        self.rounded
    }
}
