//! iSCSI messages: bytes laid out by hand from RFC 7143, and random values that round-trip.

use diskarm_wire::iscsi::segment::{self, CutOff, Segment};
use diskarm_wire::iscsi::text::{self, BadText, Full, Hexadecimal, Writer};
use diskarm_wire::iscsi::{
    AsyncMessage, Command, DataIn, DataOut, Digest, Invalid, Lengths, LoginRequest, LoginResponse,
    LogoutRequest, LogoutResponse, Lun, Message, NopIn, NopOut, ReadyToTransfer, Reject, Response,
    Serial, Snack, Tag, TaskRequest, TaskResponse, TextRequest, TextResponse, attribute, function,
    login_status, padded, stage,
};
use proptest::prelude::*;

/// Codes of all messages, with the bits of bytes 0 and 1 that are always set.
const CODES: [(u8, u8); 18] = [
    (0x00, 0x80),
    (0x01, 0),
    (0x02, 0x80),
    (0x43, 0),
    (0x04, 0),
    (0x05, 0),
    (0x06, 0x80),
    (0x10, 0x80),
    (0x20, 0x80),
    (0x21, 0x80),
    (0x22, 0x80),
    (0x23, 0),
    (0x24, 0),
    (0x25, 0),
    (0x26, 0x80),
    (0x31, 0x80),
    (0x32, 0x80),
    (0x3f, 0x80),
];

const LUN: Lun = Lun(0x0102_0304_0506_0708);

/// Returns the bytes of a message: the given parts at their offsets, and zeroes elsewhere.
fn bytes(parts: &[(usize, &[u8])]) -> [u8; 48] {
    let mut data = [0; 48];
    for (at, part) in parts {
        data[*at..*at + part.len()].copy_from_slice(part);
    }
    data
}

fn check(message: Message, lengths: Lengths, parts: &[(usize, &[u8])]) {
    let expected = bytes(parts);
    assert_eq!(message.emit(lengths), expected);
    assert_eq!(Message::parse(&expected), Ok(message));
    assert_eq!(Lengths::parse(&expected), Ok(lengths));
}

/// Sections "SCSI Command" and "SCSI Response".
#[test]
fn commands_and_responses_match_the_rfc() {
    let mut block = [0; 16];
    block[..10].copy_from_slice(b"\x28\0\0\0\0\x10\0\0\x08\0");
    let command = Command {
        immediate: true,
        is_final: true,
        reads: true,
        writes: false,
        attribute: attribute::ORDERED,
        lun: Lun::new(2),
        tag: Tag(0x1122_3344),
        length: 0x1000,
        command: Serial(5),
        expected_status: Serial(6),
        block,
    };
    let lengths = Lengths {
        ahs_words: 3,
        data_length: 0x01_0203,
    };
    let parts: [(usize, &[u8]); 6] = [
        (0, b"\x41\xc2\0\0\x03\x01\x02\x03"),
        (9, b"\x02"),
        (16, b"\x11\x22\x33\x44\0\0\x10\0"),
        (24, b"\0\0\0\x05\0\0\0\x06"),
        (32, &block),
        (47, b"\0"),
    ];
    check(Message::Command(command), lengths, &parts);
    assert_eq!(command.unpadded(), &block[..10]);
    for (code, length) in [(0x1a, 6), (0x5a, 10), (0x88, 16), (0xa0, 12), (0x7f, 16)] {
        let mut other = command;
        other.block[0] = code;
        assert_eq!(other.unpadded().len(), length, "{code:02x}");
    }
    let response = Response {
        read_overflow: false,
        read_underflow: false,
        overflow: false,
        underflow: true,
        response: 0,
        scsi_status: 2,
        tag: Tag(1),
        snack: Tag(2),
        status: Serial(3),
        expected_command: Serial(4),
        max_command: Serial(5),
        expected_data: Serial(6),
        read_residual: 7,
        residual: 8,
    };
    let parts: [(usize, &[u8]); 3] = [
        (0, b"\x21\x82\0\x02\0\0\0\x14"),
        (16, b"\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04"),
        (32, b"\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\x08"),
    ];
    check(Message::Response(response), Lengths::of_data(20), &parts);
}

/// Sections "SCSI Data-Out and SCSI Data-In" and "Ready To Transfer".
#[test]
fn data_messages_match_the_rfc() {
    let none = Lengths::of_data(0);
    let out = DataOut {
        is_final: true,
        lun: LUN,
        tag: Tag(1),
        transfer: Tag::NONE,
        expected_status: Serial(2),
        data: Serial(3),
        offset: 0x200,
    };
    let lun: &[u8] = b"\x01\x02\x03\x04\x05\x06\x07\x08";
    let parts: [(usize, &[u8]); 5] = [
        (0, b"\x05\x80"),
        (8, lun),
        (16, b"\0\0\0\x01\xff\xff\xff\xff"),
        (28, b"\0\0\0\x02"),
        (36, b"\0\0\0\x03\0\0\x02\0"),
    ];
    check(Message::DataOut(out), none, &parts);
    let data_in = DataIn {
        is_final: true,
        acknowledge: false,
        overflow: true,
        underflow: false,
        has_status: true,
        scsi_status: 8,
        lun: Lun::default(),
        tag: Tag(1),
        transfer: Tag(2),
        status: Serial(3),
        expected_command: Serial(4),
        max_command: Serial(5),
        data: Serial(6),
        offset: 7,
        residual: 8,
    };
    let parts: [(usize, &[u8]); 3] = [
        (0, b"\x25\x85\0\x08"),
        (16, b"\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04"),
        (32, b"\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\x08"),
    ];
    check(Message::DataIn(data_in), none, &parts);
    let ready = ReadyToTransfer {
        lun: LUN,
        tag: Tag(1),
        transfer: Tag(2),
        status: Serial(3),
        expected_command: Serial(4),
        max_command: Serial(5),
        number: Serial(6),
        offset: 7,
        length: 8,
    };
    let parts: [(usize, &[u8]); 4] = [
        (0, b"\x31\x80"),
        (8, lun),
        (16, b"\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04"),
        (32, b"\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\x08"),
    ];
    check(Message::ReadyToTransfer(ready), none, &parts);
}

/// Sections "Login Request" and "Login Response".
#[test]
fn logins_match_the_rfc() {
    let request = LoginRequest {
        transit: true,
        continues: false,
        current: stage::OPERATIONAL,
        next: stage::FULL_FEATURE,
        version_max: 1,
        version_min: 0,
        isid: [0x80, 1, 2, 3, 4, 5],
        tsih: 0x0607,
        tag: Tag(8),
        connection: 9,
        command: Serial(10),
        expected_status: Serial(11),
    };
    let parts: [(usize, &[u8]); 4] = [
        (0, b"\x43\x87\x01\0\0\0\0\x28"),
        (8, b"\x80\x01\x02\x03\x04\x05\x06\x07"),
        (16, b"\0\0\0\x08\0\x09"),
        (24, b"\0\0\0\x0a\0\0\0\x0b"),
    ];
    check(Message::LoginRequest(request), Lengths::of_data(40), &parts);
    let response = LoginResponse {
        transit: false,
        continues: true,
        current: stage::SECURITY,
        next: stage::OPERATIONAL,
        version_max: 0,
        version_active: 0,
        isid: [0x80, 1, 2, 3, 4, 5],
        tsih: 1,
        tag: Tag(8),
        status: Serial(9),
        expected_command: Serial(10),
        max_command: Serial(11),
        result: login_status::NOT_FOUND,
    };
    let parts: [(usize, &[u8]); 5] = [
        (0, b"\x23\x41"),
        (8, b"\x80\x01\x02\x03\x04\x05\0\x01"),
        (16, b"\0\0\0\x08"),
        (24, b"\0\0\0\x09\0\0\0\x0a\0\0\0\x0b"),
        (36, b"\x02\x03"),
    ];
    check(
        Message::LoginResponse(response),
        Lengths::of_data(0),
        &parts,
    );
}

/// Sections "Task Management Function Request", its response, "Reject" and "Logout Response".
#[test]
fn task_management_and_logouts_match_the_rfc() {
    let none = Lengths::of_data(0);
    let request = TaskRequest {
        immediate: true,
        function: function::ABORT_TASK,
        lun: LUN,
        tag: Tag(1),
        task: Tag(2),
        command: Serial(3),
        expected_status: Serial(4),
        task_command: Serial(5),
        expected_data: Serial(6),
    };
    let parts: [(usize, &[u8]); 4] = [
        (0, b"\x42\x81"),
        (8, b"\x01\x02\x03\x04\x05\x06\x07\x08"),
        (16, b"\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04"),
        (32, b"\0\0\0\x05\0\0\0\x06"),
    ];
    check(Message::TaskRequest(request), none, &parts);
    let reject = Reject {
        reason: 4,
        tag: Tag::NONE,
        status: Serial(1),
        expected_command: Serial(2),
        max_command: Serial(3),
        data: Serial(4),
    };
    let parts: [(usize, &[u8]); 3] = [
        (0, b"\x3f\x80\x04\0\0\0\0\x30"),
        (16, b"\xff\xff\xff\xff"),
        (24, b"\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04"),
    ];
    check(Message::Reject(reject), Lengths::of_data(48), &parts);
    let response = LogoutResponse {
        response: 1,
        tag: Tag(1),
        status: Serial(2),
        expected_command: Serial(3),
        max_command: Serial(4),
        wait_s: 5,
        retain_s: 6,
    };
    let parts: [(usize, &[u8]); 4] = [
        (0, b"\x26\x80\x01"),
        (16, b"\0\0\0\x01"),
        (24, b"\0\0\0\x02\0\0\0\x03\0\0\0\x04"),
        (40, b"\0\x05\0\x06"),
    ];
    check(Message::LogoutResponse(response), none, &parts);
}

#[test]
fn digests_match_known_values() {
    let ascending: [u8; 32] = std::array::from_fn(|index| index as u8);
    let descending: [u8; 32] = std::array::from_fn(|index| 31 - index as u8);
    let read = bytes(&[
        (0, b"\x01\xc0"),
        (16, b"\x14\0\0\0\0\0\x04\0\0\0\0\x14\0\0\0\x18"),
        (32, b"\x28\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"),
    ]);
    let cases: [(&[u8], [u8; 4]); 5] = [
        (&[0; 32], [0xaa, 0x36, 0x91, 0x8a]),
        (&[0xff; 32], [0x43, 0xab, 0xa8, 0x62]),
        (&ascending, [0x4e, 0x79, 0xdd, 0x46]),
        (&descending, [0x5c, 0xdb, 0x3f, 0x11]),
        (&read, [0x56, 0x3a, 0x96, 0xd9]),
    ];
    for (data, expected) in cases {
        assert_eq!(Digest::new(data).bytes(), expected, "{data:02x?}");
    }
    assert_eq!(Digest::new(b"abcde"), Digest::new(b"abcde\0\0\0"));
}

#[test]
fn serial_numbers_wrap_around() {
    let last = Serial(u32::MAX);
    assert_eq!(last.next(), Serial(0));
    assert_eq!(Serial(0).previous(), last);
    assert_eq!(Serial(2).since(last), 3);
    assert!(last.is_before(Serial(0)) && !Serial(0).is_before(last));
    assert!(!last.is_before(last));
    // At the maximum distance, neither is before the other.
    let far = Serial(1 << 31);
    assert!(!far.is_before(Serial(0)) && !Serial(0).is_before(far));
}

#[test]
fn logical_unit_numbers_are_encoded() {
    let numbers = [
        (0, 0),
        (255, 0x00ff_0000_0000_0000),
        (256, 0x4100_0000_0000_0000),
        (16_383, 0x7fff_0000_0000_0000),
    ];
    for (number, expected) in numbers {
        assert_eq!(Lun::new(number), Lun(expected));
        assert_eq!(Lun(expected).number(), Some(number));
    }
    // The flat method can have small numbers, too.
    assert_eq!(Lun(0x4001_0000_0000_0000).number(), Some(1));
    // A second level, bus 1, and the well-known unit of REPORT LUNS.
    for other in [1, 0x0100_0000_0000_0000, 0xc101_0000_0000_0000] {
        assert_eq!(Lun(other).number(), None, "{other:x}");
    }
}

#[test]
fn text_is_written_and_parsed() {
    let mut data = [0xaa; 38];
    let mut writer = Writer::new(&mut data);
    writer.put("TargetName", "iqn.x").expect("it fits");
    writer.put("MaxBurstLength", 512).expect("it fits");
    // There is no room for the NUL, so nothing is written.
    assert_eq!(writer.put("A", ""), Err(Full));
    let length = writer.length();
    assert_eq!(&data[..length], b"TargetName=iqn.x\0MaxBurstLength=512\0");
    let pairs: Vec<_> = text::pairs(&data[..length]).collect();
    assert_eq!(
        pairs,
        [Ok(("TargetName", "iqn.x")), Ok(("MaxBurstLength", "512"))]
    );
    // A value may contain an equals sign; the last NUL may be missing.
    let pairs: Vec<_> = text::pairs(b"\0A=b=c\0\0B=").collect();
    assert_eq!(pairs, [Ok(("A", "b=c")), Ok(("B", ""))]);
    let long = format!("{}=", "A".repeat(64));
    for wrong in [&b"A"[..], b"=1", b"A B=1", b"A=\xff", long.as_bytes()] {
        let pairs: Vec<_> = text::pairs(wrong).collect();
        assert_eq!(pairs, [Err(BadText)], "{wrong:?}");
    }
}

/// Section "Text Format": `large-binary-value`.
#[test]
fn numbers_and_bytes_are_parsed_from_text() {
    assert_eq!(text::number("0x1F"), Some(31));
    assert_eq!(text::number("262144"), Some(262_144));
    for wrong in ["", "+1", "-1", "0x", "0x+1", "4294967296", " 1"] {
        assert_eq!(text::number(wrong), None, "{wrong}");
    }
    let mut data = [0; 4];
    let cases: [(&str, &[u8]); 8] = [
        ("0x0102ff", b"\x01\x02\xff"),
        ("0X102", b"\x01\x02"),
        ("0bAQL/", b"\x01\x02\xff"),
        ("0BAQI=", b"\x01\x02"),
        ("0bAQ==", b"\x01"),
        ("0b++//", b"\xfb\xef\xff"),
        ("0b0aZz", b"\xd1\xa6\x73"),
        ("0x00000001", b"\0\0\0\x01"),
    ];
    for (value, expected) in cases {
        let length = text::binary(value, &mut data).expect(value);
        assert_eq!(&data[..length], expected, "{value}");
    }
    for wrong in [
        "", "0x", "0xg0", "1234", "0b", "0b=", "0bA===", "0bAQ", "0b*AAA", "é",
    ] {
        assert_eq!(text::binary(wrong, &mut data), None, "{wrong}");
    }
    // The buffer is too small.
    assert_eq!(text::binary("0x0102030405", &mut data), None);
    assert_eq!(text::binary("0bAQIDBAU=", &mut data), None);
}

/// Section "Additional Header Segment", and "Data Segment - Sense and Response Data Segment".
#[test]
fn segments_match_the_rfc() {
    let segment = Segment {
        kind: 2,
        data: b"\0\0\0\x10\0",
    };
    let mut data = segment.emit();
    assert_eq!(data, b"\0\x05\x02\0\0\0\x10\0");
    data.extend(b"\0\x06\x01\0\0\0\0\0");
    let found: Vec<_> = segment::segments(&data).collect();
    assert_eq!(found, [Ok(segment), Err(CutOff)]);
    let mut data = segment::emit_sense(b"abc");
    assert_eq!(data, b"\0\x03abc");
    data.push(0xaa);
    assert_eq!(segment::sense(&data[..6]), Some((&b"abc"[..], &data[5..6])));
    assert_eq!(segment::sense(&data[..4]), None);
    assert_eq!(segment::sense(b"\0"), None);
    assert_eq!(segment::sense(b""), Some((&b""[..], &b""[..])));
}

/// No two fields of a message share a bit.
#[test]
fn fields_do_not_overlap() {
    let masks = [
        NopOut::mask(),
        Command::mask(),
        TaskRequest::mask(),
        LoginRequest::mask(),
        TextRequest::mask(),
        DataOut::mask(),
        LogoutRequest::mask(),
        Snack::mask(),
        NopIn::mask(),
        Response::mask(),
        TaskResponse::mask(),
        LoginResponse::mask(),
        TextResponse::mask(),
        DataIn::mask(),
        LogoutResponse::mask(),
        ReadyToTransfer::mask(),
        AsyncMessage::mask(),
        Reject::mask(),
    ];
    for (mask, (code, fixed)) in masks.iter().zip(CODES) {
        assert_eq!((mask[0] & !0x40, mask[1] & fixed), (0, 0), "{code:02x}");
        assert_eq!(mask[4..8], [0; 4], "{code:02x}");
        // Ones in all fields survive a round trip, and other bits do not.
        let mut data = *mask;
        data[0] |= code;
        data[1] |= fixed;
        let message = Message::parse(&data).expect("valid message");
        assert_eq!(message.emit(Lengths::of_data(0)), data, "{code:02x}");
        let mut noisy = [0xff; 48];
        noisy[0] = 0x40 | code;
        assert_eq!(Message::parse(&noisy), Ok(message), "{code:02x}");
    }
}

#[test]
fn invalid_messages_are_refused() {
    assert_eq!(Message::parse(&[0; 47]), Err(Invalid::Short));
    let mut data = [0; 48];
    for code in 0..64 {
        data[0] = 0xc0 | code;
        let is_known = CODES.iter().any(|(known, _)| known & 0x3f == code);
        let expected = (!is_known).then_some(Invalid::Operation(code));
        assert_eq!(Message::parse(&data).err(), expected);
    }
}

/// Computes the digest from the polynomial, bit by bit.
fn slow_digest(data: &[u8]) -> [u8; 4] {
    let mut sum = u32::MAX;
    for byte in data {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    (!sum).to_le_bytes()
}

proptest! {
    #[test]
    fn messages_round_trip(
        code in 0..CODES.len(), data in prop::array::uniform32(any::<u8>()),
        rest in prop::array::uniform16(any::<u8>()), data_length in 0..1_u32 << 24,
    ) {
        let mut all: Vec<u8> = data.into_iter().chain(rest).collect();
        all[0] = all[0] & 0x40 | CODES[code].0;
        let message = Message::parse(&all).expect("valid message");
        let lengths = Lengths { ahs_words: all[4], data_length };
        let emitted = message.emit(lengths);
        prop_assert_eq!(Message::parse(&emitted), Ok(message));
        prop_assert_eq!(Lengths::parse(&emitted), Ok(lengths));
        prop_assert_eq!(lengths.padded() % 4, 0);
    }

    #[test]
    fn digests_match_the_polynomial(
        data in prop::collection::vec(any::<u8>(), 0..100), cut in 0..100_usize,
    ) {
        let (first, second) = data.split_at(cut.min(data.len()));
        let mut digest = Digest::default();
        digest.update(first);
        digest.update(second);
        prop_assert_eq!(digest.bytes(), slow_digest(&data));
    }

    #[test]
    fn text_round_trips(
        pairs in prop::collection::vec(("[A-Z][A-Za-z0-9.+@_-]{0,20}", "[^\0]{0,20}"), 0..6),
    ) {
        let mut data = [0; 1024];
        let mut writer = Writer::new(&mut data);
        for (key, value) in &pairs {
            writer.put(key, value).expect("it fits");
        }
        let length = writer.length();
        let found: Result<Vec<_>, _> = text::pairs(&data[..length]).collect();
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| (&**key, &**value)).collect();
        prop_assert_eq!(found, Ok(pairs));
    }

    #[test]
    fn bytes_in_text_round_trip(bytes in prop::collection::vec(any::<u8>(), 1..40), number: u32) {
        let mut data = [0; 40];
        let length = text::binary(&Hexadecimal(&bytes).to_string(), &mut data);
        prop_assert_eq!(&data[..length.expect("it fits")], &bytes[..]);
        prop_assert_eq!(text::number(&number.to_string()), Some(number));
        prop_assert_eq!(text::number(&format!("{number:#x}")), Some(number));
    }

    #[test]
    fn segments_round_trip(
        kinds in prop::collection::vec(any::<u8>(), 0..4),
        data in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut emitted = Vec::new();
        // Each is shorter than the previous one.
        let parts = kinds.iter().enumerate();
        let parts = parts.map(|(index, kind)| Segment {
            kind: *kind,
            data: &data[..data.len() / (index + 1)],
        });
        for segment in parts.clone() {
            emitted.extend(segment.emit());
            prop_assert_eq!(padded(emitted.len()), emitted.len());
        }
        let found: Result<Vec<_>, _> = segment::segments(&emitted).collect();
        prop_assert_eq!(found, Ok(parts.collect()));
    }
}
