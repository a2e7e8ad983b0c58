//! Data from the unit, decoded by sg3_utils and sdparm. If they are not installed, the tests print
//! that and pass. (`sg_modes`, `sg_opcodes` and `sg_luns` of Debian 12 read devices only.)

use std::fmt::Write;
use std::process::Command as Program;

use diskarm_core::request::Op;
use diskarm_wire::Command;
use diskarm_wire::command::{LogValues, Values};

use crate::bench::{Bench, catalogue_spec, transfer};

/// Returns the output of a program that reads `data` in hexadecimal from a file.
fn read_by(program: &str, option: &str, data: &[u8], more: &[&str]) -> Option<String> {
    let name = more.concat().replace(['-', '='], "");
    let name = format!("unit-{}-{program}-{name}.hex", std::process::id());
    let file = std::env::temp_dir().join(name);
    let digits = data.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x} ");
        text
    });
    std::fs::write(&file, digits).expect("the temporary directory is writable");
    let input = format!("{option}={}", file.display());
    let output = Program::new(program).arg(&input).args(more).output();
    std::fs::remove_file(&file).expect("the file was written above");
    let Ok(output) = output else {
        eprintln!("skipped: {program} is not installed (sg3-utils, sdparm)");
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8(text).expect("the output is UTF-8"))
}

fn assert_lines(text: Option<String>, expected: &[&str]) {
    let Some(text) = text else { return };
    for expected in expected {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
}

fn inquiry(bench: &mut Bench, page: Option<u8>) -> Vec<u8> {
    bench.data(&Command::Inquiry { page, length: 252 }, &[])
}

#[test]
fn sg3_utils_decode_inquiry_and_vital_product_data() {
    let mut bench = Bench::new(&catalogue_spec("hp-c2247"));
    let standard = inquiry(&mut bench, None);
    let expected = [
        "version=0x06  [SPC-4]",
        "CmdQue=1",
        "Vendor identification: DISKARM",
        "Product identification: HP-C2247",
    ];
    assert_lines(read_by("sg_inq", "--inhex", &standard, &[]), &expected);
    let pages: [(u8, &str, &[&str]); 5] = [
        (0x00, "--page=sv", &["Block limits", "Unit serial number"]),
        (0x80, "--page=sn", &["Unit serial number: 00000001"]),
        (0x83, "--page=di", &["vendor id: DISKARM", "HP-C2247"]),
        (
            0xb0,
            "--page=bl",
            &["Maximum transfer length: 65536 blocks"],
        ),
        (0xb1, "--page=bdc", &["Nominal rotation rate: 5400 rpm"]),
    ];
    for (code, option, expected) in pages {
        let page = inquiry(&mut bench, Some(code));
        assert_lines(read_by("sg_vpd", "--inhex", &page, &[option]), expected);
    }
}

#[test]
fn sg3_utils_decode_sense_data() {
    let spec = catalogue_spec("hp-c2247");
    let mut bench = Bench::new(&spec);
    let mut decoded = |block: &[u8], expected: &[&str]| {
        let sense = bench.run_block(block, &[]).sense;
        assert_lines(read_by("sg_decode_sense", "--file", &sense, &[]), expected);
    };
    decoded(
        &[0xc0; 10],
        &["Illegal Request", "Invalid command operation code"],
    );
    let reserved = [0x28, 0, 0, 0, 0, 0, 0x20, 0, 1, 0];
    decoded(&reserved, &["Invalid field in cdb", "byte 6 bit 5"]);
    let mut block = [0; 16];
    let beyond = transfer(Op::Read, spec.geometry.sectors.0, 1);
    let length = beyond.emit(&mut block);
    decoded(
        &block[..length],
        &["Logical block address out of range", "byte 2"],
    );
}

#[test]
fn sg3_utils_decode_log_pages() {
    let mut bench = Bench::new(&catalogue_spec("hp-c2247"));
    bench.data(&transfer(Op::Read, 1000, 8), &[]);
    let mut page = |page| {
        let command = Command::LogSense {
            save: false,
            values: LogValues::Cumulative,
            page,
            subpage: 0,
            pointer: 0,
            length: 1000,
        };
        let data = bench.data(&command, &[]);
        read_by("sg_logs", "--in", &data, &[])
    };
    assert_lines(
        page(0x00),
        &["Supported log pages", "Read error", "Write error"],
    );
    let expected = [
        "Read error counter page",
        "Total bytes processed = 4096",
        "Total uncorrected errors = 0",
    ];
    assert_lines(page(0x03), &expected);
    assert_lines(
        page(0x2f),
        &["Informational Exceptions page", "IE asc = 0x0"],
    );
}

/// Fields of a page with their values, as sdparm names them.
type Fields = &'static [(&'static str, i64)];

/// The values in the pages of MODE SENSE(10) match the specification of the drive.
#[test]
fn sdparm_decodes_mode_pages() {
    let mut bench = Bench::new(&catalogue_spec("hp-c2247"));
    let pages: [(u8, &str, Fields); 9] = [
        (0x01, "rw", &[("AWRE", 0), ("RRC", 0)]),
        // 75 % of a request: 192 of 256.
        (0x02, "dr", &[("BFR", 192), ("BER", 192)]),
        (
            0x03,
            "fo",
            // 559 cylinders of 13 tracks; its spare tracks and skews.
            &[
                ("TPZ", 559 * 13),
                ("ATPZ", 325),
                ("SPT", 96),
                ("DBPPS", 512),
                ("TSF", 14),
                ("CSF", 32),
            ],
        ),
        (0x04, "rd", &[("NOC", 2051), ("NOH", 13), ("MRR", 5400)]),
        (
            0x05,
            "fd",
            &[("NUM_HD", 13), ("BYTE_SECT", 512), ("NUM_CYL", 2051)],
        ),
        (
            0x08,
            "ca",
            &[
                ("WCE", 0),
                ("RCD", 0),
                ("MAPF", 128),
                ("NCS", 2),
                ("CSS", 256),
            ],
        ),
        (0x0a, "co", &[("D_SENSE", 0), ("QAM", 1)]),
        (0x0c, "not", &[("ND", 1), ("MNN", 8), ("ANOT", 0)]),
        (0x1c, "ie", &[("DEXCPT", 1)]),
    ];
    for (code, name, fields) in pages {
        let data = bench.mode_sense(code, Values::Current);
        let option = format!("--page={name}");
        let Some(text) = read_by("sdparm", "--inhex", &data, &[&option]) else {
            return;
        };
        let found = |field: &str| {
            let mut lines = text.lines().map(str::split_whitespace);
            let mut line = lines.find(|line| line.clone().next() == Some(field))?;
            line.nth(1)?.parse::<i64>().ok()
        };
        for (field, value) in fields {
            assert_eq!(found(field), Some(*value), "{field} in:\n{text}");
        }
    }
}
