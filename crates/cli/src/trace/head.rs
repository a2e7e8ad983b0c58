//! `diskarm trace head`: prints the first records.

use diskarm_core::units::Span;
use diskarm_trace::Record;
use serde_json::{Value, json};

use super::Input;
use crate::args::integer;
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
    #[arg(value_parser = integer::<u32>(1..=u32::MAX.into()))]
    requests: u32,

    /// Print JSON: an array of objects; null for what the trace does not have
    #[arg(long)]
    json: bool,
}

/// The columns, which are also the JSON keys. The table calls the first one `at`.
const COLUMNS: [&str; 10] = [
    "place",
    "arrival_ms",
    "device",
    "op",
    "lbn",
    "sectors",
    "response_ms",
    "service_ms",
    "think_ms",
    "queue",
];

fn row(record: &Record) -> Value {
    json!({
        "place": record.location.to_string(),
        "arrival_ms": record.arrival.map(|arrival| arrival.as_ns() as f64 / 1e6),
        "device": record.device,
        "op": if record.op.is_read() { "R" } else { "W" },
        "lbn": record.start.0,
        "sectors": record.sectors.0,
        "response_ms": record.response.map(Span::as_ms),
        "service_ms": record.service.map(Span::as_ms),
        "think_ms": record.think.map(Span::as_ms),
        "queue": record.queue,
    })
}

pub fn run(args: Args) -> Result<(), Error> {
    let mut trace = args.input.open()?;
    let records = trace.by_ref().take(args.requests as usize);
    let rows = records.map(|record| record.map(|record| row(&record)));
    let rows: Vec<Value> = rows.collect::<Result<_, _>>()?;
    output::print_as(args.json, &rows, || table(&rows))?;
    output::print_notes(&trace.notes());
    Ok(())
}

/// Formats columns as wide as their contents, and omits empty ones.
fn table(rows: &[Value]) -> String {
    let mut lines = vec![String::new(); rows.len() + 1];
    for column in COLUMNS {
        if rows.iter().all(|row| row[column].is_null()) {
            continue;
        }
        let head = if column == "place" { "at" } else { column };
        let cells = rows.iter().map(|row| cell(&row[column]));
        let cells: Vec<String> = [head.to_owned()].into_iter().chain(cells).collect();
        let width = cells.iter().map(String::len).max().unwrap_or(0);
        for (line, cell) in lines.iter_mut().zip(&cells) {
            *line += &format!("{cell:>width$} ");
        }
    }
    let lines = lines.iter().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(ms) if ms.is_f64() => format!("{:.6}", ms.as_f64().unwrap_or_default()),
        number => number.to_string(),
    }
}
