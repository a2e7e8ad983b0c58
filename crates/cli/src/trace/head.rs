//! `diskarm trace head`: the first records.

use std::fmt::Write;

use diskarm_trace::Record;
use serde::Serialize;

use super::input::Input;
use crate::args::whole;
use crate::error::Error;
use crate::output;

/// Print the first records of a trace, whatever its format
///
/// Times are milliseconds since the start of the trace, or since its first record if the format
/// has another origin. Blocks have 512 bytes. Columns without values in these records are
/// left out. Skipped rows are reported on standard error.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// Number of records
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    #[arg(value_parser = whole::<u32>(1..=u32::MAX.into()))]
    requests: u32,

    /// Print JSON: an array of objects; null for what the trace does not have
    #[arg(long)]
    json: bool,
}

/// One record; the names are those of the JSON.
#[derive(Serialize)]
struct RecordRow {
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

impl RecordRow {
    fn new(record: &Record) -> Self {
        Self {
            place: record.location.to_string(),
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

pub fn run(args: Args) -> Result<(), Error> {
    let mut trace = args.input.open()?;
    let rows: Result<Vec<RecordRow>, _> = trace
        .by_ref()
        .take(args.requests as usize)
        .map(|record| record.map(|record| RecordRow::new(&record)))
        .collect();
    let rows = rows?;
    if args.json {
        output::print_json(&rows)?;
    } else {
        output::print(&table(&rows))?;
    }
    output::print_notes(&trace.notes());
    Ok(())
}

/// Formats columns as wide as their content, without empty ones.
fn table(rows: &[RecordRow]) -> String {
    let time = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.6}"));
    let column = |name: &str, cell: &dyn Fn(&RecordRow) -> String| -> Vec<String> {
        let cells = rows.iter().map(cell);
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let columns = [
        column("at", &|row| row.place.clone()),
        column("arrival_ms", &|row| time(row.arrival_ms)),
        column("device", &|row| row.device.to_string()),
        column("op", &|row| row.op.to_owned()),
        column("lbn", &|row| row.lbn.to_string()),
        column("sectors", &|row| row.sectors.to_string()),
        column("response_ms", &|row| time(row.response_ms)),
        column("service_ms", &|row| time(row.service_ms)),
        column("think_ms", &|row| time(row.think_ms)),
        column("queue", &|row| {
            row.queue.map_or("-".to_owned(), |queue| queue.to_string())
        }),
    ];
    let mut lines = vec![String::new(); rows.len() + 1];
    for cells in columns {
        if cells.iter().skip(1).all(|cell| cell == "-") {
            continue;
        }
        let width = cells.iter().map(String::len).max().unwrap_or(0);
        for (line, cell) in lines.iter_mut().zip(&cells) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell:>width$} ");
        }
    }
    let lines = lines.iter().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}
