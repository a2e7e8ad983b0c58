//! Requests measured on a real drive, one outstanding at a time.

use diskarm_core::units::Span;

use crate::digits::write_number;
use crate::error::TraceError;
use crate::format::{
    Format, FormatInfo, OpenResult, Options, RowWriter, TimeOrigin, Unwritable, response_of,
};
use crate::lines::{Field, Lines, Row, head_lines};
use crate::record::{Observed, Record};
use crate::source::ByteSource;
use crate::text::TextRows;

/// CSV of measured requests: `op,observed,lbn,sectors,response_us,think_us`.
///
/// # What it does
/// Reads comma-separated rows after a header line, which names the columns in any order. `op` is
/// `R` or `W`; `observed`, an optional column, is empty, `hit` or `miss` for a read, or
/// `two_disconnects` or `three_disconnects` for a write; `lbn` and `sectors` are in 512-byte
/// sectors; `response_us` is the time from issue to completion, `think_us` from that completion to
/// the next issue, both in microseconds with decimals. Lines end in LF or CRLF, which the last line
/// may lack. Other columns are errors, so that a misspelt `observed` is noticed.
///
/// # Origin
/// The format of the validation measurements published with DiskSim 4.0. Requests were issued one
/// at a time, so a record has no arrival. If the measurement was not interrupted, a request's issue
/// time is the sum of all earlier responses and pauses; the replay must decide if that is so.
///
/// # When it is bad
/// Quotes, and spaces around commas, are refused. A last row truncated within its last digits looks
/// complete.
///
/// # Example
/// ```
/// let bytes = &b"op,lbn,sectors,response_us,think_us\nR,64,8,1414.27,9632.52\n"[..];
/// let mut trace = diskarm_trace::read(bytes, "one.csv", None)?;
/// let record = trace.next().unwrap()?;
/// assert_eq!(record.response.unwrap().as_ns(), 1_414_270);
/// assert!(trace.next().is_none());
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Measured;

const COLUMNS: [&str; 6] = [OP, OBSERVED, LBN, SECTORS, RESPONSE, THINK];
const OP: &str = "op";
const OBSERVED: &str = "observed";
const LBN: &str = "lbn";
const SECTORS: &str = "sectors";
const RESPONSE: &str = "response_us";
const THINK: &str = "think_us";

impl Format for Measured {
    const INFO: FormatInfo = FormatInfo {
        name: "measured",
        summary: "CSV of requests measured one at a time on a real drive",
        first_line: "op,lbn,sectors,response_us,think_us",
        time_unit: crate::time::TimeUnit::Microseconds,
        time_origin: TimeOrigin::Start,
        carries: "responses, pauses between requests, hits and disconnects; no arrivals",
    };

    const WRITER: Option<fn() -> Box<dyn RowWriter>> = Some(|| Box::<Writer>::default());

    /// Returns true if the first line has two of the column names. If it lacks others, the file is
    /// refused with the name of a missing column.
    fn sniff(head: &[u8]) -> bool {
        let header = head_lines(head).next().unwrap_or_default();
        let names = header.split(|byte| *byte == b',');
        let known = names.filter(|name| COLUMNS.iter().any(|c| c.as_bytes() == *name));
        known.count() >= 2
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        let mut lines = Lines::new(source);
        let order = match lines.next_row()? {
            Some(header) => columns(&header)?,
            None => return Err(TraceError::empty(lines.source().name())),
        };
        let mut elapsed_ns = 0;
        Ok(TextRows::from_lines(lines, move |row, _| {
            record(row, &order, &mut elapsed_ns).map(Some)
        }))
    }
}

/// Returns the index in [`COLUMNS`] of each column of the file.
fn columns(header: &Row<'_>) -> Result<Vec<usize>, TraceError> {
    let mut order = Vec::with_capacity(COLUMNS.len());
    for name in header.split(b',') {
        let name = String::from_utf8_lossy(name);
        let Some(column) = COLUMNS.iter().position(|column| *column == name) else {
            let expected = format!("only {}", COLUMNS.join(", "));
            return Err(header.reject_column("column", &name, &expected));
        };
        if order.contains(&column) {
            return Err(header.reject_column("a second column", &name, "exactly one"));
        }
        order.push(column);
    }
    for (column, name) in COLUMNS.iter().enumerate() {
        if *name != OBSERVED && !order.contains(&column) {
            return Err(header.reject_column("no column", name, "exactly one"));
        }
    }
    Ok(order)
}

fn record(row: &Row<'_>, order: &[usize], elapsed_ns: &mut i64) -> Result<Record, TraceError> {
    let mut values = [row.field("", b""); COLUMNS.len()];
    let (mut fields, mut count) = (row.split(b','), 0);
    for column in order {
        let Some(text) = fields.next() else { break };
        values[*column] = row.field(COLUMNS[*column], text);
        count += 1;
    }
    if count < order.len() || fields.next().is_some() {
        let names: Vec<&str> = order.iter().map(|column| COLUMNS[*column]).collect();
        row.fields::<{ COLUMNS.len() }>(row.split(b','), &names)?;
    }
    let [op_field, observed, lbn, sectors, response, think] = values;
    let op = op_field.op("R", "W")?;
    let (start, sectors) = lbn.blocks(&sectors)?;
    let mut elapsed = *elapsed_ns;
    let response = Some(span(&response, &mut elapsed)?);
    let think = Some(span(&think, &mut elapsed)?);
    let observed = match observed.text {
        b"" => None,
        word => Some(Observed::parse(op, word).map_err(|expected| observed.reject(expected))?),
    };
    *elapsed_ns = elapsed;
    Ok(Record {
        response,
        think,
        observed,
        ..Record::new(row.location(), op, start, sectors)
    })
}

fn span(field: &Field<'_>, elapsed_ns: &mut i64) -> Result<Span, TraceError> {
    let ns = field.time_ns(Measured::INFO.time_unit)?;
    let Some(elapsed) = elapsed_ns.checked_add(ns) else {
        return Err(field.reject("responses and pauses that add up to less than 2^63 ns"));
    };
    *elapsed_ns = elapsed;
    Ok(Span::from_ns(ns))
}

/// Writes rows with the columns in the order of [`COLUMNS`]. A request with an arrival and no pause
/// is held until the next one, which determines its pause; the last pause is zero.
#[derive(Default)]
struct Writer {
    has_begun: bool,
    device: Option<u32>,
    held: Option<Record>,
}

impl RowWriter for Writer {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        if *self.device.get_or_insert(record.device) != record.device {
            return Err(
                "its device is not that of the first request, and the format has only one".into(),
            );
        }
        if !self.has_begun {
            out.extend_from_slice(COLUMNS.join(",").as_bytes());
            out.push(b'\n');
            self.has_begun = true;
        }
        if let Some(held) = self.held.take() {
            row(&held, pause(&held, record)?, out)?;
        }
        match (record.think, record.arrival) {
            (Some(think), _) => row(record, think, out),
            (None, Some(_)) => {
                self.held = Some(*record);
                Ok(())
            }
            (None, None) => Err("it has no arrival, and the pause after it is unknown".into()),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        match self.held.take() {
            Some(held) => row(&held, Span::ZERO, out),
            None => Ok(()),
        }
    }
}

/// Returns the time from the completion of `before` to the arrival of `next`.
fn pause(before: &Record, next: &Record) -> Result<Span, Unwritable> {
    let (Some(arrival), Some(response)) = (before.arrival, before.response) else {
        return Err("the previous request has no response".into());
    };
    let completed = arrival + response;
    match next.arrival {
        Some(arrival) if arrival >= completed => Ok(arrival - completed),
        _ => Err("it arrives before the previous request completes".into()),
    }
}

fn row(record: &Record, think: Span, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    let response = response_of(record)?;
    out.extend_from_slice(if record.op.is_read() { b"R," } else { b"W," });
    out.extend_from_slice(record.observed.map_or("", Observed::word).as_bytes());
    for value in [record.start.0, record.sectors.0] {
        out.push(b',');
        write_number(value, out);
    }
    for time in [response, think] {
        out.push(b',');
        let ns = time.or_zero().as_ns().unsigned_abs();
        Measured::INFO.time_unit.write(ns, out);
    }
    out.push(b'\n');
    Ok(())
}
