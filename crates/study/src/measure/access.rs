//! What it takes to reach places from where the head is (jacobson91, sections 3 and 4, figures 2
//! and 3).
//!
//! The first request of the workload's first stream is served, so that the head is there; then the
//! drive is asked what each request of the last stream would take, and serves none of them.

use std::ops::ControlFlow;

use diskarm_core::sched::{Estimate, Outlook};
use diskarm_core::units::Span;

use super::alone::{Placed, workload};
use super::{Figures, Info};
use crate::job::Job;

pub(super) const INFO: Info = Info {
    name: "access",
    summary: "what it takes to reach places from where the head is",
    columns: &[
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
    ],
};

pub(super) fn run(
    job: &Job,
    seed: u64,
    stop: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Result<Figures, String> {
    let Placed { drive, now, rest } = Placed::after(1, job, seed)?;
    let disk = job.model().disk();
    let targets = match workload(job)?.requests(disk, seed).skip(1).last() {
        Some((_, requests)) => requests,
        None => rest,
    };
    let outlook = drive.outlook(now);
    let count = job.requests_count();
    let (mut positioning, mut seek) = (Span::ZERO, Span::ZERO);
    let revolution = drive.shape().revolution;
    let mut within = [0_u64; 2];
    for request in targets.take(count as usize) {
        if stop().is_break() {
            return Ok(Figures::Stopped);
        }
        let place = drive.locate(&request);
        let takes = outlook.positioning(&request, &place);
        positioning += takes;
        seek += outlook.seek(&request, &place);
        within[0] += u64::from(takes < revolution);
        within[1] += u64::from(takes < revolution * 2);
    }
    let share = |number: f64| Some(number / count as f64);
    let turn = revolution.as_ms();
    Ok(Figures::Measured(vec![
        share(positioning.as_ms()),
        share(seek.as_ms()),
        share(positioning.as_ms() / turn),
        share(seek.as_ms() / turn),
        share(within[0] as f64),
        share(within[1] as f64),
    ]))
}
