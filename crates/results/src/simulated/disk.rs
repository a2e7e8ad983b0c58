//! The figures of one of several disks.

use diskarm_core::report::{Alike, Report};
use diskarm_simulate::{Origin, Run};
use serde::Serialize;

use super::Queue;
use super::kind::Kind;
use super::table::{Table, decimals};

/// One disk; the names are those of the JSON.
#[derive(Serialize)]
pub struct Disk {
    disk: usize,
    trace: u32,
    device: u32,
    part: u32,
    #[serde(flatten)]
    all: Kind,
    cache_hit_rate: Option<f64>,
    utilisation: Option<f64>,
    queue: Queue,
    throughput_per_s: Option<f64>,
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
            all: Kind::of(&Alike::new(vec![report.all()])),
            cache_hit_rate: report.cache_hit_fraction(),
            utilisation: report.utilisation_fraction(),
            queue: Queue::of(report),
            throughput_per_s: report.throughput_per_s(),
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
    t.cells(
        &named("file:", "device", ".part"),
        ["requests", "mean, ms", "95 %, ms", "busy, %", "waiting"],
    );
    for disk in disks {
        let device = format!("{}", disk.device);
        let label = named(
            &format!("{}:", disk.trace),
            &device,
            &format!(".{}", disk.part),
        );
        let response = &disk.all.response_ms;
        let busy = disk.utilisation.map(|share| share * 100.0);
        let cells = [response.mean, response.p95, busy, disk.queue.mean].map(decimals);
        let [mean, p95, busy, waiting] = cells.each_ref().map(String::as_str);
        let requests = disk.all.requests.to_string();
        t.cells(&label, [&requests, mean, p95, busy, waiting]);
    }
}
