//! fio latency logs.

use diskarm_core::request::Op;
use diskarm_core::units::Instant;

use crate::digits::Split;
use crate::error::{ErrorKind, TraceError};
use crate::format::{Format, FormatInfo, OpenResult, Options, TimeOrigin, TraceMetadata};
use crate::lines::{Lines, Row, head_lines, is_whole};
use crate::record::Record;
use crate::source::ByteSource;
use crate::text::TextRows;
use crate::time::TimeUnit;

/// fio latency log: completion in ms, latency in ns, direction, bytes, byte offset, priority.
///
/// # What it does
/// Reads rows of at least six fields, separated by a comma and a space: the completion in
/// milliseconds since the start of the run; the latency in nanoseconds; 0 for a read, 1 for a
/// write, 2 for a trim, which is ignored and counted; size and offset in bytes; the priority.
/// The arrival is the completion minus the latency, but not before the start.
///
/// # Origin
/// The manual of fio 3.33, "Log File Formats", and logs that fio wrote with `log_offset=1`. Logs
/// written without that option have five fields and no offset, and are refused. Before fio 3.0,
/// latencies were in microseconds; a note warns if they seem to be.
///
/// # When it is bad
/// Completions are whole milliseconds, so arrivals are accurate only to the millisecond. A log of
/// averages (`log_avg_msec`) looks the same but has no individual requests.
///
/// # Example
/// ```
/// let bytes = &b"20, 251843, 0, 4096, 880640, 0\n"[..];
/// let record = diskarm_trace::read(bytes, "x_lat.1.log", None)?.next().unwrap()?;
/// assert_eq!(record.arrival.unwrap().as_ns(), 20_000_000 - 251_843);
/// assert_eq!((record.start.0, record.sectors.0), (1720, 8));
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Latency;

const NAMES: [&str; 6] = [
    "time_ms",
    "latency_ns",
    "direction",
    "block_size_bytes",
    "offset_bytes",
    "priority",
];

impl Format for Latency {
    const INFO: FormatInfo = FormatInfo {
        name: "fio-latency",
        summary: "fio latency log, written with log_offset=1",
        first_line: "20, 251843, 0, 4096, 880640, 0",
        time_unit: TimeUnit::Nanoseconds,
        time_origin: TimeOrigin::Start,
        carries: "arrivals (to a millisecond) and responses; one device",
    };

    /// Returns true for five or more fields, separated by `, `, the third of which is a direction.
    fn sniff(head: &[u8]) -> bool {
        let first = head_lines(head).next().unwrap_or_default();
        let fields: Vec<&[u8]> = fields(first).collect();
        fields.len() >= 5
            && first.windows(2).filter(|pair| pair == b", ").count() == fields.len() - 1
            && fields[..5].iter().all(|field| is_whole(field))
            && matches!(fields[2], b"0" | b"1" | b"2")
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        Ok(TextRows::from_lines(Lines::new(source), record))
    }
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    Split::new(line, b',').map(<[u8]>::trim_ascii_start)
}

fn record(row: &Row<'_>, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError> {
    let fields = row.first_fields(fields(row.text), &NAMES);
    let [time, latency, direction, size, offset, _] =
        fields.map_err(|e| field_count_error(row, e))?;
    let op = match direction.text {
        b"0" => Op::Read,
        b"1" => Op::Write,
        b"2" => {
            metadata.ignore("trim");
            return Ok(None);
        }
        _ => return Err(direction.reject("0, 1 or 2")),
    };
    let (start, sectors) = offset.bytes(&size, metadata)?;
    let completed = time.instant(TimeUnit::Milliseconds)?;
    let response = latency.span(Latency::INFO.time_unit)?;
    let since_start = completed.after(Instant::START);
    Ok(Some(Record {
        arrival: Some(Instant::START + (since_start - response).or_zero()),
        response: Some(response),
        ..Record::new(row.location(), op, start, sectors)
    }))
}

/// Returns the error for a row with too few fields, with a hint if only one is missing.
#[cold]
fn field_count_error(row: &Row<'_>, error: TraceError) -> TraceError {
    if fields(row.text).count() != NAMES.len() - 1 {
        return error;
    }
    let detail = "found 5 fields, expected 6, as fio writes them with log_offset=1".to_owned();
    row.error(ErrorKind::FieldCount, detail)
}
