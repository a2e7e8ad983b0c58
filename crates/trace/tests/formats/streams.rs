//! Readers of all formats: decompression, invalid rows, order, units.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use diskarm_trace::{ErrorKind, Options, Record, TraceError, open, read};

use crate::{error_of, read_skipping_errors, reader, records, shared};

fn disksim(rows: usize) -> String {
    (0..rows)
        .map(|row| format!("{row}.5 0 {} 8 1\n", row * 8))
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(0);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// Compresses all of `bytes`.
type Compress = fn(&[u8]) -> Vec<u8>;

const COMPRESSIONS: [Compress; 4] = [gzip, bzip2, xz, zstd];

/// Reads them complete, in two members, and truncated.
#[test]
fn compressed_traces() {
    let text = disksim(20_000);
    let plain = records(text.as_bytes(), "disksim");
    assert_eq!(plain.len(), 20_000);
    let (first, second) = text.split_at(text.len() / 2);
    for compress in COMPRESSIONS {
        let whole = compress(text.as_bytes());
        assert_eq!(records(&whole, "disksim"), plain);
        let both = [compress(first.as_bytes()), compress(second.as_bytes())].concat();
        assert_eq!(records(&both, "disksim"), plain);
        let cut = &whole[..whole.len() / 2];
        let trace = read(std::io::Cursor::new(cut.to_vec()), "x.gz", None);
        let error = trace
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .expect_err("a file that was cut");
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    }
}

/// A frame of zstd with a checksum and a window of 2^`window` bytes.
fn frame(text: &str, window: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.window_log(window).unwrap();
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn from_zstd(bytes: Vec<u8>) -> Result<Vec<Record>, TraceError> {
    read(std::io::Cursor::new(bytes), "x.zst", None).and_then(Iterator::collect)
}

/// Frames whose content is larger than their window, with skippable frames between and after them
/// (RFC 8878, section 3.1.2).
#[test]
fn frames_of_zstd() {
    let text = disksim(20_000);
    let plain = records(text.as_bytes(), "disksim");
    let (first, second) = text.split_at(text.len() / 2);
    let skippable = b"\x51\x2a\x4d\x18\x03\0\0\0abc";
    for window in [10, 15] {
        assert!(text.len() > 4 << window);
        let (first, second) = (frame(first, window), frame(second, window));
        let empty = frame("", window);
        let several = [&first[..], skippable, &empty, &second, skippable].concat();
        assert_eq!(records(&several, "disksim"), plain);
        let short = [&first[..], &skippable[..9]].concat();
        let error = from_zstd(short).expect_err("a frame that ends early");
        assert!(error.to_string().contains("ends within a frame"), "{error}");
    }
}

/// A wrong checksum is an error. Other damage is detected or harmless, and never causes a panic.
#[test]
fn damaged_frames_of_zstd() {
    let text = disksim(2_000);
    let plain = records(text.as_bytes(), "disksim");
    for halves in [text.split_at(text.len() / 2), (&text, "")] {
        let mut wrong = [frame(halves.0, 12), frame(halves.1, 12)].concat();
        *wrong.last_mut().unwrap() ^= 1;
        let error = from_zstd(wrong).expect_err("another checksum");
        assert!(error.to_string().contains("checksum"), "{error}");
    }
    let frame = frame(&text, 12);
    for at in (4..frame.len()).step_by(frame.len() / 500) {
        let mut damaged = frame.clone();
        damaged[at] ^= 1 << (at % 8);
        if let Ok(read) = from_zstd(damaged) {
            assert_eq!(read, plain, "byte {at}");
        }
    }
}

/// An endless trace, which counts the bytes read from it.
struct Endless {
    row: &'static [u8],
    at: usize,
    read: Arc<AtomicUsize>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        for byte in buffer.iter_mut() {
            *byte = self.row[self.at % self.row.len()];
            self.at += 1;
        }
        self.read.fetch_add(buffer.len(), Ordering::Relaxed);
        Ok(buffer.len())
    }
}

/// An endless trace returns its first records after a bounded part of it has been read.
#[test]
fn reading_an_endless_trace_streams() {
    let count = Arc::new(AtomicUsize::new(0));
    let input = Endless {
        row: b"0,303567,3584,w,0.5\n",
        at: 0,
        read: count.clone(),
    };
    let mut trace = read(input, "x", None).unwrap();
    assert_eq!(
        trace.by_ref().take(100_000).filter(|r| r.is_ok()).count(),
        100_000
    );
    // The returned records, the reorder buffer, and a chunk.
    let max = (100_000 + 4_096) * 20 + 512 * 1024;
    assert!(count.load(Ordering::Relaxed) <= max);
}

#[test]
fn invalid_rows_are_skipped_and_counted() {
    let bytes = b"1.5 0 5 8 1\n2.5 0 5 8\n2.6 0 x 8 1\n2.6 0 y 8 1\n\n\xe9\n3.5 0 7 8 1\n\
        3.0 0 7 8 1\n4.5 0 9 8 1\n";
    let (records, notes) = read_skipping_errors(bytes, Some("disksim"));
    let starts: Vec<u64> = records.iter().map(|record| record.start.0).collect();
    assert_eq!(starts, [5, 7, 9]);
    let expected = [
        "1 invalid row skipped: wrong number of fields; the first: x:2: found 4 fields, expected \
         5: no flags",
        "2 invalid rows skipped: invalid block; the first: x:3: block: found \
         \"x\", expected a whole number from 0 to 18446744073709551615",
        "2 invalid rows skipped: invalid text; the first: x:5: found a blank line, expected a row",
        "1 invalid row skipped: invalid arrival_ms; the first: x:8: \
         arrival_ms: found \"3.0\", expected 3.500000 or later, the time of the previous line",
    ];
    assert_eq!(notes, expected);
}

/// An error that makes all further rows unreadable is not skipped.
#[test]
fn an_invalid_header_is_not_skipped() {
    let options = Options {
        on_error: diskarm_trace::OnError::Skip,
        ..Options::default()
    };
    let error = reader(b"op,lbn\nR,5\n", &options).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Header);
}

#[test]
fn rows_are_sorted_by_arrival() {
    // Each pair is swapped: half of the records are reordered.
    let text: String = (0..10_000u64)
        .map(|row| format!("0,{row},512,r,{:.3}\n", (row ^ 1) as f64 / 1e3))
        .collect();
    let (records, notes) = read_skipping_errors(text.as_bytes(), None);
    let starts: Vec<u64> = records.iter().map(|record| record.start.0).collect();
    assert_eq!(starts, (0..10_000).map(|row| row ^ 1).collect::<Vec<u64>>());
    assert_eq!(notes, ["5000 records reordered by arrival"]);
    let late = "0,1,512,r,9.0\n".repeat(5_000) + "0,1,512,r,8.0\n";
    let expected = "x:5001: arrival: found \"8 s\", expected 9 s or later, the arrival of a \
                    much earlier record: sort the trace first";
    assert_eq!(error_of(late.as_bytes(), "spc"), expected);
}

#[test]
#[ignore = "needs ../shared"]
fn implausible_units_are_reported() {
    let path = shared("websearch-60s.mqsim");
    let notes = |format| {
        let mut trace = open(&path, Some(format)).unwrap();
        assert!(trace.by_ref().all(|record| record.is_ok()));
        trace.notes()
    };
    // The reader cannot tell whether the last line is complete.
    let cut = "line 24783 does not end in a newline: the trace may be truncated in the middle of \
               a number";
    assert_eq!(notes("mqsim"), [cut]);
    let notes = notes("disksim");
    assert_eq!(notes.len(), 2);
    assert!(
        notes[0].contains("milliseconds, the unit of this format"),
        "{notes:?}"
    );
    assert!(
        notes[0].contains("nanoseconds are more likely"),
        "{notes:?}"
    );
    // The same trace in microseconds: times are too short in one format, too long in another.
    let text = std::fs::read_to_string(&path).unwrap();
    let in_us = |line: &str| {
        let (ns, rest) = line.split_once(' ').unwrap();
        format!("{} {rest}\n", ns.parse::<u64>().unwrap() / 1_000)
    };
    let text: String = text.lines().map(in_us).collect();
    for format in ["mqsim", "disksim"] {
        let (_, notes) = read_skipping_errors(text.as_bytes(), Some(format));
        assert!(
            notes[0].contains("microseconds are more likely"),
            "{notes:?}"
        );
    }
}
