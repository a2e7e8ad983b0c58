//! Virtual desktop traces of SYSTOR '17.

use crate::error::TraceError;
use crate::format::{Format, FormatInfo, OpenResult, Options, TimeOrigin, TraceMetadata};
use crate::lines::{Field, Row, first_fields, is_decimal, is_whole};
use crate::record::Record;
use crate::source::ByteSource;
use crate::text::{Column, Shape, TextRows, Word};
use crate::time::TimeUnit;

/// SYSTOR '17 CSV: `Timestamp,Response,IOType,LUN,Offset,Size`.
///
/// # What it does
/// Reads comma-separated rows of six fields: the arrival in seconds since 1970 with decimals; the
/// response in seconds, which may be empty; `R` or `W`; the logical unit, which becomes the device;
/// offset and size in bytes. The header line may be missing. A row with an empty type is neither a
/// read nor a write; it is ignored and counted. Arrivals are relative to the first record.
///
/// # Origin
/// C. Lee, T. Kumano, T. Matsuki, H. Endo, N. Fukumoto, M. Sugawara: Understanding Storage Traffic
/// Characteristics on Enterprise Virtual Desktop Infrastructure (SYSTOR 2017), and the README of
/// the traces at SNIA IOTTA.
///
/// # When it is bad
/// A file must be nearly sorted; rows that are far out of order are refused.
///
/// # Example
/// ```
/// let bytes = &b"1455592401.000194000,0.000512,R,3,8192,4096\n"[..];
/// let record = diskarm_trace::read(bytes, "one.csv", None)?.next().unwrap()?;
/// assert_eq!((record.device, record.start.0, record.sectors.0), (3, 16, 8));
/// assert_eq!(record.response.unwrap().as_ns(), 512_000);
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Systor;

const NAMES: [&str; 6] = ["Timestamp", "Response", "IOType", "LUN", "Offset", "Size"];

const SHAPE: Shape = Shape {
    separator: b',',
    columns: &[
        Column::Arrival(Systor::INFO.time_unit),
        Column::OptionalResponse(Systor::INFO.time_unit),
        Column::Op(Word::new("R"), Word::new("W")),
        Column::Device,
        Column::Offset,
        Column::Length,
    ],
};

impl Format for Systor {
    const INFO: FormatInfo = FormatInfo {
        name: "systor17",
        summary: "SYSTOR '17 CSV: seconds, response, type, LUN, offset, size",
        first_line: "Timestamp,Response,IOType,LUN,Offset,Size",
        time_unit: TimeUnit::Seconds,
        time_origin: TimeOrigin::Unix,
        carries: "arrivals, responses and devices",
    };

    /// Returns true for the header, or for rows that match it.
    fn sniff(head: &[u8]) -> bool {
        first_fields::<6>(head, b',').is_some_and(|[time, response, op, lun, offset, size]| {
            (time == b"Timestamp" && response == b"Response")
                || is_decimal(time)
                    && (response.is_empty() || is_decimal(response))
                    && matches!(op, b"R" | b"W" | b"")
                    && [lun, offset, size].into_iter().all(is_whole)
        })
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        let mut is_first = true;
        Ok(TextRows::with_shape(source, SHAPE, move |row, metadata| {
            if std::mem::take(&mut is_first) && row.text.starts_with(b"Timestamp,") {
                return Ok(None);
            }
            record(row, metadata)
        }))
    }
}

fn record(row: &Row<'_>, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError> {
    let [time, response, op, lun, offset, size]: [Field<'_>; 6] =
        row.fields(row.split(b','), &NAMES)?;
    if op.text.is_empty() {
        metadata.ignore("an empty IOType");
        return Ok(None);
    }
    let unit = Systor::INFO.time_unit;
    let (start, sectors) = offset.bytes(&size, metadata)?;
    let response = match response.text {
        b"" => None,
        _ => Some(response.span(unit)?),
    };
    Ok(Some(Record {
        arrival: Some(time.instant(unit)?),
        device: lun.device()?,
        response,
        ..Record::new(row.location(), op.op("R", "W")?, start, sectors)
    }))
}
