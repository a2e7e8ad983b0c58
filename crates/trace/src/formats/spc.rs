//! Traces in the format of the Storage Performance Council, as in the UMass repository.

use diskarm_core::request::Op;

use crate::digits::write_number;
use crate::error::TraceError;
use crate::format::{
    Format, FormatInfo, OpenResult, Options, RowWriter, TimeOrigin, Unwritable, arrival_of,
};
use crate::lines::{Field, first_fields, is_decimal, is_whole};
use crate::record::{BLOCK_BYTES, Record};
use crate::source::ByteSource;
use crate::text::{Column, Shape, TextRows, Word};
use crate::time::TimeUnit;

/// SPC: application storage unit, first block, bytes, direction, seconds.
///
/// # What it does
/// Reads comma-separated rows `ASU,LBA,size,opcode,timestamp`: the unit, which becomes the device;
/// the first block, of 512 bytes; the size in bytes; `R` or `W`, in upper or lower case; seconds
/// with decimals. Further fields are optional in the format and are ignored.
///
/// # Origin
/// SPC Trace File Format Specification, revision 1.0.1: the OLTP (Financial1, Financial2) and
/// search engine (WebSearch1 to 3) traces of the UMass Trace Repository. The format allows sizes
/// that are not multiples of the block size; they are widened to whole blocks and counted.
///
/// # When it is bad
/// No responses. A last row truncated within its time looks complete.
///
/// # Example
/// ```
/// let bytes = &b"0,20941264,8192,R,0.551706\n"[..];
/// let record = diskarm_trace::read(bytes, "one.spc", None)?.next().unwrap()?;
/// assert_eq!((record.start.0, record.sectors.0), (20941264, 16));
/// assert_eq!(record.arrival.unwrap().as_ns(), 551_706_000);
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Spc;

const NAMES: [&str; 5] = ["asu", "lba", "size_bytes", "opcode", "timestamp_s"];

const SHAPE: Shape = Shape {
    separator: b',',
    columns: &[
        Column::Device,
        Column::Block,
        Column::Length,
        Column::Op(Word::ignoring_case("R"), Word::ignoring_case("W")),
        Column::Arrival(Spc::INFO.time_unit),
    ],
};

impl Format for Spc {
    const INFO: FormatInfo = FormatInfo {
        name: "spc",
        summary: "SPC (UMass Financial, WebSearch): ASU,LBA,size,opcode,seconds",
        first_line: "0,20941264,8192,W,0.551706",
        time_unit: TimeUnit::Seconds,
        time_origin: TimeOrigin::Start,
        carries: "arrivals and devices; no responses",
    };

    const WRITER: Option<fn() -> Box<dyn RowWriter>> = Some(|| Box::new(Writer));

    /// Returns true for three whole numbers, a direction and a time.
    fn sniff(head: &[u8]) -> bool {
        first_fields::<5>(head, b',').is_some_and(|[asu, lba, size, op, time]| {
            [asu, lba, size].into_iter().all(is_whole) && is_op(op) && is_decimal(time)
        })
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        Ok(TextRows::with_shape(source, SHAPE, |row, metadata| {
            let [asu, lba, size, op, time] = row.first_fields(row.split(b','), &NAMES)?;
            let (start, sectors) = lba.blocks_and_bytes(&size, metadata)?;
            Ok(Some(Record {
                arrival: Some(time.instant(Self::INFO.time_unit)?),
                device: asu.device()?,
                ..Record::new(row.location(), direction(&op)?, start, sectors)
            }))
        }))
    }
}

fn is_op(text: &[u8]) -> bool {
    matches!(text, b"R" | b"r" | b"W" | b"w")
}

fn direction(field: &Field<'_>) -> Result<Op, TraceError> {
    match field.text {
        b"R" | b"r" => Ok(Op::Read),
        b"W" | b"w" => Ok(Op::Write),
        _ => Err(field.reject("R or W")),
    }
}

struct Writer;

impl RowWriter for Writer {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        let arrival = arrival_of(record)?;
        let bytes = record.sectors.0 * BLOCK_BYTES;
        for value in [record.device.into(), record.start.0, bytes] {
            write_number(value, out);
            out.push(b',');
        }
        out.extend_from_slice(if record.op.is_read() { b"R," } else { b"W," });
        Spc::INFO.time_unit.write(arrival.as_ns(), out);
        out.push(b'\n');
        Ok(())
    }
}
