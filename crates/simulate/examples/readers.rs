//! Measures the speed of readers:
//! `cargo run --release --package diskarm-simulate --example readers`.
//!
//! Prints MB/s and records/s of every reader on a trace in memory, for the fastest of several runs.
//! Also prints its time relative to counting the newlines in the same bytes, which depends less on
//! other load on the machine. Targets on one core: text 300 MB/s, binary 1,000 MB/s.
//!
//! `write FORMAT REQUESTS FILE` writes such a trace; `read FORMAT FILE` only reads one, so that
//! `cargo xtask counts` can count its instructions.

use std::fmt::Write;
use std::hint::black_box;
use std::io::Cursor;
use std::time::{Duration, Instant};

use diskarm_core::request::Op;
use diskarm_core::units::{self, Lbn, SectorCount, Span};
use diskarm_trace::{Location, Reader, Record, TraceError, Writer, open, read, writable};

/// The number of requests in a trace.
const REQUESTS: u64 = 300_000;

/// The number of runs, of which the fastest is reported.
const RUNS: usize = 5;

/// The name of a format, and a trace in that format.
type Case = (&'static str, Vec<u8>);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => table(),
        ["write", format, requests, file] => write(format, requests, file),
        ["read", format, file] => println!("{}", sum(open(file, Some(format)))),
        _ => panic!("usage: readers [write FORMAT REQUESTS FILE | read FORMAT FILE]"),
    }
}

fn table() {
    println!("{REQUESTS} requests, the fastest of {RUNS} runs\n");
    println!(
        "{:<12} {:>8} {:>12} {:>18}",
        "format", "MB/s", "M records/s", "newline counts"
    );
    for (format, bytes) in cases(&requests(REQUESTS)) {
        let reading = fastest(|| {
            let trace = read(Cursor::new(bytes.to_vec()), format, Some(format));
            sum(trace)
        });
        let counting = fastest(|| bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
        println!(
            "{format:<12} {:>8.0} {:>12.2} {:>18.0}",
            bytes.len() as f64 / reading.as_secs_f64() / 1e6,
            REQUESTS as f64 / reading.as_secs_f64() / 1e6,
            reading.as_secs_f64() / counting.as_secs_f64(),
        );
    }
}

/// Writes a trace in one format.
fn write(format: &str, requests: &str, file: &str) {
    let count = requests
        .parse()
        .unwrap_or_else(|error| panic!("{requests}: {error}"));
    let mut cases = cases(&self::requests(count)).into_iter();
    let case = cases.find(|(name, _)| *name == format);
    let (_, bytes) = case.unwrap_or_else(|| panic!("no format {format}"));
    std::fs::write(file, bytes).unwrap_or_else(|error| panic!("{file}: {error}"));
}

fn cases(requests: &[Record]) -> Vec<Case> {
    let mut cases = written(requests);
    cases.extend(others(requests));
    cases
}

fn fastest(work: impl Fn() -> u64) -> Duration {
    let time = |_| {
        let began = Instant::now();
        black_box(work());
        began.elapsed()
    };
    (0..RUNS).map(time).min().unwrap_or_default()
}

/// Returns the sum of the first blocks, so that the compiler cannot omit any work.
fn sum(trace: Result<Reader, TraceError>) -> u64 {
    let records = trace.unwrap_or_else(|error| panic!("{error}"));
    records
        .map(|record| record.unwrap_or_else(|error| panic!("{error}")).start.0)
        .fold(0, u64::wrapping_add)
}

/// Returns requests at pseudo-random locations, in order of arrival.
fn requests(count: u64) -> Vec<Record> {
    let request = |n: u64| Record {
        arrival: Some(units::Instant::from_ns(n * 1_234_567)),
        device: (n % 4) as u32,
        response: Some(Span::from_ns((100_000 + n * 7_919 % 1_000_000) as i64)),
        ..Record::new(
            Location::Line(n),
            if n.is_multiple_of(3) {
                Op::Write
            } else {
                Op::Read
            },
            Lbn(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33 & !7),
            SectorCount(8 + n % 5 * 8),
        )
    };
    (0..count).map(request).collect()
}

/// Returns traces in the formats that can be written.
fn written(requests: &[Record]) -> Vec<Case> {
    let case = |format: &'static str| {
        let bytes = bytes_of(requests, format);
        (format, bytes.unwrap_or_else(|error| panic!("{error}")))
    };
    writable().map(|(entry, _)| case(entry.info.name)).collect()
}

fn bytes_of(requests: &[Record], format: &str) -> Result<Vec<u8>, TraceError> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, format, format)?;
    for request in requests {
        let device = match format {
            // This format has only one device.
            "measured" => 0,
            _ => request.device,
        };
        writer.write(&Record { device, ..*request })?;
    }
    writer.finish()?;
    Ok(bytes)
}

/// The values of a row, in the units of the formats.
struct Row {
    ns: u64,
    response_ns: u64,
    is_read: bool,
    device: u32,
    lbn: u64,
    sectors: u64,
}

impl Row {
    fn of(request: &Record) -> Self {
        Self {
            ns: request.arrival.unwrap_or_default().as_ns(),
            response_ns: request.response.unwrap_or_default().as_ns().unsigned_abs(),
            is_read: request.op.is_read(),
            device: request.device,
            lbn: request.start.0,
            sectors: request.sectors.0,
        }
    }

    fn letter(&self) -> char {
        if self.is_read { 'R' } else { 'W' }
    }
}

/// Returns traces in the formats that can only be read.
fn others(requests: &[Record]) -> Vec<Case> {
    let rows: Vec<Row> = requests.iter().map(Row::of).collect();
    let text = |line: fn(&Row, &mut String)| {
        let mut text = String::new();
        rows.iter().for_each(|row| line(row, &mut text));
        text.into_bytes()
    };
    vec![
        ("mqsim", text(mqsim)),
        ("systor17", text(systor17)),
        ("alibaba", text(alibaba)),
        ("tencent", text(tencent)),
        ("fio-latency", text(fio_latency)),
        ("blkparse", text(blkparse)),
        ("srt", srt(&rows)),
        ("vscsi", rows.iter().flat_map(vscsi).collect()),
        ("blktrace", rows.iter().flat_map(blktrace).collect()),
    ]
}

// Writing to a string cannot fail.

fn mqsim(row: &Row, text: &mut String) {
    let read = u8::from(row.is_read);
    let _ = writeln!(
        text,
        "{} {} {} {} {read}",
        row.ns, row.device, row.lbn, row.sectors
    );
}

fn systor17(row: &Row, text: &mut String) {
    let (s, ns) = (
        1_455_592_401 + row.ns / 1_000_000_000,
        row.ns % 1_000_000_000,
    );
    let (lbn, bytes, letter) = (row.lbn * 512, row.sectors * 512, row.letter());
    let response = row.response_ns;
    let _ = writeln!(
        text,
        "{s}.{ns:09},0.{response:09},{letter},{},{lbn},{bytes}",
        row.device
    );
}

fn alibaba(row: &Row, text: &mut String) {
    let us = 1_577_808_144_360_767 + row.ns / 1_000;
    let (lbn, bytes, letter) = (row.lbn * 512, row.sectors * 512, row.letter());
    let _ = writeln!(text, "{},{letter},{lbn},{bytes},{us}", row.device);
}

fn tencent(row: &Row, text: &mut String) {
    let s = 1_538_323_200 + row.ns / 1_000_000_000;
    let write = u8::from(!row.is_read);
    let _ = writeln!(
        text,
        "{s},{},{},{write},{}",
        row.lbn,
        row.sectors,
        1_063 + row.device
    );
}

fn fio_latency(row: &Row, text: &mut String) {
    let (ms, write) = (row.ns / 1_000_000, u8::from(!row.is_read));
    let (lbn, bytes) = (row.lbn * 512, row.sectors * 512);
    let _ = writeln!(
        text,
        "{ms}, {}, {write}, {bytes}, {lbn}, 0",
        row.response_ns
    );
}

fn blkparse(row: &Row, text: &mut String) {
    for (action, ns) in [('D', row.ns), ('C', row.ns + row.response_ns)] {
        let (s, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
        let (letter, lbn, sectors) = (row.letter(), row.lbn, row.sectors);
        let _ = writeln!(
            text,
            "  8,{}    0        1     {s}.{ns:09}   697  {action}   {letter} {lbn} + {sectors} \
             [dd]",
            row.device
        );
    }
}

fn srt(rows: &[Row]) -> Vec<u8> {
    let mut bytes = b"$$TR_IOREC-1.3\nsectorsize = 512;\n\x0c".to_vec();
    for row in rows {
        let us = (row.ns % 1_000_000_000 / 1_000) as u32;
        let (s, response_us) = (
            (row.ns / 1_000_000_000) as u32,
            (row.response_ns / 1_000) as u32,
        );
        let (size, lbn) = (row.sectors as u32 * 512, row.lbn as u32);
        let flags = u32::from(row.is_read);
        let words = [
            56,
            4 << 16 | 1,
            s,
            us,
            5,
            response_us,
            size,
            lbn,
            row.device << 8,
            0,
            0,
            flags,
            0,
            1,
        ];
        bytes.extend(words.into_iter().flat_map(u32::to_be_bytes));
    }
    bytes
}

fn vscsi(row: &Row) -> Vec<u8> {
    let command: u16 = if row.is_read { 0x28 } else { 0x2a };
    let words = [1, row.sectors as u32 * 512, 1, u32::from(command) | 1 << 24];
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    bytes.extend(row.lbn.to_le_bytes());
    bytes.extend((row.ns / 1_000).to_le_bytes());
    bytes
}

/// Returns the events for the issue and the completion of a request.
fn blktrace(row: &Row) -> Vec<u8> {
    let category = if row.is_read { 1 << 16 } else { 1 << 17 };
    let mut bytes = Vec::with_capacity(96);
    for (action, ns) in [(7, row.ns), (8, row.ns + row.response_ns)] {
        bytes.extend(0x6561_7407u32.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(ns.to_le_bytes());
        bytes.extend(row.lbn.to_le_bytes());
        let length = row.sectors as u32 * 512;
        for word in [length, action | category, 1, 8 << 20 | row.device, 0, 0] {
            bytes.extend(u32::to_le_bytes(word));
        }
    }
    bytes
}
