//! Bits that are set, and writes that are refused.

use diskarm_core::request::Op;
use diskarm_core::units::{Angle, Span};
use diskarm_emulate::{Single, Unit};
use diskarm_wire::command::{Blocks, Caching, Size, Values};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use crate::bench::{Bench, catalogued, transfer};

/// SBC-3, ORWRITE: it reads and writes its blocks, so it takes a revolution more than a write.
#[test]
fn bits_are_set_in_blocks() {
    let mut bench = Bench::new(&catalogued("hp-c2247"));
    bench.data(&transfer(Op::Write, 10, 2), &[0b1100; 1024]);
    let blocks = Blocks { at: 10, count: 2 };
    let caching = Caching {
        disable_page_out: false,
        force_unit_access: true,
    };
    let before = bench.now;
    bench.data(&Command::OrWrite { blocks, caching }, &[0b1010; 1024]);
    let took = bench.now - before;
    assert!(
        took > Span::from_ns(catalogued("hp-c2247").mechanics.period_ns as i64),
        "{took:?}"
    );
    let data = bench.data(&transfer(Op::Read, 10, 2), &[]);
    assert_eq!(data, [0b1110; 1024]);
}

#[test]
fn a_unit_that_is_read_only_refuses_writes_and_says_so() {
    let single = Single::new(&catalogued("hp-c2247"), Angle::ZERO, 0).unwrap();
    let mut bench = Bench::over(Unit::new(single).read_only(true));
    let response = bench.run(&transfer(Op::Write, 10, 1), &[1; 512]);
    let protected = Sense::new(Key::DataProtect, Code::WRITE_PROTECTED);
    assert_eq!(Sense::parse(&response.sense), Ok(protected));
    let sense = Command::ModeSense {
        size: Size::Six,
        page: 0x3f,
        subpage: 0,
        values: Values::Current,
        no_block_descriptors: true,
        long_addresses: false,
        length: 255,
    };
    assert_eq!(bench.data(&sense, &[])[2] & 0x80, 0x80);
    assert_eq!(bench.data(&transfer(Op::Read, 10, 1), &[]), [0; 512]);
}
