//! Formats of traces.

use diskarm_trace::FORMATS;

use crate::{code, head, table};

const ABOUT: &str = "\
The content tells the format; where it does not, `--format` must. Files may be packed with gzip,
zstd, xz or bzip2. `diskarm trace convert` writes those marked so. All count in blocks of 512 bytes
once read. [From one's own trace to a report](../how-to/own-trace.md) shows the way.";

const TABLES: &str = "
Builds with `--features parquet` read `parquet` and `arrow` too, and write `parquet`. Such a table
has the columns `op`, `lbn` and `sectors`, and what else is known of `arrival_ns`, `device`,
`response_ns`, `service_ns`, `think_ns`, `queue`, `urgency` and `observed`.
";

/// What only some builds have.
const WITH_FEATURE: [&str; 2] = ["parquet", "arrow"];

/// The page.
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
            if entry.emit.is_some() { "yes" } else { "" }.to_owned(),
        ]
    });
    let columns = [
        "format",
        "what it is",
        "first line",
        "gives also",
        "written",
    ];
    head("Trace formats", ABOUT) + &table(&columns, rows) + TABLES
}
