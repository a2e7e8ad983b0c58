//! Requests measured on a real drive, one outstanding at a time.

use diskarm_core::request::Op;
use diskarm_core::units::Span;

use super::head_lines;
use crate::error::TraceError;
use crate::format::{Format, Info, Input, Records};
use crate::lines::{Lines, Row};
use crate::record::{Observed, Record};

/// CSV of measured requests: `op,observed,lbn,sectors,response_us,think_us`.
///
/// # What it does
///
/// Reads comma-separated rows under a header line, which names the columns in any order. `op` is
/// `R` or `W`; `observed` may be empty or left out as a column, else it is `hit` or `miss` for a
/// read and `two_disconnects` or `three_disconnects` for a write; `lbn` and `sectors` count
/// 512-byte sectors; `response_us` runs from issue to completion, `think_us` from that completion
/// to the next issue, both in microseconds, with decimals. Lines end in LF or CRLF; the last may
/// end without. A column of another name is an error: ignored, a misspelt `observed` would pass
/// as absent.
///
/// # Origin
///
/// The form in which the validation measurements published with DiskSim 4.0 are kept. Requests
/// were issued one at a time, so a record has no arrival: its issue is the sum of all responses
/// and pauses before it where the clock is unbroken, and is the replay's to decide.
///
/// # Cost
///
/// One pass, no allocation a row; memory of one line.
///
/// # When it is bad
///
/// No quotes, no spaces around commas. A last row cut within its last digits looks whole.
///
/// # Example
///
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
    const INFO: Info = Info {
        name: "measured",
        summary: "CSV of requests measured one at a time on a real drive",
        first_line: "op,lbn,sectors,response_us,think_us",
        time_unit: crate::TimeUnit::Microseconds,
        carries: "responses, pauses between requests, hits and disconnects; no arrivals",
    };

    /// Two of the column names in the first line: enough to tell, and a header that lacks some
    /// is still refused by name.
    fn sniff(head: &[u8]) -> bool {
        let header = head_lines(head).next().unwrap_or_default();
        let names = header.split(|byte| *byte == b',');
        let known = names.filter(|name| COLUMNS.iter().any(|c| c.as_bytes() == *name));
        known.count() >= 2
    }

    fn open(input: Input, name: &str) -> Result<Records, TraceError> {
        let mut lines = Lines::new(input, name);
        let order = match lines.next_row()? {
            Some(header) => columns(&header)?,
            None => return Err(TraceError::empty(lines.name())),
        };
        Ok(Box::new(Rows {
            lines,
            order,
            elapsed_ns: 0,
        }))
    }
}

/// For each of the file's columns, its place in [`COLUMNS`].
fn columns(header: &Row<'_>) -> Result<Vec<usize>, TraceError> {
    let mut order = Vec::with_capacity(COLUMNS.len());
    for name in header.text.split(',') {
        let Some(column) = COLUMNS.iter().position(|column| *column == name) else {
            let expected = format!("only {}", COLUMNS.join(", "));
            return Err(header.reject_column("column", name, &expected));
        };
        if order.contains(&column) {
            return Err(header.reject_column("a second column", name, "it once"));
        }
        order.push(column);
    }
    for (column, name) in COLUMNS.iter().enumerate() {
        if *name != OBSERVED && !order.contains(&column) {
            return Err(header.reject_column("no column", name, "it once"));
        }
    }
    Ok(order)
}

struct Rows {
    lines: Lines,
    order: Vec<usize>,
    /// All responses and pauses so far: an issue that is their sum stays within the clock.
    elapsed_ns: i64,
}

impl Iterator for Rows {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = match self.lines.next_row() {
            Ok(row) => row?,
            Err(error) => return Some(Err(error)),
        };
        Some(record(&row, &self.order, &mut self.elapsed_ns))
    }
}

fn record(row: &Row<'_>, order: &[usize], elapsed_ns: &mut i64) -> Result<Record, TraceError> {
    let names = order.iter().map(|column| COLUMNS[*column]);
    let fields: [&str; COLUMNS.len()] = row.fields(row.text.split(','), names)?;
    let mut values = [""; COLUMNS.len()];
    for (column, field) in order.iter().zip(fields) {
        values[*column] = field;
    }
    let [op, observed, lbn, sectors, response, think] = values;
    let op = match op {
        "R" => Op::Read,
        "W" => Op::Write,
        _ => return Err(row.reject(OP, op, "R or W")),
    };
    let (start, sectors) = row.blocks((LBN, lbn), (SECTORS, sectors))?;
    Ok(Record {
        line: row.line,
        arrival: None,
        device: 0,
        op,
        start,
        sectors,
        response: Some(span(row, RESPONSE, response, elapsed_ns)?),
        think: Some(span(row, THINK, think, elapsed_ns)?),
        observed: observation(row, op, observed)?,
    })
}

fn observation(row: &Row<'_>, op: Op, text: &str) -> Result<Option<Observed>, TraceError> {
    Ok(Some(match (op, text) {
        (_, "") => return Ok(None),
        (Op::Read, "hit") => Observed::Hit,
        (Op::Read, "miss") => Observed::Miss,
        (Op::Write, "two_disconnects") => Observed::Disconnects(2),
        (Op::Write, "three_disconnects") => Observed::Disconnects(3),
        (Op::Read, _) => return Err(row.reject(OBSERVED, text, "hit or miss for a read")),
        (Op::Write, _) => {
            let expected = "two_disconnects or three_disconnects for a write";
            return Err(row.reject(OBSERVED, text, expected));
        }
    }))
}

fn span(row: &Row<'_>, field: &str, text: &str, elapsed_ns: &mut i64) -> Result<Span, TraceError> {
    let ns = row.time_ns(field, text, Measured::INFO.time_unit)?;
    let Some(elapsed) = elapsed_ns.checked_add(ns) else {
        let expected = "responses and pauses that add up to less than 2^63 ns";
        return Err(row.reject(field, text, expected));
    };
    *elapsed_ns = elapsed;
    Ok(Span::from_ns(ns))
}
