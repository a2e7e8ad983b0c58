//! Tests of `diskarm trace`.

use std::process::Stdio;

use crate::{assert_narrow, diskarm, file_of, json, keys, stdout};

/// Two devices; the third request continues the first, after 0.5 s without requests.
const SPC: &str = "0,64,4096,R,0.0\n1,0,8192,w,0.25\n0,72,4096,r,0.75\n";

#[test]
fn info_summarises_a_trace() {
    let path = file_of("info.spc", SPC);
    let found = json(&["trace", "info", "--json", &path]);
    assert_eq!(found["format"], "spc");
    assert_eq!(found["requests"], 3);
    assert_eq!(found["length_s"], 0.75);
    assert_eq!(found["read_share"], 2.0 / 3.0);
    assert_eq!(found["sequential_share"], 1.0 / 3.0);
    assert_eq!(found["size_bytes_mean"], 16_384.0 / 3.0);
    assert_eq!(found["sizes"][0]["bytes"], 4_096);
    assert_eq!(found["interarrival_ms_mean"], 375.0);
    // Gaps of 250 and 500 ms: their deviation is 250 / sqrt 2.
    let cv = found["interarrival_cv"].as_f64().unwrap();
    assert!((cv - 250.0 / 2f64.sqrt() / 375.0).abs() < 1e-9);
    assert_eq!(found["response_ms_mean"], serde_json::Value::Null);
    assert_eq!(found["devices"][0]["end_lbn"], 80);
    assert_eq!(keys(&found)[..2], ["file", "format"]);
    let text = stdout(&["trace", "info", &path]);
    assert_narrow(&text);
    for part in [
        "requests     3\n",
        "reads        66.67 %\n",
        "length       750.000 ms\n",
        "sizes        4 KiB (66.67 %), 8 KiB (33.33 %)\n",
        "first blocks on device 0",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    std::fs::remove_file(path).unwrap();
}

/// Six sizes and queues of up to 200 each take more than a line.
#[test]
fn info_fits_a_terminal() {
    let row = |n: u64| {
        let (arrival, sectors) = (128_166_372_000_000_000 + n * 10, 1 + n % 7);
        format!("{arrival},h,0,Read,{},{},2000\n", n * 512, sectors * 512)
    };
    let path = file_of("wide.csv", &(0..1_000).map(row).collect::<String>());
    let text = stdout(&["trace", "info", &path]);
    std::fs::remove_file(path).unwrap();
    crate::assert_within(&text, 80);
    assert!(text.contains("128 to 255: "), "{text}");
}

/// Queue lengths are derived from arrivals and responses.
#[test]
fn info_shows_queues_and_notes() {
    let rows = "128166372000000000,h,0,Read,0,512,20\n128166372000000010,h,0,Read,1,512,20\n\
                128166372000000040,h,0,Read,0,512,20\nx\n";
    let path = file_of("queues.csv", rows);
    let found = json(&["trace", "info", "--json", "--on-error", "skip", &path]);
    assert_eq!(found["queue_requests"], serde_json::json!([2, 1]));
    assert_eq!(found["response_ms_mean"], 0.002);
    assert_eq!(found["devices"][0]["name"], "h,0");
    let text = stdout(&["trace", "info", "--on-error", "skip", &path]);
    assert!(
        text.contains("queue found  0: 66.67 %, 1: 33.33 %\n"),
        "{text}"
    );
    assert!(text.contains("note: 1 request widened to whole 512-byte blocks\n"));
    assert!(text.contains("note: 1 invalid row skipped: wrong number of fields; the first: "));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn head_prints_the_first_records() {
    let path = file_of("head.spc", SPC);
    let text = stdout(&["trace", "head", "-n", "2", &path]);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[2], ["2", "250.000000", "1", "W", "0", "16"]);
    let found = json(&["trace", "head", "--json", &path]);
    assert_eq!(found[2]["arrival_ms"], 750.0);
    std::fs::remove_file(path).unwrap();
}

/// Standard output has only the records.
#[test]
fn skipped_rows_are_reported_on_standard_error() {
    let path = file_of("head-skip.spc", &SPC.replace("1,0,", "1,x,"));
    let skipped = format!("note: 1 invalid row skipped: invalid lba; the first: {path}:2: lba: ");
    let head = &["trace", "head", "--on-error", "skip", &path][..];
    let convert = ["trace", "convert", "--on-error", "skip", "--to", "spc"];
    for args in [head, &[&convert[..], &[&path, "-"]].concat()] {
        let output = diskarm(args);
        assert!(output.status.success(), "{args:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.starts_with(&skipped), "{message}");
    }
    std::fs::remove_file(path).unwrap();
}

/// All columns and sizes of any kind fit on a terminal of 80 columns.
#[test]
fn pages_fit_a_terminal() {
    let row = |second: u64, rest: &str| format!("128166{:012},host,{rest}\n", second * 10_000_000);
    let mut rows = String::new();
    for second in 0..4 {
        rows += &row(second, "0,Read,0,512,99999999999");
    }
    for size in 1..9 {
        let bytes = size * 512_000;
        rows += &row(60_000 + size, &format!("1,Write,1048576000,{bytes},20"));
    }
    let path = file_of("wide.csv", &rows);
    let text = stdout(&["trace", "info", &path]);
    crate::assert_within(&text, 80);
    assert!(
        text.contains(" others (") && text.contains(" h\n"),
        "{text}"
    );
    let format = "format       msr (MSR Cambridge CSV: file time, host, disk, type, offset, size,\n\
                  \x20            response)\n";
    assert!(text.contains(format), "{text}");
    crate::assert_within(&stdout(&["trace", "head", "-n", "12", &path]), 80);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn convert_neither_replaces_its_input_nor_writes_an_empty_trace() {
    let path = file_of("itself.spc", SPC);
    let message = |flags: &[&str]| {
        let output = diskarm(&[&["trace", "convert", &path, "--to", "spc"], flags].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let itself = message(&[&path]);
    let expected =
        format!("expected a different file from FILE {path:?}, which is read and would be lost\n");
    assert!(itself.ends_with(&expected), "{itself}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SPC);
    let out = format!("{path}.out");
    let empty = message(&[&out, "--device", "7"]);
    let expected = "expected a trace with requests that match --device, --from and --until\n";
    assert!(empty.ends_with(expected), "{empty}");
    assert!(!std::path::Path::new(&out).exists());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn convert_writes_the_same_requests() {
    let path = file_of("convert.spc", SPC);
    let out = format!("{path}.trace");
    let text = stdout(&["trace", "convert", &path, &out, "--to", "disksim"]);
    assert_eq!(text, format!("{out}: 3 requests as disksim\n"));
    let expected = "0 0 64 8 1\n250 1 0 16 0\n750 0 72 8 1\n";
    assert_eq!(std::fs::read_to_string(&out).unwrap(), expected);
    let back = stdout(&[
        "trace", "convert", "--format", "disksim", &out, "-", "--to", "spc",
    ]);
    assert_eq!(back, "0,64,4096,R,0\n1,0,8192,W,0.25\n0,72,4096,R,0.75\n");
    std::fs::remove_file(out).unwrap();
    std::fs::remove_file(path).unwrap();
}

/// If the output cannot be written, the existing file is unchanged.
#[test]
fn convert_writes_all_or_nothing() {
    let path = file_of("whole.spc", SPC);
    let out = file_of("kept.csv", "kept");
    let output = diskarm(&["trace", "convert", &path, &out, "--to", "msr"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    let expected =
        format!("error: {out}: cannot write the request at line 1 as msr: it has no response\n");
    assert_eq!(message, expected);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "kept");
    std::fs::remove_file(out).unwrap();
    std::fs::remove_file(path).unwrap();
}

#[test]
fn standard_input_can_be_a_trace() {
    use std::io::Write;
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_diskarm"))
        .args(["trace", "info", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(SPC.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["requests"], 3);
}

/// A window of one device's requests, at half the rate, on a disk with half the blocks.
#[test]
fn convert_adapts_on_request() {
    let path = file_of("adapt.spc", SPC);
    let both = |flags: &[&str]| {
        let args = [&["trace", "convert", &path, "-", "--to", "disksim"], flags].concat();
        let output = diskarm(&args);
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let convert = |flags: &[&str]| both(flags)[0].clone();
    let window = ["--device", "0,7", "--from", "500 ms", "--faster", "0.5"];
    let [rows, notes] = both(&window);
    assert_eq!(rows, "500 0 72 8 1\n");
    assert_eq!(
        notes,
        "note: 1 request of other devices removed\n\
         note: 1 request before 0.5 s removed; times now start there\n\
         note: times between requests divided by 0.5\n"
    );
    let scale = ["--target-size", "40 sectors", "--fit", "scale"];
    assert_eq!(convert(&scale), "0 0 32 8 1\n250 1 0 16 0\n750 0 32 8 1\n");
    let spread = [
        "--target-size",
        "40 sectors",
        "--fit",
        "spread",
        "--disks",
        "2",
        "--until",
        "1 s",
    ];
    assert_eq!(convert(&spread), "0 1 24 8 1\n250 2 0 16 0\n750 1 32 8 1\n");
    let out = format!("{path}.out");
    let fold = [
        "--target-size",
        "60 sectors",
        "--fit",
        "fold",
        "--renumber",
        "--json",
    ];
    let message = json(&[&["trace", "convert", &path, &out, "--to", "spc"], &fold[..]].concat());
    let expected = serde_json::json!([
        "devices 0, 1 renumbered as disks from 0",
        "folded into 60 blocks; 2 requests moved",
    ]);
    assert_eq!(message["notes"], expected);
    let output = diskarm(&[
        "trace",
        "convert",
        &path,
        "-",
        "--to",
        "spc",
        "--target-size",
        "70 sectors",
    ]);
    let message = String::from_utf8(output.stderr).unwrap();
    let expected = "lbn: found \"8 sectors from 64\", expected a request within 70 blocks, or \
                    --fit set to scale, fold or spread";
    assert_eq!(message, format!("error: {path}:1: {expected}\n"));
    std::fs::remove_file(out).unwrap();
    std::fs::remove_file(path).unwrap();
}

/// A link, such as /dev/stdout, is followed, not replaced.
#[cfg(unix)]
#[test]
fn outputs_that_are_not_files_are_not_replaced() {
    let input = file_of("linked-in", "0.25 0 1200 8 1\n1.5 0 90 16 0\n");
    let target = file_of(
        "linked-to",
        "longer than what is written, so that a rest would show",
    );
    let link = format!("{target}-link");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    stdout(&["trace", "convert", "--to", "disksim", &input, &link]);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let text = std::fs::read_to_string(&target).unwrap();
    for path in [&input, &target, &link] {
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(text.lines().count(), 2, "{text}");
}

/// Two arrivals, 100 ns apart; and one.
#[test]
fn a_short_trace_has_times_in_small_units() {
    let short = file_of("short.spc", "0,0,4096,r,0.5\n0,8,4096,r,0.5000001\n");
    let text = stdout(&["trace", "info", &short]);
    assert!(text.contains("\nlength       100.000 ns\n"), "{text}");
    assert!(
        text.contains("\narrivals in 102.000 ns from 500.000 ms on, "),
        "{text}"
    );
    assert!(text.contains(" ns a column, up to"), "{text}");
    assert!(!text.contains("0.000000 s a column"), "{text}");
    let one = file_of("one.spc", "0,0,4096,r,0.5\n");
    let text = stdout(&["trace", "info", &one]);
    assert!(
        text.contains("\nall requests arrived at 500.000 ms\n"),
        "{text}"
    );
    assert!(!text.contains("requests/s"), "{text}");
    for file in [short, one] {
        std::fs::remove_file(file).unwrap();
    }
}
