//! MQSim ASCII traces.

use crate::digits::{digits, words};
use crate::format::{Format, FormatInfo, OpenResult, Options, TimeOrigin};
use crate::lines::{Field, head_lines};
use crate::record::Record;
use crate::source::ByteSource;
use crate::text::{Column, Shape, TextRows, Word};
use crate::time::TimeUnit;

/// MQSim ASCII: arrival in ns, device, first block, blocks, type.
///
/// # What it does
/// Reads rows of five whole numbers, separated by spaces: arrival in nanoseconds; device; the first
/// block and the number of 512-byte blocks; 1 for a read, 0 for a write.
///
/// # Origin
/// A. Tavakkol, J. Gómez-Luna, M. Sadrosadati, S. Ghose, O. Mutlu: MQSim (FAST 2018), and the
/// README of the simulator. The columns are those of DiskSim ASCII, with another unit of time.
///
/// # When it is bad
/// Rows look like those of DiskSim. The format is detected only if arrivals are whole numbers with
/// a mean gap of at least 10,000, which in milliseconds would be ten seconds; otherwise it must be
/// named. A truncated last row looks complete if it has all five numbers.
///
/// # Example
/// ```
/// let bytes = &b"11413000 0 657728 16 1\n11565000 1 31244784 64 1\n"[..];
/// let record = diskarm_trace::read(bytes, "two.mqsim", None)?.next().unwrap()?;
/// assert_eq!(record.arrival.unwrap().as_ns(), 11_413_000);
/// assert!(record.op.is_read());
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct MqSim;

const NAMES: [&str; 5] = ["arrival_ns", "device", "lba", "sectors", "type"];

/// Ten seconds, in milliseconds: real requests arrive more often.
const MIN_MEAN_GAP: u64 = 10_000;

const SHAPE: Shape = Shape {
    separator: b' ',
    columns: &[
        Column::Arrival(MqSim::INFO.time_unit),
        Column::Device,
        Column::Block,
        Column::Blocks,
        Column::Op(Word::new("1"), Word::new("0")),
    ],
};

impl Format for MqSim {
    const INFO: FormatInfo = FormatInfo {
        name: "mqsim",
        summary: "MQSim ASCII: arrival in ns, device, LBA, sectors, 1 = read",
        first_line: "11413000 0 657728 16 1",
        time_unit: TimeUnit::Nanoseconds,
        time_origin: TimeOrigin::Start,
        carries: "arrivals and devices; no responses",
    };

    fn sniff(head: &[u8]) -> bool {
        let (mut first, mut last, mut gaps) = (None, 0, 0);
        let whole = match head.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => &head[..end],
            None => head,
        };
        for line in head_lines(whole) {
            let mut fields = words(line).map(digits);
            let (Some(Some(arrival)), Some(Some(_)), Some(Some(_)), Some(Some(_))) =
                (fields.next(), fields.next(), fields.next(), fields.next())
            else {
                return false;
            };
            if !matches!(fields.next(), Some(Some(0 | 1))) || fields.next().is_some() {
                return false;
            }
            match first {
                None => first = Some(arrival),
                Some(_) => gaps += 1,
            }
            last = arrival;
        }
        first.is_some_and(|first| gaps > 0 && last.saturating_sub(first) / gaps >= MIN_MEAN_GAP)
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        Ok(TextRows::with_shape(source, SHAPE, |row, _| {
            let [arrival, device, lba, sectors, op]: [Field<'_>; 5] =
                row.fields(row.words(), &NAMES)?;
            let (start, sectors) = lba.blocks(&sectors)?;
            Ok(Some(Record {
                arrival: Some(arrival.instant(Self::INFO.time_unit)?),
                device: device.device()?,
                ..Record::new(row.location(), op.op("1", "0")?, start, sectors)
            }))
        }))
    }
}
