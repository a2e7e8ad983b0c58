//! Text formats: a fragment of each, and invalid rows.

use std::io::{Cursor, Read};

use diskarm_core::request::Op;
use diskarm_trace::{FORMATS, OnError, Options};

use crate::{Short, error_of, read_skipping_errors, reader, records, short};

fn shorts(text: &str, format: &str) -> Vec<Short> {
    records(text.as_bytes(), format).iter().map(short).collect()
}

/// Asserts that `row`, after a valid row, is refused with `expected`.
fn refused_row(format: &str, good: &str, row: &str, expected: &str) {
    let error = error_of(format!("{good}\n{row}\n").as_bytes(), format);
    let line = good.lines().count() + 1;
    assert_eq!(error, format!("x:{line}: {expected}"));
}

const SPC: &str = "0,303567,3584,w,0.000000";

#[test]
fn spc() {
    let text = "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214,17,x\r\n\
                0,18446744073709551608,513,r,0.1234567894";
    let expected = [
        (Some(0), 0, Op::Write, 303_567, 7, None),
        (Some(26_214_000), 1, Op::Read, 55_590, 6, None),
        (Some(123_456_789), 0, Op::Read, u64::MAX - 7, 2, None),
    ];
    assert_eq!(shorts(text, "spc"), expected);
    let (_, notes) = read_skipping_errors(text.as_bytes(), None);
    let widened = "1 request widened to whole 512-byte blocks";
    let cut = "line 3 does not end in a newline: the trace may be truncated in the middle of a \
               number";
    assert_eq!(notes, [cut, widened]);
    let (_, notes) = read_skipping_errors(format!("{text}\n").as_bytes(), None);
    assert_eq!(notes, [widened]);
    for (row, expected) in [
        ("0,1,512,W", "found 4 fields, expected 5: no timestamp_s"),
        ("0,1,512,X,1", r#"opcode: found "X", expected R or W"#),
        (
            "0,1,0,W,1",
            r#"size_bytes: found "0", expected a whole number of bytes from 1 to 33554432"#,
        ),
        (
            "0,1,33554433,W,1",
            r#"size_bytes: found "33554433", expected a whole number of bytes from 1 to 33554432"#,
        ),
        (
            "-1,1,512,W,1",
            r#"asu: found "-1", expected a whole number from 0 to 4294967295"#,
        ),
        (
            "0,18446744073709551615,512,W,1",
            r#"lba: found "18446744073709551615", expected a request that ends below block 2^64"#,
        ),
        (
            "0,1,512,W,1e3",
            r#"timestamp_s: found "1e3", expected seconds as a decimal number"#,
        ),
    ] {
        refused_row("spc", SPC, row, expected);
    }
}

const MSR: &str = "128166372003061629,hm,1,Read,383496192,32768,413";

#[test]
fn msr() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                128166372003061629,hm,1,Read,383496192,32768,413\n\
                128166372016382155,hm,0,Write,2822144512,4096,2\n\
                128166372016382154,usr,1,Write,1,1,0\n";
    let expected = [
        (Some(0), 0, Op::Read, 749_016, 64, Some(41_300)),
        (Some(1_332_052_500), 2, Op::Write, 0, 1, Some(0)),
        (Some(1_332_052_600), 1, Op::Write, 5_512_001, 8, Some(200)),
    ];
    assert_eq!(shorts(text, "msr"), expected);
    assert_eq!(
        shorts(&text[text.find('\n').unwrap() + 1..], "msr"),
        expected
    );
    let mut trace = reader(text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(trace.by_ref().count(), 3);
    assert_eq!(trace.metadata().device_names, ["hm,1", "hm,0", "usr,1"]);
    // 22 February 2007, 17:00:00.306 UTC, by `date -d @1172163600`.
    assert_eq!(trace.origin().unwrap().as_ns(), 1_172_163_600_306_162_900);
    for (row, expected) in [
        (
            "1,hm,1,Read,0,512",
            "found 6 fields, expected 7: no response",
        ),
        (
            "116444735999999999,hm,1,Read,0,512,1",
            "timestamp: found \"116444735999999999\", expected units of 100 ns since 1601, from \
             1970 to 2262",
        ),
        (
            "128166372003061630,hm,1,read,0,512,1",
            r#"type: found "read", expected Read or Write"#,
        ),
        (
            "128166372003061630,hm,1,Read,511,33554432,1",
            "offset_bytes: found \"511\", expected a request of at most 65536 blocks that ends \
             below byte 2^64",
        ),
        (
            "128166372003061630,hm,1,Read,0,512,-1",
            r#"response: found "-1", expected 0 or more units of 100 ns"#,
        ),
    ] {
        refused_row("msr", MSR, row, expected);
    }
}

#[test]
fn systor() {
    let header = "Timestamp,Response,IOType,LUN,Offset,Size";
    let text = format!(
        "{header}\n1455592401.000194000,0.000512000,R,3,8192,4096\n1455592401.5,,W,0,0,512\n\
         1455592402,0.1,,0,0,512\n1455592401.25,0.25,W,4,1024,512\n"
    );
    let expected = [
        (Some(0), 3, Op::Read, 16, 8, Some(512_000)),
        (Some(249_806_000), 4, Op::Write, 2, 1, Some(250_000_000)),
        (Some(499_806_000), 0, Op::Write, 0, 1, None),
    ];
    assert_eq!(shorts(&text, "systor17"), expected);
    let (_, notes) = read_skipping_errors(text.as_bytes(), None);
    let expected = [
        "1 row ignored (not a read or write): an empty IOType",
        "1 record reordered by arrival",
    ];
    assert_eq!(notes, expected);
    refused_row(
        "systor17",
        header,
        "1455592401.0,x,R,0,0,512",
        r#"Response: found "x", expected seconds as a decimal number"#,
    );
}

#[test]
fn alibaba_and_tencent() {
    let alibaba = "419,W,8792731648,16384,1577808144360767\n725,R,512,512,1577808144360768\n";
    let expected = [
        (Some(0), 419, Op::Write, 17_173_304, 32, None),
        (Some(1_000), 725, Op::Read, 1, 1, None),
    ];
    assert_eq!(shorts(alibaba, "alibaba"), expected);
    refused_row(
        "alibaba",
        alibaba.trim_end(),
        "725,R,0,512,2020-01-01",
        r#"timestamp_us: found "2020-01-01", expected microseconds as a decimal number"#,
    );
    let tencent = "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n";
    let expected = [
        (Some(0), 1063, Op::Read, 12_910_952, 128, None),
        (Some(1_000_000_000), 1627, Op::Write, 6_338_688, 8, None),
    ];
    assert_eq!(shorts(tencent, "tencent"), expected);
    refused_row(
        "tencent",
        tencent.trim_end(),
        "1538323202,1,8,2,9",
        r#"iotype: found "2", expected 0 or 1"#,
    );
}

#[test]
fn mqsim() {
    let text = "11413000 0 657728 16 1\n11565000 1 31244784 64 0\n";
    let expected = [
        (Some(11_413_000), 0, Op::Read, 657_728, 16, None),
        (Some(11_565_000), 1, Op::Write, 31_244_784, 64, None),
    ];
    assert_eq!(shorts(text, "mqsim"), expected);
    refused_row(
        "mqsim",
        text.trim_end(),
        "11566000 1 5 64 2",
        r#"type: found "2", expected 1 or 0"#,
    );
    let row = "1 1 5 64";
    refused_row(
        "mqsim",
        text.trim_end(),
        row,
        "found 4 fields, expected 5: no type",
    );
}

#[test]
fn fio_iologs() {
    // As fio 3.33 writes them, except for the trim.
    let third = "fio version 3 iolog\n25 x.dat add\n222 x.dat open\n227 x.dat read 61440 4096\n\
                 510 y.dat write 774144 4096\n600 x.dat trim 0 4096\n300660 x.dat close\n";
    let expected = [
        (Some(227_000), 0, Op::Read, 120, 8, None),
        (Some(510_000), 1, Op::Write, 1_512, 8, None),
    ];
    assert_eq!(shorts(third, "fio-iolog"), expected);
    let (_, notes) = read_skipping_errors(third.as_bytes(), None);
    let expected = ["1 row ignored (not a read or write): trim"];
    assert_eq!(notes, expected);
    let second = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 0 512\n\
                  /dev/sda wait 1500 0\n/dev/sda write 512 512\n/dev/sda close\n";
    let expected = [
        (Some(0), 0, Op::Read, 0, 1, None),
        (Some(1_500_000), 0, Op::Write, 1, 1, None),
    ];
    assert_eq!(shorts(second, "fio-iolog"), expected);
    let untimed = second.replace("/dev/sda wait 1500 0\n", "");
    let arrivals = |rows: Vec<Short>| rows.into_iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(arrivals(shorts(&untimed, "fio-iolog")), [None, None]);
    // The first wait comes after what one read from a pipe returns.
    let late = "fio version 2 iolog\n".to_owned()
        + &"/dev/sda read 0 512\n".repeat(10_000)
        + "/dev/sda wait 1500 0\n/dev/sda write 512 512\n";
    let (head, rest) = late.split_at(5_000);
    let pipe = Cursor::new(head.to_owned()).chain(Cursor::new(rest.to_owned()));
    let trace = diskarm_trace::read(pipe, "x", None).unwrap();
    let last = trace.map(Result::unwrap).last().unwrap();
    assert_eq!(last.arrival.map(|at| at.as_ns()), Some(1_500_000));
    let error = error_of(b"fio version 4 iolog\n", "fio-iolog");
    let expected = "x:1: header: found \"fio version 4 iolog\", expected fio version 2 iolog or \
                    fio version 3 iolog";
    assert_eq!(error, expected);
    for (row, expected) in [
        (
            "700 x.dat read 0",
            "found 4 fields, expected 5: no length_bytes",
        ),
        (
            "700 x.dat wait 5 0",
            r#"action: found "wait", expected an action of fio, such as read or write"#,
        ),
        (
            "x.dat read 0 512",
            r#"time_us: found "x.dat", expected microseconds as a decimal number"#,
        ),
    ] {
        refused_row("fio-iolog", third.trim_end(), row, expected);
    }
}

#[test]
fn fio_latency_logs() {
    // As fio 3.33 writes them with log_offset=1; the second completes less than its latency after
    // the start, since completions are whole milliseconds.
    let text = "20, 251843, 0, 4096, 880640, 0\n0, 15172, 1, 4096, 774144, 0\n";
    let expected = [
        (Some(0), 0, Op::Write, 1_512, 8, Some(15_172)),
        (Some(19_748_157), 0, Op::Read, 1_720, 8, Some(251_843)),
    ];
    assert_eq!(shorts(text, "fio-latency"), expected);
    let error = error_of(b"0, 278823, 0, 4096, 0\n", "fio-latency");
    let expected = "x:1: found 5 fields, expected 6, as fio writes them with log_offset=1";
    assert_eq!(error, expected);
    let error = error_of(b"0, 278823, 3, 4096, 0, 0\n", "fio-latency");
    assert_eq!(error, r#"x:1: direction: found "3", expected 0, 1 or 2"#);
}

/// Each format's example of a first line is detected as that format and no other.
#[test]
fn example_first_lines_are_detected() {
    let examples = [
        (
            "measured",
            "op,lbn,sectors,response_us,think_us\nR,5,8,1.0,2.0\n",
        ),
        ("disksim", "0.25 0 1200 8 1\n"),
        ("mqsim", "11413000 0 657728 16 1\n11565000 0 657728 16 1\n"),
        ("spc", SPC),
        ("msr", MSR),
        ("systor17", "1455592401.000194000,,R,3,8192,4096\n"),
        ("alibaba", "419,W,8792731648,16384,1577808144360767\n"),
        ("tencent", "1538323200,12910952,128,0,1063\n"),
        ("fio-iolog", "fio version 2 iolog\nx add\n"),
        ("fio-latency", "20, 251843, 0, 4096, 880640, 0\n"),
        (
            "blkparse",
            "8,0 3 11 0.009507758 697 D W 223490 + 56 [kjournald]\n",
        ),
    ];
    for (name, text) in examples {
        let taken: Vec<&str> = FORMATS
            .iter()
            .filter(|entry| (entry.sniff)(text.as_bytes()))
            .map(|entry| entry.info.name)
            .collect();
        assert_eq!(taken, [name]);
    }
}

/// The arrival and the response are valid, but the completion is not.
#[test]
fn overflowing_completions() {
    let text = b"1455592401.5,8000000000.0,R,3,8192,4096\n";
    let expected = "x:1: response: found \"8000000000 s\", expected a completion before 2^63 ns";
    assert_eq!(error_of(text, "systor17"), expected);
}

#[test]
fn a_trace_with_all_rows_skipped_lists_the_reasons() {
    let options = Options {
        format: Some("spc"),
        on_error: OnError::Skip,
        ..Options::default()
    };
    let mut trace = reader(b"0,1,512,r\n0,1,512,x,0.5\n", &options).unwrap();
    let error = trace.next().expect("an error").expect_err("no record");
    let message = error.to_string();
    assert!(
        message
            .starts_with("x: found no valid row, expected at least one (1 invalid row skipped: ")
    );
    assert!(message.contains("; 1 invalid row skipped: "), "{message}");
}
