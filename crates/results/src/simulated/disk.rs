//! The figures of one of several disks.

use diskarm_core::report::{ReplicatedTotals, Report};
use diskarm_simulate::{Origin, Run};
use serde::Serialize;

use super::kind::Kind;
use super::load::{self, Load};
use super::table::Table;

/// One disk; the names are those of the JSON.
#[derive(Serialize)]
pub struct Disk {
    disk: usize,
    trace: u32,
    device: u32,
    part: u32,
    #[serde(flatten)]
    all: Kind,
    #[serde(flatten)]
    load: Load,
}

impl Disk {
    /// The disks of a run.
    pub fn all(run: &Run) -> Vec<Self> {
        let disks = run.disks.iter().enumerate();
        disks
            .map(|(disk, (origin, report))| Self::new(disk, *origin, report))
            .collect()
    }

    fn new(disk: usize, origin: Origin, report: &Report) -> Self {
        let Origin {
            trace,
            device,
            part,
        } = origin;
        Self {
            disk,
            trace,
            device,
            part,
            all: Kind::of(&ReplicatedTotals::new(vec![report.all()])),
            load: Load::of(report),
        }
    }
}

/// A line for each disk, named after the trace and device that it holds.
pub fn lines(disks: &[Disk], t: &mut Table) {
    let has_traces = disks.iter().any(|disk| disk.trace > 0);
    let has_parts = disks.iter().any(|disk| disk.part > 0);
    let named = |trace: &str, device: &str, part: &str| {
        let trace = if has_traces { trace } else { "" };
        let part = if has_parts { part } else { "" };
        format!("{trace}{device}{part}")
    };
    t.cells(&named("file:", "device", ".part"), load::HEAD);
    for disk in disks {
        let device = format!("{}", disk.device);
        let label = named(
            &format!("{}:", disk.trace),
            &device,
            &format!(".{}", disk.part),
        );
        disk.load.line(&label, &disk.all, t);
    }
}
