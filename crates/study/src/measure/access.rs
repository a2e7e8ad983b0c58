//! Two measures of a drive that serves one request at a time: `access`, the time to reach blocks
//! from the position of the head (jacobson91, sections 3 and 4, figures 2 and 3), and `drain`, the
//! time to serve requests that are all waiting at the start, without later arrivals (section 4.1).
//!
//! `access` serves the first request of the workload's first stream, to position the head. Then the
//! drive estimates the time of each request of the last stream, both at its own angle and as if it
//! began at certain other angles of its track, but serves none of them. `drain` first serves the
//! requests of the warm-up, one at a time, to position the arm; then all others arrive together,
//! whatever their arrival times.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::extent::Extent;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, Outlook, Pending};
use diskarm_core::units::{Angle, Instant, Span};
use diskarm_core::workload::Requests;
use diskarm_simulate::{GeneratedRequests, Input, Simulation, System};

use crate::metric::{Column, MeasureInfo, RunOutcome, Stop};

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "access",
    summary: "the time to reach blocks from the position of the head",
    columns: || {
        let mut columns = Column::all(&[
            (
                "positioning_ms_mean",
                "Mean time until the first sector, ms",
            ),
            ("seek_ms_mean", "Mean seek time, ms"),
            (
                "positioning_revolutions_mean",
                "Mean time until the first sector, revolutions",
            ),
            ("seek_revolutions_mean", "Mean seek time, revolutions"),
            ("one_revolution_share", "Share within a revolution"),
            ("two_revolutions_share", "Share within two revolutions"),
        ]);
        columns.extend((0..ANGLES).map(|number| {
            let (share, all) = (2 * number + 1, 2 * ANGLES);
            Column::measured(
                &format!("positioning_ms_at_{number:02}"),
                &format!("Mean time to an angle of {share}/{all} revolution, ms"),
            )
        }));
        columns
    },
};

/// The number of angles on each track. They are in the middle of equal parts of the revolution that
/// begins at the head: exactly at the head, rounding would make the wait zero or a revolution.
const ANGLES: usize = 24;

pub(super) fn run(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<RunOutcome, String> {
    let generated = generated_requests(simulation)?;
    let disk = simulation.system.disk();
    let (drive, now, remaining) = positioned_drive(1, simulation.system, generated)?;
    let streams = generated.workload.requests(disk, generated.seed);
    let last = streams.skip(1).last();
    let targets = last.map_or(remaining, |(_, requests)| requests);
    let outlook = drive.outlook(now);
    let count = generated.requests_count();
    let [mut positioning, mut seek] = [Span::ZERO; 2];
    let revolution = drive.shape().revolution;
    let mut counts_within = [0_u64; 2];
    let mut at_angles = [Span::ZERO; ANGLES];
    for request in targets.take(count as usize) {
        if stop().is_break() {
            return Ok(RunOutcome::Stopped);
        }
        let extent = drive.locate(&request);
        let time = outlook.positioning(&request, &extent);
        positioning += time;
        seek += outlook.seek(&request, &extent);
        counts_within[0] += u64::from(time < revolution);
        counts_within[1] += u64::from(time < revolution * 2);
        for (number, sum) in (0..).zip(&mut at_angles) {
            let angle = Angle::from_fraction(2 * number + 1, 2 * ANGLES as u64);
            let start = outlook.angle(request.op) + angle;
            *sum += outlook.positioning(&request, &Extent { start, ..extent });
        }
    }
    let share = |number: f64| Some(number / count as f64);
    let revolution_ms = revolution.as_ms();
    let at_angles = at_angles.map(|sum| share(sum.as_ms()));
    let means = [
        share(positioning.as_ms()),
        share(seek.as_ms()),
        share(positioning.as_ms() / revolution_ms),
        share(seek.as_ms() / revolution_ms),
        share(counts_within[0] as f64),
        share(counts_within[1] as f64),
    ];
    Ok(RunOutcome::Measured([&means[..], &at_angles].concat()))
}

/// Returns a drive that has served the first `served` requests of the workload's first stream, one
/// at a time, the time when it finished them, and the remaining requests of the stream.
fn positioned_drive(
    served: u64,
    system: &System,
    generated: &GeneratedRequests,
) -> Result<(Drive, Instant, Requests), String> {
    let model = system.single_drive("cell.drive");
    let model = model.map_err(|error| error.to_string())?;
    let mut drive = model.drive();
    let mut requests = generated.workload.streams[0].requests(model.disk(), generated.seed);
    let mut now = Instant::START;
    for _ in 0..served {
        now = serve(&mut drive, now, requests.next_request())?;
    }
    Ok((drive, now, requests))
}

pub(super) const DRAIN: MeasureInfo = MeasureInfo {
    name: "drain",
    summary: "the time to serve requests that are all waiting at the start",
    columns: || {
        Column::all(&[
            ("drain_ms", "Time until the last is finished, ms"),
            (
                "drain_ms_per_request",
                "Time until the last is finished, ms per request",
            ),
        ])
    },
};

pub(super) fn drain(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<RunOutcome, String> {
    let generated = generated_requests(simulation)?;
    let streams = generated.workload.streams.len();
    if streams != 1 {
        let expected = "expected one, as all requests wait from the start";
        return Err(format!(
            "cell.workload: found {streams} streams, {expected}"
        ));
    }
    let warm_up = simulation.warm_up;
    let (mut drive, begin, remaining) = positioned_drive(warm_up, simulation.system, generated)?;
    let mut policy = simulation.policy.policy(&drive);
    let count = generated.requests_count() - warm_up;
    for request in remaining.take(count as usize) {
        let arrived = begin;
        policy.add(Pending { request, arrived }, &drive);
    }
    let mut now = begin;
    while let Some(pending) = policy.next(now, &drive) {
        if stop().is_break() {
            return Ok(RunOutcome::Stopped);
        }
        now = serve(&mut drive, now, pending.request)?;
    }
    let all_ms = (now - begin).as_ms();
    let numbers = vec![Some(all_ms), Some(all_ms / count as f64)];
    Ok(RunOutcome::Measured(numbers))
}

/// Returns the generated requests of a simulation; fails if it replays a trace.
fn generated_requests<'a>(simulation: &Simulation<'a>) -> Result<&'a GeneratedRequests, String> {
    match simulation.input {
        Input::Generated(generated) => Ok(generated),
        Input::Traced(_) => Err("cell.trace: found a trace, expected a workload".to_owned()),
    }
}

/// Serves a request on an idle drive, and returns the time at which it is finished.
fn serve(drive: &mut Drive, now: Instant, request: Request) -> Result<Instant, String> {
    let submitted = drive.submit(now, request);
    submitted.map_err(|error| error.to_string())?;
    let mut at = now;
    while let Some(event) = drive.next_event() {
        at = event;
        while drive.advance(at).is_some() {}
    }
    Ok(at)
}
