//! Command blocks and sense data: bytes from the standards, the table, and round trips.

use diskarm_wire::command::{
    AddressFormat, Blocks, Caching, Check, OperationQuery, ReserveOut, Size, Values,
};
use diskarm_wire::operation::OPERATIONS;
use diskarm_wire::sense::{Code, Format, Key, Malformed, Pointer, Specific};
use diskarm_wire::{Command, Invalid, Operation, Sense, status};
use proptest::prelude::*;

fn emit(command: &Command) -> Vec<u8> {
    let mut block = [0xaa; 16];
    let length = command.emit(&mut block);
    block[..length].to_vec()
}

/// Compares commands with blocks laid out by hand from the tables of the standards.
fn compare(cases: &[(Command, &[u8])]) {
    for (command, block) in cases {
        assert_eq!(emit(command), *block, "{command:?}");
        assert_eq!(Command::parse(block), Ok(*command));
    }
}

#[test]
fn command_blocks_match_the_standards() {
    let caching = Caching {
        disable_page_out: true,
        force_unit_access: true,
    };
    let blocks = |at, count| Blocks { at, count };
    let cases: &[(Command, &[u8])] = &[
        // SBC-3, READ(6): 21 bits of address, and zero for 256 blocks.
        (
            Command::Read {
                size: Size::Six,
                blocks: blocks(0x1f_fffe, 256),
                caching: Caching::default(),
            },
            &[0x08, 0x1f, 0xff, 0xfe, 0, 0],
        ),
        // SBC-3, READ(10).
        (
            Command::Read {
                size: Size::Ten,
                blocks: blocks(0x0102_0304, 0x0506),
                caching,
            },
            &[0x28, 0x18, 1, 2, 3, 4, 0, 5, 6, 0],
        ),
        // SBC-3, WRITE(16).
        (
            Command::Write {
                size: Size::Sixteen,
                blocks: blocks(0x0102_0304_0506_0708, 0x090a_0b0c),
                caching: Caching::default(),
            },
            &[0x8a, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0],
        ),
        // SBC-3, ORWRITE(16).
        (
            Command::OrWrite {
                blocks: blocks(0x0102, 3),
                caching: Caching {
                    disable_page_out: false,
                    force_unit_access: true,
                },
            },
            &[0x8b, 0x08, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 0, 0],
        ),
        // SBC-3, VERIFY(12).
        (
            Command::Verify {
                size: Size::Twelve,
                blocks: blocks(7, 9),
                disable_page_out: false,
                check: Check::OneBlock,
            },
            &[0xaf, 0x06, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0],
        ),
    ];
    compare(cases);
}

#[test]
fn other_command_blocks_match_the_standards() {
    let cases: &[(Command, &[u8])] = &[
        // SPC-4, MODE SENSE(6): saved values of page 8.
        (
            Command::ModeSense {
                size: Size::Six,
                page: 8,
                subpage: 0,
                values: Values::Saved,
                no_block_descriptors: true,
                long_addresses: false,
                length: 255,
            },
            &[0x1a, 0x08, 0xc8, 0, 255, 0],
        ),
        // SPC-4, PERSISTENT RESERVE OUT.
        (
            Command::PersistentReserveOut {
                action: ReserveOut::Preempt,
                scope: 0,
                kind: 5,
                length: 24,
            },
            &[0x5f, 4, 5, 0, 0, 0, 0, 0, 24, 0],
        ),
        // SBC-3, READ DEFECT DATA(10): both lists, in physical sectors.
        (
            Command::ReadDefectData {
                size: Size::Ten,
                primary: true,
                grown: true,
                format: AddressFormat::PhysicalSector,
                index: 0,
                length: 0x1000,
            },
            &[0x37, 0, 0x1d, 0, 0, 0, 0, 0x10, 0, 0],
        ),
        // SPC-4, REPORT SUPPORTED OPERATION CODES: one command with its service action.
        (
            Command::ReportSupportedOperationCodes {
                timeouts: true,
                query: OperationQuery::Action(0x9e, 0x10),
                length: 32,
            },
            &[0xa3, 0x0c, 0x82, 0x9e, 0, 0x10, 0, 0, 0, 32, 0, 0],
        ),
    ];
    compare(cases);
}

#[test]
fn the_table_is_in_order_and_lengths_follow_the_group_codes() {
    let key = |operation: &Operation| (operation.code, operation.service_action);
    assert!(OPERATIONS.is_sorted_by_key(key));
    for operation in OPERATIONS {
        // SPC-4, OPERATION CODE, group codes.
        let length = match operation.code >> 5 {
            0 => 6,
            1 | 2 => 10,
            4 => 16,
            5 => 12,
            group => panic!("{}: group {group}", operation.name),
        };
        assert_eq!(operation.usage.len(), length, "{}", operation.name);
        assert_eq!(operation.usage[0], operation.code);
        // The control byte: no auto contingent allegiance.
        assert_eq!(operation.usage[length - 1], 0, "{}", operation.name);
    }
}

#[test]
fn invalid_fields_are_reported() {
    let field = |byte, bit| Err(Invalid::Field { byte, bit });
    let cases: &[(&[u8], Result<Command, Invalid>)] = &[
        (&[], Err(Invalid::Operation)),
        (&[0xc0, 0, 0, 0, 0, 0], Err(Invalid::Operation)),
        (&[0x00, 0, 0, 0, 0], Err(Invalid::Length { expected: 6 })),
        (&[0x00, 0, 0, 0x30, 0, 0], field(3, Some(5))),
        // A control byte with NACA.
        (&[0x00, 0, 0, 0, 0, 0x04], field(5, Some(2))),
        // RDPROTECT without protection information.
        (&[0x28, 0x20, 0, 0, 0, 0, 0, 0, 1, 0], field(1, Some(5))),
        // A page of vital product data without EVPD.
        (&[0x12, 0, 0x80, 0, 96, 0], field(2, None)),
        // BYTCHK 2.
        (&[0x2f, 0x04, 0, 0, 0, 0, 0, 0, 1, 0], field(1, Some(2))),
        // Service actions that do not exist.
        (&[0x5e, 0x04, 0, 0, 0, 0, 0, 0, 8, 0], field(1, Some(4))),
        (
            &[0x9e, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0],
            field(1, Some(4)),
        ),
        // A defect list's format without a list.
        (&[0x04, 0x05, 0, 0, 0, 0], field(1, Some(2))),
    ];
    for (block, expected) in cases {
        assert_eq!(Command::parse(block), *expected, "{block:02x?}");
    }
}

/// Generates command blocks whose operations are in the table and whose reserved bits are zero.
fn valid_bits() -> impl Strategy<Value = Vec<u8>> {
    let random = (0..OPERATIONS.len(), any::<[u8; 16]>());
    random.prop_map(|(index, random)| {
        let operation = &OPERATIONS[index];
        let mut block: Vec<u8> = operation
            .usage
            .iter()
            .zip(random)
            .map(|(usage, random)| usage & random)
            .collect();
        block[0] = operation.code;
        if let Some(action) = operation.service_action {
            block[1] = block[1] & !0x1f | action;
        }
        block
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Every bit that may be set has a meaning: parsed blocks are emitted unchanged.
    #[test]
    fn command_blocks_round_trip(block in valid_bits()) {
        match Command::parse(&block) {
            Ok(command) => {
                prop_assert_eq!(emit(&command), block.clone(), "{:?}", command);
                prop_assert_eq!(Some(command.operation()), Operation::find(&block).ok());
            }
            Err(Invalid::Field { byte, bit }) => {
                let bits = OPERATIONS.iter().find(|operation| operation.code == block[0]);
                let usage = bits.unwrap().usage[usize::from(byte)];
                // The reported bit is used by this operation.
                prop_assert!(bit.is_none_or(|bit| usage >> bit & 1 == 1));
            }
            Err(other) => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
        if let Ok(command) = Command::parse(&bytes) {
            prop_assert_eq!(emit(&command), bytes);
        }
    }
}

/// SPC-4, fixed and descriptor format sense data: a reserved bit 5 of byte 3 of the command block.
#[test]
fn an_invalid_field_is_encoded_in_both_formats() {
    let sense = Sense::of_command(Invalid::Field {
        byte: 3,
        bit: Some(5),
    });
    let fixed = [
        0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0, 0, 0xcd, 0, 3,
    ];
    assert_eq!(sense.emit(Format::Fixed), fixed);
    let descriptors = [0x72, 5, 0x24, 0, 0, 0, 0, 8, 2, 6, 0, 0, 0xcd, 0, 3, 0];
    assert_eq!(sense.emit(Format::Descriptor), descriptors);
}

/// A block number of more than 32 bits does not fit the fixed format; its VALID bit is then zero.
#[test]
fn a_bad_block_is_encoded_in_both_formats() {
    let sense = Sense {
        information: Some(0x0001_0203_0405),
        ..Sense::new(Key::MediumError, Code::UNRECOVERED_READ_ERROR)
    };
    let fixed = sense.emit(Format::Fixed);
    assert_eq!(fixed[..8], [0x70, 0, 3, 0, 0, 0, 0, 10]);
    assert_eq!(Sense::parse(&fixed).unwrap().information, None);
    let descriptors = sense.emit(Format::Descriptor);
    let information = [0x00, 0x0a, 0x80, 0, 0, 0, 0, 1, 2, 3, 4, 5];
    assert_eq!(descriptors[8..], information);
    assert_eq!(Sense::parse(&descriptors), Ok(sense));
}

#[test]
fn invalid_sense_data_is_refused() {
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
        let (has_specific, in_command, number, bit) = specific;
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
            specific: specific.filter(|_| has_specific),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn sense_data_round_trip(sense in any_sense()) {
        prop_assert_eq!(Sense::parse(&sense.emit(Format::Descriptor)), Ok(sense));
        let short = Sense {
            information: sense.information.filter(|at| *at <= u64::from(u32::MAX)),
            ..sense
        };
        prop_assert_eq!(Sense::parse(&sense.emit(Format::Fixed)), Ok(short));
    }

    #[test]
    fn any_sense_bytes_are_parsed_or_refused(
        first in 0x70u8..0x74,
        rest in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let bytes: Vec<u8> = [first].into_iter().chain(rest).collect();
        let _ = Sense::parse(&bytes);
        let _ = Sense::parse(&bytes[1..]);
    }
}

#[test]
fn sense_data_are_displayed_in_the_terms_of_the_standard() {
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
        (unknown, "HARDWARE ERROR, 80h/0fh (from an earlier command)"),
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
