//! Sense data: bytes from the standard, and round trips.

use diskarm_wire::sense::{Code, Format, Key, MAX_LENGTH, Malformed, Pointer, Specific};
use diskarm_wire::{Invalid, Sense, status};
use proptest::prelude::*;

fn emitted(sense: &Sense, format: Format) -> Vec<u8> {
    let mut bytes = [0xaa; MAX_LENGTH];
    let length = sense.emit(format, &mut bytes);
    bytes[..length].to_vec()
}

/// SPC-4, fixed and descriptor format sense data: a reserved bit 5 of byte 3 of the command block.
#[test]
fn a_wrong_field_in_both_formats() {
    let sense = Sense::of_command(Invalid::Field {
        byte: 3,
        bit: Some(5),
    });
    let fixed = [
        0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0, 0, 0xcd, 0, 3,
    ];
    assert_eq!(emitted(&sense, Format::Fixed), fixed);
    let descriptors = [0x72, 5, 0x24, 0, 0, 0, 0, 8, 2, 6, 0, 0, 0xcd, 0, 3, 0];
    assert_eq!(emitted(&sense, Format::Descriptor), descriptors);
}

/// A block above 32 bits does not fit the fixed format, whose VALID bit is then zero.
#[test]
fn a_bad_block_in_both_formats() {
    let sense = Sense {
        information: Some(0x0001_0203_0405),
        ..Sense::new(Key::MediumError, Code::UNRECOVERED_READ_ERROR)
    };
    let fixed = emitted(&sense, Format::Fixed);
    assert_eq!(fixed[..8], [0x70, 0, 3, 0, 0, 0, 0, 10]);
    assert_eq!(Sense::parse(&fixed).unwrap().information, None);
    let descriptors = emitted(&sense, Format::Descriptor);
    let information = [0x00, 0x0a, 0x80, 0, 0, 0, 0, 1, 2, 3, 4, 5];
    assert_eq!(descriptors[8..], information);
    assert_eq!(Sense::parse(&descriptors), Ok(sense));
}

#[test]
fn what_is_no_sense_data_is_refused() {
    assert_eq!(Sense::parse(&[]), Err(Malformed::Short));
    assert_eq!(Sense::parse(&[0x70, 0, 5]), Err(Malformed::Short));
    assert_eq!(
        Sense::parse(&[0x7f; 18]),
        Err(Malformed::ResponseCode(0x7f))
    );
    let reserved = [0x70, 0, 0x0c, 0, 0, 0, 0, 0];
    assert_eq!(Sense::parse(&reserved), Err(Malformed::Key(0x0c)));
}

fn any_sense() -> impl Strategy<Value = Sense> {
    let key = (0u8..16).prop_filter_map("reserved", Key::from_code);
    let specific = any::<(bool, bool, u16, Option<u8>)>();
    let parts = (
        any::<bool>(),
        key,
        any::<(u8, u8)>(),
        any::<Option<u64>>(),
        specific,
    );
    parts.prop_map(|(deferred, key, code, information, specific)| {
        let (given, in_command, number, bit) = specific;
        let pointer = Pointer {
            in_command,
            byte: number,
            bit: bit.map(|bit| bit % 8),
        };
        let specific = match key {
            Key::IllegalRequest => Some(Specific::Field(pointer)),
            Key::NoSense | Key::NotReady => Some(Specific::Progress(number)),
            Key::RecoveredError | Key::MediumError | Key::HardwareError => {
                Some(Specific::Retries(number))
            }
            _ => None,
        };
        Sense {
            deferred,
            key,
            code: Code(code.0, code.1),
            information,
            specific: specific.filter(|_| given),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn sense_data_come_back(sense in any_sense()) {
        prop_assert_eq!(Sense::parse(&emitted(&sense, Format::Descriptor)), Ok(sense));
        let short = Sense {
            information: sense.information.filter(|at| *at <= u64::from(u32::MAX)),
            ..sense
        };
        prop_assert_eq!(Sense::parse(&emitted(&sense, Format::Fixed)), Ok(short));
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        first in 0x70u8..0x74,
        rest in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let bytes: Vec<u8> = [first].into_iter().chain(rest).collect();
        let _ = Sense::parse(&bytes);
        let _ = Sense::parse(&bytes[1..]);
    }
}

#[test]
fn sense_data_are_shown_in_the_words_of_the_standard() {
    let bad = Sense {
        information: Some(70),
        ..Sense::new(Key::MediumError, Code::UNRECOVERED_READ_ERROR)
    };
    let differs = Sense {
        information: Some(3),
        ..Sense::new(Key::Miscompare, Code::MISCOMPARE)
    };
    let unknown = Sense {
        deferred: true,
        ..Sense::new(Key::HardwareError, Code(0x80, 0x0f))
    };
    for (sense, shown) in [
        (bad, "MEDIUM ERROR, UNRECOVERED READ ERROR, block 70"),
        (
            differs,
            "MISCOMPARE, MISCOMPARE DURING VERIFY OPERATION, at byte 3",
        ),
        (unknown, "HARDWARE ERROR, 80h/0fh, of an earlier command"),
    ] {
        assert_eq!(sense.to_string(), shown);
    }
}

/// SAM-5: the status codes; 10h and 14h are obsolete.
#[test]
fn statuses_have_the_names_of_the_standard() {
    let named: Vec<(u8, &str)> = (0..=u8::MAX)
        .filter_map(|code| Some((code, status::name(code)?)))
        .collect();
    let expected = [
        (0x00, "GOOD"),
        (0x02, "CHECK CONDITION"),
        (0x04, "CONDITION MET"),
        (0x08, "BUSY"),
        (0x18, "RESERVATION CONFLICT"),
        (0x28, "TASK SET FULL"),
        (0x30, "ACA ACTIVE"),
        (0x40, "TASK ABORTED"),
    ];
    assert_eq!(named, expected);
}
