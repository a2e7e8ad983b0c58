//! The figures of a simulation as they are printed: JSON, or a table for people.

mod disk;
mod table;

use std::time::Duration;

use diskarm_core::drive::Breakdown;
use diskarm_core::report::{Report, Served, Window};
use diskarm_core::request::Op;
use diskarm_core::stats::ResponseFigures;
use diskarm_core::units::Span;
use serde::Serialize;

use super::args::Args;
use super::trace_rows::{Origin, TraceRows};
use super::workload::{FlagArrivals, Synthetic, Told};
use super::{Mode, Run};
use disk::Disk;
use table::{Table, decimals};

/// What gives the same figures again, beside the program's version.
pub struct Inputs {
    pub drive: String,
    pub policy: String,
    pub workload: Workload,
    /// `None` where nothing is random.
    pub seed: Option<u64>,
}

/// The workload, in the words of the flags.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "source")]
pub enum Workload {
    /// Random requests.
    Random {
        requests: u64,
        warmup_requests: u64,
        size_bytes: u64,
        reads: f64,
        #[serde(flatten)]
        arrivals: ArrivalsInput,
    },
    /// A workload in words, or in a file.
    Written {
        text: Option<String>,
        file: Option<String>,
        requests: u64,
        warmup_requests: u64,
    },
    /// A replay.
    Trace {
        files: Vec<File>,
        /// `null` for several.
        device: Option<u32>,
        arrivals: &'static str,
        /// `null` where the trace tells when requests come, like the next.
        outstanding: Option<usize>,
        think_ms: Option<f64>,
        warmup_requests: u64,
    },
}

/// A trace that is replayed.
#[derive(Serialize)]
pub struct File {
    file: String,
    format: &'static str,
}

/// When random requests come.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "arrivals")]
pub enum ArrivalsInput {
    /// Open.
    Poisson { interarrival_ms: f64 },
    /// Closed.
    Closed { outstanding: usize, think_ms: f64 },
}

impl ArrivalsInput {
    fn of(arrivals: FlagArrivals) -> Self {
        match arrivals {
            FlagArrivals::Poisson { mean } => Self::Poisson {
                interarrival_ms: mean.as_ms(),
            },
            FlagArrivals::Closed { outstanding, think } => Self::Closed {
                outstanding,
                think_ms: think.as_ms(),
            },
        }
    }
}

impl Workload {
    /// Of requests that are drawn.
    pub fn of_synthetic(synthetic: &Synthetic, warmup: u64) -> Self {
        let requests = synthetic.requests;
        let (text, file) = match &synthetic.told {
            Told::Flags {
                sectors,
                read_share,
                arrivals,
            } => {
                return Self::Random {
                    requests,
                    warmup_requests: warmup,
                    size_bytes: sectors.0 * synthetic.disk.sector.0,
                    reads: *read_share,
                    arrivals: ArrivalsInput::of(*arrivals),
                };
            }
            Told::Text(text) => (Some(text.clone()), None),
            Told::File(name) => (None, Some(name.clone())),
        };
        Self::Written {
            text,
            file,
            requests,
            warmup_requests: warmup,
        }
    }

    /// Of a trace that was replayed so.
    pub fn of_trace(rows: &TraceRows, mode: Mode, args: &Args) -> Self {
        let files = rows.files().map(|(file, format)| File {
            file: file.to_owned(),
            format,
        });
        let (arrivals, outstanding) = match mode {
            Mode::Open => ("traced", None),
            Mode::Pauses => ("closed", None),
            Mode::Outstanding(clients) => ("outstanding", Some(clients)),
        };
        let think = args.think.unwrap_or_default();
        Self::Trace {
            files: files.collect(),
            device: match rows.origins()[..] {
                [Origin { device, .. }] => Some(device),
                _ => None,
            },
            arrivals,
            outstanding,
            think_ms: outstanding.map(|_| think.as_ms()),
            warmup_requests: args.warmup,
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Random {
                requests,
                size_bytes,
                reads,
                arrivals,
                ..
            } => {
                let when = match arrivals {
                    ArrivalsInput::Poisson { interarrival_ms } => {
                        format!("Poisson arrivals {interarrival_ms} ms apart")
                    }
                    ArrivalsInput::Closed {
                        outstanding,
                        think_ms,
                    } => format!("{outstanding} outstanding, {think_ms} ms of think time"),
                };
                let percent = reads * 100.0;
                format!("{requests} random, {size_bytes} bytes each, {percent:.1} % reads, {when}")
            }
            Self::Written {
                text,
                file,
                requests,
                ..
            } => {
                let what = text.as_ref().or(file.as_ref());
                format!("{requests} of {}", what.map_or("", String::as_str))
            }
            Self::Trace {
                files,
                arrivals,
                outstanding,
                think_ms,
                ..
            } => {
                let when = match (*arrivals, outstanding) {
                    (_, Some(clients)) => {
                        let think_ms = think_ms.unwrap_or_default();
                        format!("{clients} outstanding, {think_ms} ms of think time")
                    }
                    ("traced", _) => "arrivals as traced".to_owned(),
                    _ => "one at a time, with its pauses".to_owned(),
                };
                let name = |file: &File| format!("{} ({})", file.file, file.format);
                let names: Vec<String> = files.iter().map(name).collect();
                format!("{}, {when}", names.join(" and "))
            }
        }
    }

    fn warmup_requests(&self) -> u64 {
        match *self {
            Self::Random {
                warmup_requests, ..
            }
            | Self::Written {
                warmup_requests, ..
            }
            | Self::Trace {
                warmup_requests, ..
            } => warmup_requests,
        }
    }
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

/// Requests of one kind.
#[derive(Serialize)]
struct Kind {
    requests: u64,
    response_ms: ResponseMs,
    service_ms: ServiceMs,
}

#[derive(Serialize)]
struct WindowFigures {
    start_s: f64,
    requests: u64,
    response_ms: ResponseMs,
    utilisation: f64,
    queue_mean: f64,
}

#[derive(Default, Serialize)]
struct ResponseMs {
    mean: Option<f64>,
    ci95: Option<f64>,
    std: Option<f64>,
    cv2: Option<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
}

#[derive(Serialize)]
struct ServiceMs {
    mean: Option<f64>,
    owed: Option<f64>,
    overhead: Option<f64>,
    seek: Option<f64>,
    settle: Option<f64>,
    rotation: Option<f64>,
    transfer: Option<f64>,
    bus: Option<f64>,
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
        self.response(&mut t);
        t.gap();
        self.service(&mut t);
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

    fn response(&self, t: &mut Table) {
        let r = &self.response_ms;
        let ci95 = match r.ci95 {
            Some(ci95) => format!("ms  ± {ci95:.3} (95 % confidence)"),
            None => "ms".to_owned(),
        };
        t.row("response, mean", r.mean, 3, &ci95);
        t.row("  std", r.std, 3, "ms");
        t.row("  cv2", r.cv2, 3, "(std / mean) squared");
        t.row("  median", r.p50, 3, "ms");
        t.row("  95 %", r.p95, 3, "ms");
        t.row("  99 %", r.p99, 3, "ms");
        t.row("  99.9 %", r.p999, 3, "ms");
        t.row("  max", r.max, 3, "ms");
    }

    fn service(&self, t: &mut Table) {
        let s = &self.service_ms;
        t.row("service, mean", s.mean, 3, "ms");
        t.row("  owed", s.owed, 3, "ms");
        t.row("  overhead", s.overhead, 3, "ms");
        t.row("  seek", s.seek, 3, "ms");
        t.row("  settle", s.settle, 3, "ms");
        t.row("  rotation", s.rotation, 3, "ms");
        t.row("  transfer", s.transfer, 3, "ms");
        t.row("  bus", s.bus, 3, "ms");
    }
}

impl Kind {
    fn of(served: &Served) -> Self {
        Self {
            requests: served.requests_count(),
            response_ms: ResponseMs::of(served.responses().figures()),
            service_ms: ServiceMs::of(served),
        }
    }

    fn line(&self, label: &str, t: &mut Table) {
        let r = &self.response_ms;
        let cells = [r.mean, r.p95, r.cv2, self.service_ms.mean].map(decimals);
        let [mean, p95, cv2, service] = cells.each_ref().map(String::as_str);
        t.cells(label, [&self.requests.to_string(), mean, p95, cv2, service]);
    }
}

impl WindowFigures {
    fn of(window: &Window) -> Self {
        Self {
            start_s: window.start.as_s(),
            requests: window.arrived_count,
            response_ms: ResponseMs::of(window.responses),
            utilisation: window.utilisation_fraction,
            queue_mean: window.waiting_mean_count,
        }
    }

    fn line(&self, t: &mut Table) {
        let r = &self.response_ms;
        let busy = Some(self.utilisation * 100.0);
        let cells = [r.mean, r.p95, busy, Some(self.queue_mean)].map(decimals);
        let [mean, p95, busy, waiting] = cells.each_ref().map(String::as_str);
        let label = format!("{} s", self.start_s);
        t.cells(
            &label,
            [&self.requests.to_string(), mean, p95, busy, waiting],
        );
    }
}

impl ResponseMs {
    fn of(figures: Option<ResponseFigures>) -> Self {
        let Some(figures) = figures else {
            return Self::default();
        };
        Self {
            mean: Some(figures.mean_ms),
            ci95: figures.ci95_ms,
            std: figures.std_ms,
            cv2: figures.cv2,
            p50: Some(figures.p50_ms),
            p95: Some(figures.p95_ms),
            p99: Some(figures.p99_ms),
            p999: Some(figures.p999_ms),
            max: Some(figures.max_ms),
        }
    }
}

impl ServiceMs {
    fn of(served: &Served) -> Self {
        let breakdown = served.mean_breakdown();
        let part = |of: fn(Breakdown) -> Span| breakdown.map(|b| of(b).as_ms());
        Self {
            mean: served.mean_service().map(Span::as_ms),
            owed: part(|b| b.owed),
            overhead: part(|b| b.overhead),
            seek: part(|b| b.seek),
            settle: part(|b| b.settle),
            rotation: part(|b| b.rotation),
            transfer: part(|b| b.transfer),
            bus: part(|b| b.bus),
        }
    }
}
