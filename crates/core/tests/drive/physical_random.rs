//! Random drives whose media hold larger sectors than the host sees.

use diskarm_core::device::{Completion, Device, Persisted};
use diskarm_core::drive::Drive;
use diskarm_core::request::Request;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use proptest::prelude::*;

use super::random::{Raw, cases, chancy_drive, fitted, requests};
use super::tiny::request;

/// Returns two versions of a drive: with sectors of `1 << bits` times the size, and with physical
/// ones of that many. Tracks of a power of two of sectors make the times of both equal to the bit.
fn twins(spec: &Spec, bits: u32) -> [Spec; 2] {
    let of = 1 << bits;
    let mut native = spec.clone();
    native.mechanics.period_ns = spec.mechanics.period_ns.floor();
    for mark in [
        &mut native.buffer.read_watermark,
        &mut native.buffer.write_watermark,
    ] {
        *mark = mark.round();
    }
    let geometry = &mut native.geometry;
    geometry.sector_bytes = 512 * of as u32;
    geometry.grown_defects.count = 0;
    let mut sectors = 0;
    for zone in &mut geometry.zones {
        zone.sectors_per_track = zone.sectors_per_track.next_power_of_two();
        let tracks = (zone.end_cylinder - zone.first_cylinder) * geometry.surfaces;
        sectors += u64::from(tracks * zone.sectors_per_track) - zone.spares;
    }
    geometry.sectors = SectorCount(sectors);
    let mut emulated = native.clone();
    for time in [&mut native.bus.read_sector, &mut native.bus.write_sector] {
        *time = *time * of;
    }
    let geometry = &mut emulated.geometry;
    geometry.sector_bytes = 512;
    geometry.physical_sector = SectorCount(of);
    geometry.sectors.0 *= of;
    for zone in &mut geometry.zones {
        zone.sectors_per_track *= of as u32;
        for number in [
            &mut zone.first_offset_sectors,
            &mut zone.track_skew_sectors,
            &mut zone.cylinder_skew_sectors,
        ] {
            *number *= of as f64;
        }
    }
    let (buffer, start) = (&mut emulated.buffer, &mut emulated.overheads.write_start);
    for size in [
        &mut buffer.segment,
        &mut buffer.read_ahead_min,
        &mut buffer.read_ahead_max,
        &mut buffer.dirty_max,
        &mut start.small,
        &mut start.large,
        &mut start.large_from,
    ] {
        size.0 *= of;
    }
    start.sequential = start.sequential.map(|size| SectorCount(size.0 * of));
    [native, emulated]
}

/// The activity of a drive.
#[derive(Default)]
struct Activity {
    completions: Vec<Completion>,
    /// Blocks on the media, in order.
    persisted: Vec<u64>,
}

impl Activity {
    fn advance(&mut self, drive: &mut Drive, now: Instant) {
        self.completions
            .extend(std::iter::from_fn(|| drive.advance(now)));
        let blocks = |run: Persisted| run.first.0..run.first.0 + run.sectors.0;
        let persisted = drive.persisted(now).expect("a drive reports");
        self.persisted
            .extend(persisted.into_iter().flat_map(blocks));
    }
}

/// Serves requests that come at given times.
fn serve(spec: &Spec, asked: &[(Instant, Request)]) -> Activity {
    let mut drive = Drive::new(spec, Angle::from_fraction(1, 4)).expect("a valid layout");
    let mut done = Activity::default();
    let mut now = Instant::START;
    done.advance(&mut drive, now);
    for (at, request) in asked {
        while let Some(event) = drive.next_event().filter(|event| event <= at) {
            done.advance(&mut drive, event);
        }
        assert_eq!(drive.submit(*at, *request), Ok(()));
        now = *at;
    }
    while let Some(event) = drive.next_event() {
        now = event;
        done.advance(&mut drive, now);
    }
    done.advance(&mut drive, now + Span::from_s(100.0));
    done
}

/// Requests and their arrival times; one in eight has FUA.
fn arrivals(raw: &[Raw], spec: &Spec, flags: u32) -> Vec<(Instant, Request)> {
    let mut now = Instant::START;
    let fitted = fitted(raw, spec.geometry.sectors.0).into_iter().enumerate();
    let asked = fitted.map(|(id, (pause, op, start, n))| {
        now += pause;
        let asked = Request {
            force_unit_access: flags >> (id % 30) & 7 == 0,
            ..request(id as u64, op, start, n)
        };
        (now, asked)
    });
    asked.collect()
}

proptest! {
    #![proptest_config(cases(2000))]

    /// The oracle is the drive of the same geometry in larger sectors.
    #[test]
    fn whole_physical_sectors_behave_as_larger_sectors(
        spec in chancy_drive(), raw in requests(20), bits in 1..4u32, flags in any::<u32>(),
    ) {
        let mut spec = spec;
        spec.queue.depth = 40;
        let [native, emulated] = twins(&spec, bits);
        let large = arrivals(&raw, &native, flags);
        let small: Vec<_> = large.iter().map(|&(at, asked)| (at, Request {
            start: Lbn(asked.start.0 << bits),
            sectors: SectorCount(asked.sectors.0 << bits),
            ..asked
        })).collect();
        let (native, emulated) = (serve(&native, &large), serve(&emulated, &small));
        prop_assert_eq!(native.completions.len(), emulated.completions.len());
        for (a, b) in native.completions.iter().zip(&emulated.completions) {
            prop_assert_eq!(a.request.id, b.request.id);
            prop_assert_eq!((a.at, a.breakdown, a.outcome), (b.at, b.breakdown, b.outcome));
        }
        let blocks = |at: &u64| at << bits..(at + 1) << bits;
        let persisted: Vec<u64> = native.persisted.iter().flat_map(blocks).collect();
        prop_assert_eq!(persisted, emulated.persisted);
    }

    /// The oracle is the meaning of a write: finally every block has persisted as often as it was
    /// written, and no other.
    #[test]
    fn every_write_is_persisted(
        spec in chancy_drive(), raw in requests(20), bits in 1..4u32, flags in any::<u32>(),
    ) {
        let mut spec = spec;
        spec.queue.depth = 40;
        let [_, emulated] = twins(&spec, bits);
        let asked = arrivals(&raw, &emulated, flags);
        let mut done = serve(&emulated, &asked);
        prop_assert_eq!(done.completions.len(), asked.len());
        let writes = asked.iter().filter(|(_, asked)| !asked.op.is_read());
        let mut written: Vec<u64> = writes
            .flat_map(|(_, asked)| asked.start.0..asked.end().0)
            .collect();
        written.sort_unstable();
        done.persisted.sort_unstable();
        prop_assert_eq!(done.persisted, written);
    }
}
