//! Tests of `diskarm drives`, `drives show` and `drives new`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::errors::error;
use crate::{assert_within, json, keys, stdout};
use diskarm_drives::CATALOGUE;

#[test]
fn the_list_has_every_drive_with_its_published_capacity() {
    let list = stdout(&["drives"]);
    assert_within(&list, 80);
    let rows = json(&["drives", "--json"]);
    let names: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert!(
        names
            .iter()
            .copied()
            .eq(CATALOGUE.iter().map(|entry| entry.name))
    );
    assert!(names.iter().all(|name| list.contains(name)));
    // worthington94 table A.1: 2,054,864 sectors of 512 bytes, 13 surfaces, 2051 cylinders, 8
    // zones, 5400 rpm.
    let c2247 = &rows[names.iter().position(|name| *name == "hp-c2247").unwrap()];
    assert_eq!(c2247["capacity_bytes"], 2_054_864_u64 * 512);
    assert_eq!(c2247["rotation_rpm"], 5400.0);
    assert_eq!(c2247["surfaces"], 13);
    assert_eq!(c2247["cylinders"], 2051);
    assert_eq!(c2247["zones"], 8);
}

#[test]
fn every_drive_page_fits_a_terminal() {
    for entry in CATALOGUE {
        let page = stdout(&["drives", "show", entry.name]);
        assert_eq!(
            stdout(&["drives", "show", entry.name, "--toml"]),
            entry.text
        );
        assert_within(&page, 80);
        for heading in [
            "zones",
            "seek time",
            "buffer",
            "overheads",
            "bus",
            "queue",
            "source",
        ] {
            let found = page.lines().any(|line| line.starts_with(heading));
            assert!(found, "{} lacks {heading}", entry.name);
        }
    }
}

#[test]
fn choices_are_shown_as_in_the_specification() {
    for entry in CATALOGUE {
        let sheet = json(&["drives", "show", entry.name, "--json"]);
        for (section, key, default) in [
            ("geometry", "order", "cylinder-major"),
            ("geometry", "sparing", "none"),
            ("buffer", "read_ahead", "none"),
            ("buffer", "write_cache", "off"),
            ("bus", "write_leaves", "after-data"),
            ("queue", "preseek", "acknowledged"),
        ] {
            let word = sheet[section][key].as_str().unwrap();
            let word = word.split('(').next().unwrap();
            let written = entry.text.contains(&format!("{key} = \"{word}\""));
            assert!(written || word == default, "{}: {key} {word}", entry.name);
        }
    }
}

#[test]
fn the_seek_curve_is_the_published_one() {
    let sheet = json(&["drives", "show", "hp-97560", "--json"]);
    assert_eq!(
        keys(&sheet),
        [
            "name",
            "summary",
            "geometry",
            "mechanics",
            "buffer",
            "overheads",
            "bus",
            "queue",
            "zones",
            "seek",
            "source"
        ]
    );
    // jacobson91 section 3: 3.24 + 0.400 sqrt(9), and 8.20 + 0.0075 * 1963, in ms.
    let points = sheet["seek"].as_array().unwrap();
    assert_eq!(points[8]["distance_cylinders"], 9);
    assert_eq!(points[8]["read_ms"], 4.44);
    let last = points.last().unwrap();
    assert_eq!(last["distance_cylinders"], 1963);
    assert_eq!(last["read_ms"], 22.9225);
}

#[test]
fn the_page_has_units_and_no_columns_of_zeros() {
    let page = stdout(&["drives", "show", "hp-c2247"]);
    let has = |words: &[&str]| {
        let mut lines = page.lines().map(|line| line.split_whitespace());
        lines.any(|line| line.eq(words.iter().copied()))
    };
    // The specification's read_watermark and first zone; it has slips, and no defects.
    assert!(has(&["read", "watermark", "75", "%"]), "{page}");
    assert!(has(&[
        "0", "[0,", "559)", "96", "4.42", "0.0", "14.0", "32.0", "1632", "325", "12"
    ]));
    assert!(!page.contains("defects\n"), "{page}");
}

const SHEET: [&str; 10] = [
    "drives",
    "new",
    "--capacity",
    "4TB",
    "--rpm",
    "7200 rpm",
    "--seek",
    "8.5ms",
    "--outer",
    "180MB/s",
];

#[test]
fn a_data_sheet_makes_a_drive() {
    let path = std::env::temp_dir().join(format!("diskarm-{}-new.toml", std::process::id()));
    let path = path.to_str().unwrap();
    let specification =
        stdout(&[&SHEET[..], &["--name", "a \"4\" TB", "--cache", "64 MiB"]].concat());
    std::fs::write(path, specification).unwrap();
    let sheet = json(&["drives", "show", path, "--json"]);
    std::fs::remove_file(path).unwrap();
    assert_eq!(sheet["name"], "a \"4\" TB");
    assert_eq!(sheet["geometry"]["capacity_sectors"], 7_814_037_168_u64);
    // 64 MiB in 32 segments.
    assert_eq!(sheet["buffer"]["segment_sectors"], 4096);
}

#[test]
fn values_without_a_default_are_required() {
    for flag in (2..SHEET.len()).step_by(2) {
        let mut words = SHEET.to_vec();
        let missing = words.drain(flag..flag + 2).next().expect("a flag");
        let error = error(&words);
        let expected = format!("give {missing} from the data sheet, such as --capacity 8TB");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn data_sheets_that_contradict_themselves_are_refused() {
    let refused = |more: &[&str]| error(&[&SHEET[..], more].concat());
    for (more, expected) in [
        (
            ["--inner", "200MB/s"],
            "--inner: found \"200 MB/s\", expected at most the value of outer",
        ),
        (
            ["--track-to-track", "9ms"],
            "--track-to-track: found \"9 ms\", expected a time from 0.001 ms to the value of seek",
        ),
        (
            ["--cache", "64"],
            "--cache: found \"64\", expected a size from 1 B to a million TB",
        ),
        (
            ["--interface", "600MB"],
            "--interface: found \"600MB\", expected a rate from 1 kB/s",
        ),
    ] {
        let error = refused(&more);
        assert!(error.contains(expected), "{error}");
    }
}

/// Returns the output of `drives new` on a terminal, emulated by `script`, and true if it succeeds,
/// after typing these lines.
fn type_lines(lines: &str) -> (String, bool) {
    let command = format!("{} drives new", env!("CARGO_BIN_EXE_diskarm"));
    let mut script = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("util-linux has it");
    let mut keys = script.stdin.take().unwrap();
    keys.write_all(lines.as_bytes()).unwrap();
    drop(keys);
    let output = script.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text.replace('\r', ""), output.status.success())
}

#[test]
fn a_user_at_a_terminal_is_asked_for_each_value() {
    let options = [
        "drives",
        "new",
        "--capacity=8TB",
        "--rpm=7200",
        "--seek=8.5ms",
        "--outer=250MB/s",
        "--inner=110MB/s",
    ];
    // A capacity is required, and must have a unit.
    let (text, is_done) =
        type_lines("\n8000\n8TB\n7200\n8.5ms\n250MB/s\n110MB/s\n\n\n\n\n\n\n\n\n\n");
    assert!(is_done, "{text}");
    assert!(text.ends_with(&stdout(&options)), "{text}");
    assert_eq!(text.matches("Capacity, such as").count(), 3, "{text}");
    assert!(
        text.contains("--capacity: found \"8000\", expected"),
        "{text}"
    );
    for default in [
        "[default: 64MiB]",
        "[default: twice --seek]",
        "[default: new-drive]",
    ] {
        assert!(text.contains(default), "{default} in {text}");
    }
    // The input may end when only values with defaults are left.
    let (text, is_done) = type_lines("8TB\n7200\n8.5ms\n250MB/s\n110MB/s\n\n\n\n\n\n\n\n\n");
    assert!(is_done && text.ends_with(&stdout(&options)), "{text}");
    let (text, is_done) = type_lines("8TB\n");
    assert!(
        !is_done && text.contains("the input ended before --rpm"),
        "{text}"
    );
}

/// 2,054,864 sectors of 512 bytes are 1,052,090,368 bytes.
#[test]
fn names_ignore_case_and_capacities_are_shown_in_bytes() {
    let page = stdout(&["drives", "show", "HP-C2247"]);
    assert!(page.starts_with("hp-c2247\n"), "{page}");
    let line = page.lines().find(|line| line.starts_with("  capacity "));
    let line = line.expect("a capacity");
    assert!(line.ends_with(" 2054864 sectors, 1.052 GB"), "{line}");
    // 7,814,037,168 of them are 4,000,787,030,016 bytes.
    let page = stdout(&["drives", "show", "sata-4tb-7200"]);
    assert!(page.contains(" 7814037168 sectors, 4.001 TB\n"), "{page}");
}
