//! What it takes to reach places from where the head is (jacobson91, sections 3 and 4, figures 2
//! and 3).
//!
//! The first request of the workload's first stream is served, so that the head is there; then the
//! drive is asked what each request of the last stream would take, and serves none of them; and
//! what it would take if it began at certain angles of its track.

use diskarm_core::extent::Extent;
use diskarm_core::sched::{Estimate, Outlook};
use diskarm_core::units::{Angle, Span};
use diskarm_simulate::Simulation;

use super::alone::{Placed, drawn};
use super::{Figures, Info, Stop};

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
        (
            "positioning_ms_at_00",
            "Mean time until 1/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_01",
            "Mean time until 3/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_02",
            "Mean time until 5/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_03",
            "Mean time until 7/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_04",
            "Mean time until 9/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_05",
            "Mean time until 11/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_06",
            "Mean time until 13/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_07",
            "Mean time until 15/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_08",
            "Mean time until 17/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_09",
            "Mean time until 19/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_10",
            "Mean time until 21/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_11",
            "Mean time until 23/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_12",
            "Mean time until 25/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_13",
            "Mean time until 27/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_14",
            "Mean time until 29/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_15",
            "Mean time until 31/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_16",
            "Mean time until 33/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_17",
            "Mean time until 35/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_18",
            "Mean time until 37/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_19",
            "Mean time until 39/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_20",
            "Mean time until 41/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_21",
            "Mean time until 43/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_22",
            "Mean time until 45/48 revolution on, ms",
        ),
        (
            "positioning_ms_at_23",
            "Mean time until 47/48 revolution on, ms",
        ),
    ],
};

/// How many angles on each track are asked for, which lie in the middle of equal parts of the
/// revolution that begins where the head is: on a bound of two sectors the time would be none or
/// a revolution by chance.
const ANGLES: usize = 24;

pub(super) fn run(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<Figures, String> {
    let drawn = drawn(simulation)?;
    let disk = simulation.model.disk();
    let Placed { drive, now, rest } = Placed::after(1, simulation.model, drawn)?;
    let targets = match drawn.workload.requests(disk, drawn.seed).skip(1).last() {
        Some((_, requests)) => requests,
        None => rest,
    };
    let outlook = drive.outlook(now);
    let count = drawn.requests_count();
    let (mut positioning, mut seek) = (Span::ZERO, Span::ZERO);
    let revolution = drive.shape().revolution;
    let mut within = [0_u64; 2];
    let mut at_angles = [Span::ZERO; ANGLES];
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
        for (number, sum) in (0..).zip(&mut at_angles) {
            let on = Angle::of(2 * number + 1, 2 * ANGLES as u64);
            let start = outlook.angle(request.op) + on;
            *sum += outlook.positioning(&request, &Extent { start, ..place });
        }
    }
    let share = |number: f64| Some(number / count as f64);
    let turn = revolution.as_ms();
    let at_angles = at_angles.map(|sum| share(sum.as_ms()));
    let means = [
        share(positioning.as_ms()),
        share(seek.as_ms()),
        share(positioning.as_ms() / turn),
        share(seek.as_ms() / turn),
        share(within[0] as f64),
        share(within[1] as f64),
    ];
    Ok(Figures::Measured([&means[..], &at_angles].concat()))
}
