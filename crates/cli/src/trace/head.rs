//! `diskarm trace head`: the first records.

use std::fmt::Write;

use diskarm_trace::Record;
use serde::Serialize;

use super::input::Input;
use crate::error::Error;
use crate::output;

/// Print the first records of a trace, whatever its format
///
/// Times are milliseconds since the trace's own zero, or since its first record where a format
/// counts from elsewhere. Blocks are of 512 bytes.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// How many records
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    requests: usize,

    /// Print JSON: an array of objects; null for what the trace does not carry
    #[arg(long)]
    json: bool,
}

/// One record; the names are those of the JSON.
#[derive(Serialize)]
struct Row {
    place: String,
    arrival_ms: Option<f64>,
    device: u32,
    op: &'static str,
    lbn: u64,
    sectors: u64,
    response_ms: Option<f64>,
    service_ms: Option<f64>,
    think_ms: Option<f64>,
    queue: Option<u32>,
}

impl Row {
    fn of(record: &Record) -> Self {
        Self {
            place: record.place.to_string(),
            arrival_ms: record.arrival.map(|arrival| arrival.as_ns() as f64 / 1e6),
            device: record.device,
            op: if record.op.is_read() { "R" } else { "W" },
            lbn: record.start.0,
            sectors: record.sectors.0,
            response_ms: record.response.map(|span| span.as_ms()),
            service_ms: record.service.map(|span| span.as_ms()),
            think_ms: record.think.map(|span| span.as_ms()),
            queue: record.queue,
        }
    }
}

/// Prints them.
pub fn run(args: Args) -> Result<(), Error> {
    let trace = args.input.open()?;
    let rows: Result<Vec<Row>, _> = trace
        .take(args.requests)
        .map(|record| record.map(|record| Row::of(&record)))
        .collect();
    let rows = rows?;
    if args.json {
        return output::print_json(&rows);
    }
    let mut text = format!(
        "{:>14} {:>16} {:>10} op {:>14} {:>7} {:>12} {:>12} {:>12} {:>5}\n",
        "at",
        "arrival_ms",
        "device",
        "lbn",
        "sectors",
        "response_ms",
        "service_ms",
        "think_ms",
        "queue"
    );
    let time = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.6}"));
    for row in &rows {
        let queue = row.queue.map_or("-".to_owned(), |queue| queue.to_string());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>14} {:>16} {:>10} {:>2} {:>14} {:>7} {:>12} {:>12} {:>12} {:>5}",
            row.place,
            time(row.arrival_ms),
            row.device,
            row.op,
            row.lbn,
            row.sectors,
            time(row.response_ms),
            time(row.service_ms),
            time(row.think_ms),
            queue,
        );
    }
    output::print(&text)
}
