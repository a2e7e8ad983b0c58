//! The figures of a simulation as printed: as JSON, or as a table.

mod disk;
mod faster;
mod kind;
mod load;
mod parts;
mod replication;
mod table;
mod window;
mod workload;

pub use faster::{Faster, faster};
pub use workload::{FlagArrivals, Given, Workload};

use std::time::Duration;

use diskarm_core::report::{ReplicatedTotals, Replications, Report, RequestTotals};
use diskarm_core::request::Op;
use diskarm_core::stats::ResponseStats;
use diskarm_core::units::SectorCount;
use diskarm_simulate::{Run, doubts, remarks};
use serde::Serialize;

use disk::Disk;
use kind::{Kind, Metrics};
use load::Load;
use parts::PartFigures;
use replication::{Ci95, Replication};
use table::{Table, decimals, known};
use window::WindowFigures;

use crate::prose;

/// Everything needed to repeat the run except the program's version.
pub struct Inputs {
    /// The drive.
    pub drive: String,
    /// The policy, as the user wrote it.
    pub policy: String,
    /// Whether that is the policy of the drive's own queue, not of the host's.
    pub is_in_drive: bool,
    /// The largest merged command; `None` if nothing is merged.
    pub merge: Option<SectorCount>,
    /// The requests.
    pub workload: Workload,
    /// `None` if nothing is random.
    pub seed: Option<u64>,
}

/// Everything that `simulate` prints; the names are those of the JSON.
#[derive(Serialize)]
pub struct Figures {
    drive: String,
    policy: String,
    /// `drive` if the policy is in the drive's own queue; absent if it is in the host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_in: Option<&'static str>,
    /// `null` if nothing is merged.
    merge_max_sectors: Option<u64>,
    workload: Workload,
    /// `null` if nothing is random.
    seed: Option<u64>,
    version: &'static str,
    requests: u64,
    simulated_s: f64,
    wall_s: f64,
    requests_per_wall_s: Option<f64>,
    response_ms: Metrics<ResponseStats>,
    service_ms: Metrics<RequestTotals>,
    #[serde(flatten)]
    load: Load,
    reads: Kind,
    writes: Kind,
    /// This and the next two are absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    flushes: Option<u64>,
    /// Reads and writes that succeeded after retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<u64>,
    /// Requests that did not succeed. Of the other figures, only utilisation and queue include
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<u64>,
    /// `null` for one stream.
    streams: Option<Vec<Kind>>,
    /// `null` for one disk.
    disks: Option<Vec<Disk>>,
    /// `null` for a single disk, unless its buffer defers writes.
    parts: Option<Vec<PartFigures>>,
    windows: Option<Vec<WindowFigures>>,
    /// This and the next are `null` for one run.
    replications: Option<Vec<Replication>>,
    ci95: Option<Ci95>,
    /// Doubts about the drive or a trace, failures of disks after the last request, losses of data,
    /// changes to the trace that the user requested, and what the figures do not show.
    notes: Vec<String>,
    /// Only the changes, which the table shows too; doubts are printed as warnings.
    #[serde(skip)]
    changes: Vec<String>,
    /// What the figures do not show, for notes below the table.
    #[serde(skip)]
    remarks: Vec<String>,
}

/// Where a policy is that is not in the host's queue.
const OWN_QUEUE: &str = "the drive's own; the host hands requests over in order of arrival";

/// The requests of one kind in each run.
fn alike(runs: &[Run], of: impl Fn(&Run) -> RequestTotals) -> ReplicatedTotals {
    ReplicatedTotals::new(runs.iter().map(of).collect())
}

impl Figures {
    /// The figures of one run or several replications, which took `wall` in total.
    ///
    /// # Panics
    /// If there is no run.
    pub fn new(inputs: Inputs, runs: &[Run], wall: Duration) -> Self {
        let wall_s = wall.as_secs_f64();
        let reports = Replications::new(runs.iter().map(|run| &run.report));
        let requests = reports.requests_count();
        let every = alike(runs, |run| run.report.all());
        let all = Kind::of(&every);
        let direction = |op| Kind::of(&alike(runs, |run| run.report.of(op).clone()));
        let first = &runs[0];
        let stream = |number: usize| Kind::of(&alike(runs, |run| run.streams[number].clone()));
        let streams: Vec<Kind> = (0..first.streams.len()).map(stream).collect();
        let windows = first.windows.as_ref();
        let disks = Disk::all(first);
        let parts = PartFigures::all(runs);
        let is_one = runs.len() == 1;
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
            windows: windows.map(|windows| windows.iter().map(WindowFigures::of).collect()),
            replications: (!is_one).then(|| runs.iter().map(Replication::of).collect()),
            ci95: (!is_one).then(|| Ci95::of(&reports, &every)),
            notes: [doubts(runs), first.changes.clone(), remarks(runs)].concat(),
            changes: first.changes.clone(),
            remarks: remarks(runs),
        }
    }

    /// The figures by which policies are compared: mean response and its confidence, squared
    /// coefficient of variation, 95th percentile, longest response, throughput.
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

    /// The policy as it was written.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The number of requests counted.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The number of requests that failed.
    pub fn failed(&self) -> u64 {
        self.failed.unwrap_or(0)
    }

    /// The drive, as its row in a comparison names it.
    pub fn drive(&self) -> &str {
        &self.drive
    }

    /// The largest number of requests that waited at a time.
    pub fn waiting_max(&self) -> u64 {
        self.load.queue.max
    }

    /// Adds what the figures do not show.
    pub fn remark(&mut self, remark: String) {
        self.notes.push(remark.clone());
        self.remarks.push(remark);
    }

    /// What the figures do not show, one line each.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The inputs that several policies have in common, and with `same_requests` the number of
    /// requests counted.
    pub fn heading(&self, drives: &str, same_requests: bool) -> String {
        let mut t = Table::default();
        t.text("drive", drives);
        self.inputs(&mut t);
        if same_requests {
            self.counted(&mut t);
        }
        t.gap();
        t.lines
    }

    /// The workload, and how its requests were merged.
    fn inputs(&self, t: &mut Table) {
        if self.policy_in.is_some() {
            t.text("queue", OWN_QUEUE);
        }
        if let Some(max) = self.merge_max_sectors {
            let s = if max == 1 { "" } else { "s" };
            t.text(
                "merged",
                &format!("sequential requests, up to {max} sector{s}"),
            );
        }
        t.text("workload", &self.workload.sentence());
        for (number, change) in self.changes.iter().enumerate() {
            t.text(if number == 0 { "changed" } else { "" }, change);
        }
        if let Some(seed) = self.seed {
            t.text("seed", &seed.to_string());
        }
    }

    /// The number of requests counted.
    fn counted(&self, t: &mut Table) {
        t.gap();
        let runs = self.replications.as_ref().map(Vec::len);
        let counted = match (self.workload.warmup_requests(), runs) {
            (0, None) => String::new(),
            (0, Some(runs)) => format!("in {runs} runs"),
            (warmup, None) => format!("after {warmup} of warm-up"),
            (warmup, Some(runs)) => format!("in {runs} runs, each after {warmup} of warm-up"),
        };
        t.count("requests", self.requests, &counted);
    }

    /// The figures as a table.
    pub fn table(&self) -> String {
        let mut t = Table::default();
        t.text("drive", &self.drive);
        t.text("policy", &self.policy);
        self.inputs(&mut t);
        self.counted(&mut t);
        let (simulated, unit) = prose::time(self.simulated_s);
        t.row("simulated time", Some(simulated), 3, unit);
        t.row("wall time", Some(self.wall_s), 3, "s");
        t.row(
            "speed",
            self.requests_per_wall_s,
            0,
            "requests per second of wall time",
        );
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
            disk::lines(disks, &mut t);
        }
        if let Some(parts) = &self.parts {
            t.gap();
            parts::lines(parts, &mut t);
        }
        if let Some(windows) = &self.windows {
            t.gap();
            t.cells("window from", load::HEAD);
            for window in windows {
                window.line(&mut t);
            }
        }
        if let Some(replications) = &self.replications {
            t.gap();
            replication::lines(replications, &mut t);
        }
        t.lines
    }

    /// The load on the drive.
    fn load(&self, ci95: Ci95, t: &mut Table) {
        let percent = |share: Option<f64>| share.map(|share| share * 100.0);
        let row = known("requests/s", ci95.throughput_per_s);
        t.row("throughput", self.load.throughput_per_s, 3, &row);
        let row = known("%", percent(ci95.utilisation));
        t.row("utilisation", percent(self.load.utilisation), 2, &row);
        let row = known("% of reads", percent(ci95.cache_hit_rate));
        t.row("cache hit rate", percent(self.load.cache_hit_rate), 2, &row);
        let row = known("requests", ci95.queue);
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

    /// A line for each kind of request.
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
