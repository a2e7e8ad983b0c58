//! The time to reach blocks from the position of the head (jacobson91, sections 3 and 4, figures 2
//! and 3).
//!
//! The first request of the workload's first stream is served, which positions the head. Then the
//! drive estimates each request of the last stream, where it is and as if it began at certain
//! angles of its track, and serves none of them.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::extent::Extent;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, Outlook};
use diskarm_core::units::{Angle, Instant, Span};
use diskarm_core::workload::Requests;
use diskarm_simulate::{Generated, Input, Simulation, System};

use crate::metric::{Column, Figures, MeasureInfo, Stop};

/// The column of the angle with this number, this many 48ths of a revolution after the head.
macro_rules! at_angle {
    ($number:literal, $share:literal) => {
        (
            concat!("positioning_ms_at_", $number),
            concat!("Mean time until ", $share, "/48 revolution on, ms"),
        )
    };
}

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "access",
    summary: "the time to reach blocks from the position of the head",
    columns: || {
        let columns: [_; 6 + ANGLES] = [
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
            at_angle!("00", "1"),
            at_angle!("01", "3"),
            at_angle!("02", "5"),
            at_angle!("03", "7"),
            at_angle!("04", "9"),
            at_angle!("05", "11"),
            at_angle!("06", "13"),
            at_angle!("07", "15"),
            at_angle!("08", "17"),
            at_angle!("09", "19"),
            at_angle!("10", "21"),
            at_angle!("11", "23"),
            at_angle!("12", "25"),
            at_angle!("13", "27"),
            at_angle!("14", "29"),
            at_angle!("15", "31"),
            at_angle!("16", "33"),
            at_angle!("17", "35"),
            at_angle!("18", "37"),
            at_angle!("19", "39"),
            at_angle!("20", "41"),
            at_angle!("21", "43"),
            at_angle!("22", "45"),
            at_angle!("23", "47"),
        ];
        Column::all(&columns)
    },
};

/// The number of angles on each track. They are in the middle of equal parts of the revolution that
/// begins at the head: on a boundary of sectors the time would be zero or a revolution by chance.
const ANGLES: usize = 24;

pub(super) fn run(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<Figures, String> {
    let generated = generated(simulation)?;
    let disk = simulation.system.disk();
    let Placed { drive, now, rest } = Placed::after(1, simulation.system, generated)?;
    let targets = match generated
        .workload
        .requests(disk, generated.seed)
        .skip(1)
        .last()
    {
        Some((_, requests)) => requests,
        None => rest,
    };
    let outlook = drive.outlook(now);
    let count = generated.requests_count();
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
            let on = Angle::from_fraction(2 * number + 1, 2 * ANGLES as u64);
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

/// A drive that has just served the first request of a workload's first stream, or the first few.
pub(super) struct Placed {
    pub(super) drive: Drive,
    /// The time when it finished them.
    pub(super) now: Instant,
    /// The further requests of the first stream.
    pub(super) rest: Requests,
}

impl Placed {
    /// After the first `served` requests of the first stream, one at a time.
    pub(super) fn after(
        served: u64,
        system: &System,
        generated: &Generated,
    ) -> Result<Self, String> {
        let first = &generated.workload.streams[0];
        let model = system
            .single_drive("cell.drive")
            .map_err(|error| error.to_string())?;
        let mut drive = model.drive();
        let mut rest = first.requests(model.disk(), generated.seed);
        let mut now = Instant::START;
        for _ in 0..served {
            now = serve(&mut drive, now, rest.next_request())?;
        }
        Ok(Self { drive, now, rest })
    }
}

/// The generated requests of a simulation; these measures take no traces.
pub(super) fn generated<'a>(simulation: &Simulation<'a>) -> Result<&'a Generated, String> {
    match simulation.input {
        Input::Generated(generated) => Ok(generated),
        Input::Traced(_) => Err("cell.trace: found a trace, expected a workload".to_owned()),
    }
}

/// Serves a request on an idle drive; returns when it is finished.
pub(super) fn serve(drive: &mut Drive, now: Instant, request: Request) -> Result<Instant, String> {
    drive
        .submit(now, request)
        .map_err(|error| error.to_string())?;
    let mut at = now;
    while let Some(event) = drive.next_event() {
        at = event;
        while drive.advance(at).is_some() {}
    }
    Ok(at)
}
