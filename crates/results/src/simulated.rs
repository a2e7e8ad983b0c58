//! The results of a simulation, as JSON and as a table.

mod columns;
mod workload;

use std::time::Duration;

use diskarm_core::report::{ReplicatedTotals, Replications, Report, RequestTotals, Window};
use diskarm_core::request::Op;
use diskarm_core::stats::ResponseStats;
use diskarm_core::text::with_noun;
use diskarm_core::units::SectorCount;
use diskarm_simulate::{Origin, Run, doubts, remarks};
use serde::Serialize;

use crate::prose;
use columns::{
    LOAD_HEADINGS, Load, Metrics, PartMetrics, RequestClass, Table, decimals, load_line,
    part_lines, with_interval,
};

pub use workload::{OptionArrivals, Workload};

/// Everything needed to repeat the run except the program's version.
pub struct Inputs {
    pub drive: String,
    /// The policy, as the user wrote it.
    pub policy: String,
    /// True if the policy orders the drive's own queue instead of the host's.
    pub is_in_drive: bool,
    /// The largest merged command; `None` if nothing is merged.
    pub merge: Option<SectorCount>,
    pub workload: Workload,
    /// `None` if nothing is random.
    pub seed: Option<u64>,
}

/// Everything that `simulate` prints, under its names in JSON.
#[derive(Serialize)]
pub struct SimulationMetrics {
    pub drive: String,
    pub policy: String,
    /// `drive` if the policy is in the drive's own queue; absent if it is in the host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_in: Option<&'static str>,
    merge_max_sectors: Option<u64>,
    workload: Workload,
    seed: Option<u64>,
    version: &'static str,
    pub requests: u64,
    simulated_s: f64,
    wall_s: f64,
    requests_per_wall_s: Option<f64>,
    response_ms: Metrics<ResponseStats>,
    service_ms: Metrics<RequestTotals>,
    #[serde(flatten)]
    load: Load,
    reads: RequestClass,
    writes: RequestClass,
    /// This count and the next two are absent if they are zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    flushes: Option<u64>,
    /// Reads and writes that succeeded after retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<u64>,
    /// Requests that did not succeed. Only utilisation and queue include them.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<u64>,
    /// `null` for a single stream.
    streams: Option<Vec<RequestClass>>,
    /// `null` for a single disk.
    disks: Option<Vec<Disk>>,
    /// `null` for a single disk, unless its buffer defers writes.
    parts: Option<Vec<PartMetrics>>,
    windows: Option<Vec<WindowMetrics>>,
    /// This and the next field are `null` for one run.
    replications: Option<Vec<Replication>>,
    ci95: Option<Ci95>,
    /// Warnings about the drive or a trace, disk failures after the last request, data losses,
    /// changes to the trace that the user requested, and limits of the metrics.
    notes: Vec<String>,
    /// Only the changes, which the table also shows; warnings are printed separately.
    #[serde(skip)]
    changes: Vec<String>,
    /// Remarks on facts that the metrics do not show, for notes below the table.
    #[serde(skip)]
    pub remarks: Vec<String>,
}

const OWN_QUEUE: &str = "the drive's own; the host passes requests on in order of arrival";

fn totals(runs: &[Run], of: impl Fn(&Run) -> RequestTotals) -> ReplicatedTotals {
    ReplicatedTotals::new(runs.iter().map(of).collect())
}

impl SimulationMetrics {
    /// Returns the metrics of one run or several replications, which took `wall` in total.
    ///
    /// # Panics
    /// If `runs` is empty.
    pub fn new(inputs: Inputs, runs: &[Run], wall: Duration) -> Self {
        let wall_s = wall.as_secs_f64();
        let reports = Replications::new(runs.iter().map(|run| &run.report));
        let requests = reports.requests_count();
        let every = totals(runs, |run| run.report.all());
        let all = RequestClass::new(&every);
        let direction = |op| RequestClass::new(&totals(runs, |run| run.report.of(op).clone()));
        let first = &runs[0];
        let stream = |n: usize| RequestClass::new(&totals(runs, |run| run.streams[n].clone()));
        let streams: Vec<RequestClass> = (0..first.streams.len()).map(stream).collect();
        let windows = first.windows.as_ref();
        let numbered = first.disks.iter().enumerate();
        let each = numbered.map(|(disk, (origin, report))| Disk {
            disk,
            origin: *origin,
            figures: RunFigures::new(report),
        });
        let disks: Vec<Disk> = each.collect();
        let parts = PartMetrics::all(runs);
        let is_one = runs.len() == 1;
        let replication = |run: &Run| Replication {
            seed: run.seed,
            figures: RunFigures::new(&run.report),
        };
        let count = |of: fn(&Report) -> u64| {
            let all = runs.iter().map(|run| of(&run.report)).sum();
            Some(all).filter(|count| *count > 0)
        };
        Self {
            drive: inputs.drive,
            policy: inputs.policy,
            policy_in: inputs.is_in_drive.then_some("drive"),
            merge_max_sectors: inputs.merge.map(|max| max.0),
            workload: inputs.workload,
            seed: inputs.seed,
            version: env!("CARGO_PKG_VERSION"),
            requests,
            simulated_s: reports.elapsed().as_s(),
            wall_s,
            requests_per_wall_s: (wall_s > 0.0).then(|| requests as f64 / wall_s),
            response_ms: all.response_ms,
            service_ms: all.service_ms,
            load: Load::of_all(&reports, &first.disks),
            reads: direction(Op::Read),
            writes: direction(Op::Write),
            flushes: count(|report| report.of(Op::Flush).requests_count()),
            recovered: count(Report::recovered_count),
            failed: count(Report::failed_count),
            streams: (!streams.is_empty()).then_some(streams),
            disks: (!disks.is_empty()).then_some(disks),
            parts: (!parts.is_empty()).then_some(parts),
            windows: windows.map(|windows| windows.iter().map(WindowMetrics::new).collect()),
            replications: (!is_one).then(|| runs.iter().map(replication).collect()),
            ci95: (!is_one).then(|| Ci95::new(&reports, &every)),
            notes: [doubts(runs), first.changes.clone(), remarks(runs)].concat(),
            changes: first.changes.clone(),
            remarks: remarks(runs),
        }
    }

    /// Returns the metrics that compare policies: mean response time and its confidence interval,
    /// squared coefficient of variation, 95th percentile, longest response time, throughput.
    pub fn cells(&self) -> [String; 6] {
        let r = self.response_ms.of;
        let cells = [
            r.map(|r| r.mean_ms),
            r.and_then(|r| r.ci95_ms),
            r.and_then(|r| r.cv2),
            r.map(|r| r.p95_ms),
            r.map(|r| r.max_ms),
            self.load.throughput_per_s,
        ];
        cells.map(decimals)
    }

    pub fn failed(&self) -> u64 {
        self.failed.unwrap_or(0)
    }

    pub fn waiting_max(&self) -> u64 {
        self.load.queue.max
    }

    /// Adds a remark on a fact that the metrics do not show.
    pub fn remark(&mut self, remark: String) {
        self.notes.push(remark.clone());
        self.remarks.push(remark);
    }

    /// Formats the inputs common to all policies and, with `same_requests`, the request count.
    pub fn heading(&self, drives: &str, same_requests: bool) -> String {
        let mut t = Table::default();
        t.text("drive", drives);
        self.inputs(&mut t);
        if same_requests {
            self.requests_line(&mut t);
        }
        t.gap();
        t.lines
    }

    fn inputs(&self, t: &mut Table) {
        if self.policy_in.is_some() {
            t.text("queue", OWN_QUEUE);
        }
        if let Some(max) = self.merge_max_sectors {
            let sectors = with_noun(max, "sector");
            let merged = format!("sequential requests, up to {sectors}");
            t.text("merged", &merged);
        }
        t.text("workload", &self.workload.sentence);
        for (number, change) in self.changes.iter().enumerate() {
            t.text(if number == 0 { "changed" } else { "" }, change);
        }
        if let Some(seed) = self.seed {
            t.text("seed", &seed.to_string());
        }
    }

    fn requests_line(&self, t: &mut Table) {
        t.gap();
        let runs = self.replications.as_ref().map(Vec::len);
        let counted = match (self.workload.warmup_requests, runs) {
            (0, None) => String::new(),
            (0, Some(runs)) => format!("in {runs} runs"),
            (warmup, None) => format!("after {warmup} warm-up requests"),
            (warmup, Some(runs)) => format!("in {runs} runs, each after {warmup} warm-up requests"),
        };
        t.count("requests", self.requests, &counted);
    }

    pub fn table(&self) -> String {
        let mut t = Table::default();
        t.text("drive", &self.drive);
        t.text("policy", &self.policy);
        self.inputs(&mut t);
        self.requests_line(&mut t);
        let (simulated, unit) = prose::time(self.simulated_s);
        t.row("simulated time", Some(simulated), 3, unit);
        t.row("wall time", Some(self.wall_s), 3, "s");
        let unit = "requests per second of wall time";
        t.row("speed", self.requests_per_wall_s, 0, unit);
        t.gap();
        let ci95 = self.response_ms.of.and_then(|r| r.ci95_ms);
        self.response_ms.lines(ci95, &mut t);
        t.gap();
        let ci95 = self.ci95.unwrap_or_default();
        self.service_ms.lines(ci95.service_ms, &mut t);
        t.gap();
        self.load(ci95, &mut t);
        t.gap();
        self.kinds(&mut t);
        if let Some(disks) = &self.disks {
            t.gap();
            disk_lines(disks, &mut t);
        }
        if let Some(parts) = &self.parts {
            t.gap();
            part_lines(parts, &mut t);
        }
        if let Some(windows) = &self.windows {
            t.gap();
            t.cells("window from", LOAD_HEADINGS);
            for window in windows {
                window.line(&mut t);
            }
        }
        if let Some(replications) = &self.replications {
            t.gap();
            replication_lines(replications, &mut t);
        }
        t.lines
    }

    fn load(&self, ci95: Ci95, t: &mut Table) {
        let percent = |share: Option<f64>| share.map(|share| share * 100.0);
        let row = with_interval("requests/s", ci95.throughput_per_s);
        t.row("throughput", self.load.throughput_per_s, 3, &row);
        let row = with_interval("%", percent(ci95.utilisation));
        t.row("utilisation", percent(self.load.utilisation), 2, &row);
        let row = with_interval("% of reads", percent(ci95.cache_hit_rate));
        t.row("cache hit rate", percent(self.load.cache_hit_rate), 2, &row);
        let row = with_interval("requests", ci95.queue);
        t.row("waiting, mean", self.load.queue.mean, 3, &row);
        t.count("waiting, max", self.load.queue.max, "requests");
        for (name, count) in [
            ("flushes", self.flushes),
            ("recovered", self.recovered),
            ("failed", self.failed),
        ] {
            if let Some(count) = count {
                t.count(name, count, "requests");
            }
        }
    }

    fn kinds(&self, t: &mut Table) {
        let heads = ["requests", "mean, ms", "95 %, ms", "cv2", "service, ms"];
        t.cells("", heads);
        self.reads.line("reads", t);
        self.writes.line("writes", t);
        for (number, stream) in self.streams.iter().flatten().enumerate() {
            stream.line(&format!("stream {number}"), t);
        }
    }
}

#[derive(Serialize)]
struct Disk {
    disk: usize,
    #[serde(flatten)]
    origin: Origin,
    #[serde(flatten)]
    figures: RunFigures,
}

#[derive(Serialize)]
struct RunFigures {
    #[serde(flatten)]
    all: RequestClass,
    #[serde(flatten)]
    load: Load,
}

impl RunFigures {
    fn new(report: &Report) -> Self {
        Self {
            all: RequestClass::new(&ReplicatedTotals::new(vec![report.all()])),
            load: Load::new(report),
        }
    }
}

/// Adds a line for each disk, named after its trace and device.
fn disk_lines(disks: &[Disk], t: &mut Table) {
    let has_traces = disks.iter().any(|disk| disk.origin.trace > 0);
    let has_parts = disks.iter().any(|disk| disk.origin.part > 0);
    let name = |trace: &str, device: &str, part: &str| match (has_traces, has_parts) {
        (false, false) => device.to_owned(),
        (true, false) => format!("{trace}:{device}"),
        (false, true) => format!("{device}.{part}"),
        (true, true) => format!("{trace}:{device}.{part}"),
    };
    t.cells(&name("file", "device", "part"), LOAD_HEADINGS);
    for disk in disks {
        let from = disk.origin;
        let [trace, device, part] = [from.trace, from.device, from.part].map(|n| n.to_string());
        let label = name(&trace, &device, &part);
        disk.figures.load.line(&label, &disk.figures.all, t);
    }
}

#[derive(Serialize)]
struct Replication {
    seed: Option<u64>,
    #[serde(flatten)]
    figures: RunFigures,
}

/// Adds a line for each replication, named after its seed.
fn replication_lines(replications: &[Replication], t: &mut Table) {
    t.cells("seed", LOAD_HEADINGS);
    for run in replications {
        let label = run.seed.map_or_else(String::new, |seed| seed.to_string());
        run.figures.load.line(&label, &run.figures.all, t);
    }
}

/// Half-widths of confidence intervals; each has the name of its mean.
#[derive(Clone, Copy, Default, Serialize)]
struct Ci95 {
    service_ms: Option<f64>,
    cache_hit_rate: Option<f64>,
    utilisation: Option<f64>,
    queue: Option<f64>,
    throughput_per_s: Option<f64>,
}

impl Ci95 {
    fn new(runs: &Replications<'_>, all: &ReplicatedTotals) -> Self {
        Self {
            service_ms: all.service_ci95_ms(),
            cache_hit_rate: runs.half_width_number(Report::cache_hit_fraction),
            utilisation: runs.half_width_number(Report::utilisation_fraction),
            queue: runs.half_width_number(Report::waiting_mean_count),
            throughput_per_s: runs.half_width_number(Report::throughput_per_s),
        }
    }
}

#[derive(Serialize)]
struct WindowMetrics {
    start_s: f64,
    requests: u64,
    response_ms: Metrics<ResponseStats>,
    utilisation: f64,
    queue_mean: f64,
}

impl WindowMetrics {
    fn new(window: &Window) -> Self {
        Self {
            start_s: window.start.as_s(),
            requests: window.arrived_count,
            response_ms: Metrics::response(window.responses),
            utilisation: window.utilisation_fraction,
            queue_mean: window.waiting_mean_count,
        }
    }

    fn line(&self, t: &mut Table) {
        let label = format!("{} s", self.start_s);
        let responses = self.response_ms.of;
        let (utilisation, waiting) = (Some(self.utilisation), Some(self.queue_mean));
        load_line(&label, self.requests, responses, [utilisation, waiting], t);
    }
}
