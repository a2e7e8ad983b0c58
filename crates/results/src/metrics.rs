//! The metrics of a run: one list for JSON, tables for people, and columns of studies.

use diskarm_core::device::Breakdown;
use diskarm_core::report::{Report, RequestTotals};
use diskarm_core::stats::ResponseStats;
use diskarm_core::units::Span;

pub struct Metric<T> {
    /// Its key in JSON; empty if it is not in JSON.
    pub key: &'static str,
    /// Its label in tables, and its unit or definition, which follows the number.
    pub line: Option<(&'static str, &'static str)>,
    /// The name of its column in studies, with the unit at the end, and its title in figures.
    pub column: Option<(&'static str, &'static str)>,
    /// Returns its value, in the unit of its name; `None` if it does not exist.
    pub of: fn(&T) -> Option<f64>,
}

type Response = Metric<ResponseStats>;
type Service = Metric<RequestTotals>;
type Load = Metric<Report>;

pub const RESPONSE: &[Response] = &[
    Response::new("mean", |r| Some(r.mean_ms))
        .line("response, mean", "ms")
        .column("response_ms_mean", "Mean response time, ms"),
    Response::new("ci95", |r| r.ci95_ms),
    Response::new("std", |r| r.std_ms)
        .line("  std", "ms")
        .column("response_ms_std", "Standard deviation of response time, ms"),
    Response::new("cv2", |r| r.cv2)
        .line("  cv2", "(std / mean) squared")
        .column(
            "response_cv2",
            "Squared coefficient of variation of response time",
        ),
    Response::new("p50", |r| Some(r.p50_ms))
        .line("  median", "ms")
        .column("response_ms_p50", "Median response time, ms"),
    Response::new("", |r| Some(r.p90_ms))
        .column("response_ms_p90", "90th percentile of response time, ms"),
    Response::new("p95", |r| Some(r.p95_ms))
        .line("  95 %", "ms")
        .column("response_ms_p95", "95th percentile of response time, ms"),
    Response::new("p99", |r| Some(r.p99_ms))
        .line("  99 %", "ms")
        .column("response_ms_p99", "99th percentile of response time, ms"),
    Response::new("p999", |r| Some(r.p999_ms)).line("  99.9 %", "ms"),
    Response::new("max", |r| Some(r.max_ms))
        .line("  max", "ms")
        .column("response_ms_max", "Longest response time, ms"),
];

pub const SERVICE: &[Service] = &[
    Service::new("", |s| part(s, |b| b.queue)).column("queue_ms_mean", "Mean wait in queues, ms"),
    Service::new("mean", |s| s.mean_service().map(Span::as_ms))
        .line("service, mean", "ms")
        .column("service_ms_mean", "Mean service time, ms"),
    Service::new("owed", |s| part(s, |b| b.owed)).line("  owed", "ms"),
    Service::new("overhead", |s| part(s, |b| b.overhead)).line("  overhead", "ms"),
    // Studies count deferred work as overhead.
    Service::new("", |s| part(s, |b| b.overhead + b.owed))
        .column("overhead_ms_mean", "Mean command overhead, ms"),
    Service::new("seek", |s| part(s, |b| b.seek))
        .line("  seek", "ms")
        .column("seek_ms_mean", "Mean seek time, ms"),
    Service::new("settle", |s| part(s, |b| b.settle))
        .line("  settle", "ms")
        .column("settle_ms_mean", "Mean head switch and settle, ms"),
    Service::new("rotation", |s| part(s, |b| b.rotation))
        .line("  rotation", "ms")
        .column("rotation_ms_mean", "Mean rotational wait, ms"),
    Service::new("transfer", |s| part(s, |b| b.transfer))
        .line("  transfer", "ms")
        .column("transfer_ms_mean", "Mean media transfer, ms"),
    Service::new("bus", |s| part(s, |b| b.bus))
        .line("  bus", "ms")
        .column("bus_ms_mean", "Mean non-overlapped bus transfer, ms"),
];

/// The load of a device; JSON and tables have their own names for it.
pub const LOAD: &[Load] = &[
    Load::new("", Report::cache_hit_fraction)
        .column("cache_hit_rate", "Share of reads served from the buffer"),
    Load::new("", Report::utilisation_fraction)
        .column("utilisation", "Share of time with a request outstanding"),
    Load::new("", Report::waiting_mean_count)
        .column("queue_mean", "Mean number of requests waiting"),
    Load::new("", |r| Some(r.waiting_max_count() as f64))
        .column("queue_max", "Largest number of requests waiting"),
    Load::new("", Report::throughput_per_s).column("throughput_per_s", "Throughput, requests/s"),
    Load::new("", |r| Some(r.requests_count() as f64)).column("requests", "Requests counted"),
    Load::new("", |r| Some(r.failed_count() as f64)).column("failed", "Requests that failed"),
    Load::new("", |r| Some(r.recovered_count() as f64))
        .column("recovered", "Requests that succeeded after retries"),
];

impl<T> Metric<T> {
    const fn new(key: &'static str, of: fn(&T) -> Option<f64>) -> Self {
        let (line, column) = (None, None);
        Self {
            key,
            line,
            column,
            of,
        }
    }

    const fn line(mut self, label: &'static str, unit: &'static str) -> Self {
        self.line = Some((label, unit));
        self
    }

    const fn column(mut self, name: &'static str, title: &'static str) -> Self {
        self.column = Some((name, title));
        self
    }
}

/// Returns the mean of a part of the response, in milliseconds.
fn part(totals: &RequestTotals, duration: fn(Breakdown) -> Span) -> Option<f64> {
    totals.mean_breakdown().map(|mean| duration(mean).as_ms())
}
