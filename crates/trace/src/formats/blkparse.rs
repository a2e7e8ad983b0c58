//! The text that `blkparse` prints.

use diskarm_core::request::Op;

use crate::digits::words;
use crate::error::TraceError;
use crate::format::{
    Format, FormatInfo, OpenResult, Options, RowReader, TimeOrigin, TraceMetadata,
};
use crate::lines::{Lines, Row, head_lines, is_decimal};
use crate::pairing::{Action, Event, Pairing};
use crate::record::{Record, Urgency};
use crate::source::ByteSource;
use crate::time::TimeUnit;

/// blkparse text: device, processor, sequence, seconds, process, action, direction, blocks.
///
/// # What it does
/// Reads the default output of `blkparse`: `8,0 3 11 0.009507758 697 D W 223490 + 56 [kjournald]`,
/// and uses the device, seconds, action, direction letters and 512-byte blocks. A request arrives
/// when it is issued to the device (`D`) and completes with the first completion (`C`) that covers
/// it; optionally, it arrives when it is queued (`Q`). A requeue (`R`) cancels an issue. Requests
/// without data, such as discards and flushes, are ignored and counted; other events are not
/// requests. The summary after the events, which begins with `CPU` or `Total`, ends the trace.
///
/// # Origin
/// blkparse(1) of blktrace 1.2.0, "Default output" and "Trace actions".
///
/// # Cost
/// One pass, no allocation per row; memory for the outstanding requests, at most 4,096.
///
/// # When it is bad
/// Output in another format (`blkparse -f`) is refused. A request whose completion was
/// lost has no response and is counted.
///
/// # Example
/// ```
/// let text = "  8,0    3   11   0.000050000   697  D   W 64 + 8 [dd]\n\
///             8,0    3   12   0.000140000     0  C   W 64 + 8 [0]\n";
/// let record = diskarm_trace::read(text.as_bytes(), "x.txt", None)?.next().unwrap()?;
/// assert_eq!((record.start.0, record.sectors.0), (64, 8));
/// assert_eq!(record.response.unwrap().as_ns(), 90_000);
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct BlkParse;

const NAMES: [&str; 7] = [
    "device", "cpu", "sequence", "time_s", "pid", "action", "rwbs",
];
impl Format for BlkParse {
    const INFO: FormatInfo = FormatInfo {
        name: "blkparse",
        summary: "blkparse text, its default output",
        first_line: "8,0 3 11 0.009507758 697 D W 223490 + 56 [kjournald]",
        time_unit: TimeUnit::Seconds,
        time_origin: TimeOrigin::Start,
        carries: "arrivals, responses, urgency and devices",
    };

    /// Returns true for a device, two numbers, seconds, a number and the letters of an action.
    fn sniff(head: &[u8]) -> bool {
        let mut fields = words(head_lines(head).next().unwrap_or_default());
        let mut next = || fields.next().unwrap_or_default();
        let device = next();
        let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
        let is_device =
            device.iter().filter(|byte| **byte == b',').count() == 1 && device.iter().all(is_part);
        let (_cpu, _sequence, time, _pid, action) = (next(), next(), next(), next(), next());
        is_device
            && is_decimal(time)
            && time.contains(&b'.')
            && (1..=2).contains(&action.len())
            && action.iter().all(u8::is_ascii_alphabetic)
    }

    fn open(source: ByteSource, options: &Options<'_>) -> OpenResult {
        Ok(Box::new(Events {
            lines: Lines::new(source),
            pairing: Pairing::new(options.arrival),
            is_at_end: false,
        }))
    }
}

struct Events {
    lines: Lines,
    pairing: Pairing,
    is_at_end: bool,
}

impl RowReader for Events {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError> {
        loop {
            if let Some(record) = self.pairing.take(self.is_at_end, metadata) {
                return Ok(Some(record));
            }
            if self.is_at_end {
                return Ok(None);
            }
            match self.lines.next_row() {
                Ok(Some(row)) if !is_summary(&row) => {
                    if let Some(event) = event(&row, metadata)? {
                        self.pairing.put(&event, metadata);
                    }
                }
                Ok(_) => {
                    self.is_at_end = true;
                    metadata.cut = self.lines.cut();
                }
                Err(error) => {
                    // A blank line separates the events from the summary.
                    if !self.lines.pending().is_some_and(begins_summary) {
                        return Err(error);
                    }
                    self.is_at_end = true;
                }
            }
        }
    }
}

fn is_summary(row: &Row<'_>) -> bool {
    row.text.first() > Some(&b'9') && begins_summary(row.text)
}

fn begins_summary(line: &[u8]) -> bool {
    line.starts_with(b"CPU") || line.starts_with(b"Total")
}

fn event(row: &Row<'_>, metadata: &mut TraceMetadata) -> Result<Option<Event>, TraceError> {
    let mut words = row.words();
    let [device, _, _, time, _, action_field, rwbs] = row.first_fields(&mut words, &NAMES)?;
    let action = match action_field.text {
        b"Q" => Action::Queue,
        b"R" => Action::Requeue,
        b"D" => Action::Issue,
        b"C" => Action::Complete,
        letters if letters.iter().all(u8::is_ascii_alphabetic) => return Ok(None),
        _ => return Err(action_field.reject("the letters of an action, such as D")),
    };
    let blocks = (words.next(), words.next(), words.next());
    let is_data = rwbs.text.iter().any(|letter| matches!(letter, b'R' | b'W'));
    let (sector, sectors) = match blocks {
        (Some(sector), Some(b"+"), Some(sectors))
            if is_data && !rwbs.text.contains(&b'D') && sectors != b"0" =>
        {
            (row.field("sector", sector), row.field("sectors", sectors))
        }
        _ => {
            if action == Action::Issue {
                metadata.ignore(match rwbs.text {
                    letters if letters.contains(&b'D') => "discard",
                    letters if letters.contains(&b'F') => "flush",
                    _ => "request without data",
                });
            }
            return Ok(None);
        }
    };
    let (start, sectors) = sector.blocks(&sectors)?;
    let has = |letter| rwbs.text.contains(&letter);
    let is_awaited = has(b'S') || (has(b'R') && !has(b'A'));
    Ok(Some(Event {
        action,
        location: row.location(),
        at: time.instant(BlkParse::INFO.time_unit)?,
        device: device.named_device(device.text, metadata)?,
        op: if has(b'W') { Op::Write } else { Op::Read },
        urgency: Some(Urgency::new(is_awaited)),
        start,
        sectors,
    }))
}
