//! Sequential requests on two drives. Specifications that nearly agree may differ by a revolution
//! here, because a few microseconds decide whether a request is served in this one or the next.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};

/// Requests of a run.
const REQUESTS: u64 = 400;
/// Where runs begin, in percent of the blocks.
const PLACES: [u64; 3] = [1, 50, 95];

/// The mean response of requests of `sectors` that follow each other without a gap and without a
/// pause, over runs of 400 that begin near the first block, in the middle and near the last one.
///
/// # Errors
/// The specification contradicts itself.
///
/// # Panics
/// If `sectors` is 0 or more than a thousandth of the disk.
pub fn mean_sequential_response(
    spec: &Spec,
    op: Op,
    sectors: SectorCount,
) -> Result<Span, InputError> {
    let blocks = spec.geometry.sectors.0;
    assert!((1..=blocks / 1000).contains(&sectors.0), "{sectors:?}");
    let mut sum = Span::ZERO;
    let mut count = 0;
    for percent in PLACES {
        let mut drive = Drive::new(spec, Angle::ZERO)?;
        let first = blocks * percent / 100;
        let room = (blocks - first) / sectors.0;
        let mut now = Instant::START;
        for k in 0..REQUESTS.min(room) {
            let request = Request::new(k, op, Lbn(first + k * sectors.0), sectors);
            let end = served(&mut drive, now, request);
            sum += end.after(now);
            count += 1;
            now = end;
        }
    }
    Ok(Span::from_ns(sum.as_ns() / count))
}

/// When a request ends that is sent at `now` to a drive that has no other.
fn served(drive: &mut Drive, now: Instant, request: Request) -> Instant {
    let accepted = drive.submit(now, request);
    assert!(accepted.is_ok(), "the drive is idle");
    loop {
        let next = drive.next_event().expect("a request is outstanding");
        if let Some(completion) = drive.advance(next) {
            return completion.at;
        }
    }
}
