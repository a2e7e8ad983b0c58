//! The effects and durations of commands.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::geometry::Layout;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{Sparing, WriteCache, Zone};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_emulate::{Backing, Single, Status, Unit};
use diskarm_wire::command::{AddressFormat, Blocks, Caching, Size, Values};
use diskarm_wire::defect::{Address, Header12, TRANSLATE, Translate, Translated, addresses};
use diskarm_wire::mode::{self, FormatDevice, Notch};
use diskarm_wire::report::Capacity10;
use diskarm_wire::sense::{Code, Key, Pointer, Specific};
use diskarm_wire::{Command, Sense};

use crate::bench::{Bench, catalogue_spec, transfer};
use crate::blocks::TRANSLATE_ADDRESS;

/// The unit adds nothing to the response times of its drive.
#[test]
fn the_unit_adds_no_time_to_reads_and_writes() {
    for name in ["hp-c2247", "seagate-cheetah-st34501n", "quantum-atlas-10k"] {
        let spec = catalogue_spec(name);
        let mut bench = Bench::new(&spec);
        let mut drive = Drive::new(&spec, Angle::ZERO).unwrap();
        let block = spec.geometry.sector_bytes as usize;
        for n in 0..200u64 {
            let at = n * 7_654_321 % (spec.geometry.sectors.0 - 100) / (1 + n % 3);
            let count = 1 + (n % 40) as u32;
            let op = if n % 3 == 0 { Op::Write } else { Op::Read };
            let data = vec![n as u8; count as usize * block];
            let request = Request::new(n, op, Lbn(at), SectorCount(count.into()));
            drive.submit(bench.now, request).unwrap();
            let expected = drive.next_event().unwrap();
            drive.advance(expected).unwrap();
            let response = bench.run(&transfer(op, at, count), &data);
            assert_eq!(response.at, expected, "{name} {n}");
        }
    }
}

#[test]
fn written_data_are_read_back_and_other_blocks_are_zeros() {
    let mut bench = Bench::new(&catalogue_spec("hp-c2247"));
    let data: Vec<u8> = (0..3 * 512).map(|n| (n / 7) as u8 | 1).collect();
    bench.data(&transfer(Op::Write, 62, 3), &data);
    let read = bench.data(&transfer(Op::Read, 60, 8), &[]);
    let zeros = vec![0; 3 * 512];
    assert_eq!(read, [&zeros[..1024], &data, &zeros].concat());
}

#[test]
fn blocks_beyond_the_capacity_are_refused() {
    let spec = catalogue_spec("hp-c2247");
    let mut bench = Bench::new(&spec);
    let sectors = spec.geometry.sectors.0;
    for (at, count) in [(sectors, 0), (sectors, 1), (sectors - 1, 2)] {
        let response = bench.run(&transfer(Op::Read, at, count), &[]);
        let sense = Sense::parse(&response.sense).unwrap();
        assert_eq!(
            (sense.key, sense.code),
            (Key::IllegalRequest, Code::OUT_OF_RANGE)
        );
    }
    assert!(
        bench
            .data(&transfer(Op::Read, sectors - 1, 0), &[])
            .is_empty()
    );
    assert_eq!(bench.now, Instant::START);
}

/// A SEEK takes as long as the arm movement of a read, and leaves the arm there.
#[test]
fn a_seek_moves_the_arm() {
    let spec = catalogue_spec("hp-c2247");
    let layout = Layout::new(&spec.geometry).unwrap();
    let mut bench = Bench::new(&spec);
    let seek = |at| Command::Seek {
        size: Size::Ten,
        at,
    };
    let far = spec.geometry.sectors.0 - 1;
    bench.data(&seek(0), &[]);
    let mut times = Vec::new();
    for at in [far, far, 0] {
        let begin = bench.now;
        bench.data(&seek(at), &[]);
        times.push(bench.now - begin);
    }
    let overheads = spec.overheads.read_miss_after_read + spec.overheads.read_completion;
    let mechanism = diskarm_core::mechanics::Mechanism::new(
        &spec,
        std::sync::Arc::new(Layout::new(&spec.geometry).unwrap()),
        Angle::ZERO,
    );
    let (from, to) = (layout.extent(Lbn(0)), layout.extent(Lbn(far)));
    let switches_heads = from.head != to.head;
    let inward = mechanism
        .seek
        .total(Op::Read, (from.cylinder, to.cylinder), switches_heads);
    let outward = mechanism
        .seek
        .total(Op::Read, (to.cylinder, from.cylinder), switches_heads);
    let none = mechanism
        .seek
        .total(Op::Read, (to.cylinder, to.cylinder), false);
    assert_eq!(
        times,
        [inward, none, outward].map(|moved| moved + overheads)
    );
    assert!(inward > Span::from_ms(10.0));
}

pub fn translate(bench: &mut Bench, address: Address, wanted: AddressFormat) -> Translated {
    bench.data(&TRANSLATE_ADDRESS, &Translate { address, wanted }.emit());
    let receive = Command::ReceiveDiagnosticResults {
        page: Some(TRANSLATE),
        length: 100,
    };
    let data = bench.data(&receive, &[]);
    Translated::parse(&data).unwrap()
}

/// A track of a million sectors has more bytes than an extended address can express.
#[test]
fn addresses_that_do_not_fit_their_format_are_refused() {
    let mut spec = catalogue_spec("hp-c2247");
    let geometry = &mut spec.geometry;
    geometry.zones.truncate(1);
    geometry.sparing = Sparing::None;
    let zone = &mut geometry.zones[0];
    *zone = Zone {
        first_cylinder: zone.first_cylinder,
        end_cylinder: zone.first_cylinder + 1,
        sectors_per_track: 1_000_000,
        ..Zone::default()
    };
    geometry.sectors = SectorCount(1_000_000 * u64::from(geometry.surfaces));
    geometry.unused_sectors = SectorCount(0);
    let mut bench = Bench::new(&spec);
    let wanted = AddressFormat::ExtendedBytesFromIndex;
    // Sector 524,287 begins 512 bytes before the limit of 2^28 bytes.
    for (block, fits) in [
        (0, true),
        (524_287, true),
        (524_288, false),
        (999_999, false),
    ] {
        let address = Address::LongBlock(block);
        let response = bench.run(&TRANSLATE_ADDRESS, &Translate { address, wanted }.emit());
        assert_eq!(response.status == Status::Good, fits, "{block}");
    }
}

#[test]
fn address_translation_round_trips() {
    for name in [
        "hp-c2247",
        "dec-rz26",
        "seagate-st41601n",
        "quantum-atlas-10k",
    ] {
        let spec = catalogue_spec(name);
        let mut bench = Bench::new(&spec);
        let layout = Layout::new(&spec.geometry).unwrap();
        for n in 0..200 {
            let block = n * 9_999_991 % spec.geometry.sectors.0;
            let number = Address::LongBlock(block);
            let position = translate(&mut bench, number, AddressFormat::PhysicalSector);
            let Address::PhysicalSector(physical) = position.address else {
                panic!("{position:?}");
            };
            assert_eq!(physical.cylinder, layout.pba(Lbn(block)).cylinder.0);
            let bytes = translate(&mut bench, position.address, AddressFormat::BytesFromIndex);
            let back = translate(&mut bench, bytes.address, AddressFormat::LongBlock);
            assert_eq!(back.address, number, "{name}");
        }
    }
}

#[test]
fn capacity_with_pmi_ends_with_the_cylinder() {
    let spec = catalogue_spec("hp-c2247");
    let layout = Layout::new(&spec.geometry).unwrap();
    let mut bench = Bench::new(&spec);
    let mut capacity = |at, partial| {
        let data = bench.data(&Command::ReadCapacity10 { at, partial }, &[]);
        Capacity10::parse(&data).unwrap().last
    };
    let last = spec.geometry.sectors.0 as u32 - 1;
    assert_eq!(capacity(0, false), last);
    assert_eq!(capacity(last, true), last);
    let mut at = 0;
    for _ in 0..100 {
        let end = capacity(at, true);
        let cylinder = |at: u32| layout.pba(Lbn(at.into())).cylinder;
        assert_eq!(cylinder(at), cylinder(end));
        assert_eq!(cylinder(end + 1).0, cylinder(end).0 + 1);
        at = end + 1;
    }
}

#[test]
fn all_listed_defects_are_reported() {
    for name in ["hp-c2247", "seagate-st41601n"] {
        let spec = catalogue_spec(name);
        let zones = &spec.geometry.zones;
        let listed = zones
            .iter()
            .map(|z| z.slips.len() + z.defects.iter().filter(|(a, b)| a != b).count());
        let listed: usize = listed.sum();
        assert!(listed > 0);
        let layout = Layout::new(&spec.geometry).unwrap();
        let mut bench = Bench::new(&spec);
        let read = Command::ReadDefectData {
            size: Size::Twelve,
            primary: true,
            grown: true,
            format: AddressFormat::PhysicalSector,
            index: 0,
            length: 1 << 20,
        };
        let data = bench.data(&read, &[]);
        let header = Header12::parse(&data).unwrap();
        let grown = spec.geometry.grown_defects.count as usize;
        assert_eq!(header.length as usize, 8 * (listed + grown), "{name}");
        let list = addresses(AddressFormat::PhysicalSector, &data[8..]);
        let mut places: Vec<_> = list.collect();
        places.dedup();
        assert_eq!(places.len(), listed + grown);
        // No block is at any of these positions.
        let blocks = (0..spec.geometry.sectors.0).step_by(97);
        for block in blocks.map(Address::LongBlock).take(500) {
            let position = translate(&mut bench, block, AddressFormat::PhysicalSector);
            assert!(!places.contains(&position.address), "{position:?}");
        }
        assert!(layout.slips().count() <= listed);
    }
}

#[test]
fn notches_describe_their_zones() {
    let spec = catalogue_spec("hp-c2247");
    let mut bench = Bench::new(&spec);
    let page = Notch::parse(&bench.page(Notch::CODE, Values::Current)).unwrap();
    assert_eq!(page.maximum as usize, spec.geometry.zones.len());
    for (n, zone) in spec.geometry.zones.iter().enumerate() {
        let page = Notch::parse(&bench.page(Notch::CODE, Values::Current)).unwrap();
        let active = Notch {
            active: n as u16 + 1,
            ..page
        };
        assert_eq!(
            bench.select(Notch::CODE, &active.emit()).status,
            Status::Good
        );
        let page = Notch::parse(&bench.page(Notch::CODE, Values::Current)).unwrap();
        assert_eq!(page.starting_boundary, zone.first_cylinder << 8);
        assert_eq!(page.ending_boundary >> 8, zone.end_cylinder - 1);
        let format = FormatDevice::parse(&bench.page(FormatDevice::CODE, Values::Current)).unwrap();
        assert_eq!(u32::from(format.sectors_per_track), zone.sectors_per_track);
    }
    let page = Notch { active: 99, ..page };
    let response = bench.select(Notch::CODE, &page.emit());
    let sense = Sense::parse(&response.sense).unwrap();
    let pointer = Pointer {
        in_command: false,
        byte: 8 + 6,
        bit: None,
    };
    // The last notch is active now, so its boundaries differ.
    assert_eq!(sense.code, Code::INVALID_PARAMETER);
    assert!(matches!(sense.specific, Some(Specific::Field(p)) if p.byte >= pointer.byte));
}

#[test]
fn the_caching_page_changes_the_model_immediately() {
    let spec = catalogue_spec("hp-c2247");
    let mut bench = Bench::new(&spec);
    let page = mode::Caching::parse(&bench.page(0x08, Values::Current)).unwrap();
    let sequential = |bench: &mut Bench| {
        bench.data(&transfer(Op::Read, 1000, 8), &[]);
        bench.now += Span::from_ms(20.0);
        let begin = bench.now;
        bench.data(&transfer(Op::Read, 1008, 8), &[]);
        bench.now - begin
    };
    let hit = sequential(&mut bench);
    let off = mode::Caching {
        read_cache_disabled: true,
        ..page
    };
    assert_eq!(bench.select(0x08, &off.emit()).status, Status::Good);
    let miss = sequential(&mut bench);
    assert!(hit < Span::from_ms(3.0) && miss > hit, "{hit} {miss}");
    let cached = mode::Caching {
        write_cache: true,
        ..page
    };
    bench.select(0x08, &cached.emit());
    assert_eq!(bench.page(0x08, Values::Default), page.emit());
    assert_eq!(bench.page(0x08, Values::Current), cached.emit());
    let rules = &bench.unit.device().spec().unwrap().buffer;
    assert_ne!(rules.write_cache, WriteCache::Off);
    bench.select(0x08, &page.emit());
    assert_eq!(bench.unit.device().spec(), Some(&spec));
}

#[test]
fn a_drive_with_room_for_dirty_data_writes_them_later() {
    let mut spec = catalogue_spec("hp-c2247");
    spec.buffer.dirty_max = SectorCount(100);
    let mut bench = Bench::new(&spec);
    let page = bench.page(0x08, Values::Current);
    let off = mode::Caching::parse(&page).unwrap();
    let on = mode::Caching {
        write_cache: true,
        ..off
    };
    assert_eq!(bench.select(0x08, &on.emit()).status, Status::Good);
    let cache = |bench: &Bench| bench.unit.device().spec().unwrap().buffer.write_cache;
    assert_eq!(cache(&bench), WriteCache::Deferred);
    let read_back = |bench: &mut Bench, page: &mode::Caching| {
        bench.data(&transfer(Op::Write, 900_000, 8), &[1; 8 * 512]);
        let begin = bench.now;
        bench.select(0x08, &page.emit());
        bench.data(&transfer(Op::Read, 900_000, 8), &[]);
        bench.now += Span::from_ms(100.0);
        bench.now - begin - Span::from_ms(100.0)
    };
    // The arm has not arrived yet; when the cache is disabled, it is flushed first.
    assert!(read_back(&mut bench, &on) < Span::from_ms(4.0));
    bench.data(&transfer(Op::Read, 0, 8), &[]);
    assert!(read_back(&mut bench, &off) > Span::from_ms(10.0));
    assert_eq!(cache(&bench), WriteCache::Off);
}

#[test]
fn a_stopped_unit_reports_not_ready() {
    let mut bench = Bench::new(&catalogue_spec("hp-c2247"));
    let start_stop = |start| Command::StartStopUnit {
        immediate: false,
        power_condition: 0,
        power_condition_modifier: 0,
        no_flush: false,
        load_eject: false,
        start,
    };
    let request_sense = Command::RequestSense {
        descriptor: false,
        length: 18,
    };
    let key_and_code = |data: &[u8]| Sense::parse(data).map(|sense| (sense.key, sense.code));
    let not_ready = Ok((Key::NotReady, Code::START_REQUIRED));
    bench.data(&start_stop(false), &[]);
    for command in [Command::TestUnitReady, transfer(Op::Read, 0, 1)] {
        assert_eq!(key_and_code(&bench.run(&command, &[]).sense), not_ready);
    }
    assert_eq!(key_and_code(&bench.data(&request_sense, &[])), not_ready);
    bench.data(&start_stop(true), &[]);
    bench.data(&Command::TestUnitReady, &[]);
    assert_eq!(
        key_and_code(&bench.data(&request_sense, &[])),
        Ok((Key::NoSense, Code::NONE))
    );
}

/// SBC-3: ORWRITE reads and writes its blocks, so it takes a revolution more than a write.
#[test]
fn orwrite_sets_bits_in_blocks() {
    let mut bench = Bench::new(&catalogue_spec("hp-c2247"));
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
        took > Span::from_ns(catalogue_spec("hp-c2247").mechanics.period_ns as i64),
        "{took:?}"
    );
    let data = bench.data(&transfer(Op::Read, 10, 2), &[]);
    assert_eq!(data, [0b1110; 1024]);
}

#[test]
fn a_read_only_unit_refuses_writes_and_reports_write_protection() {
    let single = Single::new(&catalogue_spec("hp-c2247"), Angle::ZERO, 0).unwrap();
    let mut bench = Bench::with_unit(Unit::new(single).read_only(true));
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
