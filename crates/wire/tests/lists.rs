//! Lists: bytes from the standards, and round trips.

use diskarm_wire::command::AddressFormat;
use diskarm_wire::defect::{
    self, Address, Extended, Malformed, Physical, Translate, Translated, addresses,
};
use diskarm_wire::operation::OPERATIONS;
use diskarm_wire::report::{self, ListedOperation, LogHeader, LogParameter};
use diskarm_wire::reservation::{
    self, Capabilities, FullStatus, Parameters, Reservation, TransportId,
};
use proptest::prelude::*;

macro_rules! round_trip_tests {
    ($($test:ident: $layout:ty;)+) => {
        proptest! {$(
            #[test]
            fn $test(data in any::<[u8; <$layout>::LENGTH]>()) {
                let value = <$layout>::parse(&data).unwrap();
                let mask = <$layout>::mask();
                let emitted = value.emit();
                for (index, byte) in emitted.iter().enumerate() {
                    prop_assert_eq!(*byte, data[index] & mask[index], "byte {}", index);
                }
            }
        )+}
    };
}

round_trip_tests! {
    defect_header_10: defect::Header10;
    defect_header_12: defect::Header12;
    format_header: defect::FormatHeader;
    long_format_header: defect::LongFormatHeader;
    task_management: report::TaskManagement;
    full_status: FullStatus;
    log_exceptions: report::Exceptions;
    reassign_header: defect::ReassignHeader;
    long_reassign_header: defect::LongReassignHeader;
    operation_row: ListedOperation;
    log_header: LogHeader;
    reserve_parameters: Parameters;
    reservation_held: Reservation;
    capabilities: Capabilities;
}

/// SCSI-2, translate address pages: block 0x01020304 requested as a physical sector.
#[test]
fn translate_pages_match_the_standard() {
    let query = Translate {
        address: Address::ShortBlock(0x0102_0304),
        wanted: AddressFormat::PhysicalSector,
    };
    assert_eq!(query.emit(), [0x40, 0, 0, 10, 0, 5, 1, 2, 3, 4, 0, 0, 0, 0]);
    let found = [0x40, 0, 0, 10, 0, 0x45, 0, 7, 0xcf, 12, 0, 0, 0, 95];
    let translated = Translated::parse(&found).unwrap();
    let position = Physical {
        cylinder: 1999,
        head: 12,
        offset: 95,
    };
    assert_eq!(translated.address, Address::PhysicalSector(position));
    assert!(translated.alternate_sector && !translated.alternate_track);
    assert_eq!(translated.emit(), found);
    assert_eq!(Translated::parse(&[0x41; 14]), Err(Malformed::Code(0x41)));
    assert!(Translated::parse(&found[..13]).is_err());
}

#[test]
fn operations_are_listed_with_their_usage() {
    for timeouts in [false, true] {
        let data = report::emit_operations(OPERATIONS.iter(), timeouts);
        let row_length = if timeouts { 20 } else { 8 };
        assert_eq!(data.len(), 4 + OPERATIONS.len() * row_length);
        let rows: Vec<_> = report::operations(&data).collect();
        assert_eq!(rows.len(), OPERATIONS.len());
        for (row, operation) in rows.iter().zip(OPERATIONS) {
            assert_eq!((row.code, row.timeouts), (operation.code, timeouts));
            assert_eq!(usize::from(row.length), operation.usage.len());
            let action = row.has_service_action.then_some(row.service_action as u8);
            assert_eq!(action, operation.service_action);
            let one = report::emit_operation(Some(operation), timeouts);
            assert_eq!(report::operation(&one), Ok(Some(operation.usage)));
        }
        let one = report::emit_operation(None, timeouts);
        assert_eq!(one, [0, 1, 0, 0]);
        assert_eq!(report::operation(&one), Ok(None));
    }
}

/// SAM-5, peripheral device and flat space addressing.
#[test]
fn unit_numbers_use_two_addressing_methods() {
    let data = report::emit_units(&[0, 255, 300]);
    assert_eq!(data[..10], [0, 0, 0, 24, 0, 0, 0, 0, 0, 0]);
    assert_eq!(data[16..18], [0, 255]);
    assert_eq!(data[24..26], [0x41, 0x2c]);
    let units: Vec<_> = report::units(&data).collect();
    assert_eq!(units, [0, 255, 300]);
}

#[test]
fn reservations_round_trip() {
    let held = Reservation {
        key: 0x0123_4567_89ab_cdef,
        scope: 0,
        kind: 5,
    };
    let data = reservation::emit_reservation(7, Some(&held));
    let (generation, content) = reservation::content(&data).unwrap();
    assert_eq!((generation, Reservation::parse(content)), (7, Ok(held)));
    let data = reservation::emit_reservation(8, None);
    assert_eq!(reservation::content(&data), Some((8, &[][..])));
    let data = reservation::emit_keys(9, &[1, held.key]);
    let (_, content) = reservation::content(&data).unwrap();
    assert_eq!(
        reservation::keys(content).collect::<Vec<_>>(),
        [1, held.key]
    );
}

fn extended(variant: fn(Extended) -> Address) -> impl Fn((Physical, bool)) -> Address {
    move |(mut position, begins_run)| {
        position.offset &= defect::WHOLE_TRACK;
        variant(Extended {
            position,
            begins_run,
        })
    }
}

/// SBC-3, extended physical sector address descriptors: MADS is bit 7 of byte 4.
#[test]
fn a_bit_marks_the_beginning_of_a_run() {
    let data = [0, 7, 0xcf, 12, 0x80, 0, 0, 95];
    let position = Physical {
        cylinder: 1999,
        head: 12,
        offset: 95,
    };
    let run = Extended {
        position,
        begins_run: true,
    };
    let format = AddressFormat::ExtendedPhysicalSector;
    assert_eq!(
        Address::parse(format, &data),
        Some(Address::ExtendedPhysicalSector(run))
    );
    assert_eq!(Address::parse(format, &[0, 0, 0, 0, 0x10, 0, 0, 0]), None);
}

/// SPC-4, TransportIDs of SAS and iSCSI.
#[test]
fn transport_ids_match_the_standard() {
    let data = TransportId::Sas(0x5000_c500_0102_0304).emit();
    assert_eq!(data.len(), 24);
    let sas = [6, 0, 0, 0, 0x50, 0, 0xc5, 0, 1, 2, 3, 4];
    assert_eq!((&data[..12], &data[12..24]), (&sas[..], &[0; 12][..]));
    let name = TransportId::Iscsi("iqn.2026-11.example:host");
    // 24 characters and a zero make 28 bytes.
    let data = name.emit();
    assert_eq!(data.len(), 32);
    assert_eq!(data[..4], [5, 0, 0, 28]);
    assert_eq!(&data[4..28], b"iqn.2026-11.example:host");
    let session = TransportId::IscsiSession("iqn.a", "0123456789ab");
    assert_eq!(session.emit(), b"\x45\0\0\x18iqn.a,i,0x0123456789ab\0\0");
    let rows = [TransportId::Sas(9), name, session].map(|id| {
        let status = FullStatus {
            key: 0x0102,
            all_ports: false,
            holder: true,
            scope: 0,
            kind: 5,
            port: 1,
        };
        (status, id)
    });
    let data = reservation::emit_full_status(3, &rows);
    let (generation, content) = reservation::content(&data).unwrap();
    let found: Vec<_> = reservation::full_status(content).collect();
    assert_eq!((generation, found.len()), (3, 3));
    for ((status, id), (expected_status, expected_id)) in found.iter().zip(&rows) {
        assert_eq!((status, *id), (expected_status, Some(*expected_id)));
    }
}

fn any_address() -> impl Strategy<Value = Address> {
    let position = (0u32..1 << 24, any::<u8>(), any::<u32>());
    let position = position.prop_map(|(cylinder, head, offset)| Physical {
        cylinder,
        head,
        offset,
    });
    prop_oneof![
        any::<u32>().prop_map(Address::ShortBlock),
        any::<u64>().prop_map(Address::LongBlock),
        position.clone().prop_map(Address::BytesFromIndex),
        (position.clone(), any::<bool>()).prop_map(extended(Address::ExtendedBytesFromIndex)),
        (position.clone(), any::<bool>()).prop_map(extended(Address::ExtendedPhysicalSector)),
        position.prop_map(Address::PhysicalSector),
    ]
}

proptest! {
    #[test]
    fn addresses_round_trip(
        list in prop::collection::vec(any_address(), 0..20),
        reserved: bool,
        alternate_sector: bool,
        alternate_track: bool,
    ) {
        for address in &list {
            let mut data = [0xaa; 8];
            let length = address.emit(&mut data);
            prop_assert_eq!(Address::length(address.format()), Some(length));
            let found: Vec<_> = addresses(address.format(), &data[..length]).collect();
            prop_assert_eq!(found, vec![*address]);
            let query = Translate { address: *address, wanted: address.format() };
            prop_assert_eq!(Translate::parse(&query.emit()), Ok(query));
            let translated = Translated {
                supplied: address.format(),
                reserved,
                alternate_sector,
                alternate_track,
                address: *address,
            };
            prop_assert_eq!(Translated::parse(&translated.emit()), Ok(translated));
        }
    }

    #[test]
    fn log_parameters_round_trip(
        list in prop::collection::vec(
            (any::<u16>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..30)), 0..8)
    ) {
        let parameters = list.iter().map(|(code, control, value)| LogParameter {
            code: *code,
            control: *control,
            value,
        });
        let data: Vec<u8> = parameters.clone().flat_map(|parameter| parameter.emit()).collect();
        let found: Vec<_> = report::log_parameters(&data).collect();
        prop_assert_eq!(found, parameters.collect::<Vec<_>>());
    }

    #[test]
    fn lists_from_any_bytes_end(data in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = (Translate::parse(&data), Translated::parse(&data), report::operation(&data));
        let items = report::operations(&data).count() + report::units(&data).count();
        let parameters = report::log_parameters(&data).count();
        prop_assert!(items + parameters <= data.len());
        if let Some((_, content)) = reservation::content(&data) {
            prop_assert!(reservation::keys(content).count() <= data.len());
        }
    }
}
