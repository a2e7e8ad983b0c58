//! The ASCII input traces of DiskSim.

use diskarm_core::request::Op;
use diskarm_core::units::Instant;

use super::head_lines;
use crate::error::TraceError;
use crate::format::{Format, Info, Input, Records};
use crate::lines::{Lines, Row};
use crate::record::Record;
use crate::time::is_digits;

/// DiskSim's ASCII: arrival in ms, device, first block, blocks, flags.
///
/// # What it does
///
/// Reads rows of five fields, separated by spaces or tabs: arrival in milliseconds with decimals,
/// in ascending order; device; first block and number of blocks, in 512-byte sectors; flags,
/// decimal or with `0x` hexadecimal, of which bit 0 says read. The other flags (DiskSim's time
/// limits and mapping) say nothing about the request and must only be a number below 2^32.
///
/// # Origin
///
/// The default input format of DiskSim 4.0. Departure: DiskSim takes flags for hexadecimal
/// with or without `0x`. The two readings of bare digits agree in bit 0, since 10 and 16 are both
/// even; bare letters are refused here.
///
/// # Cost
///
/// One pass, no allocation a row; memory of one line.
///
/// # When it is bad
///
/// Five bare numbers a row have little to be known by, and other simulators' traces differ in
/// the unit of time alone. It is recognised only where an arrival has a decimal point or flags
/// have `0x`; otherwise it must be asked for by name. A last row cut within its flags looks whole.
///
/// # Example
///
/// ```
/// let bytes = &b"0.000001 2 64 8 0x1\n"[..];
/// let record = diskarm_trace::read(bytes, "one.trace", None)?.next().unwrap()?;
/// assert_eq!(record.arrival.unwrap().as_ns(), 1);
/// assert!(record.op.is_read());
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct DiskSim;

const FIELDS: usize = 5;
const ARRIVAL: &str = "arrival_ms";
const DEVICE: &str = "device";
const BLOCK: &str = "block";
const BLOCKS: &str = "blocks";
const FLAGS: &str = "flags";
const NAMES: [&str; FIELDS] = [ARRIVAL, DEVICE, BLOCK, BLOCKS, FLAGS];

impl Format for DiskSim {
    const INFO: Info = Info {
        name: "disksim",
        summary: "DiskSim ASCII: arrival in ms, device, block, blocks, flags",
        first_line: "arrival_ms device block blocks flags, as in 0.25 0 1200 8 1",
        time_unit: crate::TimeUnit::Milliseconds,
        carries: "arrivals and devices; no responses",
    };

    /// The first line is numbers apart by white space, and somewhere a decimal point or `0x`.
    fn sniff(head: &[u8]) -> bool {
        let first = head_lines(head).next().unwrap_or_default();
        let is_number = |byte: u8| byte.is_ascii_hexdigit() || b".-xX".contains(&byte);
        first
            .first()
            .is_some_and(|b| b.is_ascii_digit() || *b == b'-')
            && first.iter().any(u8::is_ascii_whitespace)
            && first
                .iter()
                .all(|b| b.is_ascii_whitespace() || is_number(*b))
            && head_lines(head).any(|line| {
                let mut fields = line
                    .split(u8::is_ascii_whitespace)
                    .filter(|f| !f.is_empty());
                let arrival = fields.next().unwrap_or_default();
                let flags = fields.nth(FIELDS - 2).unwrap_or_default();
                arrival.contains(&b'.') || flags.starts_with(b"0x") || flags.starts_with(b"0X")
            })
    }

    fn open(input: Input, name: &str) -> Result<Records, TraceError> {
        Ok(Box::new(Rows {
            lines: Lines::new(input, name),
            previous: Instant::START,
        }))
    }
}

struct Rows {
    lines: Lines,
    previous: Instant,
}

impl Iterator for Rows {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = match self.lines.next_row() {
            Ok(row) => row?,
            Err(error) => return Some(Err(error)),
        };
        Some(record(&row, &mut self.previous))
    }
}

fn record(row: &Row<'_>, previous: &mut Instant) -> Result<Record, TraceError> {
    let fields = row.fields(row.text.split_ascii_whitespace(), NAMES.into_iter())?;
    let [arrival_text, device, block, blocks, flags]: [&str; FIELDS] = fields;
    let arrival_ns = row.time_ns(ARRIVAL, arrival_text, DiskSim::INFO.time_unit)?;
    let arrival = Instant::from_ns(arrival_ns.unsigned_abs());
    if arrival < *previous {
        let ns = previous.as_ns();
        let (whole, part) = (ns / 1_000_000, ns % 1_000_000);
        let expected = format!("no time before {whole}.{part:06}, of the line above");
        return Err(row.reject(ARRIVAL, arrival_text, &expected));
    }
    *previous = arrival;
    let device = row.whole(DEVICE, device, u32::MAX)?;
    let (start, sectors) = row.blocks((BLOCK, block), (BLOCKS, blocks))?;
    let Some(flags) = parse_flags(flags) else {
        let expected = "a number below 2^32, decimal or hexadecimal with 0x";
        return Err(row.reject(FLAGS, flags, expected));
    };
    Ok(Record {
        line: row.line,
        arrival: Some(arrival),
        device,
        op: if flags & 1 == 1 { Op::Read } else { Op::Write },
        start,
        sectors,
        response: None,
        think: None,
        observed: None,
    })
}

fn parse_flags(text: &str) -> Option<u32> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // `from_str_radix` takes a sign, too.
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if is_digits(text) => text.parse().ok(),
        None => None,
    }
}
