//! Every kind of invalid trace, with its exact error message.

use std::error::Error;
use std::io::{self, Cursor, Read};

use diskarm_trace::{
    ErrorKind, FORMATS, Location, OnError, Options, TraceError, open, read, read_with,
};

const HEADER: &str = "op,observed,lbn,sectors,response_us,think_us\n";

/// Returns the error of a trace, and the number of records before it.
fn refuse(bytes: &[u8], name: &str, forced: Option<&str>) -> (usize, TraceError) {
    let mut records = 0;
    let mut trace = match read(Cursor::new(bytes.to_vec()), name, forced) {
        Ok(trace) => trace,
        Err(error) => return (records, error),
    };
    loop {
        match trace.next() {
            Some(Ok(_)) => records += 1,
            Some(Err(error)) => {
                assert!(trace.next().is_none(), "a record after the error {error}");
                return (records, error);
            }
            None => panic!(
                "read without an error: {:?}",
                String::from_utf8_lossy(bytes)
            ),
        }
    }
}

fn assert_refused(bytes: impl AsRef<[u8]>, name: &str, records: usize, expected: &str) {
    let format = if name == "x.csv" {
        "measured"
    } else {
        "disksim"
    };
    let (before, error) = refuse(bytes.as_ref(), name, Some(format));
    assert_eq!(error.to_string(), expected);
    assert_eq!(before, records, "{expected}");
    assert_eq!(error.to_string().lines().count(), 1);
}

/// Asserts that `row`, in a measured trace after a valid row, is refused with `expected`.
fn measured_row(row: &str, expected: &str) {
    let bytes = format!("{HEADER}R,hit,5,8,1000.5,20.0\n{row}\n");
    assert_refused(bytes, "x.csv", 1, &format!("x.csv:3: {expected}"));
}

/// Asserts that `row`, in a DiskSim trace after a valid row, is refused with `expected`.
fn disksim_row(row: &str, expected: &str) {
    let bytes = format!("1.5 0 5 8 1\n{row}\n");
    assert_refused(bytes, "x.trace", 1, &format!("x.trace:2: {expected}"));
}

#[test]
fn measured_headers() {
    let only = "only op, observed, lbn, sectors, response_us, think_us";
    for (header, expected) in [
        (
            "op,lbn,sectors,response_us\n",
            r#"found no column "think_us", expected exactly one"#.into(),
        ),
        (
            "op,op,lbn,sectors\n",
            r#"found a second column "op", expected exactly one"#.into(),
        ),
        (
            "op,lbn,size\n",
            format!(r#"found column "size", expected {only}"#),
        ),
        (
            "op, lbn\n",
            format!(r#"found column " lbn", expected {only}"#),
        ),
        ("op,lb", format!(r#"found column "lb", expected {only}"#)),
        ("op,lbn,\n", format!(r#"found column "", expected {only}"#)),
        (
            "R,,5,8,1000.5,20.0\n",
            format!(r#"found column "R", expected {only}"#),
        ),
    ] {
        assert_refused(header, "x.csv", 0, &format!("x.csv:1: header: {expected}"));
    }
    let (_, error) = refuse(b"op,op,lbn\n", "x.csv", None);
    assert_eq!(error.kind(), ErrorKind::Header);
}

#[test]
fn measured_fields() {
    measured_row(
        "R,hit,5,8,1000.5",
        "found 5 fields, expected 6: no think_us",
    );
    measured_row("R,hit,5", "found 3 fields, expected 6: no sectors");
    measured_row("R,hit,5,8,1000.5,20.0,", "found 7 fields, expected 6");
    measured_row("R", "found 1 field, expected 6");
    measured_row("R,hit,5,8,1000,5,20,0", "found 8 fields, expected 6");
    let cut = format!("{HEADER}R,hit,5,8,1000.5,20.0\nW,,16,4,9");
    let expected = "x.csv:3: found 5 fields, expected 6: no think_us (the last line is truncated)";
    assert_refused(cut, "x.csv", 1, expected);
    let cut = format!("{HEADER}R,hit,5,8,1000.5,20.");
    let expected = r#"x.csv:2: think_us: found "20.", expected microseconds as a decimal number"#;
    assert_refused(cut, "x.csv", 0, expected);
}

#[test]
fn measured_operations() {
    for op in ["", "r", "read", "RW", " R", "\"R\"", "\0"] {
        let expected = format!("op: found {op:?}, expected R or W");
        measured_row(&format!("{op},,5,8,1.0,2.0"), &expected);
    }
    let read = r#"observed: found "two_disconnects", expected hit or miss for a read"#;
    measured_row("R,two_disconnects,5,8,1.0,2.0", read);
    let write = "expected two_disconnects or three_disconnects for a write";
    measured_row(
        "W,hit,5,8,1.0,2.0",
        &format!(r#"observed: found "hit", {write}"#),
    );
    measured_row(
        "W,2,5,8,1.0,2.0",
        &format!(r#"observed: found "2", {write}"#),
    );
}

#[test]
fn measured_blocks() {
    let lbn = "expected a whole number from 0 to 18446744073709551615";
    for text in [
        "",
        "abc",
        "-1",
        "+1",
        "1.0",
        "0x10",
        "1e3",
        " 1",
        "18446744073709551616",
    ] {
        measured_row(
            &format!("R,,{text},8,1.0,2.0"),
            &format!("lbn: found {text:?}, {lbn}"),
        );
    }
    let sectors = "expected a whole number from 1 to 65536";
    for text in [
        "",
        "0",
        "-8",
        "+8",
        "8.0",
        "65537",
        "4294967297",
        "99999999999999999999",
    ] {
        let expected = format!("sectors: found {text:?}, {sectors}");
        measured_row(&format!("R,,5,{text},1.0,2.0"), &expected);
    }
    let beyond =
        r#"lbn: found "18446744073709551608", expected a request that ends below block 2^64"#;
    measured_row("R,,18446744073709551608,8,1.0,2.0", beyond);
}

#[test]
fn measured_times() {
    let decimal = "expected microseconds as a decimal number";
    for text in [
        "", "abc", "NaN", "nan", "inf", "-inf", "1e3", "1.", ".5", "+1.0", "1.0 ",
    ] {
        measured_row(
            &format!("R,,5,8,{text},2.0"),
            &format!("response_us: found {text:?}, {decimal}"),
        );
        measured_row(
            &format!("R,,5,8,2.0,{text}"),
            &format!("think_us: found {text:?}, {decimal}"),
        );
    }
    let negative = r#"think_us: found "-0.001", expected 0 or more microseconds"#;
    measured_row("R,,5,8,2.0,-0.001", negative);
    let long = r#"response_us: found "9223372036854775.808", expected microseconds below 2^63 ns"#;
    measured_row("R,,5,8,9223372036854775.808,2.0", long);
    // Each is valid alone, but not after the 1000.5 + 20.0 us of the previous row.
    let sum = "expected responses and pauses that add up to less than 2^63 ns";
    let max = "9223372036853755.308";
    measured_row(
        &format!("R,,5,8,{max},0\nR,,5,8,0,0"),
        &format!("response_us: found {max:?}, {sum}"),
    );
    measured_row(
        &format!("R,,5,8,1.0,{max}"),
        &format!("think_us: found {max:?}, {sum}"),
    );
}

#[test]
fn disksim_fields() {
    disksim_row("2.5 0 5 8", "found 4 fields, expected 5: no flags");
    disksim_row("2.5 0 5 8 1 0", "found 6 fields, expected 5");
    disksim_row("2.5,0,5,8,1", "found 1 field, expected 5");
    disksim_row(
        "# 2.5 0 5 8",
        r##"arrival_ms: found "#", expected milliseconds as a decimal number"##,
    );
    let expected = "x.trace:1: found 3 fields, expected 5: no blocks (the last line is truncated)";
    assert_refused("1.5 0 5", "x.trace", 0, expected);
}

#[test]
fn disksim_values() {
    for text in ["abc", "NaN", "inf", "1e3", "2.", ".5", "0x2"] {
        let expected =
            format!("arrival_ms: found {text:?}, expected milliseconds as a decimal number");
        disksim_row(&format!("{text} 0 5 8 1"), &expected);
    }
    let negative = r#"arrival_ms: found "-1.0", expected 0 or more milliseconds"#;
    disksim_row("-1.0 0 5 8 1", negative);
    let long = r#"arrival_ms: found "9223372036854.775808", expected milliseconds below 2^63 ns"#;
    disksim_row("9223372036854.775808 0 5 8 1", long);
    let back = "arrival_ms: found \"1.499999\", expected 1.500000 or later, the time of the \
                previous line";
    disksim_row("1.499999 0 5 8 1", back);
    for text in ["-1", "x", "4294967296"] {
        let expected =
            format!("device: found {text:?}, expected a whole number from 0 to 4294967295");
        disksim_row(&format!("2.5 {text} 5 8 1"), &expected);
    }
    disksim_row(
        "2.5 0 -5 8 1",
        r#"block: found "-5", expected a whole number from 0 to 18446744073709551615"#,
    );
    disksim_row(
        "2.5 0 5 0 1",
        r#"blocks: found "0", expected a whole number from 1 to 65536"#,
    );
    for text in [
        "R",
        "-1",
        "+1",
        "0x",
        "0x+1",
        "0xg",
        "g",
        "1.0",
        "123456789",
        "0x100000000",
    ] {
        let expected = "expected a hexadecimal number below 2^32";
        disksim_row(
            &format!("2.5 0 5 8 {text}"),
            &format!("flags: found {text:?}, {expected}"),
        );
    }
}

#[test]
fn invalid_text() {
    let mut bytes = format!("{HEADER}R,,5,8,1.0,2.0\n").into_bytes();
    bytes.extend_from_slice(b"R,\xff,5,8,1.0,2.0\n");
    assert_refused(
        &bytes,
        "x.csv",
        1,
        "x.csv:3: found byte 0xff as byte 3, expected UTF-8",
    );
    let blank = format!("{HEADER}R,,5,8,1.0,2.0\n\n \t\r\nR,,5,8,1.0,2.0\n");
    assert_refused(
        blank,
        "x.csv",
        1,
        "x.csv:3: found a blank line, expected a row",
    );
    let endless = format!("1.5 0 5 8 1\n{}", "7".repeat(100_000));
    let expected = "x.trace:2: the line is longer than the maximum of 65536 bytes";
    assert_refused(endless, "x.trace", 1, expected);
    let longest = format!("1.5 0 5 8 1\n1.6 0 5 8{}1\n", " ".repeat(65_525));
    let mut trace = read(Cursor::new(longest), "x.trace", None).unwrap();
    assert!(
        trace.all(|record| record.is_ok()),
        "a line of 65,536 bytes, its end included"
    );
    // Only the first 40 characters of a long value are shown, on one line.
    let long = format!("op: found {:?}..., expected R or W", "\u{e9}\r".repeat(20));
    measured_row(&format!("{},,5,8,1.0,2.0", "\u{e9}\r".repeat(30)), &long);
}

#[test]
fn files_without_rows() {
    for forced in [None, Some("measured"), Some("disksim")] {
        for bytes in ["", "\n", "  \r\n\n"] {
            let (_, error) = refuse(bytes.as_bytes(), "x", forced);
            assert_eq!(error.to_string(), "x: found no rows, expected at least one");
            assert_eq!(error.kind(), ErrorKind::Empty);
        }
    }
    assert_refused(
        HEADER,
        "x.csv",
        0,
        "x.csv: found no rows, expected at least one",
    );
    let blanks = "\n".repeat(5000);
    assert_refused(
        &blanks,
        "x.csv",
        0,
        "x.csv: found no rows, expected at least one",
    );
    assert_refused(
        &blanks,
        "x.trace",
        0,
        "x.trace: found no rows, expected at least one",
    );
}

#[test]
fn unknown_formats() {
    let (_, error) = refuse(b"1.5 0 5 8 1\n", "x", Some("DiskSim"));
    let known: Vec<&str> = FORMATS.iter().map(|entry| entry.info.name).collect();
    let known = known.join(", ");
    let expected = format!(r#"x: format: found "DiskSim", expected one of {known}"#);
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.kind(), ErrorKind::UnknownFormat);
    for (bytes, first) in [
        (&b"hello\r\n1.5 0 5 8 1\n"[..], "hello"),
        (b"\xff\xfe1 2", "\u{fffd}\u{fffd}1 2"),
        (b"\n1.5 0 5 8 1\n", ""),
        (b"1,2,3,x,5\n", "1,2,3,x,5"),
        // The times could be nanoseconds or milliseconds.
        (b"17 0 5 8 1\n23 0 5 8 0\n", "17 0 5 8 1"),
    ] {
        let (_, error) = refuse(bytes, "x", None);
        let expected = format!(
            "x: format not recognised: line 1 is {first:?}, expected one of {known} (name the \
             format, or convert the file to one of these: docs/reference/traces.md lists their \
             columns)"
        );
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), ErrorKind::Undetected);
    }
}

/// The error of a build without the feature explains how to enable it.
#[cfg(not(feature = "parquet"))]
#[test]
fn unsupported_formats() {
    for (bytes, name) in [
        (&b"PAR1\x15\x04"[..], "parquet"),
        (b"ARROW1\0\0", "arrow"),
        (b"\xff\xff\xff\xff\x98\x01\0\0\x10", "arrow"),
    ] {
        let expected = format!(
            "x: format: found {name:?}, which this build does not support: build with --features \
             parquet"
        );
        let (_, error) = refuse(bytes, "x", None);
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), ErrorKind::Undetected);
        let (_, error) = refuse(b"0.5 0 1 1 1\n", "x", Some(name));
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), ErrorKind::UnknownFormat);
        let error = diskarm_trace::Writer::new(Vec::new(), "x", name).err();
        assert_eq!(error.map(|error| error.to_string()), Some(expected));
    }
    // Not a multiple of 8, unlike the length of a stream's first message.
    let (_, error) = refuse(b"\xff\xff\xff\xff\x99\x01\0\0\x10", "x", None);
    assert!(error.to_string().contains("not recognised"), "{error}");
}

#[test]
fn unreadable_paths() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let Err(error) = open(folder, None) else {
        panic!("opened a directory")
    };
    let expected = format!("{folder}: found a directory, expected a trace file");
    assert_eq!(error.to_string(), expected);
    #[cfg(unix)]
    for device in ["/dev/zero", "/dev/null"] {
        let Err(error) = open(device, Some("vscsi")) else {
            panic!("opened {device}")
        };
        let expected = format!("{device}: found a device, expected a trace file");
        assert_eq!(error.to_string(), expected);
    }
    let Err(error) = open("no/such.csv", None) else {
        panic!("opened nothing")
    };
    assert!(
        error.to_string().starts_with("no/such.csv: cannot open: "),
        "{error}"
    );
    let source = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>());
    assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::NotFound));
}

/// Names are kept, so their number is limited, whatever the format.
#[test]
fn too_many_named_devices() {
    let msr = |n| format!("128166372003061629,h{n},0,Read,0,512,1\n");
    let rows: String = (0..=4096).map(msr).collect();
    let (records, error) = refuse(rows.as_bytes(), "x", Some("msr"));
    let expected = "x:4097: disk: found \"0\", expected at most 4096 devices";
    assert_eq!((records, error.to_string().as_str()), (4096, expected));
}

/// An input that fails after its bytes have been read.
struct Torn(Cursor<Vec<u8>>);

impl Read for Torn {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("the cable is out")),
            length => Ok(length),
        }
    }
}

#[test]
fn read_errors_name_the_location() {
    let row = "1.5 0 5 8 1\n";
    let torn = |rows| Torn(Cursor::new(row.repeat(rows).into_bytes()));
    let Err(error) = read(torn(1), "x.trace", None) else {
        panic!("read a torn head")
    };
    assert_eq!(error.to_string(), "x.trace: cannot read: the cable is out");
    let mut trace = read(torn(1000), "x.trace", None).unwrap();
    let error = trace.find_map(Result::err).unwrap();
    assert_eq!(
        error.to_string(),
        "x.trace:1001: cannot read: the cable is out"
    );
    assert_eq!(
        (error.kind(), error.location()),
        (ErrorKind::Io, Some(Location::Line(1001)))
    );
    assert!(trace.next().is_none());
}

/// An endless sequence of one byte. No reader may request more than a megabyte of it.
struct Endless {
    byte: u8,
    left: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.left = self
            .left
            .checked_sub(buffer.len())
            .expect("a reader that continues");
        buffer.fill(self.byte);
        Ok(buffer.len())
    }
}

/// The error is fatal even if invalid rows are skipped: the start of the next row is unknown.
/// Arrow and Parquet are read whole, because their tables of contents may come last.
#[test]
fn a_line_or_record_without_an_end() {
    for (format, byte) in FORMATS
        .iter()
        .filter(|format| !["arrow", "parquet"].contains(&format.info.name))
        .flat_map(|f| [0, b'0', 0xff].map(|byte| (f, byte)))
    {
        for on_error in [OnError::Stop, OnError::Skip] {
            let options = Options {
                format: Some(format.info.name),
                on_error,
                ..Options::default()
            };
            let endless = Endless {
                byte,
                left: 1 << 20,
            };
            let error = match read_with(endless, "endless", &options) {
                Err(error) => error,
                Ok(mut trace) => {
                    let error = trace.find_map(Result::err).expect(format.info.name);
                    assert!(trace.next().is_none(), "{}", format.info.name);
                    error
                }
            };
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            assert!(error.to_string().starts_with("endless:"), "{error}");
        }
    }
}
