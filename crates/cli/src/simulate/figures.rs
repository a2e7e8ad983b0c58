//! The figures of a simulation as they are printed: JSON, or a table for people.

use std::fmt::Write;
use std::time::Duration;

use diskarm_core::drive::Breakdown;
use diskarm_core::report::{Served, Window};
use diskarm_core::request::Op;
use diskarm_core::stats::ResponseFigures;
use diskarm_core::units::Span;
use serde::Serialize;

use super::Run;
use super::trace_rows::TraceRows;
use super::workload::{FlagArrivals, Synthetic, Told};

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
        file: String,
        format: &'static str,
        device: Option<u32>,
        arrivals: &'static str,
        warmup_requests: u64,
    },
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

    /// Of a trace.
    pub fn of_trace(rows: &TraceRows, is_open: bool, warmup: u64) -> Self {
        Self::Trace {
            file: rows.name().to_owned(),
            format: rows.format(),
            device: rows.device(),
            arrivals: if is_open { "traced" } else { "closed" },
            warmup_requests: warmup,
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
                file,
                format,
                arrivals,
                ..
            } => {
                let when = match *arrivals {
                    "traced" => "arrivals as traced",
                    _ => "one at a time, with its pauses",
                };
                format!("{file} ({format}), {when}")
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
    /// `null` where nobody asked for them.
    windows: Option<Vec<WindowFigures>>,
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

impl Figures {
    /// Puts what came of a run into the words of the output. The run took `wall`.
    pub fn new(inputs: Inputs, run: &Run, wall: Duration) -> Self {
        let wall_s = wall.as_secs_f64();
        let report = &run.report;
        let requests = report.requests_count();
        let all = Kind::of(&report.all());
        let streams = run.streams.iter().map(Kind::of).collect::<Vec<Kind>>();
        let windows = run.windows.as_ref();
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
            utilisation: report.utilisation_fraction(),
            queue: Queue {
                mean: report.waiting_mean_count(),
                max: report.waiting_max_count(),
            },
            throughput_per_s: report.throughput_per_s(),
            reads: Kind::of(report.of(Op::Read)),
            writes: Kind::of(report.of(Op::Write)),
            streams: (!streams.is_empty()).then_some(streams),
            windows: windows.map(|windows| windows.iter().map(WindowFigures::of).collect()),
        }
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut t = Table::default();
        t.text("drive", &self.drive);
        t.text("policy", &self.policy);
        t.text("workload", &self.workload.sentence());
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

/// A number for a cell, or a dash.
fn decimals(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
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

/// Lines of a label, a number in a column, and its unit.
#[derive(Default)]
struct Table {
    lines: String,
}

impl Table {
    fn line(&mut self, label: &str, rest: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.lines, "{}", format!("{label:<16}{rest}").trim_end());
    }

    fn gap(&mut self) {
        self.lines.push('\n');
    }

    /// Words, on as many lines as they need.
    fn text(&mut self, label: &str, text: &str) {
        const WIDTH: usize = 100 - 16;
        let mut label = label;
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(label, &line);
                (label, line) = ("", String::new());
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        self.line(label, &line);
    }

    /// Cells in columns, right-aligned.
    fn cells(&mut self, label: &str, cells: [&str; 5]) {
        let cells: String = cells.iter().map(|cell| format!("{cell:>12}")).collect();
        self.line(label, &cells);
    }

    fn count(&mut self, label: &str, count: u64, unit: &str) {
        // In a column with the whole parts of the numbers with three decimals.
        self.line(label, &format!("{count:>12}     {unit}"));
    }

    /// A number, its decimal point in the column; a dash where there is none.
    fn row(&mut self, label: &str, value: Option<f64>, decimals: usize, unit: &str) {
        let Some(value) = value else {
            return self.line(label, &format!("{:>12}", "-"));
        };
        let width = 12 + if decimals > 0 { decimals + 1 } else { 0 };
        let number = format!("{value:>width$.decimals$}");
        self.line(label, &format!("{number:<16} {unit}"));
    }
}
