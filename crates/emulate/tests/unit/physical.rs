//! A drive whose physical blocks are larger than its logical blocks, and one with large blocks.

use diskarm_core::request::Op;
use diskarm_core::spec::{self, Spec};
use diskarm_core::units::Lbn;
use diskarm_emulate::{Backing, Status};
use diskarm_wire::Command;
use diskarm_wire::command::{AddressFormat, Size};
use diskarm_wire::defect::{Address, addresses};
use diskarm_wire::report::BlockLimits;
use diskarm_wire::report::Capacity16;

use crate::bench::{Bench, transfer};

/// Returns a drive with 40 tracks of eight physical 4-KiB sectors each; two sectors are spares.
fn spec_512e() -> Spec {
    spec::parse(
        r#"
name = "emulated"
summary = "logical sectors of 512 bytes on physical sectors of 4 KiB"
[source]
origin = "invented"
[geometry]
surfaces = 2
cylinders = 20
sectors = 2_544
sector_bytes = 512
physical_sector = "4 KiB"
sparing = "sectors-per-zone"
[[geometry.zones]]
cylinders = [0, 20]
sectors_per_track = 64
spares = 2
[mechanics]
rotation = "7200 rpm"
[mechanics.seek]
form = "three-point"
single = "1 ms"
average = "2 ms"
full = "3 ms"
"#,
        "emulated.toml",
    )
    .unwrap()
}

/// Returns the drive of [`spec_512e`] with logical sectors of 4 KiB.
fn spec_4kn() -> Spec {
    let mut spec = spec_512e();
    let geometry = &mut spec.geometry;
    geometry.sector_bytes = 4096;
    geometry.physical_sector.0 = 1;
    geometry.sectors.0 /= 8;
    geometry.zones[0].sectors_per_track /= 8;
    spec
}

fn capacity(bench: &mut Bench) -> Capacity16 {
    let command = Command::ReadCapacity16 {
        at: 0,
        partial: false,
        length: 32,
    };
    let data = bench.data(&command, &[]);
    // Byte 15 and six bits of byte 14: the lowest aligned block.
    assert_eq!((data[14] & 0x3f, data[15]), (0, 0));
    Capacity16::parse(&data).unwrap()
}

fn limits(bench: &mut Bench) -> BlockLimits {
    let command = Command::Inquiry {
        page: Some(0xb0),
        length: 255,
    };
    BlockLimits::parse(&bench.data(&command, &[])[4..]).unwrap()
}

#[test]
fn a_unit_reports_its_physical_blocks() {
    let mut bench = Bench::new(&spec_512e());
    let reply = capacity(&mut bench);
    assert_eq!((reply.last, reply.block_bytes), (2_543, 512));
    assert_eq!(reply.physical_block_exponent, 3);
    assert_eq!(limits(&mut bench).granularity, 8);
    let mut bench = Bench::new(&spec_4kn());
    let reply = capacity(&mut bench);
    assert_eq!((reply.last, reply.block_bytes), (317, 4096));
    assert_eq!(reply.physical_block_exponent, 0);
    assert_eq!(limits(&mut bench).granularity, 0);
}

#[test]
fn large_blocks_keep_their_data() {
    let mut bench = Bench::new(&spec_4kn());
    let data: Vec<u8> = (0..2 * 4096).map(|byte| (byte / 31) as u8).collect();
    bench.data(&transfer(Op::Write, 316, 2), &data);
    assert_eq!(bench.data(&transfer(Op::Read, 316, 2), &[]), data);
    assert_eq!(bench.data(&transfer(Op::Read, 317, 1), &[]), data[4096..]);
}

#[test]
fn a_physical_block_is_reassigned_as_a_whole() {
    let mut bench = Bench::new(&spec_512e());
    let places = |bench: &Bench| {
        let layout = bench.unit.device().layout().unwrap();
        [15, 16, 20, 23, 24].map(|block| layout.pba(Lbn(block)))
    };
    let before = places(&bench);
    bench.data(&transfer(Op::Write, 16, 8), &[9; 4096]);
    let reassign = Command::ReassignBlocks {
        long_addresses: false,
        long_list: false,
    };
    let list = [0, 0, 0, 4, 0, 0, 0, 20];
    assert_eq!(bench.run(&reassign, &list).status, Status::Good);
    let after = places(&bench);
    assert_eq!((before[0], before[4]), (after[0], after[4]));
    // The first spare sector: the second to last physical sector of the last track.
    let spare = (19, 1, 64 - 16);
    let moved = |at: usize| {
        let at = after[at];
        (at.cylinder.0, at.head.0, at.sector)
    };
    assert_eq!(moved(1), spare);
    assert_eq!(moved(2), (spare.0, spare.1, spare.2 + 4));
    assert_eq!(moved(3), (spare.0, spare.1, spare.2 + 7));
    assert_eq!(bench.data(&transfer(Op::Read, 16, 8), &[]), [9; 4096]);
    let read = Command::ReadDefectData {
        size: Size::Twelve,
        primary: false,
        grown: true,
        format: AddressFormat::LongBlock,
        index: 0,
        length: 1 << 20,
    };
    let data = bench.data(&read, &[]);
    let listed: Vec<Address> = addresses(AddressFormat::LongBlock, &data[8..]).collect();
    assert_eq!(listed, [Address::LongBlock(16)]);
}
