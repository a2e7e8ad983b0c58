//! Any text is a drive specification or an error; a drive with a valid layout serves requests.

#![no_main]

use std::sync::Arc;

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::geometry::Layout;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount};
use libfuzzer_sys::fuzz_target;

/// Larger drives are valid too, but their seek tables take as long as thousands of small drives.
const MAX_CYLINDERS: u32 = 10_000;
/// Requests larger than a segment are simulated sector by sector.
const MAX_SECTORS: u64 = 1_000;

fuzz_target!(|text: &str| {
    let Ok(spec) = spec::parse(text, "fuzz.toml") else {
        return;
    };
    let geometry = &spec.geometry;
    if geometry.cylinders > MAX_CYLINDERS || geometry.grown_defects.count > 1_000 {
        return;
    }
    let Ok(layout) = Layout::new(geometry) else {
        return;
    };
    let disk = layout.sectors().0;
    let mut drive = Drive::with_layout(&spec, Arc::new(layout), Angle::ZERO);
    let mut done = Vec::new();
    let starts = [
        (Op::Read, 0),
        (Op::Write, disk / 2),
        (Op::Write, disk / 2 + 8),
        (Op::Read, disk / 3),
        (Op::Read, disk / 3 + 8),
    ];
    let mut now = Instant::START;
    for (id, (op, start)) in (0..).zip(starts) {
        let start = start.min(disk - 1);
        let sectors = (disk - start).min([8, MAX_SECTORS][id as usize % 2]);
        let request = Request::new(id, op, Lbn(start), SectorCount(sectors));
        assert_eq!(drive.submit(now, request), Ok(()));
        while let Some(event) = drive.next_event() {
            now = event;
            done.extend(std::iter::from_fn(|| drive.advance(now)));
        }
    }
    assert_eq!(done.len(), starts.len());
});
