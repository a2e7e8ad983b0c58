//! The figures of a simulation as they are printed: JSON, or a table for people.

mod disk;
mod kind;
mod table;
mod window;
mod workload;

pub use workload::Workload;

use std::time::Duration;

use diskarm_core::report::Report;
use diskarm_core::request::Op;
use serde::Serialize;

use super::Run;
use disk::Disk;
use kind::{Kind, ResponseMs, ServiceMs};
use table::Table;
use window::WindowFigures;

/// What gives the same figures again, beside the program's version.
pub struct Inputs {
    pub drive: String,
    pub policy: String,
    pub workload: Workload,
    /// `None` where nothing is random.
    pub seed: Option<u64>,
}

/// All that `simulate` prints; the names are those of the JSON.
#[derive(Serialize)]
pub struct Figures {
    drive: String,
    policy: String,
    workload: Workload,
    /// `null` for a trace.
    seed: Option<u64>,
    version: &'static str,
    requests: u64,
    simulated_s: f64,
    wall_s: f64,
    requests_per_wall_s: Option<f64>,
    response_ms: ResponseMs,
    service_ms: ServiceMs,
    cache_hit_rate: Option<f64>,
    utilisation: Option<f64>,
    queue: Queue,
    throughput_per_s: Option<f64>,
    reads: Kind,
    writes: Kind,
    /// `null` for one stream.
    streams: Option<Vec<Kind>>,
    /// `null` for one disk.
    disks: Option<Vec<Disk>>,
    /// `null` where nobody asked for them.
    windows: Option<Vec<WindowFigures>>,
    /// What is doubtful about a trace, and what was changed of it on request.
    notes: Vec<String>,
    /// The latter, which the table has too; warnings have told of the rest.
    #[serde(skip)]
    changes: Vec<String>,
}

#[derive(Serialize)]
struct Queue {
    mean: Option<f64>,
    max: u64,
}

impl Queue {
    fn of(report: &Report) -> Self {
        Self {
            mean: report.waiting_mean_count(),
            max: report.waiting_max_count(),
        }
    }
}

/// Utilisation and queue; of several disks their mean utilisation, and the sum of what waits.
fn load(run: &Run) -> (Option<f64>, Queue) {
    if run.disks.is_empty() {
        let report = &run.report;
        return (report.utilisation_fraction(), Queue::of(report));
    }
    let reports = || run.disks.iter().map(|(_, report)| report);
    let busy: Option<f64> = reports().map(Report::utilisation_fraction).sum();
    let queue = Queue {
        mean: reports().map(Report::waiting_mean_count).sum(),
        max: reports().map(Report::waiting_max_count).max().unwrap_or(0),
    };
    (busy.map(|busy| busy / run.disks.len() as f64), queue)
}

impl Figures {
    /// Puts what came of a run into the words of the output. The run took `wall`.
    pub fn new(inputs: Inputs, run: &Run, wall: Duration) -> Self {
        let wall_s = wall.as_secs_f64();
        let report = &run.report;
        let requests = report.requests_count();
        let all = Kind::of(&report.all());
        let streams = run.streams.iter().map(Kind::of).collect::<Vec<Kind>>();
        let windows = run.windows.as_ref();
        let disks = Disk::all(run);
        let (utilisation, queue) = load(run);
        Self {
            drive: inputs.drive,
            policy: inputs.policy,
            workload: inputs.workload,
            seed: inputs.seed,
            version: env!("CARGO_PKG_VERSION"),
            requests,
            simulated_s: report.elapsed().as_s(),
            wall_s,
            requests_per_wall_s: (wall_s > 0.0).then(|| requests as f64 / wall_s),
            response_ms: all.response_ms,
            service_ms: all.service_ms,
            cache_hit_rate: report.cache_hit_fraction(),
            utilisation,
            queue,
            throughput_per_s: report.throughput_per_s(),
            reads: Kind::of(report.of(Op::Read)),
            writes: Kind::of(report.of(Op::Write)),
            streams: (!streams.is_empty()).then_some(streams),
            disks: (!disks.is_empty()).then_some(disks),
            windows: windows.map(|windows| windows.iter().map(WindowFigures::of).collect()),
            notes: [&run.doubts[..], &run.changes].concat(),
            changes: run.changes.clone(),
        }
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut t = Table::default();
        t.text("drive", &self.drive);
        t.text("policy", &self.policy);
        t.text("workload", &self.workload.sentence());
        for (number, change) in self.changes.iter().enumerate() {
            t.text(if number == 0 { "changed" } else { "" }, change);
        }
        if let Some(seed) = self.seed {
            t.text("seed", &seed.to_string());
        }
        t.gap();
        let counted = match self.workload.warmup_requests() {
            0 => String::new(),
            warmup => format!("after {warmup} of warm-up"),
        };
        t.count("requests", self.requests, &counted);
        t.row("simulated time", Some(self.simulated_s), 3, "s");
        t.row("wall time", Some(self.wall_s), 3, "s");
        t.row(
            "speed",
            self.requests_per_wall_s,
            0,
            "requests per second of wall time",
        );
        t.gap();
        self.response_ms.lines(&mut t);
        t.gap();
        self.service_ms.lines(&mut t);
        t.gap();
        let percent = |share: Option<f64>| share.map(|share| share * 100.0);
        t.row("throughput", self.throughput_per_s, 3, "requests/s");
        t.row("utilisation", percent(self.utilisation), 2, "%");
        t.row(
            "cache hit rate",
            percent(self.cache_hit_rate),
            2,
            "% of reads",
        );
        t.row("waiting, mean", self.queue.mean, 3, "requests");
        t.count("waiting, max", self.queue.max, "requests");
        t.gap();
        self.kinds(&mut t);
        if let Some(disks) = &self.disks {
            t.gap();
            disk::lines(disks, &mut t);
        }
        if let Some(windows) = &self.windows {
            t.gap();
            t.cells(
                "window from",
                ["requests", "mean, ms", "95 %, ms", "busy, %", "waiting"],
            );
            for window in windows {
                window.line(&mut t);
            }
        }
        t.lines
    }

    /// A line for each kind of requests.
    fn kinds(&self, t: &mut Table) {
        t.cells(
            "",
            ["requests", "mean, ms", "95 %, ms", "cv2", "service, ms"],
        );
        self.reads.line("reads", t);
        self.writes.line("writes", t);
        for (number, stream) in self.streams.iter().flatten().enumerate() {
            stream.line(&format!("stream {number}"), t);
        }
    }
}
