//! Grown defects: reassigned blocks, before and after formatting.

use diskarm_core::device::Device;
use diskarm_core::geometry::Layout;
use diskarm_core::request::Op;
use diskarm_core::units::{Angle, Lbn, Span};
use diskarm_emulate::{Backing, Single, Status};
use diskarm_wire::command::{AddressFormat, Size};
use diskarm_wire::defect::{Address, Header12, addresses};
use diskarm_wire::sense::{Code, Key, Pointer, Specific};
use diskarm_wire::{Command, Sense};

use crate::bench::{Bench, catalogue_spec, transfer};
use crate::blocks::FORMATS;

fn grown(bench: &mut Bench, format: AddressFormat) -> Vec<Address> {
    let read = Command::ReadDefectData {
        size: Size::Twelve,
        primary: false,
        grown: true,
        format,
        index: 0,
        length: 1 << 20,
    };
    let data = bench.data(&read, &[]);
    assert_eq!(
        Header12::parse(&data).unwrap().length as usize,
        data.len() - 8
    );
    addresses(format, &data[8..]).collect()
}

fn reassign(bench: &mut Bench, block: u32) -> Status {
    let list = [&[0, 0, 0, 4][..], &block.to_be_bytes()].concat();
    let command = Command::ReassignBlocks {
        long_addresses: false,
        long_list: false,
    };
    bench.run(&command, &list).status
}

fn layout(bench: &Bench) -> &Layout {
    bench.unit.device().layout().unwrap()
}

#[test]
fn reassigned_blocks_move_to_spares_and_keep_their_data() {
    for name in [
        "hp-c2247",
        "seagate-st41601n",
        "dec-rz26",
        "quantum-atlas-10k",
    ] {
        let mut bench = Bench::new(&catalogue_spec(name));
        let (block, before) = (123_456, layout(&bench).pba(Lbn(123_456)));
        bench.data(&transfer(Op::Write, block, 1), &[7; 512]);
        assert_eq!(reassign(&mut bench, block as u32), Status::Good, "{name}");
        let after = layout(&bench).pba(Lbn(block));
        assert_ne!(before, after, "{name}");
        assert_eq!(layout(&bench).lbn(before), None);
        assert_eq!(bench.data(&transfer(Op::Read, block, 1), &[]), [7; 512]);
        assert_eq!(
            grown(&mut bench, AddressFormat::LongBlock),
            [Address::LongBlock(block)]
        );
        for format in FORMATS {
            assert_eq!(grown(&mut bench, format).len(), 1);
        }
        // The spare fails, too; a track of the RZ26 has only one.
        if name == "dec-rz26" {
            assert_eq!(reassign(&mut bench, block as u32), Status::CheckCondition);
            continue;
        }
        assert_eq!(reassign(&mut bench, block as u32), Status::Good, "{name}");
        let third = layout(&bench).pba(Lbn(block));
        assert_ne!(third, after);
        assert_eq!(layout(&bench).lbn(after), None);
        assert_eq!(grown(&mut bench, AddressFormat::PhysicalSector).len(), 1);
    }
}

#[test]
fn grown_defects_survive_a_power_cycle() {
    let spec = catalogue_spec("hp-c2247");
    let mut bench = Bench::new(&spec);
    let before = layout(&bench).pba(Lbn(123_456));
    assert_eq!(reassign(&mut bench, 123_456), Status::Good);
    let after = layout(&bench).pba(Lbn(123_456));
    assert_ne!(before, after);
    let fresh = Single::new(&spec, Angle::ZERO, 0).unwrap();
    let now = bench.now;
    bench.unit.power_cycle(now, fresh);
    assert_eq!(layout(&bench).pba(Lbn(123_456)), after);
    let attention = bench.run(&Command::TestUnitReady, &[]);
    assert_eq!(attention.status, Status::CheckCondition);
    assert_eq!(
        grown(&mut bench, AddressFormat::LongBlock),
        [Address::LongBlock(123_456)]
    );
}

#[test]
fn spares_run_out() {
    let spec = catalogue_spec("hp-c2247");
    let mut bench = Bench::new(&spec);
    let ended: Vec<Status> = (0..500).map(|n| reassign(&mut bench, 1000 + n)).collect();
    let good = ended
        .iter()
        .take_while(|status| **status == Status::Good)
        .count();
    assert!((1..500).contains(&good), "{good}");
    let list = [&[0, 0, 0, 4][..], &(1000 + good as u32).to_be_bytes()].concat();
    let command = Command::ReassignBlocks {
        long_addresses: false,
        long_list: false,
    };
    let response = bench.run(&command, &list);
    let sense = Sense::parse(&response.sense).unwrap();
    assert_eq!(
        (sense.key, sense.code),
        (Key::HardwareError, Code::NO_SPARE)
    );
    assert_eq!(sense.information, Some(1000 + good as u64));
}

#[test]
fn formatting_slips_reallocated_sectors() {
    for name in [
        "hp-c2247",
        "seagate-st41601n",
        "dec-rz26",
        "quantum-atlas-10k",
    ] {
        let spec = catalogue_spec(name);
        let mut bench = Bench::new(&spec);
        let slips = layout(&bench).slips().count();
        let reallocated = layout(&bench).reallocated_units().count();
        let position = layout(&bench).pba(Lbn(123_456));
        reassign(&mut bench, 123_456);
        bench.data(&transfer(Op::Write, 5, 1), &[7; 512]);
        let begin = bench.now;
        let format = Command::FormatUnit {
            defects: None,
            long_list: false,
            complete: false,
            interleave: 0,
        };
        bench.data(&format, &[]);
        // Two revolutions per track.
        let tracks = spec.geometry.cylinders * spec.geometry.surfaces;
        let revolution = Span::from_ns(spec.mechanics.period_ns as i64);
        assert_eq!(bench.now - begin, revolution * (2 * u64::from(tracks)));
        assert_eq!(layout(&bench).reallocated_units().count(), 0, "{name}");
        assert_eq!(layout(&bench).slips().count(), slips + reallocated + 1);
        assert_eq!(layout(&bench).lbn(position), None);
        assert_eq!(layout(&bench).sectors(), bench.unit.device().capacity());
        assert_eq!(bench.data(&transfer(Op::Read, 5, 1), &[]), [0; 512]);
        // The drive still serves commands.
        bench.data(&transfer(Op::Read, 123_000, 1000), &[]);
    }
}

/// If spares are scarce, a new layout is built for each defect in a list, so a command with a full
/// list would block all others for a long time.
#[test]
fn lists_of_too_many_defects_are_refused() {
    let mut bench = Bench::new(&catalogue_spec("seagate-st41601n"));
    let blocks: Vec<u8> = (0..2049_u32).flat_map(|n| (97 * n).to_be_bytes()).collect();
    let length = (blocks.len() as u32).to_be_bytes();
    let list = [&[0; 4][..], &length, &blocks].concat();
    let command = Command::FormatUnit {
        defects: Some(AddressFormat::ShortBlock),
        long_list: true,
        complete: false,
        interleave: 0,
    };
    let response = bench.run(&command, &list);
    let sense = Sense::parse(&response.sense).unwrap();
    assert_eq!(
        (sense.key, sense.code),
        (Key::IllegalRequest, Code::PARAMETER_LIST_LENGTH)
    );
}

/// Returns the field pointer in the sense data of a response.
fn pointer(response: &diskarm_emulate::Response) -> Option<(u16, Option<u8>)> {
    match Sense::parse(&response.sense).unwrap().specific {
        Some(Specific::Field(Pointer { byte, bit, .. })) => Some((byte, bit)),
        _ => None,
    }
}

/// SBC-3, extended physical sector addresses: MADS begins a run; its last position follows.
#[test]
fn a_run_of_defects_covers_its_first_to_its_last_position() {
    let spec = catalogue_spec("seagate-st41601n");
    let format = |flags: [u8; 2], last: [u8; 4]| {
        let mut bench = Bench::new(&spec);
        let slips = layout(&bench).slips().count();
        let first = [0, 0, 1, 0, flags[0], 0, 0, 2];
        let [cylinder, head, _, sector] = last;
        let last = [0, 0, cylinder, head, flags[1], 0, 0, sector];
        let list = [&[0, 0, 0, 16][..], &first, &last].concat();
        let command = Command::FormatUnit {
            defects: Some(AddressFormat::ExtendedPhysicalSector),
            long_list: false,
            complete: false,
            interleave: 0,
        };
        let response = bench.run(&command, &list);
        match response.status {
            Status::Good => Ok(layout(&bench).slips().count() - slips),
            _ => Err(pointer(&response)),
        }
    };
    assert_eq!(format([0, 0], [1, 0, 0, 5]), Ok(2));
    assert_eq!(format([0x80, 0], [1, 0, 0, 5]), Ok(4));
    assert_eq!(format([0x80, 0], [1, 0, 0, 2]), Ok(1));
    // A reversed run, one to another track, a run in a run, one without an end, and reserved bits.
    let (second, flags) = (Err(Some((12, None))), |at| Err(Some((at, Some(7)))));
    assert_eq!(format([0x80, 0], [1, 0, 0, 1]), second);
    assert_eq!(format([0x80, 0], [1, 1, 0, 5]), second);
    assert_eq!(format([0x80, 0x80], [1, 0, 0, 5]), flags(16));
    assert_eq!(format([0, 0x80], [1, 0, 0, 5]), flags(16));
    assert_eq!(format([0, 0x10], [1, 0, 0, 5]), Err(Some((16, None))));
}

/// SPC-4, mode parameter header(6) and header(10): the length of the block descriptors.
#[test]
fn a_wrong_descriptor_length_is_reported_with_its_field() {
    let mut bench = Bench::new(&catalogue_spec("seagate-st41601n"));
    for (size, list, field) in [
        (Size::Six, vec![0, 0, 0, 5, 0, 0, 0, 0, 0], 3),
        (Size::Ten, vec![0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0], 6),
    ] {
        let select = Command::ModeSelect {
            size,
            page_format: true,
            save: false,
            length: list.len() as u16,
        };
        assert_eq!(pointer(&bench.run(&select, &list)), Some((field, None)));
    }
}
