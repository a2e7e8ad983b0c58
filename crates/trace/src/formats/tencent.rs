//! Block traces from Tencent's cloud.

use crate::format::{Format, FormatInfo, OpenResult, Options, TimeOrigin};
use crate::lines::{Field, first_fields, is_whole};
use crate::record::Record;
use crate::source::ByteSource;
use crate::text::{Column, Shape, TextRows, Word};
use crate::time::TimeUnit;

/// Tencent block CSV: `timestamp,offset,size,iotype,volume`.
///
/// # What it does
/// Reads comma-separated rows of five whole numbers: the arrival in seconds since 1970; the first
/// block and the number of 512-byte blocks; 0 for a read, 1 for a write; the volume, which becomes
/// the device. Arrivals are relative to the first record.
///
/// # Origin
/// Y. Zhang, P. Huang, K. Zhou, H. Wang, J. Hu, Y. Ji, B. Cheng: OSCA (USENIX ATC 2020), and the
/// README of the traces at SNIA IOTTA.
///
/// # When it is bad
/// Times are whole seconds, so all requests within a second arrive together. No responses.
///
/// # Example
/// ```
/// let bytes = &b"1538323200,12910952,128,0,1063\n"[..];
/// let record = diskarm_trace::read(bytes, "one.csv", None)?.next().unwrap()?;
/// assert_eq!((record.device, record.start.0, record.sectors.0), (1063, 12910952, 128));
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Tencent;

const NAMES: [&str; 5] = ["timestamp_s", "offset", "size", "iotype", "volume"];

const SHAPE: Shape = Shape {
    separator: b',',
    columns: &[
        Column::Arrival(Tencent::INFO.time_unit),
        Column::Block,
        Column::Blocks,
        Column::Op(Word::new("0"), Word::new("1")),
        Column::Device,
    ],
};

impl Format for Tencent {
    const INFO: FormatInfo = FormatInfo {
        name: "tencent",
        summary: "Tencent block CSV: seconds, offset, size, type, volume",
        first_line: "1538323200,12910952,128,0,1063",
        time_unit: TimeUnit::Seconds,
        time_origin: TimeOrigin::Unix,
        carries: "arrivals in whole seconds, and devices; no responses",
    };

    /// Returns true for five whole numbers, the first a time after 2001, the fourth a request type.
    fn sniff(head: &[u8]) -> bool {
        first_fields::<5>(head, b',').is_some_and(|[time, offset, size, op, volume]| {
            time.len() == 10
                && matches!(op, b"0" | b"1")
                && [time, offset, size, volume].into_iter().all(is_whole)
        })
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        Ok(TextRows::with_shape(source, SHAPE, |row, _| {
            let [time, offset, size, op, volume]: [Field<'_>; 5] =
                row.fields(row.split(b','), &NAMES)?;
            let (start, sectors) = offset.blocks(&size)?;
            Ok(Some(Record {
                arrival: Some(time.instant(Self::INFO.time_unit)?),
                device: volume.device()?,
                ..Record::new(row.location(), op.op("0", "1")?, start, sectors)
            }))
        }))
    }
}
