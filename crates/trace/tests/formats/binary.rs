//! HP SRT and VMware vscsi, written field by field.

use diskarm_core::request::Op;
use diskarm_trace::Urgency;

use crate::{Short, error_of, read_skipping_errors, records, short};

/// Returns an SRT record with these 14 words.
fn srt(words: [u32; 14]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

const HEADER: &[u8] = b"$$TR_IOREC-1.3 (test)\ndisks = { 0 -> { sectorsize  = 256, } };\n\x0c";

/// A read of 8 KB at sector 64 of unit 1, queued at 1.5 s and served from 10 to 35 us later.
const READ: [u32; 14] = [
    56,
    4 << 16 | 1,
    1,
    500_000,
    10,
    35,
    8_192,
    64,
    0x0800_0108,
    4,
    0,
    1,
    0,
    2,
];

fn with(index: usize, value: u32) -> Vec<u8> {
    let mut words = READ;
    words[index] = value;
    srt(words)
}

#[test]
fn srt_records() {
    let trace = [
        HEADER,
        &srt(READ),
        // A record of another type; then an asynchronous request at an odd sector of 256 bytes.
        &with(1, 4 << 16 | 2),
        &with(11, 1 << 8),
        &with(7, 65),
    ]
    .concat();
    let read = records(&trace, "srt");
    let expected: [Short; 3] = [
        (Some(1_500_000_000), 1, Op::Read, 32, 16, Some(35_000)),
        (Some(1_500_000_000), 1, Op::Write, 32, 16, Some(35_000)),
        (Some(1_500_000_000), 1, Op::Read, 32, 17, Some(35_000)),
    ];
    assert_eq!(read.iter().map(short).collect::<Vec<_>>(), expected);
    let urgencies: Vec<_> = read.iter().map(|record| record.urgency.unwrap()).collect();
    let waiting = Urgency::Synchronous;
    assert_eq!(urgencies, [waiting, Urgency::Asynchronous, waiting]);
    assert_eq!(read[0].service.unwrap().as_ns(), 25_000);
    assert_eq!(read[0].queue, Some(1));
    let (_, notes) = read_skipping_errors(&trace, None);
    let expected = [
        "1 row ignored (not a read or write): records of type 2",
        "1 request widened to whole 512-byte blocks",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn invalid_srt_records() {
    let at = HEADER.len() + 56;
    let trace = |bad: &[u8]| [HEADER, &srt(READ), bad, &srt(READ)].concat();
    for (bad, expected) in [
        (
            with(3, 1_000_000),
            "microseconds: found \"1000000\", expected less than 1000000",
        ),
        (
            with(5, 9),
            "stop: found \"9\", expected at least 10 us, the start of service",
        ),
        (
            with(6, 0),
            "size: found \"0\", expected a length in bytes of 1 to 65536 blocks",
        ),
    ] {
        let trace = trace(&bad);
        assert_eq!(error_of(&trace, "srt"), format!("x: byte {at}: {expected}"));
        assert_eq!(read_skipping_errors(&trace, None).0.len(), 2);
    }
    let expected =
        format!("x: byte {at}: record size: found 57, expected a multiple of 4 from 52 to 256");
    assert_eq!(error_of(&trace(&with(0, 57)), "srt"), expected);
    let cut = [HEADER, &srt(READ), &srt(READ)[..30]].concat();
    let expected = format!("x: byte {at}: found 30 bytes, expected a record of 56");
    assert_eq!(error_of(&cut, "srt"), expected);
    assert_eq!(read_skipping_errors(&cut, None).0.len(), 1);
    let cut = [HEADER, &srt(READ), &srt(READ)[..3]].concat();
    let expected = format!("x: byte {at}: found 3 bytes, expected a record of 4");
    assert_eq!(error_of(&cut, "srt"), expected);
}

#[test]
fn invalid_srt_headers() {
    let expected = "x: header: found no form feed, expected one after the header";
    assert_eq!(
        error_of(b"$$TR_IOREC-1.3\nsectorsize = 256", "srt"),
        expected
    );
    let expected = "expected sectorsize = N with the same N for all disks";
    for (header, found) in [
        ("", "no sectorsize"),
        ("sectorsize = x", "sectorsize \"\""),
        ("sectorsize = 0", "sectorsize \"0\""),
        (
            "sectorsize = 256, sectorsize = 512",
            "sectors of 256 and of 512 bytes",
        ),
    ] {
        let bytes = format!("$$TR_IOREC-1.3\n{header}\x0c");
        let error = error_of(bytes.as_bytes(), "srt");
        assert_eq!(error, format!("x: header: found {found}, {expected}"));
    }
}

/// Returns a record of version 1.
fn version_1(bytes: u32, command: u16, lbn: u64, time_us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    for word in [7, bytes, 1] {
        record.extend(word.to_le_bytes());
    }
    record.extend(command.to_le_bytes());
    record.extend(0x0100u16.to_le_bytes());
    record.extend(lbn.to_le_bytes());
    record.extend(time_us.to_le_bytes());
    record
}

/// Returns a record of version 2.
fn version_2(bytes: u32, command: u16, lbn: u64, time_us: u64, response_us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(command.to_le_bytes());
    record.extend(0x0200u16.to_le_bytes());
    for word in [7, bytes, 1] {
        record.extend(word.to_le_bytes());
    }
    for long in [lbn, time_us, response_us] {
        record.extend(long.to_le_bytes());
    }
    record
}

#[test]
fn vscsi_records() {
    let trace = [
        version_1(4_096, 0x28, 42, 5_000_000),
        version_1(0, 0x35, 0, 5_000_001),
        version_1(513, 0x8a, 1 << 40, 5_000_002),
    ]
    .concat();
    let expected: [Short; 2] = [
        (Some(0), 0, Op::Read, 42, 8, None),
        (Some(2_000), 0, Op::Write, 1 << 40, 2, None),
    ];
    let read: Vec<Short> = records(&trace, "vscsi").iter().map(short).collect();
    assert_eq!(read, expected);
    let (_, notes) = read_skipping_errors(&trace, None);
    let expected = [
        "1 row ignored (not a read or write): SCSI command 0x35",
        "1 request widened to whole 512-byte blocks",
    ];
    assert_eq!(notes, expected);
    let trace = [
        version_2(4_096, 0x2a, 42, 5_000_000, 130),
        version_2(512, 0x88, 9, 5_000_070, 0),
    ]
    .concat();
    let expected: [Short; 2] = [
        (Some(0), 0, Op::Write, 42, 8, Some(130_000)),
        (Some(70_000), 0, Op::Read, 9, 1, Some(0)),
    ];
    let read: Vec<Short> = records(&trace, "vscsi").iter().map(short).collect();
    assert_eq!(read, expected);
}

#[test]
fn invalid_vscsi_records() {
    let good = version_1(4_096, 0x28, 42, 5_000_000);
    for (bad, expected) in [
        (
            version_1(0, 0x28, 42, 5),
            "length: found \"0\", expected a length in bytes of 1 to 65536 blocks",
        ),
        (
            version_1(512, 0x28, u64::MAX, 5),
            "lbn: found \"18446744073709551615\", expected a request that ends below block 2^64",
        ),
        (
            version_1(512, 0x28, 5, u64::MAX),
            "timestamp: found \"18446744073709551615\", expected microseconds below 2^63 ns",
        ),
    ] {
        let error = error_of(&[good.clone(), bad].concat(), "vscsi");
        assert_eq!(error, format!("x: byte 32: {expected}"));
    }
    let error = error_of(&[&good[..], &[0; 32]].concat(), "vscsi");
    assert_eq!(error, "x: byte 32: version: found 0x0000, expected 0x0100");
    let cut = [&good[..], &good[..31]].concat();
    let expected = "x: byte 32: found 31 bytes, expected a record of 32";
    assert_eq!(error_of(&cut, "vscsi"), expected);
}
