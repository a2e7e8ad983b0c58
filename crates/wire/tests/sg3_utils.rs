//! Emitted data, decoded by programs from sg3_utils. If they are not installed, the tests print
//! that and pass. (Mode pages are left out: `sg_modes` of Debian 12 reads devices only.)

use std::fmt::Write;
use std::process::Command as Program;

use diskarm_wire::operation::OPERATIONS;
use diskarm_wire::report::{BlockLimits, Characteristics, Designator, VitalPage, page_code};
use diskarm_wire::report::{Inquiry, padded};
use diskarm_wire::sense::{Code, Format, Key};
use diskarm_wire::{Invalid, Sense};

fn hex(data: &[u8]) -> String {
    data.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x} ");
        text
    })
}

/// Returns the output of a program; `None` if it is not installed.
fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let Ok(output) = Program::new(program).args(arguments).output() else {
        eprintln!("skipped: {program} is not installed (sg3-utils)");
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8(text).expect("the output is UTF-8"))
}

/// Returns the output of a program that reads the data in hexadecimal from a file.
fn read_by(program: &str, data: &[u8], page: Option<&str>) -> Option<String> {
    let name = format!(
        "wire-{}-{program}-{}.hex",
        std::process::id(),
        page.unwrap_or("none")
    );
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, hex(data)).expect("the temporary directory is writable");
    let input = format!("--inhex={}", file.display());
    let arguments: Vec<&str> = [&*input].into_iter().chain(page).collect();
    let text = output_of(program, &arguments);
    std::fs::remove_file(&file).expect("the file was written above");
    text
}

fn assert_lines(text: Option<String>, expected: &[&str]) {
    let Some(text) = text else { return };
    for expected in expected {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
}

#[test]
fn inquiry_data_are_decoded() {
    let inquiry = Inquiry {
        version: 6,
        response_format: 2,
        additional_length: 31,
        command_queueing: true,
        vendor: padded("HP"),
        product: padded("C2247"),
        revision: padded("1.0"),
        ..Inquiry::parse(&[0; 36]).unwrap()
    };
    let expected = [
        "version=0x06  [SPC-4]",
        "CmdQue=1",
        "Vendor identification: HP",
        "Product identification: C2247",
        "Product revision level: 1.0",
    ];
    assert_lines(read_by("sg_inq", &inquiry.emit(), None), &expected);
}

fn vital(code: u8, content: &[u8]) -> Vec<u8> {
    let page = VitalPage {
        qualifier: 0,
        device_type: 0,
        code,
        content,
    };
    page.emit()
}

#[test]
fn vital_product_data_are_decoded() {
    let codes = [0x00, 0x80, 0x83, 0xb0, 0xb1];
    let list = read_by(
        "sg_vpd",
        &vital(page_code::SUPPORTED_PAGES, &codes),
        Some("--page=sv"),
    );
    assert_lines(
        list,
        &[
            "Unit serial number",
            "Block limits",
            "Block device characteristics",
        ],
    );
    let serial = vital(page_code::SERIAL_NUMBER, b"DK000042");
    let serial = read_by("sg_vpd", &serial, Some("--page=sn"));
    assert_lines(serial, &["Unit serial number: DK000042"]);
    let vendor = Designator {
        code_set: 2,
        association: 0,
        kind: 1,
        name: b"DISKARM DK000042",
    };
    let naa = Designator {
        code_set: 1,
        association: 0,
        kind: 3,
        name: &[0x30, 0, 0, 0, 0, 0, 0, 42],
    };
    let names = [vendor.emit(), naa.emit()].concat();
    let identification = vital(page_code::IDENTIFICATION, &names);
    let identification = read_by("sg_vpd", &identification, Some("--page=di"));
    assert_lines(
        identification,
        &["vendor id: DISKARM", "0x300000000000002a"],
    );
    let limits = BlockLimits {
        compare_and_write: 7,
        transfer: 65_536,
        prefetch: 128,
        ..BlockLimits::parse(&[0; 60]).unwrap()
    };
    let limits = read_by(
        "sg_vpd",
        &vital(page_code::BLOCK_LIMITS, &limits.emit()),
        Some("--page=bl"),
    );
    let expected = [
        "Maximum compare and write length: 7 blocks",
        "Maximum transfer length: 65536 blocks",
        "Maximum prefetch transfer length: 128 blocks",
    ];
    assert_lines(limits, &expected);
    let characteristics = Characteristics {
        rotation_rate: 5400,
        form_factor: 2,
    };
    let characteristics = vital(page_code::CHARACTERISTICS, &characteristics.emit());
    let characteristics = read_by("sg_vpd", &characteristics, Some("--page=bdc"));
    assert_lines(
        characteristics,
        &["Nominal rotation rate: 5400 rpm", "3.5 inch"],
    );
}

fn decode(data: &[u8]) -> Option<String> {
    let digits = hex(data);
    let digits: Vec<&str> = digits.split_whitespace().collect();
    output_of("sg_decode_sense", &digits)
}

#[test]
fn sense_data_are_decoded_in_both_formats() {
    let wrong_field = Sense::of_command(Invalid::Field {
        byte: 3,
        bit: Some(5),
    });
    let bad_block = Sense {
        information: Some(0x1234),
        ..Sense::new(Key::MediumError, Code::UNRECOVERED_READ_ERROR)
    };
    for format in [Format::Fixed, Format::Descriptor] {
        let data = wrong_field.emit(format);
        let expected = ["Illegal Request", "Invalid field in cdb", "byte 3 bit 5"];
        assert_lines(decode(&data), &expected);
        let data = bad_block.emit(format);
        let expected = ["Medium Error", "Unrecovered read error", "1234"];
        assert_lines(decode(&data), &expected);
    }
}

/// The names of additional sense codes match the standard.
#[test]
fn additional_sense_codes_have_standard_names() {
    for code in (0..=0xff).flat_map(|code| (0..=9).map(move |qualifier| Code(code, qualifier))) {
        let Some(name) = code.name() else { continue };
        let data = Sense::new(Key::NotReady, code).emit(Format::Fixed);
        let Some(text) = decode(&data) else {
            return;
        };
        let (text, name) = (text.to_lowercase(), name.to_lowercase());
        assert!(text.contains(&name), "{code:?} is not {name:?} in:\n{text}");
    }
}

/// The names of operations match those in sg3_utils.
#[test]
fn operations_have_standard_names() {
    for operation in OPERATIONS {
        let mut block = vec![0; operation.usage.len()];
        block[0] = operation.code;
        block[1] = operation.service_action.unwrap_or(0);
        let digits = hex(&block);
        let digits = ["--cdb"].into_iter().chain(digits.split_whitespace());
        let Some(text) = output_of("sg_decode_sense", &digits.collect::<Vec<_>>()) else {
            return;
        };
        let squeezed = |text: &str| {
            let letters = text.chars().filter(char::is_ascii_alphanumeric);
            letters.collect::<String>().to_lowercase()
        };
        let (found, name) = (squeezed(&text), squeezed(operation.name));
        // Names of commands with service actions begin with their group.
        assert!(found.contains(&name), "{}: {text}", operation.name);
    }
}
