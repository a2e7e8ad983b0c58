//! Block traces from Alibaba's cloud.

use crate::format::{Format, FormatInfo, OpenResult, Options, TimeOrigin};
use crate::lines::{Field, first_fields, is_whole};
use crate::record::Record;
use crate::source::ByteSource;
use crate::text::{Column, Shape, TextRows, Word};
use crate::time::TimeUnit;

/// Alibaba block CSV: `device_id,opcode,offset,length,timestamp`.
///
/// # What it does
/// Reads comma-separated rows of five fields: the device; `R` or `W`; offset and length in bytes;
/// the arrival in microseconds since 1970. Arrivals are relative to the first record.
///
/// # Origin
/// J. Li, Q. Wang, P. P. C. Lee, C. Shi: An In-Depth Analysis of Cloud Block Storage Workloads in
/// Large-Scale Production (IISWC 2020), and the README of `alibaba/block-traces`.
///
/// # When it is bad
/// No responses. A last row that is cut off within its timestamp has a wrong arrival, which is then
/// refused as out of order.
///
/// # Example
/// ```
/// let bytes = &b"419,W,8792731648,16384,1577808144360767\n"[..];
/// let record = diskarm_trace::read(bytes, "one.csv", None)?.next().unwrap()?;
/// assert_eq!((record.device, record.start.0, record.sectors.0), (419, 17173304, 32));
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Alibaba;

const NAMES: [&str; 5] = [
    "device_id",
    "opcode",
    "offset_bytes",
    "length_bytes",
    "timestamp_us",
];

const SHAPE: Shape = Shape {
    separator: b',',
    columns: &[
        Column::Device,
        Column::Op(Word::new("R"), Word::new("W")),
        Column::Offset,
        Column::Length,
        Column::Arrival(Alibaba::INFO.time_unit),
    ],
};

impl Format for Alibaba {
    const INFO: FormatInfo = FormatInfo {
        name: "alibaba",
        summary: "Alibaba block CSV: device, opcode, offset, length, microseconds",
        first_line: "419,W,8792731648,16384,1577808144360767",
        time_unit: TimeUnit::Microseconds,
        time_origin: TimeOrigin::Unix,
        carries: "arrivals and devices; no responses",
    };

    /// Returns true for five fields, all whole numbers except the second, which is the direction.
    fn sniff(head: &[u8]) -> bool {
        first_fields::<5>(head, b',').is_some_and(|[device, op, offset, length, time]| {
            matches!(op, b"R" | b"W") && [device, offset, length, time].into_iter().all(is_whole)
        })
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        Ok(TextRows::with_shape(source, SHAPE, |row, metadata| {
            let [device, op, offset, length, time]: [Field<'_>; 5] =
                row.fields(row.split(b','), &NAMES)?;
            let (start, sectors) = offset.bytes(&length, metadata)?;
            Ok(Some(Record {
                arrival: Some(time.instant(Self::INFO.time_unit)?),
                device: device.device()?,
                ..Record::new(row.location(), op.op("R", "W")?, start, sectors)
            }))
        }))
    }
}
