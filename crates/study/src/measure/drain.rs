//! The time to serve requests that all wait at once, with no further arrivals (jacobson91, section
//! 4.1).
//!
//! The requests of the warm-up are served first, one at a time, to position the arm; then all
//! others wait at once. Their arrival times do not matter.

use diskarm_core::sched::Pending;
use diskarm_simulate::Simulation;

use super::access::{Placed, generated, serve};
use crate::metric::{Column, Figures, MeasureInfo, Stop};

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "drain",
    summary: "the time to serve requests that all wait at once",
    columns: || {
        Column::all(&[
            ("drain_ms", "Time until the last is finished, ms"),
            (
                "drain_ms_per_request",
                "Time until the last is finished, ms a request",
            ),
        ])
    },
};

pub(super) fn run(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<Figures, String> {
    let generated = generated(simulation)?;
    let streams = generated.workload.streams.len();
    if streams != 1 {
        let expected = "one, as all requests wait at once";
        return Err(format!(
            "cell.workload: found {streams} streams, expected {expected}"
        ));
    }
    let warm_up = simulation.warm_up;
    let Placed {
        mut drive,
        now: begin,
        rest,
    } = Placed::after(warm_up, simulation.system, generated)?;
    let mut policy = simulation.policy.policy(&drive);
    let count = generated.requests_count() - warm_up;
    for request in rest.take(count as usize) {
        let arrived = begin;
        policy.add(Pending { request, arrived }, &drive);
    }
    let mut now = begin;
    while let Some(pending) = policy.next(now, &drive) {
        if stop().is_break() {
            return Ok(Figures::Stopped);
        }
        now = serve(&mut drive, now, pending.request)?;
    }
    let all_ms = (now - begin).as_ms();
    Ok(Figures::Measured(vec![
        Some(all_ms),
        Some(all_ms / count as f64),
    ]))
}
