//! Any text is a drive specification or an error; a specification whose layout is sound is a
//! drive that serves requests.

#![no_main]

use std::sync::Arc;

use diskarm_core::drive::{Device, Drive};
use diskarm_core::geometry::Layout;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount};
use libfuzzer_sys::fuzz_target;

/// Larger drives are sound too, but tables of their seek times take the time of thousands of
/// small ones.
const MOST_CYLINDERS: u32 = 10_000;
/// Requests larger than a segment are followed sector by sector.
const MOST_SECTORS: u64 = 1_000;

fuzz_target!(|text: &str| {
    let Ok(spec) = spec::parse(text, "fuzz.toml") else {
        return;
    };
    let geometry = &spec.geometry;
    if geometry.cylinders > MOST_CYLINDERS || geometry.grown_defects.count > 1_000 {
        return;
    }
    let Ok(layout) = Layout::new(geometry) else {
        return;
    };
    let disk = layout.sectors().0;
    let mut drive = Drive::with_layout(&spec, Arc::new(layout), Angle::ZERO);
    let mut done = Vec::new();
    let places = [
        (Op::Read, 0),
        (Op::Write, disk / 2),
        (Op::Write, disk / 2 + 8),
        (Op::Read, disk / 3),
        (Op::Read, disk / 3 + 8),
    ];
    let mut now = Instant::START;
    for (id, (op, start)) in (0..).zip(places) {
        let start = start.min(disk - 1);
        let sectors = (disk - start).min([8, MOST_SECTORS][id as usize % 2]);
        let request = Request {
            id,
            op,
            start: Lbn(start),
            sectors: SectorCount(sectors),
        };
        assert_eq!(drive.submit(now, request), Ok(()));
        while let Some(event) = drive.next_event() {
            now = event;
            done.extend(std::iter::from_fn(|| drive.advance(now)));
        }
    }
    assert_eq!(done.len(), places.len());
});
