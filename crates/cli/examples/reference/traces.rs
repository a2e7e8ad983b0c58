//! Formats of traces.

use diskarm_trace::FORMATS;

use crate::{code, head, table};

const ABOUT: &str = "\
The format is detected from the content; if that is ambiguous, use `--format`. Files may be
compressed with gzip, zstd, xz or bzip2. `diskarm trace convert` writes the formats marked as
writable. Addresses and sizes are converted to 512-byte blocks. [From your trace to a
report](../how-to/own-trace.md) shows how to use a trace.";

const TABLES: &str = "
Builds with `--features parquet` also read `parquet` and `arrow`, and write `parquet`. Such a table
has the columns `op`, `lbn` and `sectors` and, where known, `arrival_ns`, `device`, `response_ns`,
`service_ns`, `think_ns`, `queue`, `urgency` and `observed`.
";

/// Formats that only some builds have.
const WITH_FEATURE: [&str; 2] = ["parquet", "arrow"];

pub fn page() -> String {
    let all = FORMATS
        .iter()
        .filter(|entry| !WITH_FEATURE.contains(&entry.info.name));
    let rows = all.map(|entry| {
        let info = &entry.info;
        vec![
            code(info.name),
            info.summary.to_owned(),
            code(info.first_line),
            info.carries.to_owned(),
            if entry.writer.is_some() { "yes" } else { "" }.to_owned(),
        ]
    });
    let columns = [
        "format",
        "description",
        "first line",
        "also has",
        "writable",
    ];
    head("Trace formats", ABOUT) + &table(&columns, rows) + TABLES
}
