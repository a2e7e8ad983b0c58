//! All formats except the first two: fragments with invalid rows, and real traces.

mod adapt;
mod binary;
mod block_layer;
#[cfg(feature = "parquet")]
mod columns;
mod real;
mod roundtrip;
mod streams;
mod text;

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use diskarm_core::request::Op;
use diskarm_trace::{OnError, Options, Reader, Record, TraceError, open_with, read_with};

/// The path of a trace in `../shared`. Tests that need it are ignored unless `make test` finds it.
fn shared(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/traces")
        .join(file)
}

/// Returns the path of a temporary file of this process.
fn temporary_path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("diskarm-trace-{}-{name}", std::process::id()))
}

fn reader(bytes: &[u8], options: &Options<'_>) -> Result<Reader, TraceError> {
    read_with(Cursor::new(bytes.to_vec()), "x", options)
}

/// Reads a trace through a file on disk, which is deleted once it is open.
fn through_a_file(bytes: &[u8], options: &Options<'_>) -> Result<Reader, TraceError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let path = temporary_path(&format!("{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    std::fs::write(&path, bytes).unwrap();
    let trace = open_with(&path, options);
    std::fs::remove_file(&path).unwrap();
    trace
}

/// The records of a trace that must be detected as `format`.
fn records(bytes: &[u8], format: &str) -> Vec<Record> {
    let trace = reader(bytes, &Options::default()).unwrap();
    assert_eq!(trace.format().name, format);
    trace.map(Result::unwrap).collect()
}

/// The error of a trace that is detected as `format`.
fn error_of(bytes: &[u8], format: &str) -> String {
    let options = Options {
        format: Some(format),
        ..Options::default()
    };
    let trace = reader(bytes, &options).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let error = trace.expect_err("a bad trace").to_string();
    assert_eq!(error.lines().count(), 1);
    error
}

/// The records and notes of a reader that skips invalid rows.
fn read_skipping_errors(bytes: &[u8], format: Option<&str>) -> (Vec<Record>, Vec<String>) {
    let options = Options {
        format,
        on_error: OnError::Skip,
        ..Options::default()
    };
    let mut trace = reader(bytes, &options).unwrap();
    let records = trace.by_ref().map(Result::unwrap).collect();
    (records, trace.notes())
}

/// A record as a tuple: arrival in ns, device, direction, blocks, response in ns.
type Short = (Option<u64>, u32, Op, u64, u64, Option<i64>);

fn short(record: &Record) -> Short {
    (
        record.arrival.map(|arrival| arrival.as_ns()),
        record.device,
        record.op,
        record.start.0,
        record.sectors.0,
        record.response.map(|response| response.as_ns()),
    )
}
