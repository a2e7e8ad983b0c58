//! The closed forms against the sector-by-sector implementation.

use std::sync::Arc;

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::geometry::Layout;
use diskarm_core::spec::{ReadAhead, Spec, WriteCache, WriteLeaves};
use diskarm_core::units::{Angle, Instant, Span};
use proptest::prelude::*;

use super::random::{cases, drive, fitted, requests};
use super::stepwise::Stepwise;
use super::tiny::request;

/// A few nanoseconds for each sector and crossing, in ms.
const TOLERANCE_MS: f64 = 2e-4;

/// Features that the slow implementation lacks are switched off.
fn plain(mut spec: Spec) -> Spec {
    let b = &mut spec.buffer;
    b.caching = false;
    b.read_ahead = ReadAhead::None;
    b.read_ahead_min.0 = 0;
    b.write_cache = WriteCache::Off;
    b.read_on_arrival = false;
    b.write_on_arrival = false;
    spec.bus.hold_read = true;
    spec.bus.hold_write = true;
    spec.bus.write_leaves = WriteLeaves::AfterData;
    spec.overheads.extra_write_disconnect = None;
    spec.overheads.write_minimum_delay = Span::ZERO;
    spec.overheads.write_start.large = spec.overheads.write_start.small;
    spec.queue.depth = 1;
    spec
}

proptest! {
    #![proptest_config(cases(6000))]

    #[test]
    fn completions_are_those_of_stepping_through_every_sector(
        spec in drive(), raw in requests(12),
    ) {
        let spec = plain(spec);
        let layout = Arc::new(Layout::new(&spec.geometry).expect("a valid layout"));
        let mut drive = Drive::with_layout(&spec, Arc::clone(&layout), Angle::ZERO);
        let mut slow = Stepwise::new(&spec, &layout);
        let mut now = Instant::START;
        let mut done = Vec::new();
        for (pause, op, start, n) in fitted(&raw, spec.geometry.sectors.0) {
            now += pause;
            drive.submit(now, request(0, op, start, n)).expect("an idle drive");
            let expected = slow.serve((now - Instant::START).as_ms(), op, start, n);
            while let Some(event) = drive.next_event() {
                now = event;
                done.extend(std::iter::from_fn(|| drive.advance(now)));
            }
            let off = (now - Instant::START).as_ms() - expected;
            // From here on the two may differ by a revolution and both be right.
            if slow.close {
                return Ok(());
            }
            prop_assert!(off.abs() < TOLERANCE_MS, "{off} ms off: {:#?}", done.last());
        }
    }
}
