//! DiskSim ASCII traces.

use diskarm_core::request::Op;
use diskarm_core::units::Instant;

use crate::digits::{words, write_number};
use crate::error::TraceError;
use crate::format::{
    Format, FormatInfo, OpenResult, Options, RowWriter, TimeOrigin, Unwritable, arrival_of,
};
use crate::lines::{Field, Lines, Row, head_lines};
use crate::record::Record;
use crate::source::ByteSource;
use crate::text::TextRows;

/// DiskSim's ASCII: arrival in ms, device, first block, blocks, flags.
///
/// # What it does
/// Reads rows of five fields, separated by spaces or tabs: arrival in milliseconds with decimals,
/// in ascending order; device; first block and number of blocks, in 512-byte sectors; flags in
/// hexadecimal, with or without `0x`, of which bit 0 means read. The other bits (DiskSim's time
/// limits and mapping) are ignored, but the flags must be below 2^32.
///
/// # Origin
/// The default input format of DiskSim 4.0, which reads flags with C's `%x`. Flags written in
/// decimal have the same bit 0, since 10 and 16 are both even.
///
/// # When it is bad
/// Rows of five numbers are hard to recognise, and traces of other simulators differ only in the
/// unit of time. The format is detected only if an arrival has a decimal point or flags have `0x`;
/// otherwise it must be named. A last row truncated within its flags looks complete.
///
/// # Example
/// ```
/// let bytes = &b"0.000001 2 64 8 0x1\n"[..];
/// let record = diskarm_trace::read(bytes, "one.trace", None)?.next().unwrap()?;
/// assert_eq!(record.arrival.unwrap().as_ns(), 1);
/// assert!(record.op.is_read());
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct DiskSim;

const FIELDS: usize = 5;
const NAMES: [&str; FIELDS] = ["arrival_ms", "device", "block", "blocks", "flags"];

impl Format for DiskSim {
    const INFO: FormatInfo = FormatInfo {
        name: "disksim",
        summary: "DiskSim ASCII: arrival in ms, device, block, blocks, flags",
        first_line: "arrival_ms device block blocks flags, as in 0.25 0 1200 8 1",
        time_unit: crate::time::TimeUnit::Milliseconds,
        time_origin: TimeOrigin::Start,
        carries: "arrivals and devices; no responses",
    };

    const WRITER: Option<fn() -> Box<dyn RowWriter>> = Some(|| Box::new(Writer));

    /// Returns true if the first line has only numbers and some line has a decimal point or `0x`.
    fn sniff(head: &[u8]) -> bool {
        let first = head_lines(head).next().unwrap_or_default();
        let is_number = |byte: u8| byte.is_ascii_hexdigit() || b".-xX".contains(&byte);
        let begins = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
        let continues = |byte: &u8| byte.is_ascii_whitespace() || is_number(*byte);
        let has_unit = |line| {
            let mut fields = words(line);
            let arrival = fields.next().unwrap_or_default();
            let flags = fields.nth(FIELDS - 2).unwrap_or_default();
            arrival.contains(&b'.') || flags.starts_with(b"0x") || flags.starts_with(b"0X")
        };
        first.first().is_some_and(begins)
            && first.iter().any(u8::is_ascii_whitespace)
            && first.iter().all(continues)
            && head_lines(head).any(has_unit)
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        let mut previous = Instant::START;
        Ok(TextRows::from_lines(Lines::new(source), move |row, _| {
            record(row, &mut previous).map(Some)
        }))
    }
}

fn record(row: &Row<'_>, previous: &mut Instant) -> Result<Record, TraceError> {
    let [at, device, block, blocks, flags]: [Field<'_>; FIELDS] =
        row.fields(row.words(), &NAMES)?;
    let arrival = at.instant(DiskSim::INFO.time_unit)?;
    if arrival < *previous {
        let ns = previous.as_ns();
        let (whole, part) = (ns / 1_000_000, ns % 1_000_000);
        let expected = format!("{whole}.{part:06} or later, the time of the previous line");
        return Err(at.reject(&expected));
    }
    let device = device.device()?;
    let (start, sectors) = block.blocks(&blocks)?;
    let Some(word) = parse_flags(flags.text) else {
        return Err(flags.reject("a hexadecimal number below 2^32"));
    };
    *previous = arrival;
    let op = if word & 1 == 1 { Op::Read } else { Op::Write };
    Ok(Record {
        arrival: Some(arrival),
        device,
        ..Record::new(row.location(), op, start, sectors)
    })
}

fn parse_flags(text: &[u8]) -> Option<u32> {
    // Nearly all flags have one digit.
    if let [digit @ b'0'..=b'9'] = text {
        return Some((digit - b'0').into());
    }
    let prefixed = text.strip_prefix(b"0x").or(text.strip_prefix(b"0X"));
    let digits = prefixed.unwrap_or(text);
    // `from_str_radix` also accepts a sign.
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// Writes rows that DiskSim can also read.
struct Writer;

impl RowWriter for Writer {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        let arrival = arrival_of(record)?;
        DiskSim::INFO.time_unit.write(arrival.as_ns(), out);
        let (device, flags) = (record.device.into(), record.op.is_read().into());
        for value in [device, record.start.0, record.sectors.0, flags] {
            out.push(b' ');
            write_number(value, out);
        }
        out.push(b'\n');
        Ok(())
    }
}
