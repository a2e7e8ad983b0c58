//! A drive with one request at a time, for measures of single services or decisions.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::request::Request;
use diskarm_core::units::Instant;
use diskarm_core::workload::Requests;
use diskarm_simulate::{Generated, Input, Simulation, System};

/// A drive that has just served the first request of a workload's first stream, or the first few.
pub(super) struct Placed {
    pub(super) drive: Drive,
    /// When it finished them.
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
